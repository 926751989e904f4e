-- SPDX-License-Identifier: MIT
local core = require("anvia.sandbox.core")
local errors = require("anvia.sandbox.errors")
local fake = require("spec.support.fake_session")
local tools = require("anvia.sandbox.tools")

local function build(answers)
  local session = fake.new(answers or { exec = fake.result({ stdout = "hi" }), list_files = {} },
    { published_ports = { fake.port } })
  return assert(tools.build(session, { allow = tools.NAMES })), session
end

local function refusal(json)
  local set, session = build()
  local result, err = set[1].call(json)
  assert.is_nil(result)
  assert.is_true(errors.is(err, "tool_policy"))
  assert.same({}, session.calls)
  return err.message
end

describe("arguments as JSON", function()
  it("mean what the same table means", function()
    local set, session = build()
    assert.equal("exit_code: 0\n\nstdout:\nhi", set[1].call(
      [[{"command":"ls","args":["-l",""],"env":{"A":"b"},"timeoutMs":1e3,"input":"a\u0000b"}]]))
    local asked = session:last("exec")[2]
    assert.equal("ls", asked.command)
    assert.equal("-l", asked.args[1])
    assert.equal("", asked.args[2])
    assert.equal("b", asked.env.A)
    assert.equal("1000", tostring(asked.timeout_ms))
    assert.equal("a\0b", asked.input)
  end)

  it("may be missing where nothing is required", function()
    local set = build()
    for _, json in ipairs({ "{}", "", " \n" }) do
      assert.equal("The directory is empty.", set[4].call(json))
    end
  end)

  it("are refused when they are no JSON object", function()
    assert.equal("the arguments must be one JSON object, not null", refusal("null"))
    assert.equal("the arguments must be one JSON object, not an array", refusal("[1]"))
    assert.equal("the arguments must be one JSON object, not the number 5", refusal("5"))
    for _, json in ipairs({ "{", "{\"command\":\"ls\"} x", "{\"command\":\"\\uX000\"}",
      "{\"command\":\"\\ud800\"}", "{command:\"ls\"}", "{\"command\":\"a\",\"command\":\"b\"}",
      ("["):rep(100000), "{\"command\":\"\255\"}" }) do
      assert.matches("^the arguments are not valid JSON %(.*%); send one JSON object$",
        refusal(json))
    end
  end)

  it("are refused for null and NUL", function()
    assert.equal("'args' must be an array of strings, for example [\"-l\", \"src\"], not null; "
      .. "leave it out instead", refusal("{\"command\":\"ls\",\"args\":null}"))
    assert.equal("'command' must be a string, not null", refusal("{\"command\":null}"))
    assert.equal("'command' contains a NUL byte; send it without",
      refusal("{\"command\":\"ls\\u0000rm\"}"))
    assert.matches("^'env' has the name 'A%?B'",
      refusal("{\"command\":\"ls\",\"env\":{\"A\\u0000B\":\"x\"}}"))
  end)
end)

describe("a set of tools as JSON", function()
  it("can be sent to a provider as it is", function()
    local set = build()
    for _, form in ipairs({ "openai", "openai_responses", "anthropic", "mcp" }) do
      local json = assert(core.json_encode(set[form](set)))
      assert.equal(10, #core.json_decode(json))
    end
    local ports = assert(core.json_encode(set[5].input_schema))
    assert.equal("{\"additionalProperties\":false,\"properties\":{},\"type\":\"object\"}", ports)
  end)

  it("answers with results that are valid JSON whatever was printed", function()
    local bytes = {}
    for i = 0, 255 do
      bytes[i + 1] = string.char(i)
    end
    local set = build({ exec = fake.result({ stdout = table.concat(bytes) }) })
    local result = set:call({ name = "exec_command", arguments = "{\"command\":\"x\"}" })
    local again = core.json_decode(assert(core.json_encode(result)))
    assert.equal(result.content[1].text, again.content[1].text)
    assert.matches("output_lossy: true", again.content[1].text, 1, true)
  end)
end)
