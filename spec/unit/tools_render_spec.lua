-- SPDX-License-Identifier: MIT
local errors = require("anvia.sandbox.errors")
local fake = require("spec.support.fake_session")
local tools = require("anvia.sandbox.tools")

local PAGE = { content = "a\nb\n", start_line = 1, end_line = 2, truncated = false }

local function build(answers, options)
  answers = answers or {
    exec = fake.result({ stdout = "hi" }),
    read_text_page = PAGE,
  }
  return assert(tools.build(fake.new(answers), options))
end

-- Each provider's form of a call, and of its result.
local FORMS = {
  openai = {
    call = function(name, args)
      return { id = "c1", type = "function", ["function"] = { name = name, arguments = args } }
    end,
    result = function(text, failed)
      return { role = "tool", tool_call_id = "c1", content = failed and "error: " .. text or text }
    end,
  },
  openai_responses = {
    call = function(name, args)
      return { type = "function_call", call_id = "c1", name = name, arguments = args }
    end,
    result = function(text, failed)
      return { type = "function_call_output", call_id = "c1",
        output = failed and "error: " .. text or text }
    end,
  },
  anthropic = {
    call = function(name, args)
      return { type = "tool_use", id = "c1", name = name, input = args }
    end,
    result = function(text, failed)
      return { type = "tool_result", tool_use_id = "c1", content = text, is_error = failed }
    end,
  },
  mcp = {
    call = function(name, args)
      return { name = name, arguments = args }
    end,
    result = function(text, failed)
      return { content = { { type = "text", text = text } }, isError = failed }
    end,
  },
}

describe("a set of tools", function()
  it("shows itself in each provider's form", function()
    local set = build(nil, { allow = { "read_file", "exec_command" } })
    local exec, read = set[1], set[2]
    assert.same({
      { type = "function", ["function"] = { name = "exec_command",
        description = exec.description, parameters = exec.input_schema } },
      { type = "function", ["function"] = { name = "read_file",
        description = read.description, parameters = read.input_schema } },
    }, set:openai())
    assert.same({
      { type = "function", name = "exec_command", description = exec.description,
        parameters = exec.input_schema, strict = false },
      { type = "function", name = "read_file", description = read.description,
        parameters = read.input_schema, strict = false },
    }, set:openai_responses())
    assert.same({
      { name = "exec_command", description = exec.description, input_schema = exec.input_schema },
      { name = "read_file", description = read.description, input_schema = read.input_schema },
    }, set:anthropic())
    assert.same({
      { name = "exec_command", description = exec.description, inputSchema = exec.input_schema,
        annotations = { readOnlyHint = false } },
      { name = "read_file", description = read.description, inputSchema = read.input_schema,
        annotations = { readOnlyHint = true } },
    }, set:mcp())
  end)

  for name, form in pairs(FORMS) do
    it("answers a call of " .. name .. " in its form", function()
      local set = build()
      assert.same(form.result("exit_code: 0\n\nstdout:\nhi", false),
        set:call(form.call("exec_command", { command = "echo" })))
      assert.same(form.result("a.txt, lines 1 to 2\na\nb\n", false),
        set:call(form.call("read_file", { path = "a.txt" })))
    end)

    it("answers a wrong call of " .. name .. " with an error in its form", function()
      local set = build()
      assert.same(form.result("'command' is missing; send a string", true),
        set:call(form.call("exec_command", {})))
      assert.same(form.result("there is no tool 'execute'; the tools are exec_command, read_file, "
        .. "write_file, list_files", true), set:call(form.call("execute", {})))
    end)
  end

  it("answers with the message of a failure", function()
    local set = build({
      exec = function()
        return nil, errors.new("exec", "session_destroyed", "session fake-1 is destroyed")
      end,
    })
    assert.same(FORMS.mcp.result("session fake-1 is destroyed", true),
      set:call({ name = "exec_command", arguments = { command = "ls" } }))
  end)

  it("does not raise when the session does", function()
    local set = build({
      exec = function()
        error("broken")
      end,
    })
    local result = set:call({ name = "exec_command", arguments = { command = "ls" } })
    assert.is_true(result.isError)
    assert.matches("^internal error: .*broken$", result.content[1].text)
    assert.has_error(function() return (set[1].call({ command = "ls" })) end)
  end)

  it("returns an error for a table that is no call", function()
    local set = build()
    for _, call in ipairs({ 5, {}, { type = "text" }, { id = "x" } }) do
      local result, err = set:call(call)
      assert.is_nil(result)
      assert.is_true(errors.is(err, "protocol"))
    end
  end)

  it("takes a call without arguments for one without inputs", function()
    local set = build({ list_files = {} })
    assert.equal("The directory is empty.",
      set:call({ name = "list_files" }).content[1].text)
    assert.equal("The directory is empty.",
      set:call(FORMS.openai.call("list_files", "")).content)
  end)
end)

describe("the text of a page", function()
  local function shown(page)
    local set = build({ read_text_page = page })
    return set:call({ name = "read_file", arguments = { path = "a.txt" } }).content[1].text
  end

  it("says how to read on", function()
    assert.equal("a.txt, lines 1 to 500; more follows: read on with startLine 501\nx\n",
      shown({ content = "x\n", start_line = 1, end_line = 500, next_start_line = 501,
        truncated = true, truncated_by = "lines" }))
    assert.equal("a.txt, line 3; this line is longer than the limit and cut after 4 bytes; more "
      .. "may follow: read on with startLine 4\nxxxx", shown({ content = "xxxx", start_line = 3,
        end_line = 3, next_start_line = 4, next_start_byte = 4, truncated = true,
        truncated_by = "bytes" }))
  end)

  it("has a sentence for an empty one", function()
    assert.equal("a.txt is empty.", shown({ content = "", start_line = 1, end_line = 0 }))
    assert.equal("a.txt has no line 7.", shown({ content = "", start_line = 7, end_line = 6 }))
  end)

  it("says that bytes were replaced", function()
    assert.equal("a.txt, line 1. The file is not text: 1 byte is shown as U+FFFD.\n\u{FFFD}",
      shown({ content = "\255", start_line = 1, end_line = 1 }))
  end)
end)
