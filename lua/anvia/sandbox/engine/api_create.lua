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

--- A volume that is there for all: `mount` is {name, target, read_only, labels}. What the
--- image has at that place is never copied into it.
function M.add_mount(host, mount, minor)
  if minor >= MOUNTS then
    host.Mounts = host.Mounts or {}
    host.Mounts[#host.Mounts + 1] = {
      Type = "volume",
      Source = mount.name,
      Target = mount.target,
      ReadOnly = mount.read_only,
      VolumeOptions = { NoCopy = true, Labels = mount.labels },
    }
  else
    host.Binds = host.Binds or {}
    host.Binds[#host.Binds + 1] = string.format("%s:%s:%s,nocopy", mount.name, mount.target,
      mount.read_only and "ro" or "rw")
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
  host.CapAdd = list_or_nil(plan.add_capabilities)
  if plan.no_new_privileges then
    host.SecurityOpt = { "no-new-privileges" }
  end
  if plan.readonly_rootfs then
    host.ReadonlyRootfs = true
    host.Tmpfs = { ["/tmp"] = "rw,nosuid,nodev,mode=1777,size=64m" }
  end
end

-- The supervisor has to be PID 1 itself, and an image's health check would run with
-- its rights.
local function add_supervisor(body, host, supervisor, minor)
  body.Entrypoint, body.Cmd = { supervisor.path }, nil
  body.Healthcheck = { Test = { "NONE" } }
  if minor >= MOUNTS then
    host.Init = false
  end
  M.add_mount(host, supervisor.mount, minor)
end

--- `control` is the shell text that PID 1 runs where it is no supervisor; `minor` the
--- API's version, 1.minor.
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
  if plan.supervisor then
    add_supervisor(body, host, plan.supervisor, minor)
  end
  return body
end

return M
