-- SPDX-License-Identifier: MIT
-- ports.lua - published ports: how the engine has mapped them, and when something
-- listens behind them.

local container = require("anvia.sandbox.container")
local core = require("anvia.sandbox.core")
local errors = require("anvia.sandbox.errors")
local options = require("anvia.sandbox.options")
local task = require("anvia.sandbox.task")

local M = {}

local HOST = "127.0.0.1"

-- Right after a start the engine may not know the mapping yet.
local MAPPING_TIMEOUT_MS = 5000
local MAPPING_POLL_MS = 50

local PORT = options.integer(1, 65535)

local WAIT_OPTIONS = options.record({
  timeout_ms = options.integer(1),
  interval_ms = options.integer(1),
  cancel = options.cancel_token,
})

--- The option `ports`.
function M.check_list(value, name)
  local list, complaint = options.list(PORT)(value, name)
  if not list then
    return nil, complaint
  end
  local seen = {}
  for _, port in ipairs(list) do
    if seen[port] then
      return nil, string.format("option '%s' names port %d twice", name, port)
    end
    seen[port] = true
  end
  return list
end

--- Whether this engine and this network can publish `ports` on our own loopback
--- address: true, or nil, err.
function M.check_possible(engine, network, ports)
  if #ports == 0 then
    return true
  end
  local why = container.refuses_ports(network)
  if why then
    return nil, errors.new("create_session", "port", "%s", why)
  end
  local is_local, where = engine:is_local()
  if is_local == nil then
    return nil, where
  elseif not is_local then
    return nil, errors.new("create_session", "port", "the engine at %s publishes ports on its "
      .. "own machine, where %s is not ours; ports need an engine behind a local socket",
      where, HOST)
  end
  return true
end

local function host_port(text)
  local port = text:match("^%d+$") and tonumber(text)
  return port and port >= 1 and port <= 65535 and port or nil
end

--- The host port of the one binding to 127.0.0.1 in `list`, or nil and a reason.
--- Engines may name a binding twice, or a second one on the IPv6 any-address with
--- another port: neither counts.
function M.mapping(list)
  local found, elsewhere
  for _, binding in ipairs(list or {}) do
    local port = host_port(binding.port)
    if binding.host == HOST and port then
      if found and found ~= port then
        return nil, "it has more than one host port"
      end
      found = port
    elseif binding.host ~= HOST and binding.host ~= "" then
      elsewhere = binding.host
    end
    if binding.host == "0.0.0.0" then
      return nil, "it is published on every address of the host"
    end
  end
  if not found then
    return nil, elsewhere and "it is published on " .. elsewhere or "the engine names no host port"
  end
  return found
end

local function published(description, ports)
  local list = {}
  for i, port in ipairs(ports) do
    local mapped, why = M.mapping(description.bindings[port .. "/tcp"])
    if not mapped then
      return nil, string.format("port %d is not published as asked: %s", port, why)
    end
    list[i] = { container_port = port, host = HOST, host_port = mapped, protocol = "tcp" }
  end
  return list
end

--- Reads the mapping back: the list of published ports and the container's own
--- addresses, or nil, err.
function M.read_back(engine, name, ports)
  local deadline = core.now_ms() + MAPPING_TIMEOUT_MS
  while true do
    local description, err = engine:inspect(name)
    if not description then
      return nil, err
    end
    local list, why = published(description, ports)
    if list then
      return list, description.addresses
    elseif core.now_ms() >= deadline then
      return nil, errors.new("create_session", "port", "%s", why)
    end
    task.sleep(MAPPING_POLL_MS)
  end
end

local function find(session, port)
  for _, entry in ipairs(session.published_ports) do
    if entry.container_port == port then
      return entry
    end
  end
  return nil
end

local methods = {}

--- Waits until something listens on a published port that the host can reach.
---
--- Listeners on loopback or on IPv6 alone do not count; the error of a time-out says
--- what was there. A container that is gone ends the wait at once.
---@param port integer
---@param opts? {timeout_ms: integer?, interval_ms: integer?, cancel: table?}
---@return anvia.sandbox.PublishedPort? entry
---@return anvia.sandbox.Error? err
function methods:wait_for_port(port, opts)
  port = options.check_argument("wait_for_port", PORT, port, "port")
  opts = options.check("wait_for_port", WAIT_OPTIONS, opts)
  local entry = find(self, port)
  if not entry then
    return nil, errors.new("wait_for_port", "port", "port %d is not published by this session",
      port)
  end
  if opts.cancel and opts.cancel.cancelled then
    return nil, errors.new("wait_for_port", "cancelled", "it was cancelled before it began")
  end
  local ok, err = self:_call("wait_for_port", function(cs)
    return cs:probe(port, {
      timeout_ms = opts.timeout_ms or self._limits.timeout_ms,
      interval_ms = opts.interval_ms,
      addresses = self._addresses,
      host_port = entry.host_port,
    })
  end, opts.cancel)
  if not ok then
    return nil, err
  end
  return { container_port = port, host = entry.host, host_port = entry.host_port, protocol = "tcp" }
end

--- Adds the methods for ports to the methods of sessions.
function M.attach(class)
  for name, method in pairs(methods) do
    class[name] = method
  end
end

return M
