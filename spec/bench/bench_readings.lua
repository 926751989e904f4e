-- SPDX-License-Identifier: MIT
-- How long it takes to read a call, and that the cost grows no faster than the script.
--
--   LUA_PATH="lua/?.lua;lua/?/init.lua;;" lua5.4 spec/bench/bench_readings.lua [shape]
--
-- For each shape: the time for 4, 16 and 64 KiB, and how much more the last one takes per byte than
-- the first one. A number near 1 is linear; above 3 the line is marked and the exit status is 1.

local readings = require("anvia.sandbox.policy.readings")

local SIZES = { 4096, 16384, 65536 }

--- Repeats a piece up to a size.
local function fill(size, piece, head, tail)
  head, tail = head or "", tail or ""
  local count = math.floor((size - #head - #tail) / #piece)
  return head .. piece:rep(count) .. tail
end

--- Pieces with a number each.
local function numbered(size, format)
  local out, length, i = {}, 0, 0
  while true do
    i = i + 1
    local piece = format:gsub("#", tostring(i))
    if length + #piece > size then
      return table.concat(out)
    end
    out[i], length = piece, length + #piece
  end
end

local SHAPES = {
  ["commands"] = function(n) return fill(n, "make -C src all\n") end,
  ["short commands"] = function(n) return fill(n, "a;") end,
  ["one pipeline"] = function(n) return fill(n, "grep x | ", nil, "wc") end,
  ["one and-list"] = function(n) return fill(n, "test -f x && ", nil, "true") end,
  ["cd in an and-list"] = function(n) return fill(n, "cd x && ", nil, "true") end,
  ["cd in a list"] = function(n) return fill(n, "cd a; ls;") end,
  ["if"] = function(n) return fill(n, "if a; then b; else c; fi\n") end,
  ["elif"] = function(n) return fill(n, "elif a; then X=1; b\n", "if a; then b\n", "fi") end,
  ["case arms"] = function(n) return fill(n, "a) X=1; b;;\n", "case x in\n", "esac") end,
  ["loops"] = function(n) return fill(n, "for i in 1 2 3; do a $i; done\n") end,
  ["nested groups"] = function(n)
    return fill(n, ("{ "):rep(40) .. "a" .. ("; }"):rep(40) .. "\n")
  end,
  ["nested substitutions"] = function(n)
    return fill(n, ("a $("):rep(30) .. "b" .. (")"):rep(30) .. "\n")
  end,
  ["too deep"] = function(n) return ("("):rep(n) end,
  ["quotes"] = function(n) return fill(n, "echo 'a b' \"c d\" e\\ f;") end,
  ["one quoted word"] = function(n) return fill(n, "\"a\"'b'", "x ") end,
  ["one long word"] = function(n) return "echo " .. ("x"):rep(n - 5) end,
  ["backslashes"] = function(n) return "echo " .. ("\\"):rep(n - 6) .. "\n" end,
  ["here-document"] = function(n) return fill(n, "some $text here\n", "cat <<E\n", "E\n") end,
  ["here-document of backslashes"] = function(n)
    return "cat <<E\n" .. ("\\"):rep(n - 16) .. "\nE\n"
  end,
  ["here-documents"] = function(n) return fill(n, "cat <<A <<B\na\nA\nb\nB\n") end,
  ["unclosed here-documents"] = function(n) return fill(n, "cat <<A; ") end,
  ["assignments"] = function(n) return numbered(n, "v#=$v1; a $v#\n") end,
  ["one variable"] = function(n) return fill(n, "X=$X$X; a $X;") end,
  ["appending"] = function(n) return fill(n, "X=$X'ab c'; a $X;") end,
  ["functions"] = function(n) return numbered(n, "f#() { a; b; }; f#\n") end,
  ["calls of one function"] = function(n) return fill(n, "f x;", "f() { a; b; c; d; }\n") end,
  ["calls of a chain"] = function(n)
    return fill(n, "f x;", "f() { g; g; }; g() { h; h; }; h() { i; i; }; i() { a; }\n")
  end,
  ["every function calls all"] = function(n)
    local calls = numbered(600, "f#;")
    return numbered(n - 700, "f#() { " .. calls:gsub("%d+", "1") .. " }\n") .. calls
  end,
  ["positional"] = function(n)
    return fill(n, "a \"$@\";", "set -- " .. ("x "):rep(200) .. "\n")
  end,
  ["shift"] = function(n) return fill(n, "shift;", "set -- " .. ("x "):rep(200) .. "\n") end,
  ["braces"] = function(n) return fill(n, "a {b,c}{d,e} {1..9};") end,
  ["one word of braces"] = function(n) return "a " .. fill(n - 2, "{b,c}") end,
  ["open braces"] = function(n) return "a " .. ("{"):rep(n - 2) end,
  ["open brackets"] = function(n) return "a " .. ("["):rep(n - 2) end,
  ["subscripts"] = function(n) return fill(n, "a[") end,
  ["arithmetic"] = function(n) return fill(n, "a $((1 + (2 * 3)));") end,
  ["open arithmetic"] = function(n) return fill(n, "$((") end,
  ["parentheses twice"] = function(n) return fill(n, "((a) ; b) ;") end,
  ["backticks"] = function(n) return fill(n, "a `b \\`c\\``;") end,
  ["open backticks"] = function(n) return fill(n, "a `b; ") end,
  ["nested sh -c"] = function(n)
    local text = fill(math.floor(n / 4), "make all; ")
    for _ = 1, 3 do
      text = "sh -c '" .. text:gsub("'", "'\\''") .. "'"
    end
    return text
  end,
  ["sh -c in a list"] = function(n) return fill(n, "sh -c 'a && b'; ") end,
  ["sh in three dialects"] = function(n) return fill(n, "sh -c 'a {b,c} &> d'; ") end,
  ["eval"] = function(n) return fill(n, "eval 'a b'; ") end,
  ["eval of itself"] = function(n)
    return fill(n, "eval \"$X\"; ", "X='eval \"$X\"; eval \"$X\"'\n")
  end,
  ["env env env"] = function(n) return fill(n, "env ", nil, "a") end,
  ["wrappers"] = function(n) return fill(n, "env A=1 timeout 5 nice -n 3 rm x;") end,
  ["find"] = function(n) return fill(n, "-exec a {} \\; ", "find . ") end,
  ["functions and loops"] = function(n)
    return numbered(n / 2, "f#() { v#=1; }\n") .. fill(n / 2, "for i in a; do b; done\n")
  end,
  ["variables and scripts"] = function(n)
    return numbered(n / 8, "v#=1\n") .. fill(n / 2, "sh -c a;a &> b;")
  end,
  ["variables and commands"] = function(n)
    return numbered(n / 8, "v#=1\n") .. fill(n / 2, "A=1 b;")
  end,
  ["redirects"] = function(n) return fill(n, "a >b 2>c <d;") end,
  ["redirects of one command"] = function(n) return numbered(n, ">f# ") end,
  ["syntax errors"] = function(n) return fill(n, "a )\n") end,
  ["traps"] = function(n) return fill(n, "trap 'rm $x' EXIT; ") end,
  ["aliases"] = function(n) return fill(n, "l x;", "alias l='ls -l'\n") end,
  ["alternatives"] = function(n)
    local head = "for X in a b; do for Y in c d; do for Z in e f; do "
    return fill(n, "a $X $Y $Z;", head, "done;done;done")
  end,
  ["words of one command"] = function(n) return fill(n, "w $x ", "a ") end,
}

local function seconds(call)
  local best
  for _ = 1, 3 do
    collectgarbage()
    local start = os.clock()
    readings.of(call)
    local took = os.clock() - start
    best = math.min(best or took, took)
    if took > 0.5 then
      break
    end
  end
  return best
end

local function measure(name, build)
  local times = {}
  for i, size in ipairs(SIZES) do
    local text = build(size)
    times[i] = seconds({ command = "sh", args = { "-c", text } })
  end
  local growth = (times[#SIZES] / SIZES[#SIZES]) / (math.max(times[1], 1e-5) / SIZES[1])
  local bad = growth > 3
  print(("%-30s %9.2f %9.2f %9.2f ms   x%.2f%s"):format(name, times[1] * 1e3, times[2] * 1e3,
    times[3] * 1e3, growth, bad and "  <-- not linear" or ""))
  return bad, times[#SIZES]
end

local function ordinary()
  local calls = {
    { "git status", { command = "git", args = { "status" } } },
    { "env A=1 timeout 5 make all", { command = "env",
      args = { "A=1", "timeout", "5", "make", "all" } } },
    { "bash -lc 'cd src && make'", { command = "bash", args = { "-lc", "cd src && make" } } },
    { "sh -c with a pipeline", { command = "sh",
      args = { "-c",
        "set -e; for f in *.c; do grep -n \"x $f\" \"$f\" | head -5 > out.txt; done" } } },
  }
  for _, each in ipairs(calls) do
    local count = 2000
    local start = os.clock()
    for _ = 1, count do
      readings.of(each[2])
    end
    print(("%-30s %9.1f us"):format(each[1], (os.clock() - start) / count * 1e6))
  end
end

local only = arg and arg[1]
local names = {}
for name in pairs(SHAPES) do
  names[#names + 1] = name
end
table.sort(names)
if not only then
  ordinary()
end
print(("%-30s %9s %9s %9s"):format("", "4 KiB", "16 KiB", "64 KiB"))
local failed, longest = false, 0
for _, name in ipairs(names) do
  if not only or name == only then
    local bad, took = measure(name, SHAPES[name])
    failed, longest = failed or bad, math.max(longest, took)
  end
end
print(("longest: %.0f ms"):format(longest * 1e3))
os.exit(failed and 1 or 0)
