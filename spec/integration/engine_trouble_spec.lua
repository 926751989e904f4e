-- SPDX-License-Identifier: MIT
-- An engine that hangs, dies and comes back, on an engine of this file's own.

local core = require("anvia.sandbox.core")
local helper = require("spec.helper")
local outside = require("spec.support.outside")
local sandbox = require("anvia.sandbox")

-- {host, signal(name), restart()}, once a line `ready` has come
local function second_engine()
  local log = os.tmpname()
  local errors = os.tmpname()
  local pipe = assert(io.popen(string.format(
    "exec bash spec/support/second_engine.sh %s busybox 2>%s", log, errors), "w"))
  local engine = { starts = 0 }

  local function await_ready()
    engine.starts = engine.starts + 1
    helper.eventually(function()
      local seen = 0
      for line in io.lines(log) do
        local host, pid = line:match("^ready (%S+) (%d+)$")
        if host then
          seen, engine.host, engine.pid = seen + 1, host, pid
        end
      end
      return seen >= engine.starts
    end, 120000)
  end

  function engine.signal(name)
    local said, ok = outside.sh(string.format("kill -%s %s", name, engine.pid))
    assert(ok, said)
  end

  function engine.restart()
    pipe:write("restart\n")
    pipe:flush()
    await_ready()
  end

  function engine.stop()
    pipe:close()
    os.remove(log)
    os.remove(errors)
  end

  function engine.docker(arguments)
    return (outside.sh("docker -H " .. engine.host .. " " .. arguments))
  end

  await_ready()
  return engine
end

describe("an engine in trouble", function()
  if not helper.needs_engine() then
    pending("no engine here")
    return
  end

  local engine

  setup(function()
    engine = second_engine()
  end)

  teardown(function()
    engine.stop()
  end)

  local function session()
    return assert(sandbox.docker(helper.options({
      host = engine.host,
      limits = { timeout_ms = 60000 },
    })):create_session({}))
  end

  -- From now on; creating a session can take longer on a busy machine.
  local function limit(s, timeout_ms)
    s._limits.timeout_ms = timeout_ms
    s._life.timeout_ms = timeout_ms
  end

  -- After a failure it can be called again.
  local function destroyed(s, name)
    local gone, complaint
    pcall(helper.eventually, function()
      gone, complaint = s:destroy()
      return gone == true
    end, 20000)
    assert.is_true(gone, name .. ": " .. tostring(complaint))
  end

  -- An engine that was killed can list a container that it does not have any more.
  local function containers()
    local listed = engine.docker("ps -a -q --filter label=anvia.sandbox=true")
    local there = {}
    for _, id in ipairs(outside.lines(listed)) do
      local said = engine.docker("container inspect --format '{{.Id}}' " .. id)
      if not said:find("No such container", 1, true) then
        there[#there + 1] = said
      end
    end
    return table.concat(there)
  end

  local function left()
    return containers() .. engine.docker("volume ls -q --filter label=anvia.sandbox=true")
  end

  it("that hangs makes every call fail near its limit, and the session lives on", function()
    local s = session()
    assert(s:write_file("a.txt", "kept"))
    limit(s, 1500)
    engine.signal("STOP")
    local calls = {
      exec = function() return s:exec({ command = "true" }) end,
      read_file = function() return s:read_file("a.txt") end,
      write_file = function() return s:write_file("b.txt", "x") end,
      list_files = function() return s:list_files(".") end,
      start_process = function() return s:start_process({ command = "sleep", args = { "9" } }) end,
    }
    local failures = {}
    for name, call in pairs(calls) do
      local took, value, err = helper.timed(call)
      failures[name] = { took = took, value = value, err = err }
    end
    engine.signal("CONT")
    limit(s, 30000)
    for name, failure in pairs(failures) do
      assert.is_nil(failure.value, name)
      assert.is_true(failure.err.code == "timeout" or failure.err.code == "docker_unavailable",
        name .. ": " .. tostring(failure.err))
      assert.is_true(failure.took < 6000, name .. " took " .. failure.took)
    end
    helper.eventually(function()
      return s:read_file("a.txt") == "kept"
    end, 20000)
    -- what was given up did not happen afterwards, or not for long
    helper.eventually(function()
      return #assert(s:list_processes()) == 0
    end)
    assert(s:destroy())
    assert.are.equal("", left())
  end)

  it("that hangs makes destroy fail, and a second one ends everything", function()
    local s = session()
    limit(s, 1500)
    engine.signal("STOP")
    local took, ok, err = helper.timed(s.destroy, s)
    engine.signal("CONT")
    assert.is_nil(ok)
    assert.is_true(err.code == "timeout" or err.code == "docker_unavailable", tostring(err))
    assert.is_true(took < 20000, took)
    destroyed(s, "after a hang")
    assert.are.equal("", left())
  end)

  it("that dies gives an engine error with the output so far, and nothing is left", function()
    local s = session()
    local process = assert(s:start_process({ command = "sleep", args = { "600" } }))
    local said
    local task = sandbox.spawn(function()
      return s:exec({
        command = "sh",
        args = { "-c", "echo before; sleep 600; echo after" },
        on_stdout = function(data)
          said = data
        end,
      })
    end)
    helper.eventually(function()
      return said ~= nil
    end, 20000)
    engine.signal("KILL")
    local began = core.now_ms()
    local result, err = task:join()
    assert.is_nil(result)
    assert.are.equal("docker_unavailable", err.code)
    assert.are.equal("before\n", err.result.stdout)
    assert.is_true(core.now_ms() - began < 10000)

    local created, create_error = sandbox.docker(helper.options({ host = engine.host }))
      :create_session({})
    assert.is_nil(created)
    assert.are.equal("docker_unavailable", create_error.code)

    engine.restart()
    local _, later = s:exec({ command = "true" })
    assert.are.equal("session_destroyed", later.code)
    local info, info_error = s:process_info(process.id)
    assert.is_true(info == nil and info_error.code == "session_destroyed"
      or info.status ~= "running")
    assert(s:destroy())
    helper.eventually(function()
      return left() == ""
    end, 20000)
  end)

  -- What can be under way when the engine dies; each ends, in whatever way.
  local moments = {
    exec = function(s)
      return s:exec({ command = "sleep", args = { "0.2" } })
    end,
    start = function(s)
      return s:start_process({ command = "sleep", args = { "600" } })
    end,
    create = function(_, sb)
      return sb:create_session({})
    end,
    destroy = function(s)
      return s:destroy()
    end,
  }
  local CODES = { docker_unavailable = true, docker_command = true, session_destroyed = true,
    timeout = true, protocol = true }

  it("that dies in the middle of anything gives a clear error in time, 20 times", function()
    math.randomseed(4)
    local sb = sandbox.docker(helper.options({
      host = engine.host,
      limits = { timeout_ms = 8000 },
    }))
    for _ = 1, 5 do
      for name, moment in pairs(moments) do
        local s = session()
        limit(s, 8000)
        local task = sandbox.spawn(function()
          local value, err = moment(s, sb)
          return value, err, core.now_ms()
        end)
        sandbox.sleep(math.random(0, 250))
        local killed = core.now_ms()
        engine.signal("KILL")
        local value, err, at = task:join()
        assert.is_true(value ~= nil or CODES[err.code] == true, name .. ": " .. tostring(err))
        assert.is_true(at - killed < 20000, name .. " took " .. at - killed)
        engine.restart()
        for _, one in ipairs({ s, name == "create" and value or nil }) do
          destroyed(one, name)
        end
        assert(sb:prune())
        pcall(helper.eventually, function()
          return left() == ""
        end, 20000)
        assert.equal("", left(), name .. ": " .. tostring(err))
      end
    end
  end)
end)
