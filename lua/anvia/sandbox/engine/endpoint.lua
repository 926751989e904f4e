-- SPDX-License-Identifier: MIT
-- endpoint.lua - which engine the user means, by the rules of the docker client:
-- the option `host`, DOCKER_HOST, the current context, the default socket.

local core = require("anvia.sandbox.core")
local task = require("anvia.sandbox.task")

local M = {}

local DEFAULT = "/var/run/docker.sock"
local CONTEXT_TIMEOUT_MS = 5000

-- "No such file"; anything else (a socket cannot be opened as a file) is there.
local ENOENT = 2

local function exists(path)
  local file, _, code = io.open(path, "r")
  if file then
    file:close()
  end
  return file ~= nil or code ~= ENOENT
end

--- Can this endpoint be spoken to directly? Only these need no client of their own.
function M.is_direct(endpoint, getenv)
  if endpoint:find("^unix:///") then
    return true
  end
  local tls = getenv("DOCKER_TLS_VERIFY") or getenv("DOCKER_TLS") or ""
  return tls == "" and endpoint:find("^tcp://[^/]+/?$") ~= nil
end

local function config(getenv)
  local dir = getenv("DOCKER_CONFIG")
  if not dir or dir == "" then
    dir = (getenv("HOME") or "") .. "/.docker"
  end
  local file = io.open(dir .. "/config.json", "r")
  if not file then
    return {}
  end
  local text = file:read("*a")
  file:close()
  local decoded = text and core.json_decode(text)
  return type(decoded) == "table" and decoded or {}
end

-- The name of the context in use; nil for the default one.
local function context(getenv)
  local name = getenv("DOCKER_CONTEXT")
  if not name or name == "" then
    name = config(getenv).currentContext
  end
  if type(name) ~= "string" or name == "" or name == "default" then
    return nil
  end
  return name
end

-- Where a context leads, and whether it needs certificates; only the client knows
-- how it keeps contexts.
local function endpoint_of(name)
  local result = task.await(core.run({
    argv = {
      "docker", "context", "inspect", "--format",
      "{{.Endpoints.docker.Host}} {{len .TLSMaterial}}", name,
    },
    timeout_ms = CONTEXT_TIMEOUT_MS,
    max_output_bytes = 4096,
  }))
  local host, files = (result and result.exit_code == 0 and result.stdout or "")
    :match("^(%S+) (%d+)")
  if not host or files ~= "0" then
    return nil
  end
  return host
end

-- The first socket that is there: the engine's, a rootless one's, Podman's.
local function default(getenv)
  local own = getenv("XDG_RUNTIME_DIR")
  local paths = { DEFAULT }
  if own and own ~= "" then
    paths[#paths + 1] = own .. "/docker.sock"
    paths[#paths + 1] = own .. "/podman/podman.sock"
  end
  paths[#paths + 1] = "/run/podman/podman.sock"
  for _, path in ipairs(paths) do
    if exists(path) then
      return "unix://" .. path
    end
  end
  return "unix://" .. DEFAULT
end

--- The endpoint that can be spoken to directly; or nil, and the endpoint (where it is
--- known) that needs the command line client.
function M.find(host, getenv)
  getenv = getenv or os.getenv
  local endpoint = host or getenv("DOCKER_HOST")
  if not endpoint or endpoint == "" then
    local name = context(getenv)
    if name then
      endpoint = endpoint_of(name)
    else
      endpoint = default(getenv)
    end
  end
  if endpoint and M.is_direct(endpoint, getenv) then
    return endpoint
  end
  return nil, endpoint
end

return M
