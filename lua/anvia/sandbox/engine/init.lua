-- SPDX-License-Identifier: MIT
-- engine - picks the engine that the options ask for.
--
-- An engine is an object with these methods. Each returns value | nil, err, waits
-- as task.await does, and ends within a time of its own:
--
--   within(deadline)           the same engine, whose requests end by then
--   attach_request(plan)       the request whose stream is the life of the container
--   exec_request(name, user)   the request that runs one command; user may be nil
--   agent_request(name)        the request that looks at all processes, as uid 0
--   remove_request(name)       the request that removes a container by force
--   is_local()                 whether its 127.0.0.1 is ours; or false and where
--   ping()                     whether it answers; or false and why not
--   explain(op, result, text)  the error for a client that failed, maybe silently
--   run_as(name, user, argv)   one command in a container, without a session
--   inspect(name)              a container's description (see describe.lua)
--   find_containers(labels)    ids, whatever their state; a label `true` has any value
--   find_volumes(labels)       names
--   describe_containers(ids)   descriptions of those that still exist
--   describe_volumes(names)    {name, labels}, the same
--   remove_container(id)       with its anonymous volumes; true if there is none
--   remove_volume(name)        true if there is none
--   key()                      a word that is the same for the same engine
--   inspect_image(name)        an image's description (see describe.lua)
--   create_holder(holder)      the id of a container that is not started
--   remove_holder(holder, id)  removes it
--   put_archive(id, path, tar) unpacks in a container's directory
--   get_archive(id, path, max) a directory as an archive
--   volume_users(name)         ids of the containers with this volume
--   pull(image, timeout_ms, options)   see api_pull.lua; the client shows no progress

local api = require("anvia.sandbox.engine.api")
local cli = require("anvia.sandbox.engine.cli")
local endpoint = require("anvia.sandbox.engine.endpoint")

local M = {}

--- `options` are the sandbox's, checked. Without a word on the engine, its socket is
--- used directly where that can be, unless a client is named.
function M.new(options)
  if options.engine ~= "cli" and not (options.engine ~= "api" and options.docker_path) then
    local direct, other = endpoint.find(options.host)
    if direct then
      return api.new({ host = direct })
    elseif options.engine == "api" then
      return nil, string.format("the endpoint %s can only be reached by the docker command",
        other or "of the current context")
    end
  end
  return cli.new({ path = options.docker_path, host = options.host })
end

return M
