-- SPDX-License-Identifier: MIT
-- sweep.lua - removes what one create call made, found by that call's own label.
--
-- Never by name: the name may be somebody else's by now.

local container = require("anvia.sandbox.container")
local core = require("anvia.sandbox.core")
local errors = require("anvia.sandbox.errors")
local task = require("anvia.sandbox.task")

local M = {}

local PAUSE_MS = 50

-- An engine that was killed while it removed a container can list it for ever, although
-- it knows no such container: what is listed again after a removal has to be described.
local function is_there(engine, id)
  local rows, err = engine:describe_containers({ id })
  if not rows then
    return nil, err
  end
  return #rows > 0
end

-- `removed` is the set of those that were removed before.
local function remove_containers(engine, labels, removed)
  local ids, err = engine:find_containers(labels)
  if not ids then
    return nil, err
  end
  local count = 0
  for _, id in ipairs(ids) do
    local there = true
    if removed[id] then
      there, err = is_there(engine, id)
    end
    local ok = there ~= nil
    if there then
      count = count + 1
      ok, err = engine:remove_container(id)
    end
    if not ok then
      return nil, err
    end
    removed[id] = true
  end
  return count
end

-- A volume that is in use belongs to another session by now.
local function remove_volumes(engine, labels)
  local names, err = engine:find_volumes(labels)
  if not names then
    return nil, err
  end
  local removed = 0
  for _, name in ipairs(names) do
    local ok
    ok, err = engine:remove_volume(name)
    if ok then
      removed = removed + 1
    elseif err.reason ~= "volume_in_use" then
      return nil, err
    end
  end
  return removed
end

-- Removes the containers and volumes of the create call `create_id` once: how many
-- there were, or nil, err. With `mode` only volumes of that workspace mode.
local function once(engine, create_id, mode, removed)
  local labels = { [container.LABEL_CREATE] = create_id }
  local containers, err = remove_containers(engine, labels, removed)
  if not containers then
    return nil, err
  end
  local volumes
  labels[container.LABEL_MODE] = mode
  volumes, err = remove_volumes(engine, labels)
  if not volumes then
    return nil, err
  end
  return containers + volumes
end

--- Removes until nothing is found any more: true, or nil, err. `engine` has a
--- deadline; so has this.
function M.all(engine, create_id, mode, deadline)
  local last
  local removed = {}
  repeat
    local found, err = once(engine, create_id, mode, removed)
    if found == 0 then
      return true
    elseif err and err.code == "docker_unavailable" then
      return nil, err
    end
    last = err or errors.new("remove", "timeout",
      "the engine has not finished the removal of %d containers and volumes", found)
    task.sleep(PAUSE_MS)
  until core.now_ms() >= deadline
  return nil, last
end

return M
