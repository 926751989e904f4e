-- SPDX-License-Identifier: MIT
local policy = require("anvia.sandbox.policy")

--- Every policy in the guide, with the line it begins at.
local function policies()
  local found = {}
  local line, inside = 0, nil
  for text in io.lines("lua/anvia/sandbox/policy/GUIDE.md") do
    line = line + 1
    if text == "```lua" then
      inside = { line = line, lines = {} }
    elseif text == "```" and inside then
      if inside.lines[1] == "-- policy" then found[#found + 1] = inside end
      inside = nil
    elseif inside then
      inside.lines[#inside.lines + 1] = text
    end
  end
  return found
end

describe("the guide", function()
  local list = policies()

  it("has policies", function() assert.is_true(#list >= 6) end)

  for _, example in ipairs(list) do
    it("has one at line " .. example.line .. " that loads", function()
      local made, err = policy.load(table.concat(example.lines, "\n"), { text = true })
      assert.is_nil(err)
      assert.is_nil(made.error)
    end)
  end
end)
