-- SPDX-License-Identifier: MIT
--- Interpreters: programs that run code which is not shell text.
---
--- Their code is not read. A program file (`python3 x.py`) is like any other program: the reading
--- is the command itself. Code that the call itself carries (`-c`, `-e`, standard input) may run
--- anything and is right here, unread: that makes the readings incomplete, with the kind
--- "language". awk and sed are so common with harmless code that theirs is looked at: only what
--- may run a command counts.

local sed = require("anvia.sandbox.policy.readings.sed")

local languages = {}

---@class anvia.sandbox.readings.Language
---@field code string?     short options with code, also inside a cluster
---@field values string?   short options with another value
---@field stops string?    short options after which the rest is no code: -m of python
---@field long table<string, boolean>?  long options: true = code, false = has a value
---@field words table<string, true>?    first words that are followed by code: deno eval
---@field stdin boolean    reads code from standard input when no file is named

---@type table<string, anvia.sandbox.readings.Language>
local TABLE = {
  python = { code = "c", values = "WX", stops = "m", stdin = true,
    long = { ["check-hash-based-pycs"] = false } },
  perl = { code = "eE", values = "I", stdin = true },
  ruby = { code = "e", values = "ICEFKrxTW", stdin = true },
  node = { code = "ep", values = "rC", stdin = true,
    long = { eval = true, print = true, require = false, import = false, loader = false } },
  deno = { words = { eval = true, repl = true }, stdin = false },
  bun = { code = "ep", long = { eval = true, print = true }, stdin = false },
  php = { code = "rBRE", values = "cdfStz", stdin = true, long = { run = true } },
  lua = { code = "e", values = "l", stdin = true },
  Rscript = { code = "e", stdin = false },
  R = { code = "e", stdin = true },
  julia = { code = "eE", values = "HCtpLO", stdin = true, long = { eval = true, print = true } },
  tclsh = { stdin = true }, expect = { code = "c", values = "df", stdin = true },
  osascript = { code = "e", stdin = true },
  guile = { code = "c", values = "Llexs", stdin = true },
  ghc = { code = "e", stdin = false }, erl = { stdin = true, long = {} },
  gdb = { code = "", stdin = true, long = { ex = true, ["eval-command"] = true } },
  sqlite3 = { stdin = true, long = { cmd = true } },
  ed = { stdin = true }, ex = { code = "c", stdin = true },
  vim = { code = "cS", stdin = false, long = { cmd = true } },
  at = { stdin = true }, batch = { stdin = true }, bc = { stdin = false },
  make = { values = "CIjloW", code = "E", long = { eval = true }, stdin = false },
  psql = { code = "c", values = "dhpUvfo", long = { command = true }, stdin = true },
  mysql = { code = "e", long = { execute = true }, stdin = true },
  emacs = { values = "flL", long = { eval = true, execute = true }, stdin = false },
  crontab = { values = "u", stdin = true },
}

local SAME = {
  nodejs = "node", iojs = "node", luajit = "lua", lua5 = "lua", pypy = "python", wish = "tclsh",
  ghci = "ghc", runghc = "ghc", vi = "vim", nvim = "vim", gvim = "vim", view = "vim",
  gmake = "make", jruby = "ruby", jython = "python", ["gdb-multiarch"] = "gdb",
}

--- Code among the operands.
local OPERANDS = {
  make = { "$(", "${", "!=" },
  sqlite3 = { ".sh", ".sy" },
}

local AWKS = { awk = true, gawk = true, mawk = true, nawk = true, ["original-awk"] = true }

--- python3.11 and lua5.4 are python and lua.
local function base(name)
  local short = name:match("^(%a[%a-]-)[%d.]*$") or name
  short = SAME[name] or SAME[short] or short
  return TABLE[name] and name or short
end

function languages.is_interpreter(name)
  return TABLE[base(name)] ~= nil or AWKS[name] == true or name == "sed" or name == "gsed"
end

local function foreign(reader, name, where)
  reader:problem("language", ("code that is given to %s is not read"):format(name), where)
end

--- Code that may run a command, in awk.
local function awk_may_run(text)
  return text:find("system", 1, true) or text:find("|", 1, true) or text:find("@", 1, true)
    or text:find("getline", 1, true)
end

local function open_awk(reader, name, argv)
  local i = 2
  while i <= #argv do
    local word = argv[i]
    if type(word) ~= "string" then
      return foreign(reader, name, word)
    elseif word:find("^%-[fE]") or word:find("^%-%-file") or word:find("^%-%-exec") then
      return
    elseif word:find("^%-[vF]$") or word == "--assign" or word == "--field-separator" then
      i = i + 2
    elseif word:find("^%-[vF]") or word:find("^%-%-[fa]") or word == "--" then
      i = i + 1
    elseif word:find("^%-.") then
      return foreign(reader, name, word)
    else
      if awk_may_run(word) then
        foreign(reader, name, word)
      end
      return
    end
  end
end

--- The code in one option word. Gives the code's place (or nil), and how many words it takes.
local function option(spec, word, following)
  local long, equals = word:match("^%-%-?([%a][%w-]+)(=?)")
  if long and spec.long and spec.long[long] ~= nil then
    return spec.long[long] and word or nil, equals == "=" and 1 or 2
  elseif word:sub(1, 2) == "--" then
    return nil, 1
  end
  for char in word:sub(2):gmatch(".") do
    if spec.code and spec.code:find(char, 1, true) then
      return following or word, 1
    elseif spec.stops and spec.stops:find(char, 1, true) then
      return nil, 0
    elseif spec.values and spec.values:find(char, 1, true) then
      return nil, word:sub(-1) == char and 2 or 1
    end
  end
  return nil, 1
end

--- Code that stands among the operands, or in a makefile on standard input.
local function code_in_operands(name, argv, at)
  for i = 2, OPERANDS[name] and #argv or 0 do
    local word = argv[i]
    local text = type(word) == "string" and word or word.holed
    for _, mark in ipairs(OPERANDS[name]) do
      if text:find(mark, 1, true) then
        return true
      end
    end
    if name == "make" and at.stdin.kind ~= "none" and (text == "-f-"
      or text:find("^%-%-%a*file=%-$") or (text == "-" and argv[i - 1] == "-f")) then
      return true
    end
  end
  return false
end

---@param reader table
---@param name string
---@param argv anvia.sandbox.Word[]
---@param at anvia.sandbox.readings.Site
function languages.open(reader, name, argv, at)
  if AWKS[name] then
    return open_awk(reader, name, argv)
  elseif name == "sed" or name == "gsed" then
    if sed.may_run(argv) then
      foreign(reader, name, argv[2])
    end
    return
  end
  local spec = TABLE[base(name)]
  if code_in_operands(base(name), argv, at) then
    return foreign(reader, name, at.stdin.text or argv[2])
  end
  local i = 2
  while i <= #argv do
    local word = argv[i]
    local text = type(word) == "string" and word or word.prefix
    if type(word) ~= "string" and (text == "" or text:sub(1, 1) == "-" or not word.single) then
      return foreign(reader, name, word)
    elseif spec.words and spec.words[text] then
      return foreign(reader, name, argv[i + 1] or word)
    elseif text == "-" then
      break
    elseif text:sub(1, 1) ~= "-" then
      if text == "/dev/stdin" or (type(word) == "table" and word.process) then
        break
      end
      return
    end
    local code, takes = option(spec, text, argv[i + 1])
    if code then
      return foreign(reader, name, code)
    elseif takes == 0 then
      return
    end
    i = i + takes
  end
  if (spec.stdin or i <= #argv) and at.stdin.kind ~= "none" then
    foreign(reader, name, at.stdin.text or name)
  end
end

return languages
