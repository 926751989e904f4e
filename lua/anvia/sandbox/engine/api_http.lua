-- SPDX-License-Identifier: MIT
-- api_http.lua - single requests to an engine's socket: paths, versions, errors.

local core = require("anvia.sandbox.core")
local errors = require("anvia.sandbox.errors")
local failure = require("anvia.sandbox.engine.failure")
local task = require("anvia.sandbox.task")

local M = {}

local REQUEST_TIMEOUT_MS = 10000
local PING_TIMEOUT_MS = 5000
local MAX_BODY_BYTES = 64 * 1024 * 1024

-- The oldest version spoken here, and the newest that was tried.
M.OLDEST, M.NEWEST = 24, 47

local Http = {}
Http.__index = Http

--- `endpoint` is "unix:///..." or "tcp://host:port".
function M.new(endpoint)
  return setmetatable({
    endpoint = endpoint,
    deadline = nil,
    _known = { minor = nil }, -- of the version; shared by copies
  }, Http)
end

--- The same, with requests that also end at `deadline` (monotonic, ms).
function Http:within(deadline)
  return setmetatable({
    endpoint = self.endpoint,
    deadline = deadline,
    _known = self._known,
  }, Http)
end

--- Text as part of a path or query.
function M.escape(text)
  return (text:gsub("[^%w_.~-]", function(byte)
    return string.format("%%%02X", byte:byte())
  end))
end

--- "?a=1&b=2" from {a = "1", b = "2"}, in a fixed order.
function M.query(fields)
  local names, parts = {}, {}
  for name in pairs(fields) do
    names[#names + 1] = name
  end
  table.sort(names)
  for i, name in ipairs(names) do
    parts[i] = name .. "=" .. M.escape(tostring(fields[name]))
  end
  return #parts > 0 and "?" .. table.concat(parts, "&") or ""
end

function Http:time(limit_ms)
  if not self.deadline then
    return limit_ms
  end
  return math.max(1, math.min(limit_ms, self.deadline - core.now_ms()))
end

-- The operation of a request, as core.http takes it.
function Http:_start(prefix, method, path, extra)
  extra = extra or {}
  local body = extra.body
  if type(body) == "table" then
    body = assert(core.json_encode(body))
  end
  return core.http({
    endpoint = self.endpoint,
    method = method,
    path = prefix .. path,
    headers = extra.headers,
    content_type = extra.content_type,
    body = body,
    timeout_ms = self:time(extra.timeout_ms or REQUEST_TIMEOUT_MS),
    max_body_bytes = extra.max_body_bytes or MAX_BODY_BYTES,
    arms = extra.arms,
    disarms = extra.disarms,
    prefix = (extra.arms or extra.disarms) and prefix,
    lines = extra.lines,
  })
end

--- Asks whether the engine answers, and for its version: true, or nil, err.
function Http:ping(op)
  local answer, err = task.await(self:_start("", "GET", "/_ping", { timeout_ms = PING_TIMEOUT_MS }))
  if not answer then
    return nil, errors.wrap(op, err)
  elseif answer.status ~= 200 then
    return nil, errors.new(op, "docker_unavailable", "the engine at %s is not well: status %d",
      self.endpoint, answer.status)
  end
  local minor = tonumber((answer.headers["api-version"] or ""):match("^1%.(%d+)$"))
  if not minor or minor < M.OLDEST then
    return nil, errors.new(op, "docker_unavailable",
      "the engine at %s speaks version %s of the API; 1.%d is needed", self.endpoint,
      answer.headers["api-version"] or "(none)", M.OLDEST)
  end
  self._known.minor = math.min(minor, M.NEWEST)
  return true
end

--- The number behind "1." of the version to speak, or nil, err.
function Http:minor(op)
  if not self._known.minor then
    local ok, err = self:ping(op)
    if not ok then
      return nil, err
    end
  end
  return self._known.minor
end

--- The start of all paths; "" (the engine's own version) while the engine does not
--- answer: then the request itself says why.
function Http:prefix()
  local minor = self:minor()
  return minor and "/v1." .. string.format("%d", minor) or ""
end

--- Starts a request; the operation, or nil, err. `extra` is {body, content_type, headers,
--- timeout_ms, max_body_bytes, lines, arms, disarms}; a body that is a table is sent as JSON.
function Http:start(op, method, path, extra)
  local minor, err = self:minor(op)
  if not minor then
    return nil, err
  end
  return self:_start(self:prefix(), method, path, extra)
end

--- The error for an answer that says no.
function Http:refusal(op, answer)
  local decoded = core.json_decode(answer.body)
  local message = type(decoded) == "table" and decoded.message
  if type(message) ~= "string" or message == "" then
    message = answer.body:match("^%s*(%C+)") or "status " .. answer.status
  end
  if message:find("client version 1%.%d+ is too n") then
    self._known.minor = nil -- another engine than before: ask it again
  end
  local err = errors.new(op, "docker_command", "%s", message)
  err.status = answer.status
  err.reason = failure.reason(message)
  err.result = { stdout = "", stderr = message, exit_code = 1 }
  return err
end

--- The end of a started request: the answer if its status is good, else nil, err.
function Http:finish(op, operation, more)
  local answer, err = task.await(operation, more)
  if not answer then
    return nil, errors.wrap(op, err)
  elseif answer.status >= 400 then
    return nil, self:refusal(op, answer)
  end
  return answer
end

function Http:request(op, method, path, extra)
  return self:finish(op, self:start(op, method, path, extra))
end

--- The decoded JSON of an answer, or nil, err.
function M.decode(op, answer)
  local value, complaint = core.json_decode(answer.body)
  if value == nil then
    return nil, errors.new(op, "protocol", "unreadable answer of the engine: %s", complaint)
  elseif type(value) ~= "table" then
    return nil, errors.new(op, "protocol", "unreadable answer of the engine: no object")
  end
  return value
end

return M
