-- SPDX-License-Identifier: MIT
local options = require("anvia.sandbox.options")

-- A function of the library, as far as options.check can tell.
local function call(check, value)
  local copy = options.check("call", check, value)
  return copy
end

local function complaint(check, value)
  local ok, message = pcall(call, options.record({ x = check }), { x = value })
  return not ok and message or nil
end

describe("options", function()
  it("raise at the line of the caller", function()
    local line = debug.getinfo(1, "l").currentline + 1
    local ok, message = pcall(function() call(options.record({}), { zap = 1 }) end)
    assert.is_false(ok)
    assert.is_truthy(message:find("options_spec.lua:" .. line .. ": call: unknown option 'zap'",
      1, true))
  end)

  it("name what was probably meant", function()
    local check = options.record({ timeout_ms = options.integer(1), command = options.string() })
    local _, message = pcall(call, check, { timeout = 1 })
    assert.is_truthy(message:find("unknown option 'timeout' (did you mean 'timeout_ms'?)", 1, true))
    _, message = pcall(call, check, { comand = "x" })
    assert.is_truthy(message:find("did you mean 'command'?", 1, true))
  end)

  it("refuse whatever is not a sensible time", function()
    local time = options.integer(1)
    for _, bad in ipairs({ 0, -5, 0 / 0, 0.5, "10", math.huge, -math.huge, true, {}, 2 ^ 54 }) do
      assert.is_string(complaint(time, bad), tostring(bad))
    end
    for _, good in ipairs({ 1, 1.0, 1e12, 2 ^ 31, 2 ^ 53 }) do
      assert.is_nil(complaint(time, good))
    end
  end)

  it("make integers of floats with an integral value", function()
    local copy = call(options.record({ x = options.integer(1) }), { x = 5.0 })
    assert.equal("integer", math.type(copy.x))
  end)

  it("refuse NUL bytes where C would end the string", function()
    assert.is_truthy(complaint(options.string(), "a\0b"):find("NUL", 1, true))
    assert.is_nil(complaint(options.string({ nul = true }), "a\0b"))
  end)

  it("name the item of a list, the key of a map and the field of a record", function()
    assert.is_truthy(complaint(options.list(options.string()), { "a", 2 }):find("'x[2]'", 1, true))
    assert.is_truthy(complaint(options.map(options.string(), options.boolean), { k = 1 })
      :find("'x.k'", 1, true))
    assert.is_truthy(complaint(options.record({ y = options.boolean }), { y = 1 })
      :find("'x.y'", 1, true))
  end)

  it("refuse lists with holes or names", function()
    assert.is_string(complaint(options.list(options.string()), { "a", nil, "c" }))
    assert.is_string(complaint(options.list(options.string()), { "a", n = 1 }))
  end)

  it("never write to what the caller passed in", function()
    local given = { list = { "a" } }
    local check = options.record({
      list = options.list(options.string()),
      more = { options.list(options.string()), default = {} },
      size = { options.integer(1), default = 3 },
    })
    local copy = call(check, given)
    copy.list[1], copy.more[1] = "b", "c"
    assert.same({ list = { "a" } }, given)
    assert.same({}, call(check, {}).more)
    assert.equal(3, copy.size)
  end)

  it("say that a required field is missing", function()
    local check = options.record({ x = { options.string(), required = true } })
    local _, message = pcall(call, check, {})
    assert.is_truthy(message:find("option 'x' is required", 1, true))
  end)

  it("say what the words of a choice are", function()
    local message = complaint(options.one_of({ "a", true }), "b")
    assert.is_truthy(message:find('one of "a", true', 1, true))
  end)
end)
