-- SPDX-License-Identifier: MIT
local text = require("anvia.sandbox.tools.text")

describe("text.clean", function()
  it("leaves valid UTF-8 alone", function()
    for _, bytes in ipairs({ "", "abc", "日本語", "😀\n\t\r" }) do
      local clean, replaced = text.clean(bytes)
      assert.equal(bytes, clean)
      assert.equal(0, replaced)
    end
  end)

  it("replaces and counts each byte that is not text", function()
    local cases = {
      { "a\0b\255c", "a\u{FFFD}b\u{FFFD}c", 2 },
      { "\255", "\u{FFFD}", 1 },
      { "日\230\151", "日\u{FFFD}\u{FFFD}", 2 },
      { "\237\160\128", "\u{FFFD}\u{FFFD}\u{FFFD}", 3 }, -- a surrogate
      { "\192\128", "\u{FFFD}\u{FFFD}", 2 }, -- an overlong NUL
      { "\244\144\128\128x", ("\u{FFFD}"):rep(4) .. "x", 4 }, -- above U+10FFFF
      { "\0\0", "\u{FFFD}\u{FFFD}", 2 },
    }
    for _, case in ipairs(cases) do
      local clean, replaced = text.clean(case[1])
      assert.equal(case[2], clean)
      assert.equal(case[3], replaced)
    end
  end)

  it("makes any bytes valid", function()
    local bytes = {}
    for i = 1, 5000 do
      bytes[i] = string.char((i * 7919 + i * i) % 256)
    end
    local clean, replaced = text.clean(table.concat(bytes))
    assert.is_number(utf8.len(clean))
    assert.is_nil(clean:find("\0", 1, true))
    assert.is_true(replaced > 0)
  end)
end)

describe("text.block", function()
  it("puts a stream under its label without white space at the end", function()
    assert.equal("stdout:\n  a\nb", (text.block("stdout", "  a\nb \n\n")))
    assert.is_nil((text.block("stdout", " \n")))
  end)

  it("shows where bytes are missing and how many", function()
    assert.equal("stdout:\nhead\n[... 1 byte left out here ...]\ntail",
      (text.block("stdout", "head\ntail\n", { at = 5, bytes = 1 })))
    assert.equal("stdout:\nab\n[... 1234 bytes left out here ...]",
      (text.block("stdout", "ab", { at = 2, bytes = 1234 })))
    assert.equal("stdout:\n[... 7 bytes left out here ...]\nab",
      (text.block("stdout", "ab", { at = 0, bytes = 7 })))
    assert.equal("stderr:\n[... 7 bytes left out here ...]",
      (text.block("stderr", "", { at = 0, bytes = 7 })))
  end)

  it("trims a megabyte of blanks in linear time", function()
    local before = os.clock()
    text.block("stdout", (" "):rep(2 ^ 20) .. "x" .. (" "):rep(2 ^ 20))
    assert.is_true(os.clock() - before < 5)
  end)
end)

describe("text.name", function()
  it("keeps a name on one line and lets a model name it", function()
    local cases = {
      { "src/a b.txt", "src/a b.txt" },
      { "日本.txt", "日本.txt" },
      { "a\nb", '"a\\nb"' },
      { "a\tb\1", '"a\\tb\\u0001"' },
      { 'say "hi"\\', '"say \\"hi\\"\\\\"' },
      { "back\\slash", "back\\slash" },
      { "", '""' },
      { "a\255", "a\u{FFFD} (the name is not UTF-8)" },
    }
    for _, case in ipairs(cases) do
      assert.equal(case[2], text.name(case[1]))
    end
  end)
end)

describe("text.command_line", function()
  it("quotes what needs it and stays on one line", function()
    assert.equal("python3 -m http.server 8000",
      text.command_line("python3", { "-m", "http.server", "8000" }))
    assert.equal("sh -c 'echo it'\\''s; x'", text.command_line("sh", { "-c", "echo it's; x" }))
    assert.equal("printf '' 'a b'", text.command_line("printf", { "", "a\nb" }))
  end)

  it("shortens a long one at a whole character", function()
    local line = text.command_line("echo", { ("日"):rep(1000) })
    assert.is_true(#line < 420)
    assert.is_number(utf8.len(line))
    assert.matches(" %.%.%.$", line)
  end)
end)
