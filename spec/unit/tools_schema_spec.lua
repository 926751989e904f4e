-- SPDX-License-Identifier: MIT
local schema = require("anvia.sandbox.tools.schema")

local NODE = {
  type = "object",
  required = { "command" },
  additionalProperties = false,
  properties = {
    command = { type = "string", minLength = 1 },
    args = { type = "array", items = { type = "string" }, maxItems = 3 },
    env = { type = "object", additionalProperties = { type = "string" }, maxProperties = 2 },
    timeoutMs = { type = "integer", minimum = 1, maximum = 300000 },
    input = { type = "string" },
  },
}

local function refusal(value, bytes)
  local copy, message = schema.check(NODE, value, bytes)
  assert.is_nil(copy)
  return message
end

describe("the check of a tool's inputs", function()
  it("says what to send instead", function()
    local array = 'an array of strings, for example ["-l", "src"]'
    local range = "'timeoutMs' must be an integer from 1 to 300000, not "
    local cases = {
      { {}, "'command' is missing; send a string" },
      { { command = "" }, "'command' must not be empty" },
      { { command = 7 }, "'command' must be a string, not the number 7; send it in quotes" },
      { { command = true }, "'command' must be a string, not the boolean true" },
      { { command = io.stdout }, "'command' must be a string, not null" },
      { { command = "a", cwd = "b" },
        "unknown input 'cwd'; the inputs are command, args, env, input, timeoutMs" },
      { { command = "a", timeout = 5 }, "unknown input 'timeout'; did you mean 'timeoutMs'?" },
      { { command = "a", timeout_ms = 5 },
        "unknown input 'timeout_ms'; did you mean 'timeoutMs'?" },
      { { command = "a", args = "-l" }, "'args' must be " .. array
        .. ', not the string "-l"; send one array element per argument' },
      { { command = "a", args = { a = "b" } }, "'args' must be " .. array .. ", not an object" },
      { { command = "a", args = { "x", 5 } },
        "'args[1]' must be a string, not the number 5; send it in quotes" },
      { { command = "a", args = { "x", { "y" } } },
        "'args[1]' must be a string, not an array" },
      { { command = "a", args = io.stdout }, "'args' must be " .. array
        .. ", not null; leave it out instead" },
      { { command = "a", args = { "1", "2", "3", "4" } },
        "'args' has 4 items; at most 3 are taken" },
      { { command = "a", env = { "A=1" } },
        "'env' must be an object of strings, for example {\"NAME\": \"value\"}, not an array" },
      { { command = "a", env = { A = 1 } },
        "'env.A' must be a string, not the number 1; send it in quotes" },
      { { command = "a", env = { ["A-B"] = "x" } },
        "'env' has the name 'A-B'; a name has letters, digits and underscores and does not start "
          .. "with a digit" },
      { { command = "a", env = { ["A\0B"] = "x" } },
        "'env' has the name 'A?B'; a name has letters, digits and underscores and does not start "
          .. "with a digit" },
      { { command = "a", env = { A = "", B = "", C = "" } },
        "'env' has 3 names; at most 2 are taken" },
      { { command = "a", timeoutMs = "1000" },
        range .. 'the string "1000"; send the number without quotes' },
      { { command = "a", timeoutMs = 0 }, range .. "the number 0" },
      { { command = "a", timeoutMs = -1 }, range .. "the number -1" },
      { { command = "a", timeoutMs = 300001 }, range .. "the number 300001" },
      { { command = "a", timeoutMs = 1.5 }, range .. "the number 1.5" },
      { { command = "a", timeoutMs = math.huge }, range .. "the number inf" },
      { { "a" }, "the arguments must be one JSON object, not an array" },
      { "a", 'the arguments must be one JSON object, not the string "a"' },
      { 5, "the arguments must be one JSON object, not the number 5" },
    }
    for _, case in ipairs(cases) do
      assert.equal(case[2], refusal(case[1]))
    end
  end)

  it("refuses NaN, whatever its sign is", function()
    assert.matches("must be an integer from 1 to 300000", refusal({ command = "a",
      timeoutMs = 0 / 0 }), 1, true)
  end)

  it("refuses NUL in every input but those that may carry it", function()
    local text = " contains a NUL byte; send it without"
    assert.equal("'command'" .. text, refusal({ command = "ls\0rm" }))
    assert.equal("'args[0]'" .. text, refusal({ command = "ls", args = { "\0" } }))
    assert.equal("'env.A'" .. text, refusal({ command = "ls", env = { A = "b\0c" } }))
    assert.equal("'input'" .. text, refusal({ command = "ls", input = "a\0b" }))
    local copy = schema.check(NODE, { command = "ls", input = "a\0b" }, { input = 3 })
    assert.equal("a\0b", copy.input)
    assert.equal("'input' has 4 bytes; at most 3 are taken",
      refusal({ command = "ls", input = "a\0bc" }, { input = 3 }))
  end)

  it("refuses what Linux could not pass as one argument", function()
    assert.equal("'args[0]' has 131072 bytes; at most 131071 are taken",
      refusal({ command = "ls", args = { ("x"):rep(131072) } }))
    assert.is_table(schema.check(NODE, { command = "ls", args = { ("x"):rep(131071) } }))
  end)

  it("returns a copy that later changes do not reach", function()
    local given = { command = "ls", args = { "a" }, env = { A = "b" }, timeoutMs = 5000.0 }
    local copy = schema.check(NODE, given)
    given.args[1], given.env.A = "changed", "changed"
    assert.same({ command = "ls", args = { "a" }, env = { A = "b" }, timeoutMs = 5000 }, copy)
    assert.equal("5000", tostring(copy.timeoutMs))
  end)

  it("reads raw values, not what a metatable shows", function()
    local given = setmetatable({ command = "ls" }, { __index = { args = { "x" } } })
    assert.same({ command = "ls" }, schema.check(NODE, given))
  end)

  it("is not moved by a value that contains itself", function()
    local given = { command = "ls" }
    given.args = { given }
    given[1] = nil
    assert.equal("'args[0]' must be a string, not an object", refusal(given))
  end)

  it("names a stranger in one short line", function()
    assert.equal("unknown input 'a?" .. ("b"):rep(35) .. "...'; the inputs are command, args, env, "
      .. "input, timeoutMs", refusal({ command = "a", ["a\n" .. ("b"):rep(1000)] = 1 }))
  end)
end)
