-- SPDX-License-Identifier: MIT
local errors = require("anvia.sandbox.errors")
local fake = require("spec.support.fake_session")
local sandbox = require("anvia.sandbox")
local tools = require("anvia.sandbox.tools")

local function session_with_ports()
  return fake.new(nil, { published_ports = { fake.port } })
end

local function names(set)
  local list = {}
  for i, tool in ipairs(set) do
    list[i] = tool.name
  end
  return list
end

local function refusal(options, session)
  local set, err = tools.build(session or session_with_ports(), options)
  assert.is_nil(set)
  assert.is_true(errors.is(err, "tool_policy"))
  return err.message
end

describe("sandbox.tools", function()
  it("builds four tools by default and all ten in their order", function()
    assert.same({ "exec_command", "read_file", "write_file", "list_files" },
      names(tools.build(fake.new())))
    local reversed = {}
    for i, name in ipairs(tools.NAMES) do
      reversed[#tools.NAMES + 1 - i] = name
    end
    assert.same(tools.NAMES, names(tools.build(session_with_ports(), { allow = reversed })))
    assert.same(tools.NAMES, names(tools.build(session_with_ports(), { include = reversed })))
    assert.same({ "exec_command", "read_file", "write_file", "list_files", "list_ports",
      "start_process", "list_processes", "read_process_logs", "stop_process", "wait_for_port" },
      tools.NAMES)
  end)

  it("returns a plain sequence of tables with four fields each", function()
    local set = tools.build(session_with_ports(), { allow = tools.NAMES })
    local count = 0
    for key, tool in pairs(set) do
      count = count + 1
      assert.equal(count, key)
      local fields = {}
      for field in pairs(tool) do
        fields[#fields + 1] = field
      end
      table.sort(fields)
      assert.same({ "call", "description", "input_schema", "name" }, fields)
      assert.is_function(tool.call)
      assert.equal("object", tool.input_schema.type)
      assert.is_false(tool.input_schema.additionalProperties)
    end
    assert.equal(10, count)
  end)

  it("has the inputs that models know, with their limits", function()
    local set = tools.build(session_with_ports(), { allow = tools.NAMES })
    local inputs, required = {}, {}
    for _, tool in ipairs(set) do
      local list = {}
      for name in pairs(tool.input_schema.properties) do
        list[#list + 1] = name
      end
      table.sort(list)
      inputs[tool.name] = table.concat(list, " ")
      required[tool.name] = table.concat(tool.input_schema.required or {}, " ")
    end
    assert.same({
      exec_command = "args command cwd env input timeoutMs",
      read_file = "lineCount path startLine",
      write_file = "content path",
      list_files = "path",
      list_ports = "",
      start_process = "args command cwd env",
      list_processes = "",
      read_process_logs = "processId tailBytes",
      stop_process = "processId",
      wait_for_port = "containerPort timeoutMs",
    }, inputs)
    assert.same({
      exec_command = "command",
      read_file = "path",
      write_file = "path content",
      list_files = "",
      list_ports = "",
      start_process = "command",
      list_processes = "",
      read_process_logs = "processId",
      stop_process = "processId",
      wait_for_port = "containerPort",
    }, required)
    assert.equal(300000, set[1].input_schema.properties.timeoutMs.maximum)
    assert.equal(2000, set[2].input_schema.properties.lineCount.maximum)
    assert.equal(65536, set[8].input_schema.properties.tailBytes.maximum)
    assert.equal(300000, set[10].input_schema.properties.timeoutMs.maximum)
  end)

  it("shows the limits of its options in the schemas", function()
    local set = tools.build(session_with_ports(), {
      allow = tools.NAMES,
      exec = { max_timeout_ms = 1000 },
      read_file = { max_line_count = 10000 },
      process = { max_log_bytes = 1048576, max_wait_timeout_ms = 2000 },
    })
    assert.equal(1000, set[1].input_schema.properties.timeoutMs.maximum)
    assert.equal(10000, set[2].input_schema.properties.lineCount.maximum)
    assert.equal(1048576, set[8].input_schema.properties.tailBytes.maximum)
    assert.equal(2000, set[10].input_schema.properties.timeoutMs.maximum)
  end)

  it("refuses policies that contradict themselves", function()
    local cases = {
      { { exec = { default_timeout_ms = 2000, max_timeout_ms = 1000 } },
        "exec.default_timeout_ms (2000) is above exec.max_timeout_ms (1000)" },
      { { process = { default_wait_timeout_ms = 2, max_wait_timeout_ms = 1 } },
        "process.default_wait_timeout_ms (2) is above process.max_wait_timeout_ms (1)" },
      { { read_file = { default_line_count = 2001 } },
        "read_file.default_line_count (2001) is above read_file.max_line_count (2000)" },
      { { exec = { allowed_commands = { "ls", "rm" }, blocked_commands = { "rm" } } },
        "'rm' is in exec.allowed_commands and in exec.blocked_commands" },
      { { exec = { allowed_commands = { "/bin/rm" }, blocked_commands = { "rm" } } },
        "exec.allowed_commands has '/bin/rm', but exec.blocked_commands has 'rm', which is the "
          .. "same program" },
      { { exec = { allowed_commands = {} } },
        "exec.allowed_commands is empty: no command could ever run; leave exec_command and "
          .. "start_process out of allow, or leave the list out to admit every command" },
      { { allow = {} }, "allow is empty: there would be no tool" },
      { { include = {} }, "include is empty: there would be no tool" },
      { { allow = { "read_file" }, include = { "list_files" } },
        "allow and include are two names for one option, and they differ" },
      { { allow = { "read_file" }, include = { "read_file", "list_files" } },
        "allow and include are two names for one option, and they differ" },
      { { allow = { "execute" } }, "there is no tool 'execute'; the tools are "
        .. table.concat(tools.NAMES, ", ") },
    }
    for _, case in ipairs(cases) do
      assert.equal(case[2], refusal(case[1]))
    end
  end)

  it("accepts allow and include when both say the same", function()
    assert.same({ "read_file", "list_files" }, names(tools.build(fake.new(), {
      allow = { "list_files", "read_file", "read_file" },
      include = { "read_file", "list_files" },
    })))
  end)

  it("refuses port and process tools for a session without", function()
    assert.equal("list_ports needs a session with published ports; create the session with `ports` "
      .. "or leave the tool out", refusal({ allow = { "list_ports" } }, fake.new()))
    assert.matches("^wait_for_port needs", refusal({ allow = { "wait_for_port" } }, fake.new()))
    local session = session_with_ports()
    session.start_process = nil
    assert.equal("stop_process needs a session that manages processes; leave the tool out",
      refusal({ allow = { "stop_process" } }, session))
  end)

  it("raises for options of the wrong kind, at the caller's line", function()
    local session = fake.new()
    local cases = {
      { { alow = {} }, "unknown option 'alow'" },
      { { exec = { timeout_ms = 1 } }, "unknown option 'exec.timeout_ms'" },
      { { exec = { max_timeout_ms = 300001 } }, "'exec.max_timeout_ms' must be an integer" },
      { { exec = { max_timeout_ms = 0 } }, "'exec.max_timeout_ms' must be an integer" },
      { { exec = { default_timeout_ms = "5" } }, "'exec.default_timeout_ms' must be an integer" },
      { { exec = { blocked_commands = { "git push" } } }, "the name or path of one program" },
      { { exec = { allowed_commands = "ls" } }, "'exec.allowed_commands' must be a list" },
      { { read_file = { max_bytes = 1048577 } }, "'read_file.max_bytes' must be an integer" },
      { { read_file = { max_line_count = 10001 } }, "'read_file.max_line_count' must be an" },
      { { process = { max_log_bytes = 1048577 } }, "'process.max_log_bytes' must be an integer" },
      { { process = { max_wait_timeout_ms = 300001 } }, "'process.max_wait_timeout_ms' must be" },
      { { process = { stop_grace_period_ms = -1 } }, "'process.stop_grace_period_ms' must be" },
      { { write_file = { max_bytes = -1 } }, "'write_file.max_bytes' must be an integer" },
      { { on_ask = true }, "'on_ask' must be a function" },
      { { policy = "deny" }, "'policy' must be a loaded policy" },
      { 5, "options must be a table" },
    }
    for _, case in ipairs(cases) do
      local line = debug.getinfo(1, "l").currentline + 1
      local ok, message = pcall(function() return (tools.build(session, case[1])) end)
      assert.is_false(ok)
      assert.matches("tools_build_spec.lua:" .. line .. ": tools: ", message, 1, true)
      assert.matches(case[2], message, 1, true)
    end
    local line = debug.getinfo(1, "l").currentline + 1
    local _, message = pcall(function() return (sandbox.tools(session, { alow = {} })) end)
    assert.matches("tools_build_spec.lua:" .. line .. ": tools: unknown option", message, 1, true)
    assert.has_error(function() return (tools.build({})) end)
    assert.has_error(function() return (tools.build()) end)
  end)

  it("does not write into the caller's options", function()
    local options = { allow = { "read_file" }, exec = {}, read_file = { max_bytes = 5 } }
    tools.build(fake.new(), options)
    assert.same({ allow = { "read_file" }, exec = {}, read_file = { max_bytes = 5 } }, options)
  end)

  it("keeps the session behind a tool out of sight", function()
    local session = fake.new()
    local tool = tools.build(session)[1]
    assert.equal(session, tools.session(tool))
    assert.equal(session, sandbox.tool_session(tool))
    assert.is_nil(tools.session({}))
    assert.is_nil(getmetatable(tool))
  end)
end)
