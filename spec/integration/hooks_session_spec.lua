-- SPDX-License-Identifier: MIT
local helper = require("spec.helper")
local outside = require("spec.support.outside")
local sandbox = require("anvia.sandbox")

describe("hooks", function()
  if not helper.engine(helper.BUSYBOX) then
    return
  end

  local events

  local function recorder(more)
    events = {}
    local hooks = {}
    for _, name in ipairs({ "on_session_create", "on_exec_start", "on_exec_end", "on_file_write",
      "on_destroy" }) do
      hooks[name] = function(event)
        event.name = name
        events[#events + 1] = event
      end
    end
    for name, hook in pairs(more or {}) do
      hooks[name] = hook
    end
    return hooks
  end

  local function names()
    local list = {}
    for i, event in ipairs(events) do
      list[i] = event.name
    end
    return list
  end

  it("are called in order, with what happened", function()
    local session = helper.session({ hooks = recorder() }, {
      manifest = { files = { m = "not told" } },
    })
    assert(session:exec({ command = "sh", args = { "-c", "exit 3" } }))
    assert(session:write_file("a/b", "data"))
    assert(session:read_file("a/b"))
    assert(session:destroy())
    assert(session:destroy())
    assert.same({ "on_session_create", "on_exec_start", "on_exec_end", "on_file_write",
      "on_destroy" }, names())
    for _, event in ipairs(events) do
      assert.equal(session.id, event.session_id)
      assert.equal("docker", event.provider)
      assert.equal("/workspace", event.workdir)
    end
    assert.same({ "-c", "exit 3" }, events[2].args)
    assert.equal("/workspace", events[2].cwd)
    assert.equal(3, events[3].result.exit_code)
    assert.equal("a/b", events[4].path)
    assert.equal(4, events[4].size)
  end)

  it("learn once of the end of a managed process, after its start", function()
    local session = helper.session({ hooks = recorder() })
    local info = assert(session:start_process({ command = "sh", args = { "-c", "exit 4" } }))
    assert(session:wait_process(info.id))
    helper.eventually(function() return #events == 3 end)
    assert.same({ "on_session_create", "on_exec_start", "on_exec_end" }, names())
    assert.equal(info.id, events[3].process_id)
    assert.equal(4, events[3].result.exit_code)

    info = assert(session:start_process({ command = "sleep", args = { "600" } }))
    assert(session:stop_process(info.id))
    helper.eventually(function() return #events == 5 end)
    assert.equal("stopped", events[5].result.status)

    assert(session:start_process({ command = "sleep", args = { "600" } }))
    assert(session:destroy())
    helper.eventually(function() return #events == 8 end)
    assert.equal("session_destroyed", events[7].error.code)
    assert.equal("on_destroy", events[8].name)

    assert.is_nil((session:start_process({ command = "true" })))
    sandbox.sleep(100)
    assert.equal(8, #events)
  end)

  it("learn of the end of a stream that was left", function()
    local session = helper.session({ hooks = recorder() })
    for event in assert(session:exec_stream({ command = "yes" })) do
      if event.data then
        break
      end
    end
    assert.equal("on_exec_end", events[3].name)
    assert.is_true(events[3].result.cancelled)
  end)

  it("that refuse a session leave none", function()
    local none, err = sandbox.docker(helper.options({
      hooks = { on_session_create = function() error("not here", 0) end },
    })):create_session({ workspace = { mode = "persistent", id = "anvia-test-hook" } })
    assert.is_nil(none)
    assert.equal("internal", err.code)
    assert.is_truthy(err.message:find("not here", 1, true))
    assert.equal(0, #outside.containers())
    assert.equal(0, #outside.volumes(true))
  end)

  it("that refuse a command let nothing run", function()
    local refused = false
    local session = helper.session({ hooks = recorder({
      on_exec_start = function() if refused then error("not that", 0) end end,
    }) })
    refused = true
    for _, method in ipairs({ "exec", "start_process", "exec_stream" }) do
      local value, err = session[method](session, { command = "touch", args = { "ran" } })
      assert.is_nil(value)
      assert.is_truthy(err.message:find("not that", 1, true))
    end
    refused = false
    assert.same({}, assert(session:list_files(".")))
    assert.same({}, assert(session:list_processes()))
    assert.same({ "on_session_create" }, names())
  end)

  it("that fail later change nothing, and are reported", function()
    local reported = {}
    local session
    session = helper.session({ hooks = {
      on_exec_end = function() error("late 1", 0) end,
      on_file_write = function() error("late 2", 0) end,
      on_destroy = function() error("late 3", 0) end,
      on_error = function(event)
        reported[#reported + 1] = event.hook .. ": " .. event.error
        error("even here")
      end,
    } })
    assert.equal(0, assert(session:exec({ command = "true" })).exit_code)
    assert.is_true(session:write_file("a", "b"))
    assert.is_true(session:destroy())
    assert.same({ "on_exec_end: late 1", "on_file_write: late 2", "on_destroy: late 3" }, reported)
  end)

  it("may call the session", function()
    local session, inner
    session = helper.session({ hooks = {
      on_exec_end = function(event)
        if event.command == "true" then
          inner = assert(session:exec({ command = "echo", args = { "inner" } })).stdout
        end
      end,
    } })
    assert(session:exec({ command = "true" }))
    assert.equal("inner\n", inner)
    local _, errs = sandbox.all({ function() return session:exec({ command = "true" }) end })
    assert.is_nil(errs)
  end)
end)
