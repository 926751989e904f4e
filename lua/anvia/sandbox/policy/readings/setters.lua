-- SPDX-License-Identifier: MIT
--- Builtins that set variables and positional parameters.

local state = require("anvia.sandbox.policy.shell.state")
local words = require("anvia.sandbox.policy.readings.words")

local open = {}

--- They set the variables that their arguments name.
local SETS = { "read", "mapfile", "readarray", "getopts", "let", "wait" }

--- Makes the variables that the arguments name unknown.
local function forget(_, argv, at)
  local scope = at.scope
  for i = 2, #argv do
    local text = type(argv[i]) == "string" and argv[i] or argv[i].prefix
    local name = text:match("^([%a_][%w_]*)")
    if name then
      scope:assign(name, state.DYNAMIC)
    elseif type(argv[i]) ~= "string" then
      scope.state:set("*", state.DYNAMIC)
    end
  end
end

for _, name in ipairs(SETS) do
  open[name] = forget
end

function open.read(reader, argv, at)
  forget(reader, argv, at)
  at.scope.state:set("REPLY", state.DYNAMIC)
  at.scope:shares_input(at, "read")
end

local function mapfile(reader, argv, at)
  forget(reader, argv, at)
  at.scope.state:set("MAPFILE", state.DYNAMIC)
  at.scope:shares_input(at, argv[1])
  for i = 2, #argv - 1 do
    if argv[i] == "-C" then
      local known = type(argv[i + 1]) == "string"
      local text = known and argv[i + 1] or argv[i + 1].holed
      at.scope:text(text .. " 0 x", known, reader.inside(at, "mapfile -C"))
    end
  end
end

open.mapfile, open.readarray = mapfile, mapfile

function open.printf(reader, argv, at)
  if argv[2] == "-v" then
    forget(reader, { argv[1], argv[3] }, at)
  elseif type(argv[2]) == "string" and argv[2]:find("^%-v.") then
    forget(reader, { argv[1], argv[2]:sub(3) }, at)
  elseif type(argv[2]) == "table" and not argv[2].glob and argv[3] ~= nil then
    at.scope.state:set("*", state.DYNAMIC)
  end
end

function open.unset(_, argv, at)
  local scope, functions = at.scope, false
  for i = 2, #argv do
    local word = argv[i]
    if word == "-f" then
      functions = true
    elseif type(word) ~= "string" then
      scope.state:set("*", state.DYNAMIC)
    elseif word:find("^[%a_]") then
      local name = word:match("^[%a_][%w_]*")
      scope.state:set("f:" .. word, state.UNSET)
      if not functions then
        scope:assign(name, (at.calls or word ~= name) and state.DYNAMIC or state.UNSET)
      end
    end
  end
end

function open.set(reader, argv, at)
  local st, i = at.scope.state, 2
  while argv[i] ~= nil do
    local word = argv[i]
    if type(word) ~= "string" then
      st:set("@", state.DYNAMIC)
      return
    elseif word == "--" or word == "-" then
      st:set("@", { { words = words.slice(argv, i + 1) } })
      return
    elseif not word:find("^[-+]") then
      st:set("@", { { words = words.slice(argv, i) } })
      return
    end
    local name = word:sub(-1) == "o" and argv[i + 1] or word
    if type(name) ~= "string" or name == "keyword" or name:find("^hist")
      or name:find("^[-+]%a*[kH]") then
      reader:problem("syntax", "set switches on another way to read commands", name)
    end
    i = i + (word:sub(-1) == "o" and 2 or 1)
  end
end

function open.shift(_, argv, at)
  local st = at.scope.state
  local value = state.single(st:get("@"))
  local count = argv[2] == nil and 1 or tonumber(argv[2])
  if not value or not count or count % 1 ~= 0 or count < 0 then
    st:set("@", state.DYNAMIC)
    return
  end
  for i = 1, math.min(count, #value.words) do
    if type(value.words[i]) ~= "string" and not value.words[i].single then
      st:set("@", state.DYNAMIC)
      return
    end
  end
  if count <= #value.words then
    st:set("@", { { words = words.slice(value.words, count + 1) } })
  end
end

return open
