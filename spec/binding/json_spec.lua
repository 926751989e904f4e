-- SPDX-License-Identifier: MIT

local json = require("anvia.sandbox.json")
local core = require("anvia.sandbox.core")

describe("json.decode", function()
  it("gives the value of a text", function()
    assert.same({ a = { 1, 2.5, "x", true, false }, b = {} }, json.decode(
      ' {"a" : [1, 2.5, "x", true, false],\r\n\t"b": {}} '))
    assert.equal(json.null, json.decode("null"))
    assert.equal(json.null, json.decode("[null]")[1])
    assert.is_false(json.decode("false"))
    assert.equal("", json.decode('""'))
    assert.equal(0, json.decode("-0"))
    assert.equal(1e300, json.decode("1E+300"))
  end)

  it("keeps a NUL and every other escape (H105)", function()
    assert.equal("a\0b", json.decode([["a\u0000b"]]))
    assert.equal("\1", json.decode([["\u0001"]]))
    assert.equal("\0\1\0000\0011", json.decode([["\u0000\u0001\u00000\u00011"]]))
    assert.equal("\1n5", json.decode([["\u0001n5"]]))
    assert.same({ ["k\0"] = 1, ["\1"] = 2 }, json.decode([[{"k\u0000": 1, "\u0001": 2}]]))
    assert.equal('"\\/\b\f\n\r\tA', json.decode([["\"\\\/\b\f\n\r\t\u0041"]]))
    assert.equal("\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80",
      json.decode([["\u00e9\u20AC\ud83d\uDE00"]]))
    assert.equal("日本\127", json.decode('"日本\127"'))
  end)

  it("keeps every integer of 64 bits", function()
    for _, n in ipairs({ 0, 1, -1, 2 ^ 53 // 1 | 0, (1 << 53) + 1, -(1 << 53) - 1, math.maxinteger,
      math.mininteger, 1234567890123456789 }) do
      local value = json.decode(string.format("[%d]", n))[1]
      assert.equal(n, value)
      assert.equal("integer", math.type(value))
    end
    assert.equal("integer", math.type(json.decode("1.0")))
    assert.equal("float", math.type(json.decode("1.5")))
    local long = "0." .. ("1"):rep(200)
    assert.equal(tonumber(long), json.decode(long))
  end)

  it("refuses what is not JSON", function()
    for _, text in ipairs({ "", " ", "[1,]", "[,1]", "[1 2]", '{"a":1,}', '{"a"}', "{a:1}", "{1:2}",
      "{1234567890123456789:1}", "[1]]", "[1", "1 2", "nul", "nulll", "True", "'a'", "// x\n1",
      "01", "-", "+1", "1.", ".5", "1e", "0x10", "NaN", "Infinity", "-Infinity", "\0", "1\0",
      "[1\0]", "\xEF\xBB\xBF[]" }) do
      local value, err = json.decode(text)
      assert.is_nil(value, text)
      assert.equal("protocol", err.code)
      assert.truthy(tostring(err):find("^json.decode: protocol: invalid JSON"), tostring(err))
    end
  end)

  it("refuses strings that are not text", function()
    for text, complaint in pairs({
      ['"a\0b"'] = "control character",
      ['"a\nb"'] = "control character",
      ['"\xff"'] = "not UTF-8",
      ['"\xC0\x80"'] = "not UTF-8",
      ['"\xED\xA0\x80"'] = "not UTF-8",
      [ [["\ud800"]] ] = "half of a surrogate pair",
      [ [["\ud800\u0041"]] ] = "half of a surrogate pair",
      [ [["\udc00"]] ] = "half of a surrogate pair",
      [ [["\udc00\ud800"]] ] = "half of a surrogate pair",
      [ [["\uX000"]] ] = "four hex digits",
      [ [["\u12"]] ] = "four hex digits",
      [ [["\x41"]] ] = "unknown escape",
      [ [["\]] ] = "unknown escape",
      ['"abc'] = "without an end",
      ['{"a\xff":1}'] = "not UTF-8",
    }) do
      local value, err = json.decode(text)
      assert.is_nil(value)
      assert.truthy(err.message:find(complaint, 1, true), err.message)
    end
  end)

  it("refuses numbers that it could only round", function()
    for _, text in ipairs({ "9223372036854775808", "-9223372036854775809", ("9"):rep(400), "1e999",
      "-1e999", "1" .. ("0"):rep(80) .. ".0e300" }) do
      local value, err = json.decode(text)
      assert.is_nil(value)
      assert.truthy(err.message:find("out of range", 1, true), err.message)
    end
  end)

  it("refuses equal keys, also when they are written differently", function()
    for _, text in ipairs({ '{"a":1,"a":2}', [[{"a":1,"\u0061":1}]], '{"a":null,"a":null}' }) do
      local value, err = json.decode(text)
      assert.is_nil(value)
      assert.equal('invalid JSON: duplicate key "a"', err.message)
    end
  end)

  it("stops at a depth that no honest text has", function()
    assert.truthy(json.decode(("["):rep(128) .. ("]"):rep(128)))
    for _, text in ipairs({ ("["):rep(129) .. ("]"):rep(129), ("["):rep(1000000),
      ('{"a":'):rep(129) .. "1" .. ("}"):rep(129) }) do
      local value, err = json.decode(text)
      assert.is_nil(value)
      assert.truthy(err.message:find("nested too deep", 1, true))
    end
  end)

  it("refuses texts beyond 64 MiB", function()
    local value, err = json.decode((" "):rep(64 * 1024 * 1024 + 1))
    assert.is_nil(value)
    assert.equal("JSON text of more than 64 MiB", err.message)
  end)

  it("raises for what is no text at all", function()
    for _, wrong in ipairs({ 5, true, {} }) do
      local ok, message = pcall(json.decode, wrong)
      assert.is_false(ok)
      assert.truthy(message:find("json.decode needs a string", 1, true))
    end
  end)
end)

describe("json.encode", function()
  it("gives the same text for the same value", function()
    assert.equal('{"a":[1,2.5,"x"],"b":{"c":true,"d":false},"e":null}', json.encode({
      e = json.null, b = { d = false, c = true }, a = { 1, 2.5, "x" },
    }))
    assert.equal('"x"', json.encode("x"))
    assert.equal("false", json.encode(false))
    assert.equal("null", json.encode(json.null))
    assert.equal([["\"\\\n\t\u0000\u001f\u007f/"]], json.encode('"\\\n\t\0\31\127/'))
    assert.equal('"日本"', json.encode("日本"))
    assert.equal('{"":1,"A":2,"a":3,"é":4}', json.encode({ ["é"] = 4, a = 3, A = 2, [""] = 1 }))
  end)

  it("is exact for every number", function()
    assert.equal("[9223372036854775807,-9223372036854775808,9007199254740993]", json.encode({
      math.maxinteger, math.mininteger, (1 << 53) + 1,
    }))
    assert.equal("[3,-0.1,1e+300]", json.encode({ 3.0, -0.1, 1e300 }))
    for _, n in ipairs({ 0.1, 1 / 3, 5e-324, 1.7976931348623157e308, 2 ^ 60, 123456789.125 }) do
      assert.equal(n, json.decode(json.encode({ n }))[1])
    end
  end)

  it("does not let the locale into numbers", function()
    local old = os.setlocale(nil, "numeric")
    for _, name in ipairs({ "de_DE.UTF-8", "fr_FR.UTF-8", "de_DE" }) do
      os.setlocale(name, "numeric") -- where there is one
    end
    local text = json.encode({ 1.5, -2e-7 })
    local value = json.decode("[1.5]")[1]
    local long = json.decode("0." .. ("5"):rep(100))
    os.setlocale(old, "numeric")
    assert.equal("[1.5,-2e-07]", text)
    assert.equal(1.5, value)
    assert.is_true(long > 0.5 and long < 0.6)
  end)

  it("tells empty arrays from empty objects by a mark", function()
    assert.equal('{"a":[],"b":{}}', json.encode({ a = json.array(), b = {} }))
    assert.equal("[]", json.encode(json.array({})))
    assert.equal("[[],{}]", json.encode(json.decode("[[],{}]")))
    assert.is_true(json.is_array(json.decode("[]")))
    assert.is_true(json.is_array(json.array({ 1 })))
    for _, other in ipairs({ {}, json.decode("{}"), "x" }) do
      assert.is_false(json.is_array(other))
    end
    assert.has_error(function()
      json.array(setmetatable({}, {}))
    end)
  end)

  it("refuses what JSON cannot say", function()
    local cycle = {}
    cycle[1] = { cycle }
    local deep = {}
    for _ = 1, 128 do
      deep = { deep }
    end
    for _, case in ipairs({
      { cycle, "a table that contains itself" },
      { deep, "nested too deep" },
      { { 1, nil, 3 }, "an array with holes" },
      { { [2] = 1 }, "an array with holes" },
      { { [2 ^ 53] = 1 }, "an array with holes" },
      { json.array({ a = 1 }), "both string keys and array elements" },
      { { 1, a = 2 }, "both string keys and array elements" },
      { { [0] = 1 }, "neither a string nor a positive integer" },
      { { [1.5] = 1 }, "neither a string nor a positive integer" },
      { { [true] = 1 }, "neither a string nor a positive integer" },
      { { 0 / 0 }, "a number that is not finite" },
      { math.huge, "a number that is not finite" },
      { "\xff", "a string that is not UTF-8" },
      { { a = "\xED\xA0\x80" }, "a string that is not UTF-8" },
      { { ["\xff"] = 1 }, "a key that is not UTF-8" },
      { { ["a\0b"] = 1 }, "a key with a NUL byte" },
      { { print }, "a function" },
      { { io.stdout }, "userdata" },
      { { coroutine.create(print) }, "a thread" },
      { nil, "a nil" },
    }) do
      local text, err = json.encode(case[1])
      assert.is_nil(text)
      assert.equal("protocol", err.code)
      assert.truthy(err.message:find(case[2], 1, true), err.message)
    end
  end)

  it("encodes a table that is there twice, twice", function()
    local shared = { 1 }
    assert.equal("[[1],[1]]", json.encode({ shared, shared }))
  end)

  it("looks at the table itself, not at what its metatable makes of it", function()
    local t = setmetatable({ a = 1 }, {
      __index = { b = 2 },
      __pairs = function()
        error("not called")
      end,
    })
    assert.equal('{"a":1}', json.encode(t))
  end)

  it("survives random values both ways", function()
    math.randomseed(7)
    local function value(depth)
      local kind = math.random(depth > 4 and 4 or 6)
      if kind == 1 then
        return math.random(0)
      elseif kind == 2 then
        return math.random(-1000, 1000) / 8
      elseif kind == 3 then
        return ({ true, false, json.null })[math.random(3)]
      elseif kind == 4 then
        local bytes = {}
        for i = 1, math.random(0, 8) do
          bytes[i] = utf8.char(math.random(0, math.random(2) == 1 and 3 or 0xD7FF))
        end
        return table.concat(bytes)
      end
      local t = kind == 5 and json.array() or {}
      for i = 1, math.random(0, 5) do
        t[kind == 5 and i or "k" .. i] = value(depth + 1)
      end
      return t
    end
    for _ = 1, 500 do
      local v = { value(1) }
      local text = assert(json.encode(v))
      assert.same(v, json.decode(text))
      assert.equal(text, json.encode(json.decode(text)))
    end
  end)

  it("never reads beyond a text, at whatever byte it is cut", function()
    local text = [[{"a":[1,-2.5e3,"\u0000\ud83d\ude00x",true,null],"日":{}}]]
    assert.truthy(json.decode(text))
    for i = 0, #text - 1 do
      assert.is_nil(core.json_decode(text:sub(1, i)))
    end
    for i = 1, #text do
      for _, byte in ipairs({ 0, 1, 34, 92, 91, 125, 255 }) do
        core.json_decode(text:sub(1, i - 1) .. string.char(byte) .. text:sub(i + 1))
      end
    end
  end)
end)
