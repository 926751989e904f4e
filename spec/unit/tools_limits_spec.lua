-- SPDX-License-Identifier: MIT
local errors = require("anvia.sandbox.errors")
local fake = require("spec.support.fake_session")
local tools = require("anvia.sandbox.tools")

local function exec_timeout(options, args, fields)
  local session = fake.new({ exec = fake.result() }, fields)
  local set = assert(tools.build(session, { exec = options }))
  args.command = "sleep"
  local result, err = set[1].call(args)
  local asked = session:last("exec")
  return asked and asked[2].timeout_ms, result, err
end

describe("the limits of a tool set", function()
  it("hold when the model leaves the value out", function()
    local cases = {
      { {}, 30000 },
      { { max_timeout_ms = 1000 }, 1000 },
      { { max_timeout_ms = 60000 }, 30000 },
      { { default_timeout_ms = 500, max_timeout_ms = 1000 }, 500 },
      { { default_timeout_ms = 300000 }, 300000 },
    }
    for _, case in ipairs(cases) do
      assert.equal(case[2], (exec_timeout(case[1], {})))
    end
  end)

  it("follow the session's own limit where that is known", function()
    local slow = { limits = { timeout_ms = 90000 } }
    assert.equal(90000, (exec_timeout({}, {}, slow)))
    assert.equal(1000, (exec_timeout({ max_timeout_ms = 1000 }, {}, slow)))
    assert.equal(300000, (exec_timeout({}, {}, { limits = { timeout_ms = 3600000 } })))
  end)

  it("refuse what is above them, and what is no time at all", function()
    local limit = { max_timeout_ms = 1000 }
    assert.equal(1000, (exec_timeout(limit, { timeoutMs = 1000 })))
    for _, value in ipairs({ 0, -1, 1001, 1e9, "1000", 0.5, math.huge, 0 / 0 }) do
      local asked, result, err = exec_timeout(limit, { timeoutMs = value })
      assert.is_nil(asked)
      assert.is_nil(result)
      assert.is_true(errors.is(err, "tool_policy"))
      assert.matches("'timeoutMs' must be an integer from 1 to 1000", err.message, 1, true)
    end
  end)

  it("bear on waiting and on the grace of a stop", function()
    local info = { id = "p", status = "stopped", command = "x", args = {} }
    local session = fake.new({ wait_for_port = fake.port, stop_process = info },
      { published_ports = { fake.port } })
    local set = assert(tools.build(session, {
      allow = { "wait_for_port", "stop_process" },
      process = { max_wait_timeout_ms = 700, stop_grace_period_ms = 0 },
    }))
    set:call({ name = "wait_for_port", arguments = { containerPort = 8000 } })
    assert.same({ timeout_ms = 700 }, session:last("wait_for_port")[3])
    set:call({ name = "stop_process", arguments = { processId = "p" } })
    assert.same({ grace_period_ms = 0 }, session:last("stop_process")[3])
    local result = set:call({ name = "wait_for_port",
      arguments = { containerPort = 8000, timeoutMs = 701 } })
    assert.is_true(result.isError)
  end)

  it("cap what a page, a log and a command bring", function()
    local session = fake.new({
      exec = fake.result(),
      read_text_page = { content = "", start_line = 1, end_line = 0 },
      read_process_logs = { stdout = "", stderr = "" },
    })
    local set = assert(tools.build(session, {
      allow = { "exec_command", "read_file", "read_process_logs" },
      exec = { max_output_bytes = 10 },
      read_file = { max_bytes = 20, max_line_count = 7 },
      process = { max_log_bytes = 30 },
    }))
    set[1].call({ command = "x" })
    assert.equal(10, session:last("exec")[2].max_output_bytes)
    set[2].call({ path = "x" })
    assert.same({ start_line = 1, line_count = 7, max_bytes = 20 },
      session:last("read_text_page")[3])
    set[3].call({ processId = "x" })
    assert.same({ tail_bytes = 30 }, session:last("read_process_logs")[3])
  end)

  it("do not raise the session's own cap on output", function()
    local session = fake.new({ exec = fake.result() }, { limits = { max_output_bytes = 100 } })
    assert(tools.build(session))[1].call({ command = "x" })
    assert.equal(100, session:last("exec")[2].max_output_bytes)
  end)
end)

describe("a call with NUL", function()
  it("is refused wherever a name is meant, and kept where content is", function()
    local session = fake.new({ exec = fake.result() }, { published_ports = { fake.port } })
    local set = assert(tools.build(session, { allow = tools.NAMES }))
    local calls = {
      { "exec_command", { command = "ls\0rm" } },
      { "exec_command", { command = "ls", args = { "a\0b" } } },
      { "exec_command", { command = "ls", cwd = "a\0b" } },
      { "exec_command", { command = "ls", env = { A = "a\0b" } } },
      { "exec_command", { command = "ls", env = { ["A\0B"] = "a" } } },
      { "read_file", { path = "ok.txt\0/../../etc/x" } },
      { "write_file", { path = "ok.txt\0/../../etc/x", content = "" } },
      { "list_files", { path = "a\0" } },
      { "start_process", { command = "ls\0rm" } },
      { "stop_process", { processId = "p\0" } },
      { "read_process_logs", { processId = "p\0" } },
    }
    for _, call in ipairs(calls) do
      local result = set:call({ name = call[1], arguments = call[2] })
      assert.is_true(result.isError)
      assert.same({}, session.calls)
    end
    set:call({ name = "write_file", arguments = { path = "a", content = "a\0b" } })
    assert.same({ "write_file", "a", "a\0b" }, session:last("write_file"))
  end)
end)
