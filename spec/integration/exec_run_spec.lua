-- SPDX-License-Identifier: MIT
local helper = require("spec.helper")
local outside = require("spec.support.outside")
local sandbox = require("anvia.sandbox")

local function sh(script, extra)
  local opts = { command = "sh", args = { "-c", script } }
  for key, value in pairs(extra or {}) do
    opts[key] = value
  end
  return opts
end

for _, image in ipairs(helper.IMAGES) do
  describe("exec in " .. image, function()
    if not helper.engine(image) then
      return
    end

    local session

    before_each(function()
      session = helper.session({ image = image })
    end)

    it("returns output, error output and exit code", function()
      local result = assert(session:exec(sh("echo o; echo e >&2; exit 7")))
      assert.equal("o\n", result.stdout)
      assert.equal("e\n", result.stderr)
      assert.equal(7, result.exit_code)
      assert.is_nil(result.signal)
      assert.is_false(result.timed_out or result.cancelled)
      assert.is_false(result.stdout_truncated or result.stderr_truncated)
      assert.equal(0, result.stdout_omitted_bytes + result.stderr_omitted_bytes)
      assert.is_true(result.duration_ms >= 0)
    end)

    it("names the signal that ended a command", function()
      local result = assert(session:exec(sh("kill -KILL $$")))
      assert.equal(137, result.exit_code)
      assert.equal("SIGKILL", result.signal)
    end)

    it("passes arguments, environment, input and directory exactly", function()
      assert(session:mkdir("a b"))
      local odd = "q'\" $(id) `id` \\ * \n\t ünï-日本 \255 -x"
      local result = assert(session:exec({
        command = "sh",
        args = { "-c", [[printf '%s|%s|%s|' "$1" "$ODD" "$PWD"; cat]], "sh", odd },
        env = { ODD = odd },
        input = "in\0put\255",
        cwd = "a b",
      }))
      assert.equal(odd .. "|" .. odd .. "|/workspace/a b|in\0put\255", result.stdout)
    end)

    it("has no input when none is given", function()
      assert.equal("", assert(session:exec({ command = "cat" })).stdout)
    end)

    it("comes back when the command is over, though a child holds the pipe", function()
      for _, script in ipairs({ "sleep 20 & echo hi", "setsid sleep 20 & echo hi" }) do
        local took, result = helper.timed(session.exec, session, sh(script, { timeout_ms = 8000 }))
        assert.equal("hi\n", result.stdout)
        assert.equal(0, result.exit_code)
        assert.is_false(result.timed_out)
        assert.is_true(took < 3000, took .. " ms")
      end
    end)

    it("kills the whole tree at the time-out, and keeps what was printed", function()
      local took, result = helper.timed(session.exec, session,
        sh("echo before; sleep 321 & setsid sleep 321 & sleep 321", { timeout_ms = 1500 }))
      assert.is_true(result.timed_out)
      assert.equal(124, result.exit_code)
      assert.equal("before\n", result.stdout)
      assert.is_true(took < 3500, took .. " ms")
      assert.equal(0, helper.count(session, "[s]leep 321"))
    end)

    it("kills what ignores TERM after the grace period", function()
      local took, result = helper.timed(session.exec, session, sh(
        'trap "" TERM; while :; do sleep 61; done', { timeout_ms = 1500, grace_period_ms = 300 }))
      assert.is_true(result.timed_out)
      assert.is_true(took >= 1800 and took < 2900, took .. " ms")
      assert.equal(0, helper.count(session, "[s]leep 61"))
    end)

    it("kills the tree when it is cancelled", function()
      local token = sandbox.cancel_token()
      sandbox.spawn(function()
        sandbox.sleep(1000)
        token:cancel("enough")
      end)
      local took, result = helper.timed(session.exec, session,
        sh("echo before; sleep 611", { cancel = token }))
      assert.is_true(result.cancelled)
      assert.is_false(result.timed_out)
      assert.not_equal(0, result.exit_code)
      assert.equal("before\n", result.stdout)
      assert.is_true(took < 2100, took .. " ms")
      assert.equal(0, helper.count(session, "[s]leep 611"))
    end)

    it("spawns nothing for a token that is cancelled already", function()
      local token = sandbox.cancel_token()
      token:cancel()
      local result = assert(session:exec({ command = "touch", args = { "ran" }, cancel = token }))
      assert.is_true(result.cancelled)
      sandbox.sleep(300)
      assert.same({}, session:list_files("."))
    end)

    it("says why a command could not start", function()
      assert(session:write_file("plain", "#!/bin/sh\necho hi\n"))
      for _, case in ipairs({
        { "nosuchcmd", 127, "not found" },
        { "/tmp", 126, "directory" },
        { "./plain", 126, "not executable" },
      }) do
        local result, err = session:exec({ command = case[1] })
        assert.is_nil(result)
        assert.equal("process", err.code)
        assert.is_truthy(err.message:find(case[3], 1, true), err.message)
        assert.equal(case[2], err.result.exit_code)
        assert.equal("", err.result.stdout)
      end
      local result, err = session:exec({ command = "true", cwd = "missing" })
      assert.is_nil(result)
      assert.equal("process", err.code)
    end)

    it("does not take a program's words for the engine's", function()
      local result = assert(session:exec(sh("echo OCI runtime exec failed; exit 126")))
      assert.equal(126, result.exit_code)
      assert.equal("OCI runtime exec failed\n", result.stdout)
      result = assert(session:exec(sh("echo 'Cannot connect to the Docker daemon at x. Is the "
        .. "docker daemon running?' >&2; exit 1")))
      assert.equal(1, result.exit_code)
    end)

    it("survives a program that does not read its input", function()
      local result = assert(session:exec({ command = "true", input = ("x"):rep(50000000) }))
      assert.equal(0, result.exit_code)
    end)

    it("sends a large input completely", function()
      local data = ("0123456789abcdef"):rep(512 * 1024)
      local result = assert(session:exec({ command = "wc", args = { "-c" }, input = data }))
      assert.equal(#data, tonumber(result.stdout))
    end)

    it("refuses what is too long for the kernel, and takes what is not", function()
      local long = { command = "sh", args = { "-c", "printf %s $#", "sh", ("x"):rep(130000) } }
      assert.equal("1", assert(session:exec(long)).stdout)
      local thirty = {}
      for i = 1, 30 do
        thirty[i] = ("x"):rep(100000)
      end
      for _, opts in ipairs({
        { command = "echo", args = { ("x"):rep(140000) } },
        { command = "true", args = thirty },
        { command = "true", env = { A = ("x"):rep(200000) } },
      }) do
        local took, result, err = helper.timed(session.exec, session, opts)
        assert.is_nil(result)
        assert.equal("process", err.code)
        assert.is_truthy(err.message:find("too long", 1, true), err.message)
        assert.is_true(took < 1000)
        local info
        info, err = session:start_process({ command = opts.command, args = opts.args,
          env = opts.env })
        assert.is_nil(info)
        assert.is_truthy(err.message:find("too long", 1, true))
      end
      assert.equal(0, assert(session:exec({ command = "true" })).exit_code)
    end)

    it("keeps secrets off the command lines of the host", function()
      local found
      sandbox.all({
        function()
          local env = { TOKEN = "s3cr3t-marker" }
          return session:exec({ command = "sleep", args = { "1" }, env = env })
        end,
        function()
          sandbox.sleep(400)
          found = #outside.processes_with("s3cr3t-marker")
        end,
      })
      assert.equal(0, found)
    end)

    it("gives an environment of the manifest to commands, which their own can override", function()
      local other = helper.session({ image = image }, { manifest = { env = { A = "1", B = "2" } } })
      local result = assert(other:exec(sh("echo $A $B", { env = { B = "3" } })))
      assert.equal("1 3\n", result.stdout)
    end)

    it("keeps the head, the tail or both of long output", function()
      for keep, text in pairs({ head = "0123456789", tail = "qrstuvwxyz", both = "01234vwxyz" }) do
        local result = assert(session:exec(sh(
          "printf 0123456789abcdefghijklmnopqrstuvwxyz", { max_output_bytes = 10, keep = keep })))
        assert.equal(text, result.stdout)
        assert.equal(26, result.stdout_omitted_bytes)
        assert.is_true(result.stdout_truncated)
      end
    end)

    it("never cuts a character in two", function()
      for cap = 1, 18 do
        local result = assert(session:exec({ command = "printf", args = { "日本語日本語" },
          max_output_bytes = cap, keep = "head" }))
        assert.equal(("日本語日本語"):sub(1, cap - cap % 3), result.stdout)
      end
    end)

    it("leaves no zombies of commands that forget their children", function()
      for _ = 1, 10 do
        assert(session:exec(sh("(sleep 0.2 &) ; exit 0")))
      end
      sandbox.sleep(500)
      local result = assert(session:exec(sh(
        "cat /proc/[0-9]*/stat 2>/dev/null | grep -c ' Z ' || true")))
      assert.equal("0\n", result.stdout)
    end)

    it("hands out a callback's error when the command is dead, and goes on", function()
      for _, name in ipairs({ "on_stdout", "on_stderr" }) do
        local ok, raised = pcall(session.exec, session, sh("echo a; echo b >&2; sleep 633", {
          [name] = function() error({ mine = name }) end,
        }))
        assert.is_false(ok)
        assert.same({ mine = name }, raised)
        assert.equal(0, helper.count(session, "[s]leep 633"))
      end
      for i = 1, 10 do
        local result = assert(session:exec({ command = "echo", args = { tostring(i) } }))
        assert.equal(i .. "\n", result.stdout)
      end
    end)

    it("lets a callback call other methods", function()
      local inner
      local result = assert(session:exec(sh("echo a", {
        on_stdout = function(data)
          inner = data .. assert(session:exec({ command = "echo", args = { "b" } })).stdout
        end,
      })))
      assert.equal("a\nb\n", inner)
      assert.equal("a\n", result.stdout)
    end)
  end)
end

describe("exec with the exhausted pid limit", function()
  if not helper.engine(helper.BUSYBOX) then
    return
  end

  for _, case in ipairs({ { "64 processes", { pids_limit = 64 }, 5000 },
    { "the default", {}, 15000 } }) do
    local name, limits, most_ms = case[1], case[2], case[3]
    it("of " .. name .. " times out, and the session can be destroyed (H108)", function()
      local session = helper.session({ limits = limits })
      local result, err = session:exec(sh("f(){ f|f& };f; sleep 60", { timeout_ms = 3000 }))
      assert.is_true(result and result.timed_out or err ~= nil)
      local took = helper.timed(session.destroy, session)
      assert.is_true(took < most_ms, took .. " ms")
    end)
  end
end)
