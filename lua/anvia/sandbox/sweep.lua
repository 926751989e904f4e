-- SPDX-License-Identifier: MIT
-- sweep.lua - removes what one create call made, found by that call's own label.
--
-- Never by name: the name may be somebody else's by now.

local container = require("anvia.sandbox.container")
local core = require("anvia.sandbox.core")
local task = require("anvia.sandbox.task")

local M = {}

local PAUSE_MS = 50

local function remove_containers(engine, labels)
  local ids, err = engine:find_containers(labels)
  if not ids then
    return nil, err
  end
  for _, id in ipairs(ids) do
    local ok
    ok, err = engine:remove_container(id)
    if not ok then
      return nil, err
    end
  end
  return #ids
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

--- Removes the containers and volumes of the create call `create_id` once: how
--- many there were, or nil, err. With `mode` only volumes of that workspace mode.
function M.once(engine, create_id, mode)
  local labels = { [container.LABEL_CREATE] = create_id }
  local containers, err = remove_containers(engine, labels)
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
  repeat
    local found, err = M.once(engine, create_id, mode)
    if found == 0 then
      return true
    elseif err and err.code == "docker_unavailable" then
      return nil, err
    end
    last = err
    task.sleep(PAUSE_MS)
  until core.now_ms() >= deadline
  return nil, last
end

return M
