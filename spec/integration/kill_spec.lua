-- SPDX-License-Identifier: MIT
-- runner: both
-- Every kill is judged from outside, by what the container's /proc shows to somebody
-- who is not the library.

local helper = require("spec.helper")
local outside = require("spec.support.outside")
local sandbox = require("anvia.sandbox")

-- How many processes of the session's container have exactly these arguments.
local function alive(session, arguments)
  local said = outside.sh("docker top anvia-sandbox-" .. session.id .. " -eo pid,args")
  local count = 0
  for line in said:gmatch("[^\n]+") do
    if line:match("^%s*%d+%s+(.*)$") == arguments then
      count = count + 1
    end
  end
  return count
end

local function shell(session, text)
  return assert(session:start_process({ command = "sh", args = { "-c", text } }))
end

for _, image in ipairs(helper.SHELL_IMAGES) do
  helper.describe("stop in " .. image, { image }, function()
    local function running(session, text, arguments, count)
      local info = shell(session, text)
      helper.eventually(function()
        return alive(session, arguments) == count
      end)
      return info
    end

    it("ends children and grandchildren within the grace period", function()
      local session = helper.session({ image = image })
      local info = running(session, "sleep 5031 & (sleep 5031 & wait) & wait", "sleep 5031", 2)
      local took, stopped = helper.timed(session.stop_process, session, info.id)
      assert.are.equal("stopped", assert(stopped).status)
      assert.are.equal(143, stopped.exit_code)
      assert.are.equal("SIGTERM", stopped.signal)
      assert.is_true(took < 5000)
      assert.are.equal(0, alive(session, "sleep 5031"))
    end)

    it("escalates against a process that ignores TERM", function()
      local session = helper.session({ image = image })
      local info = running(session, 'trap "" TERM; while :; do sleep 5021; done', "sleep 5021", 1)
      local took, stopped = helper.timed(session.stop_process, session, info.id,
        { grace_period_ms = 700 })
      assert.are.equal("stopped", assert(stopped).status)
      assert.are.equal(137, stopped.exit_code)
      assert.is_true(took >= 700 and took < 2700, took)
      assert.are.equal(0, alive(session, "sleep 5021"))
    end)

    it("twice and from two tasks at once gives the same end", function()
      local session = helper.session({ image = image })
      local info = running(session, "sleep 5041 & wait", "sleep 5041", 1)
      local function stop()
        return session:stop_process(info.id)
      end
      local results, errs = sandbox.all({ stop, stop })
      assert.is_nil(errs)
      assert.are.same(results[1], results[2])
      assert.are.same(results[1], assert(stop()))
    end)
  end)
end

helper.describe("what left the group", helper.IMAGES, function()
  -- ways to get away, each ending in a `sleep N`
  local ways = {
    ["a session of its own"] = "setsid sleep %d & sleep %d",
    ["a double fork"] = "(setsid sh -c 'sleep %d & exit' &) ; sleep %d",
    ["ignoring HUP"] = "(trap '' HUP; exec sleep %d) & sleep %d",
    ["an orphan of a shell that ended"] = "sh -c 'sleep %d & disown 2>/dev/null; exit 0'; sleep %d",
    ["a tree in a session of its own"] = "setsid sh -c 'sh -c \"sleep %d; :\"; :' & sleep %d",
  }
  local number = 6000
  for name, text in pairs(ways) do
    for _, image in ipairs(helper.IMAGES) do
      it("dies with the process: " .. name .. ", " .. image, function()
        local session = helper.session({ image = image })
        number = number + 1
        local arguments = "sleep " .. number
        local info = shell(session, text:format(number, number))
        helper.eventually(function()
          return alive(session, arguments) == 2
        end)
        local took = helper.timed(session.stop_process, session, info.id)
        assert.is_true(took < 7000)
        assert.are.equal(0, alive(session, arguments))
      end)

      it("dies with the command's deadline: " .. name .. ", " .. image, function()
        local session = helper.session({ image = image })
        number = number + 1
        local arguments = "sleep " .. number
        local result = assert(session:exec({
          command = "sh",
          args = { "-c", "echo out; " .. text:format(number, number) },
          timeout_ms = 1500,
        }))
        assert.is_true(result.timed_out)
        assert.are.equal(124, result.exit_code)
        assert.are.equal("out\n", result.stdout)
        assert.are.equal(0, alive(session, arguments))
      end)
    end
  end

  it("goes with a cancel, too", function()
    local session = helper.session()
    local token = sandbox.cancel_token()
    local task = sandbox.spawn(function()
      return session:exec({
        command = "sh", args = { "-c", "setsid sleep 6101 & sleep 6101" }, cancel = token,
      })
    end)
    helper.eventually(function()
      return alive(session, "sleep 6101") == 2
    end)
    token:cancel("enough")
    local took, result = helper.timed(task.join, task)
    assert.is_true(assert(result).cancelled)
    assert.is_true(took < 4000)
    assert.are.equal(0, alive(session, "sleep 6101"))
  end)
end)

helper.describe("a process of another user", { "anvia-test/setuid:1" }, function()
  -- setuid root: not the session's user's to signal, without capabilities not root's either
  it("is killed or named, never called stopped while it lives", function()
    local session = helper.session({
      image = "anvia-test/setuid:1",
      user = "1000:1000",
      security = { no_new_privileges = false, drop_capabilities = {} },
    })
    local info = assert(session:start_process({ command = "rootsleep", args = { "6201" } }))
    helper.eventually(function()
      return alive(session, "rootsleep 6201") == 1 or alive(session, "/bin/rootsleep 6201") == 1
    end)
    local stopped, err = session:stop_process(info.id, { grace_period_ms = 300 })
    local left = alive(session, "rootsleep 6201") + alive(session, "/bin/rootsleep 6201")
    if stopped then
      assert.are.equal(0, left)
    else
      assert.are.equal("process", err.code)
      assert.is_truthy(tostring(err):find("sleep", 1, true))
      assert.are.equal("running", assert(session:process_info(info.id)).status)
    end
  end)
end)

helper.describe("zombies", helper.IMAGES, function()
  for _, image in ipairs(helper.IMAGES) do
    it("do not pile up in " .. image, function()
      local session = helper.session({ image = image })
      for _ = 1, 12 do
        assert(session:exec({ command = "sh", args = { "-c", "(sleep 0.2 &) ; exit 0" } }))
      end
      sandbox.sleep(1000)
      local said = outside.sh("docker top anvia-sandbox-" .. session.id .. " -eo stat")
      assert.is_nil(said:find("Z", 1, true))
    end)
  end
end)

helper.describe("a command that backgrounds a child", helper.IMAGES, function()
  for _, image in ipairs(helper.IMAGES) do
    for name, text in pairs({ plain = "sleep 20 & echo hi", own = "setsid sleep 20 & echo hi" }) do
      it("returns when it has ended itself: " .. name .. ", " .. image, function()
        local session = helper.session({ image = image })
        local took, result = helper.timed(session.exec, session,
          { command = "sh", args = { "-c", text }, timeout_ms = 8000 })
        assert.are.equal(0, assert(result).exit_code)
        assert.are.equal("hi\n", result.stdout)
        assert.is_false(result.timed_out)
        assert.is_true(took < 3000, took)
      end)
    end
  end
end)
