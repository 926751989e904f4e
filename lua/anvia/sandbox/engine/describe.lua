-- SPDX-License-Identifier: MIT
-- describe.lua - the engine's JSON descriptions as small plain tables. Pure; any
-- field may be missing, null, or of another type, as happens right after a start.

local M = {}

local function table_or_empty(value)
  return type(value) == "table" and value or {}
end

local function string_or(value, default)
  return type(value) == "string" and value or default
end

local function strings_of(map)
  local copy = {}
  for key, value in pairs(table_or_empty(map)) do
    if type(key) == "string" and type(value) == "string" then
      copy[key] = value
    end
  end
  return copy
end

-- The container's own IPv4 addresses, of all its networks.
local function addresses_of(settings)
  local addresses = {}
  for _, network in pairs(table_or_empty(settings.Networks)) do
    local address = string_or(table_or_empty(network).IPAddress, "")
    if address ~= "" then
      addresses[#addresses + 1] = address
    end
  end
  table.sort(addresses)
  return addresses
end

-- "8000/tcp" -> list of {host, port}; what is not text is left out.
local function bindings_of(settings)
  local bindings = {}
  for name, list in pairs(table_or_empty(settings.Ports)) do
    local copy = {}
    for _, binding in ipairs(table_or_empty(list)) do
      binding = table_or_empty(binding)
      copy[#copy + 1] = {
        host = string_or(binding.HostIp, ""),
        port = string_or(binding.HostPort, ""),
      }
    end
    bindings[name] = copy
  end
  return bindings
end

local function volumes_of(mounts)
  local volumes = {}
  for _, mount in ipairs(table_or_empty(mounts)) do
    mount = table_or_empty(mount)
    if mount.Type == "volume" and type(mount.Name) == "string" then
      volumes[#volumes + 1] = mount.Name
    end
  end
  return volumes
end

--- One container from `container inspect`.
function M.container(raw)
  raw = table_or_empty(raw)
  local config, state = table_or_empty(raw.Config), table_or_empty(raw.State)
  local settings = table_or_empty(raw.NetworkSettings)
  return {
    id = string_or(raw.Id, ""),
    name = (string_or(raw.Name, ""):gsub("^/", "")),
    image = string_or(config.Image, ""),
    status = string_or(state.Status, "unknown"),
    labels = strings_of(config.Labels),
    addresses = addresses_of(settings),
    bindings = bindings_of(settings),
    volumes = volumes_of(raw.Mounts),
  }
end

--- One volume from `volume inspect`.
function M.volume(raw)
  raw = table_or_empty(raw)
  return { name = string_or(raw.Name, ""), labels = strings_of(raw.Labels) }
end

--- What counts of an image from `image inspect`: for which machines it is, and who runs
--- its programs.
function M.image(raw)
  raw = table_or_empty(raw)
  return {
    id = string_or(raw.Id, ""),
    architecture = string_or(raw.Architecture, ""),
    os = string_or(raw.Os, ""),
    user = string_or(table_or_empty(raw.Config).User, ""),
  }
end

return M
