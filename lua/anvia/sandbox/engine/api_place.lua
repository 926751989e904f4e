-- SPDX-License-Identifier: MIT
-- api_place.lua - the requests that put a program into a volume, for api.lua.

local container = require("anvia.sandbox.container")
local core = require("anvia.sandbox.core")
local errors = require("anvia.sandbox.errors")
local describe = require("anvia.sandbox.engine.describe")
local api_create = require("anvia.sandbox.engine.api_create")
local http = require("anvia.sandbox.engine.api_http")

local OP = "create_session"
local TAR = "application/x-tar"

local methods = {}

--- A word that is the same for the same engine.
function methods:key()
  return "api " .. self.host
end

--- An image's description (see describe.lua), or nil, err.
function methods:inspect_image(name)
  local raw, err = self:_get(OP, "/images/" .. http.escape(name) .. "/json")
  if not raw then
    return nil, err
  end
  return describe.image(raw)
end

-- The label by which a container is found that its owner did not live to remove.
local function label_of(holder)
  return container.LABEL_CREATE .. "=" .. holder.labels[container.LABEL_CREATE]
end

--- Creates a container that is never started; its id, or nil, err. `holder` is {name,
--- image, labels, mount}, the name optional and the mount as in a plan. It goes when this
--- process dies.
function methods:create_holder(holder)
  local minor, err = self._http:minor(OP)
  if not minor then
    return nil, err
  end
  local host = { NetworkMode = "none" }
  api_create.add_mount(host, holder.mount, minor)
  local answer
  answer, err = self._http:request(OP, "POST",
    "/containers/create" .. http.query({ name = holder.name }), {
      arms = label_of(holder),
      body = {
        Image = holder.image,
        Entrypoint = { holder.mount.target },
        Labels = holder.labels,
        HostConfig = host,
      },
    })
  local created
  if answer then
    holder.armed = answer.armed
    created, err = http.decode(OP, answer)
  end
  if created and type(created.Id) ~= "string" then
    return nil, errors.new(OP, "protocol", "the engine named no container")
  end
  return created and created.Id, err
end

--- Removes it: true, or nil, err.
function methods:remove_holder(holder, id)
  return self:remove_container(id, holder.armed and label_of(holder) or nil)
end

local function archive_path(id, path)
  return "/containers/" .. http.escape(id) .. "/archive" .. http.query({ path = path })
end

--- Unpacks an archive in a directory of a container, running or not: true, or nil, err.
function methods:put_archive(id, path, tar)
  local answer, err = self._http:request(OP, "PUT", archive_path(id, path),
    { body = tar, content_type = TAR })
  return answer and true, err
end

--- The archive of a directory, at most max_bytes long, or nil, err.
function methods:get_archive(id, path, max_bytes)
  local answer, err = self._http:request(OP, "GET", archive_path(id, path),
    { max_body_bytes = max_bytes })
  return answer and answer.body, err
end

--- The ids of the containers that have this volume mounted, running or not.
function methods:volume_users(name)
  local filters = assert(core.json_encode({ volume = { name } }))
  return self:_ids({ all = 1, filters = filters })
end

--- Adds them to the engine's methods.
return function(class)
  for name, method in pairs(methods) do
    class[name] = method
  end
end
