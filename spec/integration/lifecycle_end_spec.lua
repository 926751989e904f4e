-- SPDX-License-Identifier: MIT
local core = require("anvia.sandbox.core")
local helper = require("spec.helper")
local outside = require("spec.support.outside")
local sandbox = require("anvia.sandbox")

local function container_exists(session)
  return outside.sh("docker ps -aq --no-trunc --filter name=anvia-sandbox-" .. session.id) ~= ""
end

describe("destroy", function()
  if not helper.engine(helper.BUSYBOX, helper.DEBIAN) then
    return
  end

  for _, image in ipairs(helper.IMAGES) do
    it("removes container and volume before it returns: " .. image, function()
      local session = helper.session({ image = image })
      assert.equal(1, #outside.containers())
      assert.equal(1, #outside.volumes())
      assert.is_true(session:destroy())
      assert.equal(0, #outside.containers())
      assert.equal(0, #outside.volumes())
      assert.is_true(session:destroy())
    end)
  end

  it("is one removal for all who call it", function()
    local told = 0
    local session = helper.session({ hooks = { on_destroy = function() told = told + 1 end } })
    local function destroy()
      local ok, err = session:destroy()
      return { ok, err, not container_exists(session) and #outside.volumes() == 0 }
    end
    local results = sandbox.all({ destroy, destroy, function()
      outside.sh("docker rm -f anvia-sandbox-" .. session.id)
      return destroy()
    end })
    for i = 1, 3 do
      assert.same({ true, nil, true }, results[i])
    end
    assert.same({ true, nil, true }, destroy())
    assert.equal(1, told)
  end)

  it("ends whatever is pending, at once", function()
    local late, destroyed, printed = {}, false, false
    local ended_after
    local session = helper.session({ image = helper.DEBIAN, network = true }, { ports = { 8000 } })
    local function record(name, fn)
      return function()
        local took, value, err = helper.timed(fn)
        return { name = name, took = took, value = value, err = err }
      end
    end
    local process = assert(session:start_process({ command = "sleep", args = { "600" } }))
    local start = core.now_ms()
    local results = sandbox.all({
      record("exec", function()
        return session:exec({ command = "sleep", args = { "30" } })
      end),
      record("callback", function()
        return session:exec({
          command = "sh",
          args = { "-c", "echo partial; while :; do echo x; sleep 0.05; done" },
          on_stdout = function()
            printed = true
            late[#late + 1] = destroyed or nil
          end,
        })
      end),
      record("stream", function()
        local last
        for event in assert(session:exec_stream({ command = "sleep", args = { "30" } })) do
          last = event
        end
        return nil, last.error
      end),
      record("wait", function()
        return session:wait_process(process.id, { timeout_ms = 30000 })
      end),
      record("port", function()
        return session:wait_for_port(8000)
      end),
      function()
        helper.eventually(function() return printed end)
        sandbox.sleep(200)
        ended_after = core.now_ms() - start
        assert(session:destroy())
        destroyed = true
        return true
      end,
    })
    for i = 1, 5 do
      local result = results[i]
      assert.is_nil(result.value, result.name)
      assert.equal("session_destroyed", result.err.code, result.name)
      assert.is_true(result.took - ended_after < 2000, result.name)
    end
    assert.is_truthy(results[2].err.result.stdout:find("^partial\n"))
    sandbox.sleep(200)
    assert.same({}, late)
    for _, method in ipairs({ "exec", "exec_stream", "start_process" }) do
      local value, err = session[method](session, { command = "true" })
      assert.is_nil(value)
      assert.equal("session_destroyed", err.code)
    end
    local value, err = session:read_file("x")
    assert.is_nil(value)
    assert.equal("session_destroyed", err.code)
  end)

  it("is not needed when the container was removed by somebody else", function()
    local session = helper.session()
    sandbox.spawn(function()
      sandbox.sleep(400)
      outside.sh("docker rm -f anvia-sandbox-" .. session.id)
    end)
    local took, value, err = helper.timed(session.exec, session,
      { command = "sh", args = { "-c", "echo partial; sleep 30" } })
    assert.is_nil(value)
    assert.equal("session_destroyed", err.code)
    assert.equal("partial\n", err.result.stdout)
    assert.is_true(took < 3000, took .. " ms")
    assert.is_true(session:destroy())
  end)

  it("of one session leaves another with the same id alone", function()
    local first = helper.session(nil, { id = "anvia-test-dup" })
    assert(first:write_file("mine", "x"))
    local none, err = sandbox.docker(helper.options()):create_session({ id = "anvia-test-dup" })
    assert.is_nil(none)
    assert.equal("docker_command", err.code)
    assert.is_truthy(err.message:find("in use", 1, true))
    assert.equal("x", assert(first:read_file("mine")))
    -- The first one's container is gone, and its name belongs to a second one.
    outside.sh("docker rm -f anvia-sandbox-anvia-test-dup")
    local second = helper.session(nil, { id = "anvia-test-dup" })
    assert(first:destroy())
    assert.equal(0, assert(second:exec({ command = "true" })).exit_code)
  end)
end)

describe("a session ends by itself", function()
  if not helper.engine(helper.BUSYBOX) then
    return
  end

  it("when its time to live is over, also during a command", function()
    local told
    local session = helper.session({
      lifecycle = { ttl_ms = 2000 },
      hooks = { on_destroy = function(event) told = event end },
    })
    local took, value, err = helper.timed(session.exec, session,
      { command = "sh", args = { "-c", "echo start; sleep 4; echo done" }, timeout_ms = 8000 })
    assert.is_nil(value)
    assert.equal("session_destroyed", err.code)
    assert.equal("start\n", err.result.stdout)
    assert.is_truthy(err.message:find("time to live", 1, true))
    assert.is_true(took < 3600, took .. " ms")
    helper.eventually(function()
      return not container_exists(session) and told
    end)
    assert.equal("ttl", told.reason)
    assert.is_true(session:destroy())
  end)

  it("for every kind of operation that is under way", function()
    local session = helper.session({ image = helper.BUSYBOX, network = true,
      lifecycle = { ttl_ms = 1500 } }, { ports = { 8000 } })
    local _, errs = sandbox.all({
      function() return session:wait_for_port(8000) end,
      function()
        local info = assert(session:start_process({ command = "sleep", args = { "60" } }))
        return session:wait_process(info.id)
      end,
      function()
        while true do
          local ok, err = session:write_file("x", ("x"):rep(1000000))
          if not ok then
            return nil, err
          end
        end
      end,
    })
    for i = 1, 3 do
      assert.equal("session_destroyed", errs[i].code)
    end
  end)

  it("when it was idle for too long, and not before", function()
    local session = helper.session({ lifecycle = { idle_timeout_ms = 1500 } })
    for _ = 1, 5 do
      sandbox.sleep(400)
      assert(session:touch())
    end
    assert.equal(0, assert(session:exec({ command = "sleep", args = { "2" } })).exit_code)
    local info = assert(session:start_process({ command = "sleep", args = { "60" } }))
    sandbox.sleep(2500)
    assert.equal("running", assert(session:list_processes())[1].status)
    assert(session:stop_process(info.id))
    helper.eventually(function()
      return not container_exists(session)
    end)
    local value, err = session:exec({ command = "true" })
    assert.is_nil(value)
    assert.equal("session_destroyed", err.code)
    assert.is_truthy(err.message:find("idle", 1, true))
  end)

  it("not while several commands overlap or a stream is read", function()
    local session = helper.session({ lifecycle = { idle_timeout_ms = 500 } })
    local fns = {}
    for i = 1, 5 do
      fns[i] = function()
        return session:exec({ command = "sleep", args = { tostring(0.3 * i) } })
      end
    end
    local _, errs = sandbox.all(fns)
    assert.is_nil(errs)
    local last
    for event in assert(session:exec_stream({ command = "sh",
      args = { "-c", "for i in 1 2 3 4; do echo $i; sleep 0.4; done" } })) do
      last = event
    end
    assert.equal("exit", last.type)
  end)

  it("at a time that no clock overflows", function()
    for _, ttl in ipairs({ 30 * 86400 * 1000, 2 ^ 31 - 1, 2 ^ 31, 2 ^ 53 }) do
      local session = helper.session({ lifecycle = { ttl_ms = ttl, idle_timeout_ms = ttl } })
      sandbox.sleep(300)
      assert.equal(0, assert(session:exec({ command = "true", timeout_ms = ttl })).exit_code)
      assert(session:destroy())
    end
    for _, ttl in ipairs({ 1.5, -1, 0 }) do
      assert.has.errors(function() sandbox.docker({ lifecycle = { ttl_ms = ttl } }) end)
    end
  end)
end)

describe("a session nobody holds", function()
  if not helper.engine(helper.BUSYBOX) then
    return
  end

  it("is removed after the collector has found it", function()
    local id = sandbox.docker(helper.options()):create_session().id
    helper.eventually(function()
      collectgarbage()
      return not container_exists({ id = id })
    end)
  end)

  it("stays where that was asked for, until the program ends", function()
    local script = helper.script([[
      local sandbox = require("anvia.sandbox")
      local sb = sandbox.docker(require("spec.support.chosen").options({
        image = arg[1], lifecycle = { auto_destroy = false } }))
      print(assert(sb:create_session()).id)
      for _ = 1, 5 do collectgarbage() sandbox.sleep(100) end
      print(#sb:list())]], helper.BUSYBOX)
    helper.eventually(function() return not script.alive() end, 15000)
    assert.is_truthy(script.output():find("\n[1-9]%d*\n$"), script.output())
    script.forget()
  end)

  it("is closed at the end of its block", function()
    local id
    do
      local session <close> = assert(sandbox.docker(helper.options()):create_session())
      id = session.id
    end
    assert.is_false(container_exists({ id = id }))
  end)
end)

describe("the end of the program", function()
  if not helper.engine(helper.BUSYBOX) then
    return
  end

  local CREATE = [[
    local sandbox = require("anvia.sandbox")
    local sb = sandbox.docker(require("spec.support.chosen").options({ image = arg[1],
      hooks = { on_destroy = function(event) print("destroyed " .. event.session_id) end } }))
    local session = assert(sb:create_session({ workspace = {
      mode = "persistent", id = "anvia-test-exit", destroy_on_session_destroy = true } }))
    local other = assert(sb:create_session())
    session:start_process({ command = "sleep", args = { "600" } })
    print("id " .. session.id)
  ]]

  local function run(rest)
    local script = helper.script(CREATE .. rest, helper.BUSYBOX)
    helper.eventually(function() return not script.alive() end, 20000)
    local said = script.output()
    script.forget()
    assert.is_truthy(said:find("^id %x+\n"), said)
    return said
  end

  it("ends its sessions, with their volumes and hooks", function()
    local said = run("")
    assert.is_truthy(said:find("destroyed " .. said:match("id (%x+)"), 1, true), said)
    assert.same({}, outside.volumes(true))
  end)

  it("also by an error or by os.exit with a closed state", function()
    run("error('bad')")
    assert.same({}, outside.volumes(true))
    run("os.exit(3, true)")
    assert.same({}, outside.volumes(true))
  end)

  it("also by os.exit at once, but for the persistent volume", function()
    run("os.exit(3)")
    helper.eventually(function() return #outside.containers() == 0 end)
    assert.equal(1, #outside.volumes(true))
    outside.clean()
  end)

  it("does not take long", function()
    local plain = helper.timed(run, "assert(session:destroy() and other:destroy())")
    local took = helper.timed(run, "")
    assert.is_true(took < 2 * plain + 1000, took .. " of " .. plain)
  end)
end)
