-- SPDX-License-Identifier: MIT
-- cli_place.lua - the requests that put a program into a volume, for cli.lua.

local container = require("anvia.sandbox.container")
local core = require("anvia.sandbox.core")
local errors = require("anvia.sandbox.errors")
local task = require("anvia.sandbox.task")
local cli_run = require("anvia.sandbox.engine.cli_run")

local OP = "create_session"

local methods = {}

--- A word that is the same for the same engine.
function methods:key()
  return table.concat({ "cli", self.path, self._host or os.getenv("DOCKER_HOST") or "",
    os.getenv("DOCKER_CONTEXT") or "" }, " ")
end

-- A program that removes the container of `holder` when we die before we have done so, and
-- is ended otherwise. Who dies is nobody's parent any more, even before he is reaped.
local GUARD = [=[
exec >/dev/null 2>&1
seen=
while read -r pid name state parent rest <"/proc/$$/stat" && [ "$parent" = "$1" ]; do
  sleep 0.5 || sleep 1
done
for pause in 0 0.5 1 2 4 8; do
  sleep $pause || sleep 1
  ids=$("$2" ps -a -q --no-trunc --filter "label=$3") || continue
  if [ -n "$ids" ]; then
    "$2" rm -f -v $ids && seen=yes
  elif [ -n "$seen" ]; then
    exit 0
  fi
done]=]

local function guard(self, holder)
  return core.run({
    argv = { "/bin/sh", "-c", GUARD, "sh", tostring(core.getpid()), self.path,
      container.LABEL_CREATE .. "=" .. holder.labels[container.LABEL_CREATE] },
    env = self._env,
  })
end

--- Creates a container that is never started; its id, or nil, err. `holder` is {name,
--- image, labels, mount}, the name optional and the mount as in a plan. It goes when this
--- process dies.
function methods:create_holder(holder)
  holder.guard = guard(self, holder)
  local result, err = self:_request(OP, cli_run.holder_argv(holder))
  local id = result and result.stdout:match("^%s*(%x+)%s*$")
  if not id then
    self:_unguard(holder)
  end
  if result and not id then
    return nil, errors.new(OP, "protocol", "the client named no container")
  end
  return id, err
end

function methods:_unguard(holder)
  if holder.guard then
    holder.guard:cancel()
    task.await(holder.guard)
  end
end

--- Removes it: true, or nil, err.
function methods:remove_holder(holder, id)
  local ok, err = self:remove_container(id)
  self:_unguard(holder)
  return ok, err
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
