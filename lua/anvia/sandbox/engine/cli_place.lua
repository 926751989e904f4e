-- SPDX-License-Identifier: MIT
-- cli_place.lua - the requests that put a program into a volume, for cli.lua.

local errors = require("anvia.sandbox.errors")
local cli_run = require("anvia.sandbox.engine.cli_run")

local OP = "create_session"

local methods = {}

--- A word that is the same for the same engine.
function methods:key()
  return table.concat({ "cli", self.path, self._host or os.getenv("DOCKER_HOST") or "",
    os.getenv("DOCKER_CONTEXT") or "" }, " ")
end

--- Creates a container that is never started; its id, or nil, err. `holder` is {name,
--- image, labels, mount}, the name optional and the mount as in a plan.
function methods:create_holder(holder)
  local result, err = self:_request(OP, cli_run.holder_argv(holder))
  if not result then
    return nil, err
  end
  local id = result.stdout:match("^%s*(%x+)%s*$")
  if not id then
    return nil, errors.new(OP, "protocol", "the client named no container")
  end
  return id
end

--- Unpacks an archive in a directory of a container, running or not: true, or nil, err.
function methods:put_archive(id, path, tar)
  local result, err = self:_request(OP, { "cp", "-", id .. ":" .. path }, { input = tar })
  return result and true, err
end

--- The archive of a directory, at most max_bytes long, or nil, err.
function methods:get_archive(id, path, max_bytes)
  local result, err = self:_request(OP, { "cp", id .. ":" .. path, "-" },
    { max_output_bytes = max_bytes })
  if not result then
    return nil, err
  elseif result.stdout_truncated then
    return nil, errors.new(OP, "protocol", "the answer is longer than %.0f bytes", max_bytes)
  end
  return result.stdout
end

--- Adds them to the engine's methods.
return function(class)
  for name, method in pairs(methods) do
    class[name] = method
  end
end
