-- SPDX-License-Identifier: MIT
-- api_create.lua - the body of the request that creates a session's container. Pure;
-- says the same as the command line of cli_run.lua.

local M = {}

-- From this version on: mounts with labels, and processor time as one number.
local MOUNTS = 25

local function list_or_nil(list)
  return #list > 0 and list or nil
end

local function ports_of(plan)
  local exposed, bindings
  for _, port in ipairs(plan.ports) do
    local name = string.format("%d/tcp", port)
    exposed, bindings = exposed or {}, bindings or {}
    exposed[name] = {}
    bindings[name] = { { HostIp = "127.0.0.1", HostPort = "" } }
  end
  return exposed, bindings
end

local function add_workspace(body, host, plan, minor)
  local volume = plan.volume
  if minor >= MOUNTS then
    host.Mounts = {
      {
        Type = "volume",
        Source = volume.name,
        Target = plan.workdir,
        VolumeOptions = { Labels = volume.labels },
      },
    }
  elseif volume.name then
    host.Binds = { volume.name .. ":" .. plan.workdir }
  else
    body.Volumes = { [plan.workdir] = {} }
  end
end

local function add_limits(host, plan, minor)
  if plan.memory_mb then
    host.Memory = plan.memory_mb * 1024 * 1024
    host.MemorySwap = host.Memory
  end
  if plan.cpus and minor >= MOUNTS then
    host.NanoCpus = math.floor(plan.cpus * 1e9 + 0.5)
  elseif plan.cpus then
    host.CpuPeriod = 100000
    host.CpuQuota = math.floor(plan.cpus * 100000 + 0.5)
  end
  host.PidsLimit = plan.pids_limit
end

local function add_security(host, plan)
  host.CapDrop = list_or_nil(plan.drop_capabilities)
  if plan.no_new_privileges then
    host.SecurityOpt = { "no-new-privileges" }
  end
  if plan.readonly_rootfs then
    host.ReadonlyRootfs = true
    host.Tmpfs = { ["/tmp"] = "rw,nosuid,nodev,mode=1777,size=64m" }
  end
end

--- `control` is the shell text that PID 1 runs; `minor` the API's version, 1.minor.
function M.body(plan, control, minor)
  local exposed, bindings = ports_of(plan)
  local host = {
    AutoRemove = true,
    LogConfig = { Type = "none" },
    NetworkMode = plan.network or "default",
    PortBindings = bindings,
    Runtime = plan.runtime,
  }
  local body = {
    Image = plan.image,
    Entrypoint = { "/bin/sh" },
    Cmd = { "-c", control, "sh", "init" },
    User = plan.user,
    WorkingDir = plan.workdir,
    Labels = plan.labels,
    StopTimeout = 1,
    ExposedPorts = exposed,
    -- the attached input is the lease: its end is the end of PID 1's
    OpenStdin = true,
    StdinOnce = true,
    AttachStdin = true,
    AttachStdout = true,
    AttachStderr = true,
    HostConfig = host,
  }
  add_workspace(body, host, plan, minor)
  add_limits(host, plan, minor)
  add_security(host, plan)
  return body
end

return M
