-- SPDX-License-Identifier: MIT
--- The scripts of a call, as predicates see them: `call.script`.

local dialect = require("anvia.sandbox.policy.shell.dialect")

local methods = {}
local mt = { __name = "anvia.sandbox.Script", __index = methods }

local script = {}

---@param reader table
---@return anvia.sandbox.Script?
function script.new(reader)
  if not reader.first_script then
    return nil
  end
  local found, redirected = {}, {}
  for _, command in ipairs(reader.commands) do
    if command.script then
      found[#found + 1] = command
    end
  end
  for _, access in ipairs(reader.accesses) do
    if access.via == "redirect" then
      redirected[#redirected + 1] = access
    end
  end
  local self = { text = reader.first_script, _commands = found, _redirects = redirected }
  return setmetatable(self, mt)
end

--- The commands that stand in scripts.
---@return anvia.sandbox.Command[]
function methods:commands()
  return self._commands
end

--- The files of redirections.
---@return anvia.sandbox.Access[]
function methods:redirects()
  return self._redirects
end

--- Commands that get the output of another one as input, or as a file with `<(...)`.
local function fed(self)
  local out = {}
  for _, command in ipairs(self._commands) do
    if (command.pipes_from and command.stdin == "pipe") or command.fed then
      out[#out + 1] = command
    end
  end
  return out
end

--- True when a command of one of these names reads a pipe.
---@param ... string
---@return boolean
function methods:pipes_into(...)
  local names = {}
  for _, name in ipairs({ ... }) do
    names[name] = true
  end
  for _, command in ipairs(fed(self)) do
    if names[command.name] then
      return true
    end
  end
  return false
end

--- True when any shell reads a pipe.
---@return boolean
function methods:pipes_into_shell()
  for _, command in ipairs(fed(self)) do
    if command.name and dialect.of(command.name) then
      return true
    end
  end
  return false
end

return script
