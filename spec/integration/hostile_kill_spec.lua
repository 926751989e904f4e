-- SPDX-License-Identifier: MIT
-- runner: supervisor
-- Processes that do all they can to be missed by a kill. Who lives is judged by the host.

local helper = require("spec.helper")
local hostile = require("spec.support.hostile")
local sandbox = require("anvia.sandbox")

local WAYS = { "hop", "breed", "leader", "wipe", "hidden" }

-- Python: leaves, takes another environment by execve, and forks on while it is killed.
local CHANGELING = [=[
import os, resource, signal, sys, time
for i in range(2):
    if os.fork():
        os._exit(0)
    os.setsid()
for signum in (1, 2, 3, 15):
    signal.signal(signum, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_RSS, (4096, 4096))
os.execve("/bin/sh", ["sh", "-c", "while :; do sleep 0.01 & wait; done # " + sys.argv[1]], {})
]=]

-- Starts a command around `script`, waits until what it calls `text` is there, ends it by
-- `how`, and expects that nothing of it is left.
local function ends(session, how, script, text)
  local opts = { command = "sh", args = { "-c", script .. "; sleep 1000 # " .. text } }
  local before = hostile.tasks(session)
  local function there()
    helper.eventually(function() -- the shell alone is not enough
      return hostile.tasks(session) > before + 1
    end, 10000)
    sandbox.sleep(200)
  end
  local took
  if how == "stop" then
    local info = assert(session:start_process(opts))
    there()
    local stopped
    took, stopped = helper.timed(function()
      return assert(session:stop_process(info.id, { grace_period_ms = 300 }))
    end)
    assert.are.equal("stopped", stopped.status)
  elseif how == "deadline" then
    opts.timeout_ms, opts.grace_period_ms = 1200, 300
    took = helper.timed(function()
      assert.is_true(assert(session:exec(opts)).timed_out)
    end) - 1200
  else
    opts.cancel, opts.grace_period_ms = sandbox.cancel_token(), 300
    local task = sandbox.spawn(session.exec, session, opts)
    there()
    opts.cancel:cancel()
    took = helper.timed(function()
      assert.is_true(assert(task:join()).cancelled)
    end)
  end
  hostile.gone(session, text)
  helper.eventually(function() -- those who wait to be reaped count, too
    return hostile.tasks(session) <= before
  end, 2000)
  assert.is_true(took < 300 + 2500, took)
end

helper.describe("a process that is hard to kill", { hostile.IMAGE, helper.DEBIAN }, function()
  local function session_of(user, image, pids)
    return hostile.session({ user = user, image = image or hostile.IMAGE,
      limits = { pids_limit = pids or 128, timeout_ms = 60000 } })
  end

  for _, who in ipairs({ hostile.USERS[1], hostile.USERS[3] }) do
    for _, how in ipairs({ "stop", "deadline", "cancel" }) do
      for _, way in ipairs(WAYS) do
        it("dies: " .. way .. ", " .. how .. ", " .. who.name, function()
          local session = session_of(who.user)
          -- somebody who has nothing to do with it
          local other = assert(session:start_process({ command = "sleep", args = { "777" } }))
          ends(session, how, "hostile " .. way .. " x & sleep 0.1", "hostile")
          assert.are.equal("running", assert(session:process_info(other.id)).status)
          assert.are.equal(1, hostile.alive(session, "sleep 777"))
          hostile.intact(session)
        end)
      end

      it("dies: another environment and lower limits, " .. how .. ", " .. who.name, function()
        local session = session_of(who.user, helper.DEBIAN)
        assert(session:write_file("change.py", CHANGELING))
        ends(session, how, "python3 change.py changeling & sleep 0.3", "changeling")
        hostile.intact(session)
      end)

      it("dies: a fork bomb, " .. how .. ", " .. who.name, function()
        local session = session_of(who.user, nil, 64)
        ends(session, how, "f() { f bomb | f bomb & }; f & sleep 0.3", "bomb")
        hostile.intact(session)
      end)

      it("dies: stopped by itself, " .. how .. ", " .. who.name, function()
        local session = session_of(who.user)
        ends(session, how, "sh -c 'kill -STOP $$; : napper' & sleep 0.1", "napper")
        hostile.intact(session)
      end)

      it("dies: fifty that all left, " .. how .. ", " .. who.name, function()
        local session = session_of(who.user)
        ends(session, how, "i=0; while [ $i -lt 50 ]; do (setsid env -i sleep 4444 &); i=$((i+1)); "
          .. "done", "sleep 4444")
        hostile.intact(session)
      end)
    end

    it("does not end a command that is its parent's child: " .. who.name, function()
      local session = session_of(who.user)
      local took, result = helper.timed(session.exec, session,
        { command = "hostile", args = { "parent", "x" }, timeout_ms = 20000 })
      assert.are.equal(3, assert(result).exit_code)
      assert.is_true(took < 5000)
      hostile.intact(session)
      local info = assert(session:start_process({ command = "sh",
        args = { "-c", "hostile parent x; exec sleep 888" } }))
      helper.eventually(function()
        return hostile.alive(session, "sleep 888") == 1
      end)
      assert.are.equal("stopped", assert(session:stop_process(info.id)).status)
      assert.are.equal(0, hostile.alive(session, "sleep 888"))
    end)
  end

  it("that forged its mark is nobody's, and dies with the next kill", function()
    local session = session_of("0", helper.DEBIAN)
    assert(session:exec({ command = "python3", args = { "-c", CHANGELING, "forged" } }))
    local other = assert(session:start_process({ command = "sleep", args = { "778" } }))
    helper.eventually(function()
      return hostile.alive(session, "forged") > 0
    end)
    assert.is_true(assert(session:exec({ command = "sleep", args = { "9" },
      timeout_ms = 200 })).timed_out)
    hostile.gone(session, "forged")
    assert.are.equal("running", assert(session:process_info(other.id)).status)
  end)

  it("that takes a signal's place is still signalled by name", function()
    local session = session_of("0")
    local info = assert(session:start_process({ command = "sh", args = { "-c",
      "setsid sh -c 'trap \"echo child\" USR1; while :; do sleep 0.05; done' & "
        .. "trap 'echo own' USR1; while :; do sleep 0.05; done" } }))
    sandbox.sleep(500)
    assert(session:signal_process(info.id, "USR1"))
    helper.eventually(function()
      local said = assert(session:read_process_logs(info.id)).stdout
      return said:find("child", 1, true) and said:find("own", 1, true)
    end)
    assert(session:stop_process(info.id, { grace_period_ms = 100 }))
  end)
end)

helper.describe("a program that becomes root", { "anvia-test/setuid:1" }, function()
  it("is stopped, though its user may not", function()
    local session = hostile.session({ image = "anvia-test/setuid:1", user = "1000:1000",
      security = { no_new_privileges = false, drop_capabilities = {} } })
    local info = assert(session:start_process({ command = "rootsleep", args = { "6202" } }))
    helper.eventually(function()
      return hostile.alive(session, "rootsleep 6202") == 1
    end)
    assert.are.equal("stopped",
      assert(session:stop_process(info.id, { grace_period_ms = 500 })).status)
    hostile.gone(session, "rootsleep")
  end)
end)
