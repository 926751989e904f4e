-- SPDX-License-Identifier: MIT
-- The shell parser itself: what is refused, what comes out, what the pieces do.

local shell = require("anvia.sandbox.policy.shell")
local dialect = require("anvia.sandbox.policy.shell.dialect")
local ansi = require("anvia.sandbox.policy.shell.ansi")
local brace = require("anvia.sandbox.policy.shell.brace")
local builder = require("anvia.sandbox.policy.shell.builder")
local state = require("anvia.sandbox.policy.shell.state")
local ast = require("anvia.sandbox.policy.shell.ast")
local sed = require("anvia.sandbox.policy.readings.sed")
local split = require("anvia.sandbox.policy.readings.env_split")

describe("a shell of each dialect", function()
  -- text, accepted by posix, ash, bash
  local CASES = {
    { "a", true, true, true },
    { "", true, true, true },
    { "# only a comment", true, true, true },
    { "a; b & c", true, true, true },
    { "a ; ; b", false, false, false },
    { "a & ; b", false, false, false },
    { "; a", false, false, false },
    { "a |", false, false, false },
    { "a | | b", false, false, false },
    { "a |& b", false, false, true },
    { "a &> b", true, true, true },
    { "a &>> b", true, true, true },
    { "a <<< b", false, false, true },
    { "a <(b)", false, true, true },
    { "a=(1 2)", false, false, true },
    { "a[1]=2", true, true, true },
    { "declare a=(1 2)", false, false, true },
    { "a+=1", true, true, true },
    { "case a in b) c;& esac", false, false, true },
    { "case a in b) c;;& d) e;; esac", false, false, true },
    { "case a in esac", true, true, true },
    { "case a in (esac) b;; esac", true, true, true },
    { "function f { a; }", false, true, true },
    { "f() { a; }", true, true, true },
    { "f() a", true, true, true },
    { "for ((;;)); do a; done", false, false, true },
    { "for i in a; { b; }", false, false, true },
    { "for i do a; done", true, true, true },
    { "for 1 in a; do b; done", false, false, false },
    { "select i in a; do b; done", false, false, true },
    { "if a; then b; fi", true, true, true },
    { "if a; b; fi", false, false, false },
    { "while a; do b", false, false, false },
    { "{ a; }", true, true, true },
    { "{ a }", false, false, false },
    { "{a;}", false, false, false },
    { "(a)(b)", false, false, false },
    { "a (b)", false, false, false },
    { "echo $(a", false, false, false },
    { "echo $((1 + 2)", false, false, false },
    { "echo ${a", false, false, false },
    { "echo 'a", false, false, false },
    { "echo \"a", false, false, false },
    { "echo `a", false, false, false },
    { "[[ a && b ]]", true, true, true },
    { "[[ a && ( b || c ) ]]", false, false, true },
    { "((1 + 2))", true, true, true },
    { "coproc { a; }", false, false, true },
    { "a > ", false, false, false },
    { "a <<", false, false, false },
    { "fi", false, false, false },
    { "a )", false, false, false },
    { "a }", true, true, true },
    { "! a", true, true, true },
    { "a\\", true, true, true },
    { "a \1 b", true, true, true },
  }
  for _, case in ipairs(CASES) do
    for i, name in ipairs({ "posix", "ash", "bash" }) do
      it(name .. ": " .. case[1], function()
        assert.are.equal(case[i + 1], not shell.parse(case[1], dialect[name]).failed)
      end)
    end
  end
end)

describe("the parser", function()
  it("keeps what stands before an error", function()
    local parsed = shell.parse("a\nb\nc )\nd", dialect.posix)
    assert.is_true(parsed.failed)
    assert.are.equal(2, #parsed.before.items)
    assert.are.equal(4, #parsed.list.items)
  end)

  it("says when shells read a text differently", function()
    assert.is_false(shell.parse("a 'b' \"$c\" $(d) | e > f", dialect.bash).diverged)
    for _, text in ipairs({ "{a,b}", "a &> b", "$'a'", "[[ a ]]", "a <(b)", "a=(b)", "((a))",
      "function f { a; }", "a <<< b", "a |& b", "time a", "a=b; a+=c" }) do
      assert.is_true(shell.parse(text, dialect.bash).diverged, text)
    end
  end)

  it("gives up at its bounds", function()
    local parsed = shell.parse(("{ "):rep(100) .. "a" .. ("; }"):rep(100), dialect.posix)
    assert.is_true(parsed.failed and parsed.bound)
    parsed = shell.parse(("((a) ; b) ; "):rep(100), dialect.bash)
    assert.is_true(parsed.bound)
  end)

  it("knows which variables a loop sets", function()
    local parsed = shell.parse("while a; do X=1; X=2; read Y; (Z=1); done", dialect.posix)
    local sets = parsed.list.items[1].node.assigned
    assert.are.same({ "1", "2" }, sets.X)
    assert.is_true(sets.Y)
    assert.is_nil(sets.Z)
  end)

  it("reads here-documents in order", function()
    local node = shell.parse("a <<A 3<<'B'\nx\nA\n$y\nB\n", dialect.posix).list.items[1].node
    assert.are.equal("x\n", node.redirects[1].body[1].s)
    assert.are.same({ { t = "quo", s = "$y\n" } }, node.redirects[2].body)
    assert.are.equal("3", node.redirects[2].fd)
  end)

  it("takes constants apart", function()
    local words = shell.parse("a 'b'\\c\"d\" \"$e\"", dialect.posix).list.items[1].node.words
    assert.are.same({ "a", false }, { ast.constant(words[1]) })
    assert.are.same({ "bcd", true }, { ast.constant(words[2]) })
    assert.is_nil((ast.constant(words[3])))
  end)
end)

describe("$'...'", function()
  it("in bash", function()
    assert.are.equal("a\nb\t\\'", ansi.decode("a\\nb\\t\\\\\\'"))
    assert.are.equal("rm", ansi.decode("\\x72\\155"))
    assert.are.equal("rm", ansi.decode("\\u0072\\U0000006d"))
    assert.are.equal("\195\169\226\130\172", ansi.decode("\\u00e9\\u20ac"))
    assert.are.equal("a", ansi.decode("a\\0b"))
    assert.are.equal("\1\27", ansi.decode("\\ca\\e"))
    assert.are.equal("\\q\\x", ansi.decode("\\q\\x"))
    assert.are.equal("r", ansi.decode("\\x{72}"))
  end)

  it("in busybox", function()
    assert.are.equal("ab", ansi.decode("a\\0b", true))
    assert.are.equal("\\u0072\\e\\ca", ansi.decode("\\u0072\\e\\ca", true))
    assert.are.equal("rm", ansi.decode("\\x72\\155", true))
  end)
end)

describe("braces", function()
  local function words(text)
    local list = brace.expand({ { t = "lit", s = text } })
    for i, parts in ipairs(list or {}) do
      local out = {}
      for k, part in ipairs(parts) do
        out[k] = part.s
      end
      list[i] = table.concat(out)
    end
    return list
  end

  local CASES = {
    { "a{b,c}d", "abd acd" }, { "{a,b}{c,d}", "ac ad bc bd" }, { "{a,{b,c}}", "a b c" },
    { "{a}", "{a}" }, { "{}", "{}" }, { "a{,b}", "a ab" }, { "{a,b", "{a,b" }, { "a,b}", "a,b}" },
    { "{{a,b}", "{a {b" }, { "{1..3}", "1 2 3" }, { "{3..1}", "3 2 1" }, { "{a..c}", "a b c" },
    { "{1..6..2}", "1 3 5" }, { "{01..3}", "01 02 03" }, { "{a..1}", "{a..1}" },
    { "{a,b}..{c}", "a..{c} b..{c}" },
  }
  for _, case in ipairs(CASES) do
    it(case[1], function()
      assert.are.equal(case[2], table.concat(words(case[1]), " "))
    end)
  end

  it("too many words are not spelled out", function()
    assert.is_nil(words("{1..100000}"))
    assert.is_nil(words(("{a,b}"):rep(10)))
  end)

  it("quoted ones stay", function()
    assert.are.equal(1, #brace.expand({ { t = "quo", s = "{a,b}" } }))
    assert.are.equal(2, #brace.expand({ { t = "lit", s = "{a," }, { t = "quo", s = "b" },
      { t = "lit", s = "}" } }))
  end)
end)

describe("field splitting", function()
  local function fields(text, ifs)
    local b = builder.new(text, ifs or " \t\n")
    b:split(text)
    return b:finish()
  end

  it("cuts at the separators", function()
    assert.are.same({ "a", "b" }, fields("  a \t b\n"))
    assert.are.same({}, fields("  "))
    assert.are.same({ "a", "", "b" }, fields("a,,b", ","))
    assert.are.same({ "a b" }, fields("a b", ""))
    assert.are.same({ "a", "b" }, fields("a]b", "]"))
  end)
end)

describe("what is known of variables", function()
  local function new()
    return state.new({}, function() return state.DYNAMIC end)
  end

  it("is taken back and joined", function()
    local st = new()
    st:set("a", { "1" })
    local mark = st:mark()
    st:set("a", { "2" })
    st:set("b", { "3" })
    local changed = st:undo(mark)
    assert.are.same({ "1" }, { state.single(st:get("a")) })
    st:merge({ changed }, true)
    assert.are.same({ "1", "2" }, { st:get("a")[1], st:get("a")[2] })
    assert.is_true(st:get("b").dynamic)
  end)

  it("one branch that surely runs replaces", function()
    local st = new()
    st:set("a", { "1" })
    local mark = st:mark()
    st:set("a", { "2" })
    local first = st:undo(mark)
    st:set("a", { "3" })
    st:merge({ first, st:undo(mark) }, false)
    local set = st:get("a")
    assert.are.same({ "2", "3" }, #set == 2 and { set[1], set[2] } or {})
  end)

  it("anything is possible after '*', except for what is set later", function()
    local st = new()
    st:set("a", { "1" })
    st:set("*", state.DYNAMIC)
    st:set("b", { "2" })
    assert.is_true(st:get("a").dynamic)
    assert.are.equal("2", state.single(st:get("b")))
    assert.is_nil(st:get("/cwd").since)
  end)

  it("more than eight values are not told apart", function()
    local set = {}
    for i = 1, 20 do
      set = state.join(set, { tostring(i) })
    end
    assert.is_true(set.dynamic)
    assert.are.equal(8, #set)
  end)
end)

describe("env -S", function()
  local CASES = {
    { "rm x", { "rm", "x" } }, { "  rm\tx ", { "rm", "x" } }, { "'a b' \"c d\"", { "a b", "c d" } },
    { "a\\ b", { "a b" } }, { "a\\_b", { "a", "b" } }, { "\"a\\_b\"", { "a b" } },
    { "a # b", { "a" } }, { "a \\c b", { "a" } }, { "''", { "" } }, { "a'b'c", { "abc" } },
  }
  for _, case in ipairs(CASES) do
    it(case[1], function()
      assert.are.same(case[2], split.words(case[1]))
    end)
  end

  it("a variable is not known", function()
    assert.is_true(split.words("a${X}b")[1].dynamic)
    assert.are.same({ "${X}" }, split.words("'${X}'"))
  end)
end)

describe("sed scripts", function()
  local function may_run(...)
    return sed.may_run({ "sed", ... })
  end

  it("without commands", function()
    for _, text in ipairs({ "s/a/b/", "s/a/b/g;s|c|d|2p", "5q", "1,5p", "$d", "/a/,/b/d", "/a/!d",
      "y/abc/xyz/", "1!G;h;$!d", "s/[/]/x/", "s,a\\,b,c,", "/e/p", "a\\\ntext e", "{p;d}",
      "s/e/e/w out", "0~3d", "2{s/a/b/;p}", "" }) do
      assert.is_false(may_run(text), text)
    end
    assert.is_false(may_run("-n", "-e", "p", "-e", "d", "file"))
    assert.is_false(may_run("-i.bak", "s/a/b/", "e"))
    assert.is_false(may_run("--expression=p", "1e x"))
  end)

  it("with commands", function()
    for _, text in ipairs({ "e", "1e rm x", "s/a/b/e", "s/a/b/ge", "/x/e rm", "p;e rm",
      "$!{e rm\n}", "s/a/b/;s/c/d/e", "s/[/]/b/;e rm", "s/[x/]/b/e" }) do
      assert.is_true(may_run(text), text)
    end
    assert.is_true(may_run("-n", "-e", "p", "-e", "1e x"))
    assert.is_true(may_run("-ne", "1e x"))
    assert.is_true(may_run({ dynamic = true, single = true, prefix = "" }))
  end)
end)
