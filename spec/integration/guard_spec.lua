-- SPDX-License-Identifier: MIT
local errors = require("anvia.sandbox.errors")
local helper = require("spec.helper")
local guard = require("anvia.sandbox.guard")
local sandbox = require("anvia.sandbox")

local POLICY = [[
  default "allow"
  deny { exec = "rm", because = "nothing is removed here", instead = "leave it" }
  deny { write = "**/.env" }
  deny { read = "secret/**" }
  deny { tool = "stop_process" }
]]

local function bind(options)
  local session = helper.session(nil, { manifest = { files = {
    ["secret/key"] = "k",
    [".env"] = "A=b",
    ["keep"] = "x",
  } } })
  local policy = assert(sandbox.policy.load(POLICY, { text = true }))
  return guard.bind(session, policy, options), session
end

local function refused(result, err)
  assert.is_nil(result)
  assert.is_true(errors.is(err, "tool_policy"), tostring(err))
  return err.message
end

helper.describe("a session on an engine, behind a policy", { helper.BUSYBOX }, function()
  it("does what is allowed", function()
    local guarded = bind()
    assert.equal("hi\n", assert(guarded:exec({ command = "echo", args = { "hi" } })).stdout)
    assert.is_true(guarded:write_file("a/b", "data"))
    assert.equal("data", guarded:read_file("a/b"))
    assert.equal("data", guarded:read_text_page("a/b").content)
    assert.equal("file", guarded:stat("a/b").type)
    assert.is_true(guarded:rename("a/b", "a/c"))
    assert.equal(1, #guarded:list_files("a"))
    assert.is_true(guarded:remove("a/c"))
    assert.is_true(guarded:mkdir("d"))
    local events = {}
    for event in guarded:exec_stream({ command = "echo", args = { "hi" } }) do
      events[#events + 1] = event.type
    end
    assert.same({ "stdout", "exit" }, events)
    assert.is_true(guarded:touch())
    assert.is_true(guarded:destroy())
    assert.equal("session_destroyed", select(2, guarded:exec({ command = "ls" })).code)
  end)

  it("is what create_session returns when it is given a policy", function()
    local asked = {}
    local policy = assert(sandbox.policy.load(POLICY .. 'ask { exec = "true" }', { text = true }))
    local session = helper.session(nil, {
      policy = policy,
      on_ask = function(request)
        asked[#asked + 1] = request.text
        return "once"
      end,
    })
    refused(session:exec({ command = "rm", args = { "x" } }))
    assert.equal(0, assert(session:exec({ command = "true" })).exit_code)
    assert.equal(1, #asked)
    assert.is_nil(session._core)
    assert.has_error(function()
      helper.session(nil, { policy = "allow everything" })
    end)
  end)

  it("refuses what is not, on every path", function()
    local guarded, session = bind()
    local rm = { command = "sh", args = { "-c", "rm keep" } }
    assert.matches("nothing is removed here", refused(guarded:exec(rm)), 1, true)
    assert.matches("Instead: leave it", refused(guarded:exec_stream(rm)), 1, true)
    refused(guarded:start_process(rm))
    refused(guarded:exec({ command = "sh", input = "rm keep\n" }))
    refused(guarded:write_file(".env", "x"))
    refused(guarded:remove(".env"))
    refused(guarded:rename(".env", "x"))
    refused(guarded:rename("keep", ".env"))
    refused(guarded:mkdir("a/.env"))
    refused(guarded:read_file("secret/key"))
    refused(guarded:read_text_page("secret/key"))
    refused(guarded:stat("secret/key"))
    refused(guarded:rename("secret/key", "open"))
    assert.equal("x", session:read_file("keep"))
    assert.equal("A=b", session:read_file(".env"))
  end)

  it("refuses commands that are written to a shell", function()
    local guarded, session = bind()
    local info = assert(guarded:start_process({ command = "cat", stdin = true }))
    assert(guarded:write_process(info.id, "rm keep\n"))
    info = assert(session:start_process({ command = "sh", stdin = true }))
    assert(guarded:write_process(info.id, "echo up\nr"))
    refused(guarded:write_process(info.id, "m keep\n"))
    helper.eventually(function()
      return session:read_process_logs(info.id).stdout == "up\n"
    end)
    refused(guarded:stop_process(info.id))
    refused(guarded:signal_process(info.id, "KILL"))
    refused(guarded:close_process_stdin(info.id))
    assert.equal("running", guarded:process_info(info.id).status)
    assert.equal("x", session:read_file("keep"))
  end)

  it("ends a stream that is closed early", function()
    local guarded, session = bind()
    local stream = guarded:exec_stream({ command = "sh", args = { "-c", "echo a; sleep 71" } })
    assert.same({ type = "stdout", data = "a\n" }, stream:next())
    stream:close()
    helper.eventually(function()
      return helper.count(session, "[s]leep 71") == 0
    end)
  end)

  it("is one that tools can be built for", function()
    local guarded = bind()
    local tools = assert(sandbox.tools(guarded, { exec = { max_timeout_ms = 1000 } }))
    assert.matches("hi", (tools[1].call({ command = "echo", args = { "hi" } })))
    refused(tools[1].call({ command = "rm", args = { "keep" } }))
    refused(tools[2].call({ path = "secret/key" }))
    assert.equal(guarded, sandbox.tool_session(tools[1]))
  end)
end)
