-- SPDX-License-Identifier: MIT
--- list_ports and wait_for_port.
local advice = require("anvia.sandbox.tools.advice")
local errors = require("anvia.sandbox.errors")
local guard = require("anvia.sandbox.guard")

local ports = {}

local function empty_schema()
  return { type = "object", properties = {}, additionalProperties = false }
end

local function wait_schema(lim)
  return {
    type = "object",
    properties = {
      containerPort = {
        type = "integer",
        minimum = 1,
        maximum = 65535,
        description = "The port that the server listens on in the sandbox.",
      },
      timeoutMs = {
        type = "integer",
        minimum = 1,
        maximum = lim.wait.max,
        description = string.format("Milliseconds to wait at most. Default: %d.", lim.wait.default),
      },
    },
    required = { "containerPort" },
    additionalProperties = false,
  }
end

local function inner(port)
  return string.format("%d/%s", port.container_port, port.protocol or "tcp")
end

local function outer(port)
  return string.format("%s:%d", port.host, port.host_port)
end

local function list(session)
  local ok, err = guard.authorize(session, { tool = "list_ports", method = "list_ports" })
  if not ok then
    return nil, err
  end
  local lines = {}
  for i, port in ipairs(session.published_ports or {}) do
    lines[i] = inner(port) .. "\t" .. outer(port)
  end
  if #lines == 0 then
    return "No ports are published."
  end
  return table.concat(lines, "\n")
end

--- A port that is not published can be waited for without end: refused at once.
local function not_published(session, wanted)
  local known = {}
  for i, port in ipairs(session.published_ports or {}) do
    if port.container_port == wanted then
      return nil
    end
    known[i] = tostring(port.container_port)
  end
  return errors.new("wait_for_port", "port", "port %d is not published by this sandbox, so nothing "
    .. "can reach it from outside. Start the server on 0.0.0.0 and one of the published ports: %s.",
    wanted, table.concat(known, ", "))
end

local function wait(session, input, context)
  local err = not_published(session, input.containerPort)
  if err then
    return nil, err
  end
  local port
  port, err = session:wait_for_port(input.containerPort, {
    timeout_ms = input.timeoutMs,
    cancel = context.cancel,
  })
  if port then
    return string.format("ready: %s -> %s", inner(port), outer(port))
  end
  return nil, ports.advise(err, context)
end

--- What to do about a port that did not become ready.
function ports.advise(err, context)
  if (err.code ~= "timeout" and err.code ~= "port") or err.message:find("0.0.0.0", 1, true) then
    return err
  elseif err.message:find("127.0.0.1", 1, true) or err.message:find("loopback", 1, true) then
    return advice.add(err, "Start the server on 0.0.0.0 instead of 127.0.0.1 or localhost.")
  elseif err.message:find("IPv6", 1, true) then
    return advice.add(err, "Start the server on 0.0.0.0.")
  elseif err.code == "timeout" and context.has.read_process_logs then
    return advice.add(err, "See what the server printed with read_process_logs.")
  end
  return err
end

ports.tools = {
  {
    name = "list_ports",
    needs = "ports",
    read_only = true,
    description = function()
      return "List the ports of the sandbox that can be reached from outside, with their addresses."
    end,
    input_schema = empty_schema,
    run = list,
  },
  {
    name = "wait_for_port",
    needs = "ports",
    read_only = true,
    description = function()
      return "Wait until a server in the sandbox listens on a published port and can be reached. "
        .. "It has to listen on 0.0.0.0."
    end,
    input_schema = wait_schema,
    run = wait,
  },
}

return ports
