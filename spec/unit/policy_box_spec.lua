-- SPDX-License-Identifier: MIT
local core_box = require("anvia.sandbox.core").box
local policy = require("anvia.sandbox.policy")

local CALL = { tool = "list_processes" }

--- What loading says, and how long it took.
local function try(source, limits)
  local start = os.clock()
  local made, err = policy.load(source, { name = "hostile.lua", text = true, limits = limits })
  return made, err and err.message, os.clock() - start
end

--- What a predicate with this body answers.
local function judge(body, limits)
  local made, err = policy.load("rule(\"hostile\", function(call)\n" .. body .. "\nend)",
    { name = "hostile.lua", text = true, limits = limits })
  assert.is_nil(err)
  local start = os.clock()
  return made:judge(CALL), os.clock() - start
end

-- Each spends a budget, at load time and in a predicate.
local BOMBS = {
  { "an endless loop", "while true do end", "instructions" },
  { "a loop made with goto", "::again:: goto again", "instructions" },
  { "a numeric loop", "for _ = 1, 1e15 do end", "instructions" },
  { "endless recursion in tail position", "local function f() return f() end f()", "instructions" },
  { "tables without end", "local t = {} while true do t = { t, t, t, t, t, t, t, t } end",
    "instructions" },
  { "one table that grows", "local t = {} while true do t[#t + 1] = {t} t[#t + 1] = 'x' .. #t end",
    nil },
  { "a string that doubles", "local s = 'x' while true do s = s .. s end", "memory" },
  { "string.rep", "local s = ('x'):rep(1e9)", "memory" },
  { "string.rep with a separator", "local s = ('x'):rep(1e5, ('y'):rep(1e5))", "memory" },
  { "deep recursion", "local function f() return 1 + f() end f()", nil },
  { "table.concat", "local s = ('x'):rep(1e6) local t = {} for i = 1, 100 do t[i] = s end "
    .. "t = table.concat(t)", "memory" },
  { "string.format", "local s = ('x'):rep(1e6) s = ('%s'):rep(100):format(table.unpack((function() "
    .. "local t = {} for i = 1, 100 do t[i] = s end return t end)()))", "memory" },
  { "pcall around a loop", "while pcall(function() while true do end end) do end", "instructions" },
  { "pcall in pcall in a loop", "while true do pcall(pcall, pcall, function() while true do end "
    .. "end) end", "instructions" },
  { "pcall around an allocation", "while true do pcall(string.rep, 'x', 1e9) end", "memory" },
  { "a pattern that backtracks", "(('a'):rep(30)):find(('a?'):rep(30) .. ('a'):rep(30))",
    "instructions" },
  { "a pattern with four wildcards", "(('a'):rep(5000)):match('.-.-.-.-b')", "instructions" },
  { "gsub over a long text", "(('ab'):rep(1e5)):gsub('a-b', '%0%0')", nil },
  { "gmatch without end", "for _ in (('a'):rep(1e6)):gmatch('') do end", "instructions" },
  { "sort that never ends", "local t = {} for i = 1, 1e5 do t[i] = i end "
    .. "while true do table.sort(t, function(a, b) return a > b end) end", "instructions" },
  { "long strings turned over and over", "local s = ('x'):rep(4e6) while true do s:upper() end",
    "time" },
  { "next over a table that was emptied", "local t = {} for i = 1, 3e5 do t[i] = 1 end "
    .. "for i = 1, 3e5 do t[i] = nil end while true do next(t) end", nil },
}

describe("the box of a policy", function()
  for _, case in ipairs(BOMBS) do
    it("refuses " .. case[1] .. " while it loads", function()
      local made, message, seconds = try(case[2])
      assert.is_truthy(message, "it loaded")
      if case[3] then
        assert.is_truthy(message:find("budget", 1, true) or message:find("too large", 1, true),
          message)
      end
      assert.is_true(seconds < 5)
      assert.equal("deny", made:judge(CALL).answer)
    end)

    it("denies a call for " .. case[1] .. " in a predicate", function()
      local verdict, seconds = judge(case[2])
      assert.equal("deny", verdict.answer)
      assert.is_truthy(verdict.because:find("hostile.lua:1", 1, true), verdict.because)
      assert.is_true(seconds < 2)
    end)
  end

  it("names the budget that was spent", function()
    local message = select(2, try("while true do end"))
    assert.equal("hostile.lua: used more than its budget of 10000000 instructions", message)
    message = select(2, try("local s = 'x' while true do s = s .. s end"))
    assert.equal("hostile.lua: used more than its budget of 16777216 bytes of memory", message)
    message = select(2, try("local s = ('x'):rep(4e6) while true do s:upper() end",
      { load_cpu_ms = 50 }))
    assert.equal("hostile.lua: used more than its budget of 50 ms of processor time", message)
  end)

  it("does not hang in string.rep of nothing", function()
    local made, message = try("local s = (''):rep(1e15, '') deny { exec = 'rm' }")
    assert.is_nil(message)
    assert.is_nil(made.error)
  end)

  it("stays usable after a predicate spent its budget", function()
    local made = policy.load("rule('r', function(call) if call.id then while true do end end end)")
    assert.equal("deny", made:judge({ tool = "list_processes", id = "1" }).answer)
    assert.equal("allow", made:judge(CALL).answer)
  end)

  describe("has no", function()
    for _, name in ipairs {
      "io", "os", "debug", "require", "package", "load", "loadstring", "loadfile", "dofile",
      "collectgarbage", "getmetatable", "setmetatable", "rawset", "rawget", "rawequal", "rawlen",
      "coroutine", "xpcall", "print", "warn", "_G", "keep", "near", "glob", "call", "bit32",
    } do
      it(name, function()
        local _, message = try("local x = " .. name)
        assert.is_truthy(message:find("hostile.lua:1: unknown word '" .. name .. "'", 1, true),
          message)
      end)
    end

    for _, name in ipairs { "string.dump", "string.pack", "string.unpack", "table.move",
      "math.random", "math.randomseed" } do
      it(name, function()
        local made, message = try("if " .. name .. " then error('there it is') end")
        assert.is_nil(message)
        assert.is_nil(made.error)
      end)
    end
  end)

  it("does not touch the host's strings, whatever a policy does to its own", function()
    try("for name in pairs(string) do string[name] = function() return 'owned' end end "
      .. "string.upper = nil table.insert = nil")
    try("(''):format().x = 1")
    assert.equal("ABC", ("abc"):upper())
    assert.equal("function", type(table.insert))
  end)

  it("cannot be reached from another policy", function()
    try("secret = 'x' string.secret = 'y'")
    local made, message = try("if string.secret then error('shared') end")
    assert.is_nil(message)
    assert.is_nil(made.error)
    message = select(2, try("local x = secret"))
    assert.is_truthy(message:find("unknown word 'secret'", 1, true))
  end)

  it("takes bytecode for what it is", function()
    local _, message = try(string.dump(function() return 1 end))
    assert.is_truthy(message:find("binary", 1, true), message)
  end)

  it("refuses source that is too long", function()
    local _, message = try(("-"):rep(600 * 1024))
    assert.equal("hostile.lua: larger than 524288 bytes", message)
  end)

  it("reports an error value that is no text, and runs nothing of it", function()
    for _, value in ipairs { "{}", "nil", "function() while true do end end", "true" } do
      local _, message = try("error(" .. value .. ")")
      assert.equal("hostile.lua: an error value that is no text", message)
    end
    local verdict = judge("error({})")
    assert.equal("deny", verdict.answer)
  end)

  it("cuts long error messages", function()
    local _, message = try("error(('x'):rep(1e6))")
    assert.is_true(#message < 2000)
  end)

  it("gives predicates copies", function()
    local made = policy.load([[
      rule("changes", function(call)
        call.args[1] = "changed"
        call.commands[1].argv[1] = "changed"
        call.tool = "changed"
        call.spent.exec.calls = -100
      end)
      rule("looks", function(call)
        if call.args[1] ~= "x" or call.commands[1].argv[1] ~= "true" or call.tool ~= "exec_command"
          or call.spent.exec.calls ~= 0 then
          return deny("a copy was shared")
        end
        return allow()
      end)]])
    local call = { tool = "exec_command", command = "true", args = { "x" } }
    local verdict = made:judge(call)
    assert.equal("allow", verdict.answer, verdict.text)
    assert.same({ tool = "exec_command", command = "true", args = { "x" } }, call)
  end)

  it("denies when a predicate answers nonsense", function()
    for _, value in ipairs { "true", "1", "\"yes\"", "{}", "{ answer = 'maybe' }",
      "{ answer = 1 }" } do
      local verdict = judge("return " .. value)
      assert.equal("deny", verdict.answer, value)
      assert.is_truthy(verdict.because:find("it answered", 1, true), verdict.because)
    end
    assert.equal("deny", judge("return print").answer)
    assert.equal("deny", judge("return function() end").answer)
  end)

  it("does not let a predicate declare", function()
    local verdict = judge("allow { exec = '*' }")
    assert.equal("deny", verdict.answer)
    assert.is_truthy(verdict.because:find("takes the reason as text", 1, true), verdict.because)
    assert.equal("deny", judge("default 'allow'").answer)
  end)
end)

describe("patterns inside the box", function()
  -- The matcher is written anew, so it must agree with the one it stands for.
  local CASES = {
    { "hello world", "o w" }, { "hello", "l+" }, { "hello", "(h)(.)" }, { "hello", "()ll()" },
    { "key = value", "^(%w+)%s*=%s*(%w+)$" }, { "  trim  ", "^%s*(.-)%s*$" }, { "abc", "b", 3 },
    { "abc", "", 4 }, { "abc", "", 5 }, { "abc", "c$" }, { "a.b", "a%.b" }, { "a$b", "a$b" },
    { "[x]", "%[(.)%]" }, { "]", "[]]" }, { "^", "[%^]" }, { "a-z", "[a%-z]+" }, { "abc", "[^a]+" },
    { "f(a(b)c)d", "%b()" }, { "THE (quick) fox", "%f[%a]%a+%f[%A]" }, { "abab", "(ab)%1" },
    { "aXb", "%u" }, { "x\0y", "%z" }, { "caf\195\169", "[\128-\255]+" }, { "aaa", "a-" },
    { "aaab", "a-b" }, { "aaa", "a?a?a?a?" }, { "12ab", "%d*" }, { "", "^$" }, { "abc", "^b", 2 },
    { "abc", "b", -2 }, { "a\nb", "a.b" }, { "/usr/bin/x", "([^/]+)$" }, { "x", "[%a_][%w_]*" },
    { "0x1F", "%x+", 3 }, { "a,b,,c", "([^,]*)" }, { "%", "%%" }, { "a+b", "a+b", 1, true },
  }

  local function run_inside(source)
    local box = core_box.new { memory_bytes = 16777216, instructions = 10000000, cpu_ms = 1000 }
    for _, name in ipairs { "patterns", "strings" } do
      local path = package.searchpath("anvia.sandbox.policy.inside." .. name, package.path)
      assert(box:define(name, string.dump(assert(loadfile(path)), true)))
    end
    assert(box:define("test", string.dump(assert(load(source)))))
    assert(box:setup("strings"))
    return box:setup("test")
  end

  local function pack(ok, ...)
    return { ok = ok, n = select("#", ...), ... }
  end

  local function both(expression)
    local source = "local string = ... and (...).string or string return " .. expression
    local inside = pack(run_inside(source))
    local outside = pack(pcall(assert(load(source))))
    return inside, outside
  end

  for i, case in ipairs(CASES) do
    for _, name in ipairs { "find", "match" } do
      it(("agrees on string.%s(%q, %q) [%d]"):format(name, case[1], case[2], i), function()
        local inside, outside = both(("string.%s(%q, %q, %s, %s)"):format(name, case[1], case[2],
          tostring(case[3]), tostring(case[4])))
        assert.same(outside, inside)
      end)
    end
    it(("agrees on string.gsub(%q, %q, '<%%0>') [%d]"):format(case[1], case[2], i), function()
      local inside, outside = both(("string.gsub(%q, %q, '<%%0>')"):format(case[1], case[2]))
      assert.same(outside, inside)
    end)
    it(("agrees on string.gmatch(%q, %q) [%d]"):format(case[1], case[2], i), function()
      local inside, outside = both(("(function() local out = {} for a, b in string.gmatch(%q, %q) "
        .. "do out[#out + 1] = tostring(a) .. '|' .. tostring(b) end return table.concat(out, ',') "
        .. "end)()"):format(case[1], case[2]))
      assert.same(outside, inside)
    end)
  end

  for _, expression in ipairs {
    "string.gsub('abc', '%w', { a = 'x', b = false, c = 7 })",
    "string.gsub('abc', '(%w)', function(c) if c ~= 'b' then return c:upper() end end)",
    "string.gsub('abc def', '(%w+) (%w+)', '%2 %1')", "string.gsub('abc', 'b', '%%')",
    "string.gsub('aaa', 'a', 'b', 2)", "string.gsub('', '', 'x')", "string.gsub('abc', '', '-')",
    "string.gsub('hello', 'l*', 'x')", "string.gsub('abc', '^a', 'x')", "string.rep('ab', 3, ',')",
    "string.rep('x', 0)", "string.rep('x', -1)", "string.find('a.b', '.', 2, true)",
    "('x'):rep(3):find('xx', 2)", "string.find(12345, 34)",
  } do
    it("agrees on " .. expression, function()
      local inside, outside = both(expression)
      assert.same(outside, inside)
    end)
  end

  it("refuses what the real one refuses", function()
    for _, expression in ipairs { "('x'):find('[')", "('x'):find('%')", "('x'):find('(')",
      "('x'):match(')')", "('x'):find('%b')", "('x'):find('%f')", "('x'):find('%1')",
      "('x'):gsub('x', '%9')", "('x'):find()", "('x'):find({})", "('x'):gsub('x', function() "
      .. "return {} end)" } do
      local inside, outside = both(expression)
      assert.is_falsy(outside.ok)
      assert.is_falsy(inside.ok, expression)
    end
  end)
end)
