-- SPDX-License-Identifier: MIT
-- What a session has used up, and the limits on it.
--
-- A session state belongs to one session, not to a policy: it counts, and it remembers what was
-- granted for the session. Policies only read it.

local language = require("anvia.sandbox.policy.language")

local budget = {}

local methods = {}
local mt = { __name = "anvia.sandbox.PolicyState", __index = methods }

--- What is counted: "exec.calls", "exec.ms", "write.bytes", ...
local COUNTED = { calls = true, ms = true, bytes = true }

-- The counter behind each limit of a session; the other limits are those of one call.
local COUNTER = { calls = "calls", total_ms = "ms", bytes = "bytes" }

function budget.new_state()
  return setmetatable({ _counters = {}, grants = {} }, mt)
end

--- Counts n of `kind`, for example state:charge("exec.ms", result.duration_ms).
function methods:charge(kind, n)
  local subject, what = tostring(kind):match("^(%l+)%.(%l+)$")
  if not subject or not language.limits[subject] or not COUNTED[what] then
    error("nothing is counted as '" .. tostring(kind) .. "'", 2)
  end
  if type(n) ~= "number" or n < 0 or n ~= n then
    error("the amount must be a number that is not negative", 2)
  end
  local counters = self._counters[subject] or {}
  self._counters[subject] = counters
  counters[what] = (counters[what] or 0) + n
end

--- How much of `kind` was counted so far.
function methods:spent(kind)
  local subject, what = tostring(kind):match("^(%l+)%.(%l+)$")
  local counters = self._counters[subject]
  return counters and counters[what] or 0
end

--- All counters as a copy: { exec = { calls = 3, ms = 120 }, ... }, each kind with each counter.
function methods:counters()
  local copy = {}
  for kind in pairs(language.limits) do
    copy[kind] = {}
    for what in pairs(COUNTED) do
      copy[kind][what] = self._counters[kind] and self._counters[kind][what] or 0
    end
  end
  return copy
end

--- The kind of limits that a tool falls under.
function budget.kind_of(tool)
  local kind = language.tools[tool]
  return language.limits[kind] and kind or "process"
end

--- The smallest of each limit over all layers: name -> { value, file, line }.
function budget.limits(layers, kind)
  local smallest = {}
  for _, layer in ipairs(layers) do
    for name, limit in pairs(layer.limits[kind] or {}) do
      if not smallest[name] or limit.value < smallest[name].value then smallest[name] = limit end
    end
  end
  return smallest
end

local UNITS = { calls = "calls", ms = "ms", bytes = "bytes" }

local function over(limit, text)
  return { answer = "deny", by = "limit", file = limit.file, line = limit.line, because = text,
    subject = { kind = "limit", text = text } }
end

local function number(value)
  return ("%.0f"):format(value)
end

-- What this one call would add to a counter.
local function amount(what, call)
  if what == "calls" then return 1 end
  if what == "bytes" then return call.content and #call.content or call.size or 0 end
  return 0
end

local function session_limit(name, limit, kind, call, state)
  local what = COUNTER[name]
  local spent = state:spent(kind .. "." .. what)
  -- time is known afterwards: the next call is refused once it is used up
  local full = spent + amount(what, call) > limit.value or (what == "ms" and spent >= limit.value)
  if not full then return nil end
  return over(limit, ("the session may use %s %s for %s, and %s are used"):format(
    number(limit.value), UNITS[what], kind, number(spent)))
end

local CALL = {
  timeout_ms = function(limit, call)
    local asked = call.timeout_ms
    if asked == nil then return nil end -- the limit is then the time-out, see Policy:limits()
    if type(asked) ~= "number" or asked ~= asked or asked <= 0 then
      return over(limit, "the time-out must be a positive number of milliseconds")
    elseif asked > limit.value then
      return over(limit, ("the time-out may be at most %s ms"):format(number(limit.value)))
    end
    return nil
  end,
  file_bytes = function(limit, call)
    local size = call.content and #call.content or call.size
    if not size or size <= limit.value then return nil end
    return over(limit, ("a file may have at most %s bytes, this one has %s"):format(
      number(limit.value), number(size)))
  end,
  input_bytes = function(limit, call)
    if not call.input or #call.input <= limit.value then return nil end
    return over(limit, ("the input may have at most %s bytes"):format(number(limit.value)))
  end,
}

--- The first limit that the call breaks, or nil.
function budget.check(layers, call, state)
  local kind = budget.kind_of(call.tool)
  for name, limit in pairs(budget.limits(layers, kind)) do
    local broken
    if COUNTER[name] then broken = session_limit(name, limit, kind, call, state)
    else broken = CALL[name](limit, call) end
    if broken then return broken end
  end
  return nil
end

--- Counts an approved call: one call, and the bytes that it writes.
function budget.charge_call(call, state)
  local kind = budget.kind_of(call.tool)
  state:charge(kind .. ".calls", 1)
  local bytes = amount("bytes", call)
  if bytes > 0 then state:charge(kind .. ".bytes", bytes) end
end

return budget
