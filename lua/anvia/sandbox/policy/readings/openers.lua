-- SPDX-License-Identifier: MIT
--- Decides by name what kind of program a command is, and opens those that run others.

local shells = require("anvia.sandbox.policy.readings.shells")
local languages = require("anvia.sandbox.policy.readings.languages")
local builtins = require("anvia.sandbox.policy.readings.builtins")
local open_wrapper = require("anvia.sandbox.policy.readings.open_wrapper").open
local find = require("anvia.sandbox.policy.readings.find")
local git = require("anvia.sandbox.policy.readings.git")
local wrappers = require("anvia.sandbox.policy.readings.wrappers")

local openers = {}
openers.__index = openers

--- The dynamic loader runs the program that is its argument.
local LOADER = { lenient = true, values = "" , long = { ["library-path"] = true, preload = true,
  audit = true, argv0 = true, ["inhibit-rpath"] = true, ["glibc-hwcaps-mask"] = true,
  ["glibc-hwcaps-prepend"] = true } }

local FINDS = { find = true, gfind = true, bfs = true }
local FDS = { fd = true, fdfind = true }

---@param extra table<string, anvia.sandbox.Wrapper|false>?
function openers.new(extra)
  return setmetatable({ wrappers = wrappers.with(extra) }, openers)
end

--- How to find the program in the arguments of this one, or nil.
function openers:wrapper(name)
  local spec = self.wrappers[name]
  if spec == nil and (name:find("^ld%-.*%.so") or name:find("^ld%.so")) then
    return LOADER
  end
  return spec or nil
end

---@param name string?
---@param at anvia.sandbox.readings.Site
function openers.role(self, name, at)
  if not name then
    return "program"
  elseif shells.is_shell(name) then
    return "shell"
  end
  local spec = self:wrapper(name)
  if spec and wrappers.is_wrapper(spec) then
    return "wrapper"
  elseif at.scope and not at.external and builtins.is_builtin(name) then
    return builtins.runs(name) and "wrapper" or "builtin"
  elseif FINDS[name] then
    return "program"
  elseif languages.is_interpreter(name) then
    return "interpreter"
  end
  return "program"
end

openers.inert = builtins.is_inert

--- Builtins that come before functions, and after which assignments stay.
local SPECIAL = {}
for name in (". : break continue eval exec exit export readonly return set shift source times trap "
  .. "unset"):gmatch("%S+") do
  SPECIAL[name] = true
end

--- Builtins that set variables or move the shell.
function openers.is_setter(name)
  return builtins.sets(name)
end

function openers.is_special(name)
  return SPECIAL[name] == true
end

---@param reader table
---@param command anvia.sandbox.Command
---@param argv anvia.sandbox.Word[]
---@param at anvia.sandbox.readings.Site
function openers:open(reader, command, argv, at)
  local name = command.name
  if shells.is_shell(name) then
    return shells.open(reader, name, argv, at, command)
  end
  if builtins.runs(name) or (at.scope and not at.external) then
    builtins.open(reader, name, argv, at, command)
  end
  local spec = self:wrapper(name)
  if spec then
    open_wrapper(reader, spec, name, argv, at)
  elseif name == "git" then
    git.open(reader, argv, at)
  elseif FINDS[name] then
    find.open(reader, command, argv, at)
  elseif FDS[name] then
    find.open_fd(reader, argv, at)
  elseif languages.is_interpreter(name) then
    languages.open(reader, name, argv, at)
  end
end

return openers
