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

local function mount(plan)
  local fields = { "type=volume", csv_field("dst=" .. plan.workdir) }
  if plan.volume.name then
    fields[#fields + 1] = "src=" .. plan.volume.name
  end
  for _, name in ipairs(sorted_keys(plan.volume.labels)) do
    fields[#fields + 1] = csv_field("volume-label=" .. name .. "=" .. plan.volume.labels[name])
  end
  return table.concat(fields, ",")
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
  if plan.no_new_privileges then
    add(argv, "--security-opt", "no-new-privileges")
  end
  if plan.readonly_rootfs then
    add(argv, "--read-only", "--tmpfs", "/tmp:rw,nosuid,nodev,mode=1777,size=64m")
  end
end

--- The arguments that follow the client's name. The container lives as long as
--- the client's standard input: that is the session's lease. `control` is the
--- shell text that PID 1 runs.
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
  add(argv, "--mount", mount(plan), "-w", plan.workdir)
  without_proxies(argv, getenv)
  add(argv, "--entrypoint", "/bin/sh", plan.image, "-c", control, "sh", "init")
  return argv
end

return M
