-- SPDX-License-Identifier: MIT
--- The tools that a model sees: which exist, and how a set of them is built for a session.
---
--- `build` returns an array of plain tables {name, description, input_schema, call}. The array has
--- methods that render it for a provider (`tools:openai()`, `tools:anthropic()`, `tools:mcp()`) and
--- one that takes a provider's call and returns a provider's result (`tools:call(call)`).
local errors = require("anvia.sandbox.errors")
local limits = require("anvia.sandbox.tools.limits")
local opt = require("anvia.sandbox.options")
local policies = require("anvia.sandbox.policy")
local guard = require("anvia.sandbox.guard")
local set = require("anvia.sandbox.tools.set")
local tool = require("anvia.sandbox.tools.tool")

local tools = {}

--- The names in the order that every set keeps.
tools.NAMES = {
  "exec_command", "read_file", "write_file", "list_files", "list_ports", "start_process",
  "list_processes", "read_process_logs", "stop_process", "wait_for_port",
}

tools.DEFAULT = { "exec_command", "read_file", "write_file", "list_files" }

--- The session that a tool works on; nil for a table that is no tool.
tools.session = tool.session

local function definitions()
  local by_name = {}
  for _, part in ipairs({ "exec", "files", "ports", "process" }) do
    for _, definition in ipairs(require("anvia.sandbox.tools." .. part).tools) do
      by_name[definition.name] = definition
    end
  end
  return by_name
end

local function has_methods(session, names)
  for _, name in ipairs(names) do
    if type(session[name]) ~= "function" then
      return false
    end
  end
  return true
end

--- Whether a session has published ports, which is when the port tools make sense.
local function has_ports(session)
  return has_methods(session, { "wait_for_port" }) and type(session.published_ports) == "table"
    and #session.published_ports > 0
end

local function has_processes(session)
  return has_methods(session, {
    "start_process", "list_processes", "read_process_logs", "stop_process",
  })
end

local function check_needs(session, by_name, wanted)
  for _, name in ipairs(tools.NAMES) do
    local needs = wanted[name] and by_name[name].needs
    if needs == "ports" and not has_ports(session) then
      return nil, errors.new("tools", "tool_policy", "%s needs a session with published ports; "
        .. "create the session with `ports` or leave the tool out", name)
    elseif needs == "processes" and not has_processes(session) then
      return nil, errors.new("tools", "tool_policy", "%s needs a session that manages processes; "
        .. "leave the tool out", name)
    end
  end
  return true
end

--- One policy of those that the options name, or nil.
local function policy_of(options, lim)
  local lists
  if lim.allowed_commands or lim.blocked_commands then
    lists = policies.from_lists({
      allowed_commands = lim.allowed_commands,
      blocked_commands = lim.blocked_commands,
    })
  end
  if lists and options.policy then
    return policies.stack({ options.policy, lists })
  end
  return lists or options.policy
end

--- The tools show no longer time-outs than the policy allows.
local function lower(limit, most)
  if most then
    limit.max = math.max(1, math.min(limit.max, math.floor(most)))
    limit.default = math.min(limit.default, limit.max)
  end
end

--- Builds the tools of a session.
---@param session anvia.sandbox.Session
---@param options anvia.sandbox.ToolOptions?
---@return anvia.sandbox.ToolSet? tools
---@return anvia.sandbox.Error? err    options that contradict each other or ask too much
function tools.build(session, options)
  if type(session) ~= "table"
      or not has_methods(session, { "exec", "read_text_page", "write_file", "list_files" }) then
    error("tools: argument 1 must be a session", 2)
  end
  local checked = opt.check("tools", limits.OPTIONS, options)
  if checked.policy ~= nil and not policies.is(checked.policy) then
    error("tools: option 'policy' must be a loaded policy", 2)
  end
  local by_name = definitions()
  local lim, err = limits.resolve(checked, session, tools.NAMES, tools.DEFAULT)
  if not lim then
    return nil, err
  end
  local ok
  ok, err = check_needs(session, by_name, lim.wanted)
  if not ok then
    return nil, err
  end
  local policy = policy_of(checked, lim)
  if policy then
    lower(lim.exec, policy:limits("exec_command").timeout_ms)
    lower(lim.wait, policy:limits("wait_for_port").timeout_ms)
  end
  local guarded = guard.bind(session, policy, {
    on_ask = checked.on_ask,
    limits = lim,
  })
  local context = { limits = lim, has = lim.wanted }
  local array = {}
  for _, name in ipairs(tools.NAMES) do
    if lim.wanted[name] then
      array[#array + 1] = tool.new(by_name[name], session, guarded, context)
    end
  end
  return set.new(array)
end

return tools
