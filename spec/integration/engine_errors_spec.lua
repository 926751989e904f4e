-- SPDX-License-Identifier: MIT
-- runner: both
local helper = require("spec.helper")
local outside = require("spec.support.outside")
local sandbox = require("anvia.sandbox")

-- A client that stands before the real one, with shell text that can change: what it
-- does before `exec docker "$@"`.
local function wrapped_client()
  local dir = os.tmpname()
  os.remove(dir)
  outside.sh("mkdir " .. dir)
  local client = { path = dir .. "/docker" }

  function client.before(text)
    local file = assert(io.open(dir .. "/new", "w"))
    file:write("#!/bin/sh\n" .. text .. '\nexec docker "$@"\n')
    file:close()
    outside.sh(string.format("chmod 755 %s/new && mv %s/new %s/docker", dir, dir, dir))
  end

  function client.remove()
    outside.sh("rm -rf " .. dir)
  end

  client.before("")
  return client
end

describe("an engine that is not there", function()
  if not helper.engine(helper.BUSYBOX) then
    return
  end

  local ENDPOINTS = {
    "export DOCKER_HOST=unix:///nonexistent",
    "export DOCKER_HOST=tcp://127.0.0.1:1",
    "export DOCKER_HOST=bogus://x",
    "unset DOCKER_HOST; export DOCKER_CONTEXT=nope",
  }

  it("is an engine error in every call, and the session goes on when it is back", function()
    local client = wrapped_client()
    finally(client.remove)
    local session = helper.session({ docker_path = client.path })
    assert(session:write_file("x", "kept"))
    local inside = {
      exec = function() return session:exec({ command = "true" }) end,
      start = function() return session:start_process({ command = "true" }) end,
      read = function() return session:read_file("x") end,
      write = function() return session:write_file("y", "z") end,
    }
    local other = {
      list = function() return sandbox.docker({ docker_path = client.path }):list() end,
      create = function()
        return sandbox.docker(helper.options({ docker_path = client.path })):create_session()
      end,
    }
    local function fails(name, endpoint, call)
      local took, value, err = helper.timed(call)
      assert.is_nil(value)
      assert.equal("docker_unavailable", err.code, name .. ", " .. endpoint)
      assert.is_true(took < 5000, took .. " ms")
    end
    for _, endpoint in ipairs(ENDPOINTS) do
      client.before(endpoint)
      for name, call in pairs(inside) do
        if session.runner == "supervisor" then
          assert(call()) -- its stream is open, and nothing else is needed
        else
          fails(name, endpoint, call)
        end
      end
      for name, call in pairs(other) do
        fails(name, endpoint, call)
      end
      client.before("")
      assert.equal("kept", assert(session:read_file("x")))
    end
    assert(session:destroy())
  end)

  it("makes destroy fail, and the second one remove everything", function()
    local client = wrapped_client()
    finally(client.remove)
    local told = 0
    local session = helper.session({
      docker_path = client.path,
      hooks = { on_destroy = function() told = told + 1 end },
    })
    client.before(ENDPOINTS[1])
    local ok, err = session:destroy()
    assert.is_nil(ok)
    assert.equal("docker_unavailable", err.code)
    assert.equal("destroy", err.op)
    client.before("")
    assert.is_true(session:destroy())
    assert.equal(1, told)
    assert.equal(0, #outside.containers())
    assert.equal(0, #outside.volumes())
  end)

  it("is found by whatever the environment says", function()
    local host = os.getenv("DOCKER_HOST")
    if not host then
      return
    end
    local config = os.tmpname()
    os.remove(config)
    outside.sh(string.format(
      "docker --config %s context create mine --docker host=%s", config, host))
    local name = os.tmpname()
    local file = assert(io.open(name, "w"))
    file:write([[
      local sandbox = require("anvia.sandbox")
      local session = assert(sandbox.docker({ image = arg[1], network = true,
        runner = os.getenv("SBX_RUNNER") }):create_session({ ports = { 8000 } }))
      assert(session:write_file("x", "y"))
      print(session:read_file("x"), session.published_ports[1].host)
      assert(session:destroy())]])
    file:close()
    local said = outside.sh(string.format("env -u DOCKER_HOST DOCKER_CONFIG=%s DOCKER_CONTEXT=mine "
      .. "%s %s %s", config, os.getenv("SBX_LUA") or "lua5.4", name, helper.BUSYBOX))
    os.remove(name)
    outside.sh("rm -rf " .. config)
    assert.equal("y\t127.0.0.1\n", said)
  end)
end)

describe("an engine whose client lies", function()
  if not helper.engine(helper.BUSYBOX) then
    return
  end

  it("cannot make a killed client look like success", function()
    local session = helper.session({ engine = "cli", runner = "exec" })
    local client = "docker exec -i anvia-sandbox-" .. session.id -- of this command alone
    for i, signal in ipairs({ "TERM", "INT", "KILL" }) do
      local seconds = tostring(800 + i)
      local result, err
      local running = sandbox.spawn(function()
        result, err = session:exec({ command = "sleep", args = { seconds } })
      end)
      helper.eventually(function()
        return helper.count(session, "[s]leep " .. seconds) == 1
      end)
      local killed
      helper.eventually(function() -- the client of the count may still be there
        killed = outside.processes_with(client)
        return #killed == 1
      end)
      outside.sh("kill -" .. signal .. " " .. killed[1]:match("%d+"))
      running:join()
      assert.is_nil(result)
      assert.equal("docker_command", err.code)
      assert.is_nil(err.result.exit_code)
      assert.is_true(helper.count(session, "[s]leep " .. seconds) == 0
        or err.message:find("may still be running", 1, true) ~= nil)
    end
    assert.equal(0, assert(session:exec({ command = "true" })).exit_code)
  end)

  it("cannot make a killed stream look like success", function()
    local session = helper.session({ engine = "cli", runner = "supervisor" })
    local process = assert(session:start_process({ command = "sleep", args = { "810" } }))
    local running = sandbox.spawn(session.exec, session,
      { command = "sh", args = { "-c", "echo before; sleep 811" }, timeout_ms = 60000 })
    helper.eventually(function()
      return helper.count(session, "[s]leep 811") >= 1
    end)
    local function signal(name)
      for _, client in ipairs(outside.processes_with("anvia-sandbox-" .. session.id)) do
        outside.sh("kill -" .. name .. " " .. client:match("%d+"))
      end
    end
    for _, name in ipairs({ "TERM", "INT" }) do -- passed on to PID 1, which does not mind
      signal(name)
      assert.equal(0, assert(session:exec({ command = "true" })).exit_code)
    end
    signal("KILL")
    local result, err = running:join()
    assert.is_nil(result)
    assert.is_true(err.code == "session_destroyed" or err.code == "docker_unavailable"
      or err.code == "docker_command", tostring(err))
    assert.is_nil(err.result.exit_code)
    assert.equal("before\n", err.result.stdout)
    local info = session:process_info(process.id)
    assert.is_true(info == nil or info.status ~= "running")
    assert.equal("session_destroyed", select(2, session:exec({ command = "true" })).code)
    helper.eventually(function() -- nobody holds the lease any more
      return #outside.containers() == 0
    end)
  end)

  it("is not waited for beyond the deadline, whatever holds its pipes", function()
    local dir = os.tmpname()
    os.remove(dir)
    outside.sh("mkdir " .. dir)
    finally(function() outside.sh("rm -rf " .. dir) end)
    local file = assert(io.open(dir .. "/docker", "w"))
    file:write('#!/bin/sh\ndocker "$@"\n') -- no exec: the real client is a grandchild
    file:close()
    outside.sh("chmod 755 " .. dir .. "/docker")
    local session = helper.session({ docker_path = dir .. "/docker" })
    local took, result = helper.timed(session.exec, session,
      { command = "sleep", args = { "9" }, timeout_ms = 1500 })
    assert.is_true(result.timed_out)
    assert.is_true(took < 3500, took .. " ms")
    assert(session:destroy())
  end)
end)

describe("an engine that answers late", function()
  if not helper.engine(helper.BUSYBOX) then
    return
  end

  it("leaves nothing when create has given up meanwhile", function()
    local client = wrapped_client()
    finally(client.remove)
    client.before('case $1 in run) sleep 2 ;; esac')
    local took, none, err = helper.timed(function()
      return sandbox.docker(helper.options({
        docker_path = client.path,
        limits = { timeout_ms = 1000 },
      })):create_session({ workspace = { mode = "persistent", id = "anvia-test-late" } })
    end)
    assert.is_nil(none)
    assert.equal("timeout", err.code)
    assert.is_true(took < 4000, took .. " ms")
    sandbox.sleep(4000)
    assert.equal(0, #outside.containers())
    assert.equal(0, #outside.volumes(true))
  end)

  it("leaves nothing when the program ended meanwhile, either", function()
    local client = wrapped_client()
    finally(client.remove)
    client.before('case $1 in run) sleep 2 ;; esac')
    local script = helper.script([[
      local sandbox = require("anvia.sandbox")
      print(sandbox.docker(require("spec.support.chosen").options({ image = arg[1],
        docker_path = arg[2], limits = { timeout_ms = 500 } })):create_session())]],
      helper.BUSYBOX, client.path)
    helper.eventually(function() return not script.alive() end, 20000)
    script.forget()
    helper.eventually(function()
      return #outside.containers() == 0 and #outside.volumes(true) == 0
        and #outside.processes_with(client.path) == 0
    end, 8000)
    sandbox.sleep(2000)
    assert.equal(0, #outside.containers())
  end)
end)
