-- SPDX-License-Identifier: MIT
--- Builtin commands of shells: those that change what is known, and those that run text.

local state = require("anvia.sandbox.policy.shell.state")
local paths = require("anvia.sandbox.policy.readings.paths")
local dialect = require("anvia.sandbox.policy.shell.dialect")
local words = require("anvia.sandbox.policy.readings.words")

--- More places than this are as good as not known.
local MAX_DIRECTORIES = 4
local MAX_PATH = 4096

local builtins = {}

local function set(names)
  local out = {}
  for name in names:gmatch("%S+") do
    out[name] = true
  end
  return out
end

--- They act on the shell itself only.
local INERT = set([[: true false cd chdir pwd pushd popd dirs test [ echo printf read getopts export
  readonly local declare typeset set shift unset return exit break continue wait umask times type
  hash alias unalias jobs fg bg let shopt caller help ulimit mapfile readarray logout disown]])

--- They act outside of it, or do something rare.
local OTHER = set([[kill enable bind complete compopt fc history suspend coproc print whence]])

--- They run text.
local RUNS = set([[eval trap . source compgen]])

function builtins.is_builtin(name)
  return INERT[name] or OTHER[name] or RUNS[name] or false
end

function builtins.is_inert(name)
  return INERT[name] == true
end

function builtins.runs(name)
  return RUNS[name] == true
end

local open = {}

for name, handler in pairs(require("anvia.sandbox.policy.readings.setters")) do
  open[name] = handler
end

--- Text that runs in the same shell, or in a new one when there is none.
local function run_text(reader, text, known, at, step)
  local site = reader.inside(at, step)
  if at.scope and not at.external then
    return at.scope:text(text, known, site)
  end
  reader:script(text, known, site, { dialects = dialect.ANY, params = {}, zero = "sh" })
end

function open.eval(reader, argv, at)
  local from = argv[2] == "--" and 3 or 2
  if argv[from] == nil then
    return
  end
  local text, known = words.joined(words.slice(argv, from))
  run_text(reader, text, known, at, "eval")
end

function open.trap(reader, argv, at)
  local i = argv[2] == "--" and 3 or 2
  local action = argv[i]
  if action == nil or action == "-" or action == "" or action == "-l" or action == "-p" then
    return
  elseif argv[i + 1] == nil then
    return
  end
  local site = reader.inside(at, "trap")
  if not at.scope or at.external then
    return reader:script_word(action, site, { dialects = dialect.ANY })
  end
  local text, known = words.joined({ action })
  at.scope:later(text, known, site)
end

--- . FILE
local function source(reader, argv, at)
  local file = argv[2] == "--" and argv[3] or argv[2]
  if file == nil then
    return
  end
  local stdin = at.stdin
  if (file == "/dev/stdin" or file == "/dev/fd/0" or file == "/proc/self/fd/0") and stdin.text then
    return run_text(reader, stdin.text, stdin.known ~= false and not stdin.shared, at, ".")
  end
  reader:problem("file", "a script file that was not seen", file)
  reader:access("read", file, at.cwds, "script")
  for _, text in ipairs(at.texts or {}) do
    run_text(reader, text, false, at, ".")
  end
  if at.scope then
    at.scope.state:set("*", state.DYNAMIC)
  end
end

open["."] = source
open.source = source

--- The option value that follows `name`.
local function after(argv, name)
  for i = 2, #argv - 1 do
    if argv[i] == name then
      return argv[i + 1]
    end
  end
end

function open.compgen(reader, argv, at)
  local command = after(argv, "-C")
  if command then
    run_text(reader, words.joined({ command }), type(command) == "string", at, "compgen -C")
  end
end

open.complete = open.compgen

--- Directories after `cd word`, from each that it may stand in.
local function moved(at, word)
  if type(word) ~= "string" or word == "-" then
    return state.DYNAMIC
  end
  local out = {}
  if word:sub(1, 1) == "/" then
    out[1] = paths.absolute(word, "/")
  elseif at.cwds.dynamic or #at.cwds > MAX_DIRECTORIES then
    return state.DYNAMIC
  else
    for i, dir in ipairs(at.cwds) do
      out[i] = paths.absolute(word, dir)
      if #out[i] > MAX_PATH then
        return state.DYNAMIC
      end
    end
  end
  -- CDPATH sends a plain name elsewhere.
  local plain = word:find("^%.?%.?/") or word == "." or word == ".."
  if not plain and (at.env.CDPATH or at.vars.CDPATH) then
    out.dynamic = true
  end
  return out
end

local function cd(_, argv, at)
  local st, i = at.scope.state, 2
  while type(argv[i]) == "string" and argv[i]:find("^%-[LPe@]+$") do
    i = i + 1
  end
  if argv[i] == "--" then
    i = i + 1
  end
  local word = argv[i]
  if word == nil then
    word = argv[1] == "cd" and state.single(st:get("HOME")) or {}
  end
  at.effect.fail = at.cwds
  st:set("/cwd", moved(at, word))
end

open.cd, open.chdir, open.pushd = cd, cd, cd

function open.popd(_, _, at)
  at.scope.state:set("/cwd", state.DYNAMIC)
end

local function ends(_, _, at)
  at.effect.dead = true
end

open.exit, open["return"] = ends, ends

function open.exec(_, argv, at)
  at.effect.dead = #argv > 1
end

open["break"], open.continue = ends, ends

function open.alias(reader, argv, at)
  local scope = at.scope
  for i = 2, #argv do
    local word = argv[i]
    local text = type(word) == "string" and word or word.prefix
    local name, value = text:match("^([^=]+)=(.*)$")
    if name and type(word) == "string" then
      scope.aliased = true
      scope.state:set("a:" .. name, { value })
    elseif type(word) ~= "string" then
      scope.aliased = true
      reader:problem("dynamic", "an alias is computed", word)
    end
  end
end

function open.hash(reader, argv, at)
  local path = after(argv, "-p")
  if path then
    reader:problem("syntax", "hash -p changes what a name runs", path)
    reader:run({ path }, reader.inside(at, "hash -p", { external = true }))
  end
end

function open.enable(reader, argv)
  if argv[2] ~= nil and argv[2] ~= "-a" and argv[2] ~= "-p" then
    reader:problem("syntax", "enable changes what a name runs", argv[2])
  end
end

function open.bind(reader, argv)
  reader:problem("syntax", "commands that are bound to keys are not read", argv[2])
end

function open.fc(reader, argv)
  reader:problem("dynamic", "commands from the history are not known", argv[1])
end

--- True for builtins that change what is known of the shell.
function builtins.sets(name)
  return open[name] ~= nil or name == "declare" or name == "typeset" or name == "local"
    or name == "export" or name == "readonly" or name == "command" or name == "builtin"
end

--- Carries out a builtin, as far as it matters here.
---@param reader table
---@param name string
---@param argv anvia.sandbox.Word[]
---@param at anvia.sandbox.readings.Site
function builtins.open(reader, name, argv, at)
  local handler = open[name]
  if not handler then
    return
  end
  if RUNS[name] or (at.scope and not at.external) then
    handler(reader, argv, at)
  end
end

return builtins
