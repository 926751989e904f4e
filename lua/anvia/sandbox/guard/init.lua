-- SPDX-License-Identifier: MIT
--- A session that asks a policy first.
---
--- `bind` returns a proxy with the methods and the public fields of a session. Each method is
--- classified in guard/calls.lua; one that is not is refused, so a new one cannot open a way
--- around. The session itself cannot be reached through the proxy.
---
--- What is judged is a copy of the arguments, and the copy is what runs.
local calls = require("anvia.sandbox.guard.calls")
local caps = require("anvia.sandbox.tools.caps")
local errors = require("anvia.sandbox.errors")
local meter = require("anvia.sandbox.guard.meter")
local link_reader = require("anvia.sandbox.guard.links")

local guards = {}

-- proxy -> guard: {session, policy, state, shadow, links, on_ask, limits, written}
local GUARDS = setmetatable({}, { __mode = "k" })

-- Everything else, such as the engine or the container behind a session, is nil.
local FIELDS = {
  id = true, provider = true, workdir = true, published_ports = true, runner = true,
  metadata = true,
}

local unpack = table.unpack or _G.unpack

--- A copy without metatables. A cancel token is an object and stays what it is.
local function copy_plain(value)
  if type(value) ~= "table" then
    return value
  end
  local copy = {}
  for key, item in next, value do
    copy[key] = key == "cancel" and item or copy_plain(item)
  end
  return copy
end

--- Whether a method of a session is known here; a spec asks for all of them.
function guards.is_classified(method)
  return calls.METHODS[method] ~= nil
end

--- on_ask that is asked once for one act, though the act is judged under several names.
local function ask_once(on_ask)
  if not on_ask then
    return nil
  end
  local answers = {}
  return function(request)
    local key = tostring(request.text)
    if answers[key] == nil then
      answers[key] = on_ask(request) or false
    end
    return answers[key]
  end
end

local function policy_failed(method, message)
  return nil, errors.new(method, "tool_policy", "Refused: the policy failed: %s", tostring(message))
end

local function prepare_links(links, list)
  links:prepare(list[1])
  if list.under then
    links:know_below(list.under, list.paths)
  end
end

--- The first call is counted; the others are judged on a state of their own.
local function judge(guard, list)
  local on_ask = ask_once(guard.on_ask)
  if guard.links and list[1] then
    local ran, message = pcall(prepare_links, guard.links, list)
    if not ran then
      return policy_failed(list[1].method, message)
    end
  end
  for i, call in ipairs(list) do
    local state = i == 1 and guard.state or guard.shadow
    local ran, ok, err = pcall(guard.policy.authorize, guard.policy, call, state, on_ask)
    if not ran then
      return policy_failed(call.method, ok)
    elseif not ok then
      return nil, err
    end
  end
  return true
end

local function limits_of(session)
  return session.limits or session._limits
end

--- Whether a method that has a time-out was called without one.
local function without_timeout(method, args)
  local at = calls.TIMED[method]
  local options = at and args[at]
  return at and (options == nil or type(options) == "table" and options.timeout_ms == nil)
end

--- A time-out that was left out is at most what the policy allows, and what it leaves.
local function lower_timeout(guard, method, args)
  local at = calls.TIMED[method]
  local tool = at == 1 and "exec_command" or "wait_for_port"
  local most = guard.policy:limits(tool, guard.state).timeout_ms
  if most then
    local own = limits_of(guard.session) or {}
    args[at] = args[at] or {}
    args[at].timeout_ms = math.min(most, args[at].timeout_ms or own.timeout_ms or most)
  end
end

--- Judges a call that is no method of a session.
---@return true? ok
---@return anvia.sandbox.Error? err
function guards.authorize(proxy, call)
  local guard = GUARDS[proxy]
  if not guard.policy then
    return true
  end
  return judge(guard, { call })
end

local proxies = {}

--- Copies the arguments, limits and judges them. Returns them and their number, or nil, err.
local function prepare(guard, method, ...)
  local count, args = select("#", ...), { ... }
  for i = 1, count do
    args[i] = copy_plain(args[i])
  end
  local left_out = without_timeout(method, args)
  if guard.limits and caps[method] then
    local ok, err = caps[method](args, guard.limits)
    if not ok then
      return nil, err
    end
  end
  if guard.policy and left_out then
    lower_timeout(guard, method, args)
  end
  if guard.policy then
    local list, err = calls.METHODS[method](guard, method, args)
    if not list then
      return nil, err
    end
    local ok
    ok, err = judge(guard, list)
    if not ok then
      return nil, err
    end
  end
  return args, math.max(count, #args)
end

for method in pairs(calls.METHODS) do
  proxies[method] = function(proxy, ...)
    local guard = GUARDS[proxy]
    if not guard then
      error(method .. ": call it as session:" .. method .. "(...)", 2)
    end
    local args, count = prepare(guard, method, ...)
    if not args then
      return nil, count
    end
    local session = guard.session
    if guard.policy and meter[method] then
      return meter[method](guard.state, session[method](session, unpack(args, 1, count)))
    end
    return session[method](session, unpack(args, 1, count))
  end
end

local mt = { __name = "anvia.sandbox.GuardedSession", __metatable = "anvia.sandbox.GuardedSession" }

function mt.__index(proxy, key)
  local session = GUARDS[proxy].session
  local value = session[key]
  if key == "limits" then
    return copy_plain(limits_of(session))
  elseif FIELDS[key] then
    return copy_plain(value)
  elseif type(value) ~= "function" or tostring(key):find("^_") then
    return nil
  elseif proxies[key] then
    return proxies[key]
  end
  return function()
    return nil, errors.new(tostring(key), "tool_policy",
      "Refused: %s is not open to a session with a policy", tostring(key))
  end
end

function mt.__newindex()
  error("a session with a policy cannot be changed", 2)
end

function mt.__close(proxy)
  proxies.destroy(proxy)
end

function mt.__tostring(proxy)
  return "guarded " .. tostring(GUARDS[proxy].session)
end

--- What a policy is told of a session, and the links in it.
local function facts_of(session)
  while GUARDS[session] do
    session = GUARDS[session].session
  end
  local links = link_reader.new(session)
  return {
    workdir = session.workdir,
    env = copy_plain(session._env),
    links = links and function(path)
      return links:of(path)
    end,
  }, links
end

--- A proxy of `session` whose methods ask `policy` first.
---
--- The state counts what the session has used; it is the session's, not the policy's. Give the same
--- one again to go on counting.
---@param session anvia.sandbox.Session
---@param policy anvia.sandbox.Policy?   nil: only the limits hold
---@param options {on_ask: function?, state: table?, limits: anvia.sandbox.tools.Limits?}?
---@return anvia.sandbox.Session
function guards.bind(session, policy, options)
  options = options or {}
  local guard = {
    session = session,
    policy = policy,
    state = options.state,
    shadow = nil,
    links = nil,
    on_ask = options.on_ask,
    limits = options.limits,
    written = {},
  }
  if policy then
    local facts
    facts, guard.links = facts_of(session)
    guard.state = guard.state or policy:session_state(facts)
    guard.state.facts = facts
    guard.shadow = policy:session_state(facts)
    guard.shadow.grants = guard.state.grants
  end
  local proxy = setmetatable({}, mt)
  GUARDS[proxy] = guard
  return proxy
end

return guards
