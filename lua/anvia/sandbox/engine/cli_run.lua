-- SPDX-License-Identifier: MIT
-- cli_run.lua - the argument list of `docker run` for a session's container.

local M = {}

-- The client puts proxy settings of its own configuration into containers unless
-- the variable is named on its command line.
local PROXY_VARIABLES = { "http_proxy", "https_proxy", "ftp_proxy", "no_proxy", "all_proxy" }

-- A bare `-e NAME` takes the value from the client's environment, or leaves the
-- variable out when it has none there; then NAME must be set to nothing.
local function without_proxies(argv, getenv)
  for _, name in ipairs(PROXY_VARIABLES) do
    for _, variable in ipairs({ name, name:upper() }) do
      argv[#argv + 1] = "-e"
      argv[#argv + 1] = getenv(variable) and variable .. "=" or variable
    end
  end
end

local function sorted_keys(map)
  local keys = {}
  for key in pairs(map) do
    keys[#keys + 1] = key
  end
  table.sort(keys)
  return keys
end

-- One field of --mount, whose value is a line of CSV.
local function csv_field(text)
  if text:find('[,"\n]') then
    return '"' .. text:gsub('"', '""') .. '"'
  end
  return text
end

local function mount(target, volume, ...)
  local fields = { "type=volume", csv_field("dst=" .. target), ... }
  if volume.name then
    fields[#fields + 1] = "src=" .. volume.name
  end
  for _, name in ipairs(sorted_keys(volume.labels)) do
    fields[#fields + 1] = csv_field("volume-label=" .. name .. "=" .. volume.labels[name])
  end
  return table.concat(fields, ",")
end

-- A volume that is there for all; what the image has at that place is never copied into it.
local function shared_mount(volume)
  if volume.read_only then
    return mount(volume.target, volume, "volume-nocopy", "readonly")
  end
  return mount(volume.target, volume, "volume-nocopy")
end

local function add(argv, ...)
  for i = 1, select("#", ...) do
    argv[#argv + 1] = (select(i, ...))
  end
end

local function add_limits(argv, plan)
  if plan.memory_mb then
    local bytes = string.format("%.0f", plan.memory_mb * 1024 * 1024)
    add(argv, "--memory", bytes, "--memory-swap", bytes)
  end
  if plan.cpus then
    add(argv, "--cpus", string.format("%.6g", plan.cpus))
  end
  add(argv, "--pids-limit", string.format("%.0f", plan.pids_limit))
end

local function add_security(argv, plan)
  for _, capability in ipairs(plan.drop_capabilities) do
    add(argv, "--cap-drop", capability)
  end
  for _, capability in ipairs(plan.add_capabilities) do
    add(argv, "--cap-add", capability)
  end
  if plan.no_new_privileges then
    add(argv, "--security-opt", "no-new-privileges")
  end
  if plan.readonly_rootfs then
    add(argv, "--read-only", "--tmpfs", "/tmp:rw,nosuid,nodev,mode=1777,size=64m")
  end
end

-- The image and what PID 1 is. The supervisor has to be PID 1 itself, and an image's
-- health check would run with its rights.
local function add_program(argv, plan, control)
  local supervisor = plan.supervisor
  if supervisor then
    add(argv, "--mount", shared_mount(supervisor.mount), "--init=false", "--no-healthcheck")
    add(argv, "--entrypoint", supervisor.path, plan.image)
  else
    add(argv, "--entrypoint", "/bin/sh", plan.image, "-c", control, "sh", "init")
  end
end

--- The arguments that create a container which is never started (see cli_place.lua).
function M.holder_argv(holder)
  local argv = { "create", "--pull", "never", "--network", "none" }
  if holder.name then
    add(argv, "--name", holder.name)
  end
  for _, name in ipairs(sorted_keys(holder.labels)) do
    add(argv, "--label", name .. "=" .. holder.labels[name])
  end
  add(argv, "--mount", shared_mount(holder.mount))
  add(argv, "--entrypoint", holder.mount.target, holder.image)
  return argv
end

--- The arguments that follow the client's name. The container lives as long as
--- the client's standard input: that is the session's lease. `control` is the
--- shell text that PID 1 runs where it is no supervisor.
function M.argv(plan, control, getenv)
  local argv = { "run", "-i", "--rm", "--sig-proxy=false", "--pull", "never" }
  add(argv, "--name", plan.name, "--log-driver", "none", "--stop-timeout", "1")
  for _, name in ipairs(sorted_keys(plan.labels)) do
    add(argv, "--label", name .. "=" .. plan.labels[name])
  end
  if plan.network then
    add(argv, "--network", plan.network)
  end
  for _, port in ipairs(plan.ports) do
    add(argv, "-p", string.format("127.0.0.1::%d/tcp", port))
  end
  add_security(argv, plan)
  add_limits(argv, plan)
  if plan.runtime then
    add(argv, "--runtime", plan.runtime)
  end
  if plan.user then
    add(argv, "--user", plan.user)
  end
  add(argv, "--mount", mount(plan.workdir, plan.volume), "-w", plan.workdir)
  without_proxies(argv, getenv)
  add_program(argv, plan, control)
  return argv
end

return M
