-- SPDX-License-Identifier: MIT
local core = require("anvia.sandbox.core")
local helper = require("spec.helper")
local outside = require("spec.support.outside")
local sandbox = require("anvia.sandbox")

for _, image in ipairs(helper.SHELL_IMAGES) do
  describe("a managed process in " .. image, function()
    if not helper.engine(image) then
      return
    end

    local session

    before_each(function()
      session = helper.session({ image = image })
    end)

    local function start(script, extra)
      local opts = { command = "sh", args = { "-c", script } }
      for key, value in pairs(extra or {}) do
        opts[key] = value
      end
      return assert(session:start_process(opts))
    end

    it("runs on until it is stopped, and is listed", function()
      local info = start("echo up; echo no >&2; sleep 503")
      assert.equal("running", info.status)
      assert.equal("sh", info.command)
      assert.same({ "-c", "echo up; echo no >&2; sleep 503" }, info.args)
      assert.equal("/workspace", info.cwd)
      assert.is_true(info.started_at > 0)
      assert.is_nil(info.ended_at)
      helper.eventually(function()
        local logs = assert(session:read_process_logs(info.id))
        return logs.stdout == "up\n" and logs.stderr == "no\n"
      end)
      assert.equal(info.id, assert(session:list_processes())[1].id)
      local stopped = assert(session:stop_process(info.id))
      assert.equal("stopped", stopped.status)
      assert.equal(143, stopped.exit_code)
      assert.equal("SIGTERM", stopped.signal)
      assert.is_true(stopped.ended_at >= stopped.started_at)
      assert.equal("up\n", assert(session:read_process_logs(info.id)).stdout)
      assert.equal("stopped", assert(session:stop_process(info.id)).status)
    end)

    it("is stopped with its children and grandchildren", function()
      local info = start("sleep 503 & (sleep 504 & wait) & wait")
      sandbox.sleep(300)
      local took, stopped = helper.timed(session.stop_process, session, info.id)
      assert.equal(143, stopped.exit_code)
      assert.is_true(took < 2000, took .. " ms")
      assert.equal(0, helper.count(session, "[s]leep 50"))
    end)

    it("is killed after the grace period when it ignores TERM", function()
      local info = start('trap "" TERM; while :; do sleep 502; done')
      sandbox.sleep(300)
      local took, stopped = helper.timed(session.stop_process, session, info.id,
        { grace_period_ms = 700 })
      assert.equal("stopped", stopped.status)
      assert.equal(137, stopped.exit_code)
      assert.is_true(took >= 700 and took < 2700, took .. " ms")
      assert.equal(0, helper.count(session, "[s]leep 502"))
    end)

    it("that cannot start is an error and leaves no record", function()
      local info, err = session:start_process({ command = "nosuch" })
      assert.is_nil(info)
      assert.equal("process", err.code)
      assert.is_truthy(err.message:find("nosuch", 1, true))
      assert.same({}, assert(session:list_processes()))
    end)

    it("that ends by itself has exited, with its own code", function()
      local info = start("exit 3")
      local ended = assert(session:wait_process(info.id, { timeout_ms = 5000 }))
      assert.equal("exited", ended.status)
      assert.equal(3, ended.exit_code)
      assert.equal("exited", assert(session:process_info(info.id)).status)
      assert.equal("exited", assert(session:list_processes())[1].status)
    end)

    it("gets signals and input", function()
      local info = start('trap "echo got" HUP; echo ready; while read -r l; do echo "<$l>"; done; '
        .. "echo end; exit 4", { stdin = true })
      helper.eventually(function()
        return session:read_process_logs(info.id).stdout == "ready\n"
      end)
      assert(session:write_process(info.id, "one\ntwo\n"))
      helper.eventually(function()
        return session:read_process_logs(info.id).stdout == "ready\n<one>\n<two>\n"
      end)
      local logs = assert(session:read_process_logs(info.id))
      assert(session:close_process_stdin(info.id))
      local ended = assert(session:wait_process(info.id))
      assert.equal(4, ended.exit_code)
      logs = assert(session:read_process_logs(info.id, { since = logs.cursor }))
      assert.equal("end\n", logs.stdout)

      info = start('trap "echo got; exit 5" HUP; echo ready; while :; do sleep 0.1; done')
      helper.eventually(function()
        return session:read_process_logs(info.id).stdout == "ready\n"
      end)
      assert(session:signal_process(info.id, "SIGHUP"))
      assert.equal(5, assert(session:wait_process(info.id)).exit_code)
      assert.has.errors(function() session:signal_process(info.id, "NOPE") end)
    end)

    it("may be waited for only as long as was said", function()
      local info = start("sleep 505")
      local ended, err = session:wait_process(info.id, { timeout_ms = 200 })
      assert.is_nil(ended)
      assert.equal("timeout", err.code)
      assert.equal("running", assert(session:process_info(info.id)).status)
    end)

    it("keeps the tail of its output, whole characters only", function()
      local info = start("for i in 1 2 3 4 5; do printf 日本語; done; sleep 506")
      helper.eventually(function()
        return #session:read_process_logs(info.id).stdout == 45
      end)
      local logs = assert(session:read_process_logs(info.id, { tail_bytes = 10 }))
      assert.equal("日本語", logs.stdout)
      assert.is_true(logs.stdout_truncated)
      logs = assert(session:read_process_logs(info.id, { tail_bytes = 0 }))
      assert.equal("", logs.stdout)
    end)

    it("has room for so many, and makes room for new ones", function()
      local small = helper.session({ image = image, limits = { max_processes = 2 } })
      local opts = { command = "sleep", args = { "507" } }
      local first = assert(small:start_process({ command = "true" }))
      assert(small:wait_process(first.id))
      local second = assert(small:start_process(opts))
      local third = assert(small:start_process(opts))
      local none, err = small:process_info(first.id)
      assert.is_nil(none)
      assert.equal("not_found", err.code)
      none, err = small:start_process(opts)
      assert.is_nil(none)
      assert.equal("process", err.code)
      assert.is_truthy(err.message:find("2", 1, true))
      assert(small:stop_process(second.id))
      assert(small:start_process(opts))
      assert.equal("running", assert(small:process_info(third.id)).status)
    end)

    it("is unknown under another id", function()
      for _, method in ipairs({ "process_info", "read_process_logs", "close_process_stdin",
        "wait_process", "stop_process" }) do
        local value, err = session[method](session, "p99")
        assert.is_nil(value)
        assert.equal("not_found", err.code)
      end
      local value, err = session:write_process("p99", "x")
      assert.is_nil(value)
      assert.equal("not_found", err.code)
    end)

    it("dies with the session, on the host too", function()
      local seconds = "508" .. core.getpid() -- nobody else's on this host
      start((("sleep S & setsid sleep S & sleep S"):gsub("S", seconds)))
      assert(session:destroy())
      local none, err = session:list_processes()
      assert.is_nil(none)
      assert.equal("session_destroyed", err.code)
      assert.same({}, outside.processes_with("sleep " .. seconds))
    end)
  end)
end

describe("a managed process that left its group", function()
  if not helper.engine(helper.BUSYBOX, helper.DEBIAN) then
    return
  end

  for _, image in ipairs(helper.IMAGES) do
    it("is stopped all the same: " .. image, function()
      local session = helper.session({ image = image })
      local info = assert(session:start_process({
        command = "sh",
        args = { "-c", "setsid sleep 506 & (setsid sh -c 'sleep 506 & sleep 506' &); sleep 507" },
      }))
      sandbox.sleep(300)
      local took, stopped = helper.timed(session.stop_process, session, info.id)
      assert.equal("stopped", stopped.status)
      assert.is_true(took < 3000, took .. " ms")
      assert.equal(0, helper.count(session, "[s]leep 50"))
    end)
  end
end)

describe("a managed process of another user", function()
  local IMAGE = "anvia-test/setuid:1"
  if not helper.engine(IMAGE) then
    return
  end

  for name, dropped in pairs({ ["nothing"] = {}, ["CAP_KILL"] = { "KILL" } }) do
    it("is not called stopped while it is alive, with " .. name .. " dropped", function()
      local session = helper.session({
        image = IMAGE,
        user = "1000:1000",
        security = { no_new_privileges = false, drop_capabilities = dropped },
      })
      local info = assert(session:start_process({ command = "rootsleep", args = { "600" } }))
      sandbox.sleep(300)
      local stopped, err = session:stop_process(info.id, { grace_period_ms = 500 })
      local alive = outside.sh("docker exec -u 0 anvia-sandbox-" .. session.id
        .. " sh -c 'ps | grep -c \"[r]ootsleep\"'"):match("%d+")
      if stopped then
        assert.equal("stopped", stopped.status)
        assert.equal("0", alive)
      else
        assert.equal("process", err.code)
      end
    end)
  end
end)
