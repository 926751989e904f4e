-- SPDX-License-Identifier: MIT
-- prune.lua - lists the sessions of an engine, and removes the orphans among them.
--
-- Removed is only what is provably nobody's. All else is kept and reported with
-- the reason.

local container = require("anvia.sandbox.container")
local core = require("anvia.sandbox.core")
local owner = require("anvia.sandbox.owner")
local supervisor = require("anvia.sandbox.supervisor")

local M = {}

-- The clocks of two machines may differ by this much.
local EXPIRY_MARGIN_MS = 60 * 1000
-- A supervisor's volume of another version may still be wanted by a program that runs now.
local SUPERVISOR_KEPT_MS = 24 * 60 * 60 * 1000

local function metadata_of(labels)
  local metadata = {}
  for name, value in pairs(labels) do
    if name:sub(1, #container.PREFIX_METADATA) == container.PREFIX_METADATA then
      metadata[name:sub(#container.PREFIX_METADATA + 1)] = value
    end
  end
  return metadata
end

local function ports_of(bindings)
  local ports = {}
  for name, list in pairs(bindings) do
    local port = tonumber(name:match("^(%d+)/tcp$"))
    for _, binding in ipairs(list) do
      if port and binding.host == "127.0.0.1" then
        ports[#ports + 1] = {
          container_port = port,
          host = binding.host,
          host_port = tonumber(binding.port),
          protocol = "tcp",
        }
        break
      end
    end
  end
  table.sort(ports, function(a, b)
    return a.container_port < b.container_port
  end)
  return ports
end

-- Whose it is and whether it may go: {state, reason, orphaned}.
local function judge(labels, here, now)
  local who = owner.from_labels(labels)
  if not who then
    return { state = "unknown", reason = "its owner's labels are missing or malformed" }
  end
  local state, reason = owner.state(who, here)
  local expires = tonumber(labels[container.LABEL_EXPIRES] or "")
  local orphaned = state == "dead"
  if state == "unknown" and expires and expires + EXPIRY_MARGIN_MS < now then
    orphaned, reason = true, "its time to live is over"
  end
  return { owner = who, state = state, reason = reason, orphaned = orphaned, expires = expires }
end

local function row_of(found, verdict)
  local labels = found.labels
  local who = verdict.owner
  return {
    id = labels[container.LABEL_ID] or "",
    container_id = found.id,
    container_name = found.name,
    image = found.image,
    status = found.status,
    labels = labels,
    metadata = metadata_of(labels),
    workspace = { mode = labels[container.LABEL_MODE], volume = labels[container.LABEL_VOLUME] },
    published_ports = ports_of(found.bindings),
    created_at = tonumber(labels[container.LABEL_CREATED] or ""),
    expires_at = verdict.expires,
    owner = who and { host = who.host, pid = who.pid, state = verdict.state }
      or { state = verdict.state },
  }
end

local function find(engine)
  local ids, err = engine:find_containers({ [container.LABEL] = "true" })
  if not ids then
    return nil, err
  end
  return engine:describe_containers(ids)
end

--- All sessions on the engine, oldest first.
function M.list(engine)
  local found, err = find(engine)
  if not found then
    return nil, err
  end
  local here, now = owner.here(), core.wall_ms()
  local rows = {}
  for _, one in ipairs(found) do
    if not one.labels[container.LABEL_SUPERVISOR] then -- that one is no session's
      rows[#rows + 1] = row_of(one, judge(one.labels, here, now))
    end
  end
  table.sort(rows, function(a, b)
    local x, y = a.created_at or 0, b.created_at or 0
    if x ~= y then
      return x < y
    end
    return a.container_id < b.container_id
  end)
  return rows
end

local function note(report, list, what)
  local entries = report[list]
  entries[#entries + 1] = what
end

-- Removes with `remove`, unless it is a dry run, and notes what happened.
local function settle(report, dry_run, what, verdict, remove)
  what.reason = verdict.reason
  if not verdict.orphaned then
    note(report, "kept", what)
    return
  end
  if not dry_run then
    local ok, err = remove()
    if not ok then
      what.reason, what.error = "it could not be removed: " .. err.message, err
      note(report, "kept", what)
      return
    end
  end
  note(report, "removed", what)
end

local function prune_containers(engine, here, now, dry_run, report)
  local found, err = find(engine)
  if not found then
    return nil, err
  end
  local used = {}
  for _, one in ipairs(found) do
    local verdict = judge(one.labels, here, now)
    for _, volume in ipairs(one.volumes) do
      used[volume] = true
    end
    settle(report, dry_run, {
      kind = "container",
      id = one.labels[container.LABEL_ID] or "",
      container_id = one.id,
    }, verdict, function()
      return engine:remove_container(one.id)
    end)
  end
  return used
end

local function volumes_with(engine, labels)
  local names, err = engine:find_volumes(labels)
  if not names then
    return nil, err
  end
  return engine:describe_volumes(names)
end

-- A volume whose container is not there: either the container is still being
-- created, by an owner who is alive then, or it is left over.
local function prune_volumes(engine, here, now, dry_run, report, used)
  local volumes, err = volumes_with(engine, {
    [container.LABEL] = "true",
    [container.LABEL_MODE] = "ephemeral",
  })
  if not volumes then
    return nil, err
  end
  for _, volume in ipairs(volumes) do
    if not used[volume.name] then
      settle(report, dry_run, {
        kind = "volume",
        id = volume.labels[container.LABEL_ID] or "",
        volume = volume.name,
      }, judge(volume.labels, here, now), function()
        return engine:remove_volume(volume.name)
      end)
    end
  end
  return true
end

-- May the volume with another version's supervisor go? {reason, orphaned}, or nil, err.
local function judge_supervisor(engine, volume, now)
  local created = tonumber(volume.labels[container.LABEL_CREATED] or "")
  if not created or created + SUPERVISOR_KEPT_MS > now then
    return { reason = "it holds the supervisor of another version, and is not old enough" }
  end
  local users, err = engine:volume_users(volume.name)
  if not users then
    return nil, err
  elseif #users > 0 then
    return { reason = "it is in use" }
  end
  return { reason = "it holds the supervisor of another version", orphaned = true }
end

local function prune_supervisors(engine, now, dry_run, report)
  local volumes, err = volumes_with(engine, { [container.LABEL_SUPERVISOR] = true })
  if not volumes then
    return nil, err
  end
  for _, volume in ipairs(volumes) do
    if not supervisor.is_current(volume.name) then
      local verdict
      verdict, err = judge_supervisor(engine, volume, now)
      if not verdict then
        return nil, err
      end
      settle(report, dry_run, { kind = "supervisor", volume = volume.name }, verdict, function()
        return engine:remove_volume(volume.name)
      end)
    end
  end
  return true
end

--- Removes the sessions whose owner is provably dead, or whose time is over while
--- nobody can say whether their owner lives: {removed, kept}, two lists of
--- {kind, id, reason, ...}. Persistent workspaces stay. Volumes with the supervisor of
--- another version go when no container has them and they are older than a day.
function M.prune(engine, dry_run)
  local here, now = owner.here(), core.wall_ms()
  local report = { removed = {}, kept = {} }
  local used, err = prune_containers(engine, here, now, dry_run, report)
  if not used then
    return nil, err
  end
  local ok
  ok, err = prune_volumes(engine, here, now, dry_run, report, used)
  if ok then
    ok, err = prune_supervisors(engine, now, dry_run, report)
  end
  if not ok then
    return nil, err
  end
  return report
end

return M
