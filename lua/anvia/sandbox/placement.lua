-- SPDX-License-Identifier: MIT
-- placement.lua - the steps that put the supervisor's program into its volume.
--
-- All of them work on a `place`: {engine, patient, image, program, mount, deadline,
-- removals}; the engine ends its requests by the deadline, the patient one does not, and
-- removals are tasks that nobody needs to wait for before he goes on.

local container = require("anvia.sandbox.container")
local core = require("anvia.sandbox.core")
local errors = require("anvia.sandbox.errors")
local owner = require("anvia.sandbox.owner")
local sweep = require("anvia.sandbox.sweep")
local tar = require("anvia.sandbox.tar")
local task = require("anvia.sandbox.task")

local M = {}

local OP = "create_session"

local FILE, MODE = "supervisor", 365 -- 0555

-- A directory with more in it than this is none of ours.
local MAX_ARCHIVE_BYTES = 4 * 1024 * 1024
-- The container that fills; no session can have this name.
local HOLDER_PREFIX = "anvia-supervisor-"
-- How long it can be at it, and how long nobody takes it for left over when its owner
-- cannot be seen.
local HOLDER_MS, HOLDER_MARGIN_MS = 30000, 60000
local LOCK_POLL_MS = 50
-- A container that comes too late is looked for this long, less and less often; one look
-- and what it finds to remove has a time of its own.
local LATE_MS, LATE_POLL_MS, LATE_LOOK_MS = 60000, 100, 5000

-- Removes what an engine may still make for a request that failed.
local function sweep_late(engine, create_id)
  task.spawn(function()
    local deadline = core.now_ms() + LATE_MS
    local pause = LATE_POLL_MS
    repeat
      local until_ms = core.now_ms() + LATE_LOOK_MS
      sweep.all(engine:within(until_ms), create_id, nil, until_ms)
      task.sleep(pause)
      pause = pause * 2
    until core.now_ms() >= deadline
  end)
end

local function labels_of(create_id)
  local now = core.wall_ms()
  return owner.label({
    [container.LABEL] = "true",
    [container.LABEL_CREATE] = create_id,
    [container.LABEL_CREATED] = string.format("%.0f", now),
    [container.LABEL_EXPIRES] = string.format("%.0f", now + HOLDER_MS),
    [container.LABEL_SUPERVISOR] = core._VERSION,
  }, owner.here())
end

-- Runs fn(id) with a container that has the volume mounted, and has it removed.
local function with_holder(place, name, fn)
  local engine = place.engine
  local create_id = core.random_hex(32)
  local holder = {
    name = name,
    image = place.image,
    mount = place.mount,
    labels = labels_of(create_id),
  }
  local id, err = engine:create_holder(holder)
  if not id then
    if err.code ~= "docker_command" then
      sweep_late(place.patient, create_id)
    end
    return nil, err
  end
  local value
  value, err = fn(id)
  place.removals[#place.removals + 1] = task.spawn(function()
    if not engine:remove_holder(holder, id) then
      sweep_late(place.patient, create_id)
    end
  end)
  return value, err
end

-- "ready", "unfinished" (nothing of it counts) or "foreign".
local function judge(archive, program)
  local found
  for _, entry in ipairs(tar.read(archive) or { { path = "?" } }) do
    local path = entry.path:gsub("^%./", ""):gsub("^%.anvia/?", "")
    if path == FILE and entry.type == "file" and not found then
      found = entry
    elseif entry.type ~= "directory" or (path ~= "" and path ~= "." and path ~= "lost+found") then
      return "foreign"
    end
  end
  if not found then
    return "unfinished"
  elseif found.content == program.bytes then
    -- Some engines put the kind of the file into the mode as well.
    return (found.mode or 0) % 4096 == MODE and "ready" or "unfinished"
  end
  -- The beginning of it, and what a crash of the machine makes of the rest.
  local written = found.content:gsub("%z+$", "")
  if #found.content <= #program.bytes and program.bytes:sub(1, #written) == written then
    return "unfinished"
  end
  return "foreign"
end

-- What the volume of container `id` holds: "ready", "unfinished", or nil, err.
local function look(place, id)
  local archive, err = place.engine:get_archive(id, place.mount.target, MAX_ARCHIVE_BYTES)
  local state
  if archive then
    state = judge(archive, place.program)
  elseif err.code == "protocol" then
    state = "foreign" -- too much of it
  end
  if state ~= "foreign" then
    return state, err
  end
  local name = place.program.volume
  err = errors.new(OP, "docker_command", "the volume %s is there, but holds something else than "
    .. "the supervisor; if it is nobody's, remove it: docker volume rm %s", name, name)
  err.reason = "foreign_volume"
  return nil, err
end

local function put(place, id)
  local state, err = look(place, id)
  if state ~= "unfinished" then
    return state, err
  end
  local ok
  ok, err = place.engine:put_archive(id, place.mount.target,
    tar.write({ { path = FILE, type = "file", mode = MODE, content = place.program.bytes } }))
  if not ok then
    return nil, err
  end
  state, err = look(place, id)
  if state == "unfinished" then
    return nil, errors.new(OP, "docker_command",
      "the engine did not put the supervisor into the volume %s", place.program.volume)
  end
  return state, err
end

-- The name is taken: by somebody who fills, or who crashed while he did; only the latter's
-- container is removed. True when it is worth trying again.
local function settle_name(engine, name)
  local holder, err = engine:inspect(name)
  if not holder then
    return err.reason == "no_container" or nil, err
  elseif not holder.labels[container.LABEL_SUPERVISOR] then
    return nil, errors.new(OP, "docker_command", "the container %s is in the way", name)
  end
  local who = owner.from_labels(holder.labels)
  local state = who and owner.state(who, owner.here()) or "unknown"
  local expires = tonumber(holder.labels[container.LABEL_EXPIRES] or "") or 0
  if state == "dead" or (state == "unknown" and expires + HOLDER_MARGIN_MS < core.wall_ms()) then
    return engine:remove_container(holder.id)
  end
  return true
end

-- The first one here fills the volume.
local function fill(place)
  local name = HOLDER_PREFIX .. place.program.digest
  repeat
    local state, err = with_holder(place, name, function(id)
      return put(place, id)
    end)
    if state or err.reason ~= "name_in_use" then
      return state, err
    end
    local ok
    ok, err = settle_name(place.engine, name)
    if not ok then
      return nil, err
    end
    task.sleep(LOCK_POLL_MS)
  until core.now_ms() >= place.deadline
  return nil, errors.new(OP, "timeout", "the volume %s is still being filled by somebody else",
    place.program.volume)
end

--- Sees to it that the volume is there and right: true, or nil, err. Looking at one that
--- is not there makes it.
function M.bring(place)
  local state, err = with_holder(place, nil, function(id)
    return look(place, id)
  end)
  if state == "unfinished" then
    state, err = fill(place)
  end
  return state and true, err
end

return M
