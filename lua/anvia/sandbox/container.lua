-- SPDX-License-Identifier: MIT
-- container.lua - what a session's container looks like: its name, its labels,
-- its workspace, and the engine's orders for it. Pure: asks nobody.

local capabilities = require("anvia.sandbox.capabilities")

local M = {}

M.LABEL = "anvia.sandbox"
M.LABEL_ID = "anvia.sandbox.id"
M.LABEL_CREATE = "anvia.sandbox.create"
M.LABEL_CREATED = "anvia.sandbox.created"
M.LABEL_EXPIRES = "anvia.sandbox.expires"
M.LABEL_MODE = "anvia.sandbox.workspace.mode"
M.LABEL_VOLUME = "anvia.sandbox.workspace.volume"
M.LABEL_SUPERVISOR = "anvia.sandbox.supervisor"
M.PREFIX_METADATA = "anvia.sandbox.metadata."

-- Ids become container and volume names as they are, so an id that an engine
-- would not take is refused, not rewritten into another session's name.
M.ID_PATTERN = "^[A-Za-z0-9][A-Za-z0-9_.-]*$"
M.ID_MAX = 64
M.ID_WHAT = "1 to 64 of the characters A-Z a-z 0-9 _ . - and begin with a letter or a digit"

function M.container_name(id)
  return "anvia-sandbox-" .. id
end

function M.volume_name(workspace_id)
  return "anvia-sandbox-workspace-" .. workspace_id
end

-- Networks on which an engine can publish no port.
local NO_PORTS = { none = true, host = true }

--- The engine's word for the option `network`: nil stands for its default network.
function M.network(option)
  if option == true then
    return nil
  elseif option == false then
    return "none"
  end
  return option
end

--- Nil, or why ports cannot be published on this network.
function M.refuses_ports(network)
  if network and (NO_PORTS[network] or network:find("^container:")) then
    return "ports cannot be published on the network '" .. network .. "'"
  end
  return nil
end

-- What the container and its volume are known by, together or alone.
local function stamp(labels, id, facts)
  labels[M.LABEL] = "true"
  labels[M.LABEL_ID] = id
  labels[M.LABEL_CREATE] = facts.create_id
  labels[M.LABEL_CREATED] = string.format("%.0f", facts.now_ms)
  if facts.ttl_ms then
    labels[M.LABEL_EXPIRES] = string.format("%.0f", facts.now_ms + facts.ttl_ms)
  end
  for name, value in pairs(facts.owner_labels) do
    labels[name] = value
  end
  return labels
end

local function volume_of(workspace, id, facts)
  local labels = stamp({}, id, facts)
  labels[M.LABEL_MODE] = workspace.mode
  if workspace.mode == "ephemeral" then
    return { labels = labels }
  end
  local name = M.volume_name(workspace.id)
  labels[M.LABEL_VOLUME] = name
  return { name = name, labels = labels }
end

local function labels_of(id, sandbox, session, volume, facts)
  local labels = {}
  for name, value in pairs(sandbox.labels) do
    labels[name] = value
  end
  for key, value in pairs(session.metadata) do
    labels[M.PREFIX_METADATA .. key] = value
  end
  stamp(labels, id, facts)
  labels[M.LABEL_MODE] = session.workspace.mode
  labels[M.LABEL_VOLUME] = volume.name
  return labels
end

-- Who PID 1 is, and what it and its commands may do. The supervisor is root and makes
-- commands the session's user itself, since only so it can kill what has changed its
-- user, and hand the workspace over.
local function add_rights(plan, sandbox, runner)
  local security = sandbox.security
  plan.no_new_privileges = security.no_new_privileges
  if runner.name == "exec" then
    plan.user = sandbox.user
    plan.drop_capabilities, plan.add_capabilities = security.drop_capabilities, {}
    return plan
  end
  local names, mask = capabilities.of_commands(security.drop_capabilities)
  plan.user = "0:0"
  plan.drop_capabilities = { "ALL" }
  for _, name in ipairs(security.drop_capabilities) do
    if name ~= "ALL" then -- so that the engine looks at the names
      plan.drop_capabilities[#plan.drop_capabilities + 1] = name
    end
  end
  plan.add_capabilities = capabilities.of_container(names)
  plan.supervisor = {
    path = runner.path,
    mount = runner.mount,
    user = runner.user,
    capabilities = mask,
  }
  return plan
end

--- The plan of one container. `facts` are {id, create_id, now_ms, ttl_ms,
--- owner_labels}: a name for the session if the caller gave none, a name for this
--- very attempt, the time of day, how long it may live, and who asks. `runner` is what
--- runner.lua has chosen.
function M.plan(sandbox, session, facts, runner)
  local id = session.id or facts.id
  local volume = volume_of(session.workspace, id, facts)
  local limits = sandbox.limits
  return add_rights({
    id = id,
    name = M.container_name(id),
    create_id = facts.create_id,
    image = sandbox.image,
    labels = labels_of(id, sandbox, session, volume, facts),
    volume = volume,
    workdir = sandbox.workdir,
    network = M.network(sandbox.network),
    ports = session.ports,
    runtime = sandbox.runtime,
    memory_mb = limits.memory_mb,
    cpus = limits.cpus,
    pids_limit = limits.pids_limit,
    readonly_rootfs = sandbox.security.readonly_rootfs,
  }, sandbox, runner)
end

return M
