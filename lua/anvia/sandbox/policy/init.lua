-- SPDX-License-Identifier: MIT
-- Policies: what a model may do, said by a Lua file.
--
--   local policy = assert(sandbox.policy.load("project.lua"))
--   local state = policy:session_state { workdir = "/workspace" }
--   local ok, err = policy:authorize({ tool = "exec_command", command = "git" }, state, on_ask)
--
-- The container is the boundary. A policy reads what a call says, not what a program does: it keeps
-- an honest model on the path, and tells it why; it does not hold back hostile code.

local ask = require("anvia.sandbox.policy.ask")
local box = require("anvia.sandbox.policy.box")
local budget = require("anvia.sandbox.policy.budget")
local explain = require("anvia.sandbox.policy.explain")
local judge = require("anvia.sandbox.policy.judge")
local layers = require("anvia.sandbox.policy.layer")
local lists = require("anvia.sandbox.policy.lists")
local selftest = require("anvia.sandbox.policy.selftest")
local show = require("anvia.sandbox.policy.show")
local errors = require("anvia.sandbox.errors")

local policy = {}

local MAX_COMPLAINTS = 20

local methods = {}
local mt = { __name = "anvia.sandbox.Policy", __index = methods }

local function new(all, failure)
  local wrappers = nil
  for _, layer in ipairs(all) do
    for name, description in pairs(layer.wrappers) do
      wrappers = wrappers or {}
      -- the first one stays: a later layer must not change what an earlier one sees
      if wrappers[name] == nil then wrappers[name] = description end
    end
  end
  return setmetatable({ layers = all, wrappers = wrappers, error = failure, readings = nil }, mt)
end

-- ---- making policies ----

local function read_file(path)
  local file, wrong = io.open(path, "rb")
  if not file then return nil, wrong end
  local text = file:read(box.limits.source_bytes + 1)
  file:close()
  if not text then return nil, path .. ": cannot be read" end
  return text
end

-- Text is told from a path by what no sensible path has.
local function is_text(source)
  return source:find("[\n{}()\"]") ~= nil
end

local function failed(text)
  local failure = errors.new("policy.load", "tool_policy", "%s", text)
  return new({}, failure), failure
end

local function join(complaints)
  local lines = {}
  for i, complaint in ipairs(complaints) do
    if i > MAX_COMPLAINTS then
      lines[i] = ("... and %d more"):format(#complaints - MAX_COMPLAINTS)
      break
    end
    lines[i] = type(complaint) == "table" and complaint.text or complaint
  end
  return table.concat(lines, "\n")
end

local OPTIONS = { name = "string", text = "boolean", limits = "table", readings = "table" }

local function check_options(options)
  for key, value in pairs(options) do
    if not OPTIONS[key] then error("policy.load: unknown option '" .. tostring(key) .. "'", 3) end
    if type(value) ~= OPTIONS[key] then
      error(("policy.load: option '%s' must be a %s"):format(key, OPTIONS[key]), 3)
    end
  end
end

--- Loads a policy from a file, or from text.
---
--- The first value is always a policy. One that does not load refuses everything and says why.
---@param source string   path, or text (anything with a line break, brace, parenthesis or quote)
---@param options anvia.sandbox.PolicyOptions?
---@return anvia.sandbox.Policy policy
---@return anvia.sandbox.Error? err
function policy.load(source, options)
  if type(source) ~= "string" then error("policy.load: a path or text is needed", 2) end
  options = options or {}
  check_options(options)
  local text, name = source, options.name or "policy"
  if options.text == false or (options.text == nil and not is_text(source)) then
    local wrong
    name = options.name or source
    text, wrong = read_file(source)
    if not text then return failed(wrong) end
  end
  local made, cage = layers.new(name), box.new(options.limits)
  local declarations, wrong = cage:load(text, name)
  if not declarations then return failed(wrong) end
  made.box = cage
  local complaints = layers.fill(made, declarations)
  if complaints[1] then return failed(join(complaints)) end
  local loaded = new({ made })
  loaded.readings = options.readings
  complaints = selftest.run(loaded)
  if complaints[1] then return failed(join(complaints)) end
  return loaded
end

--- Several policies as one. The strictest answer wins, so each can only tighten the others.
---@param list anvia.sandbox.Policy[]
---@return anvia.sandbox.Policy
function policy.stack(list)
  local all, failures = {}, {}
  for i = 1, #list do
    local one = list[i]
    if getmetatable(one) ~= mt then
      error(("policy.stack: number %d of the list is no policy"):format(i), 2)
    end
    if one.error then failures[#failures + 1] = one.error.message end
    for _, layer in ipairs(one.layers) do all[#all + 1] = layer end
  end
  if #list == 0 then error("policy.stack: the list is empty", 2) end
  if failures[1] then return (failed(join(failures))) end
  local stacked = new(all)
  stacked.readings = list[1].readings
  return stacked
end

--- A policy from the lists in the options of the tools.
---@param options {allowed_commands: string[]?, blocked_commands: string[]?}
---@return anvia.sandbox.Policy
function policy.from_lists(options)
  return new({ lists.layer(options) })
end

--- A policy from the JSON form of Codex prefix rules or of Claude Code permissions.
---@param source string|table   JSON, or what it decodes to
---@param options anvia.sandbox.PolicyOptions?
---@return anvia.sandbox.Policy policy
---@return anvia.sandbox.Error? err
---@return {text: string, notes: string[]} imported
function policy.import(source, options)
  local text, notes = policy.import_text(source)
  if not text then
    local broken, failure = failed(notes)
    return broken, failure, { text = "", notes = {} }
  end
  local copy = { text = true, name = "imported" }
  for key, value in pairs(options or {}) do copy[key] = value end
  local made, failure = policy.load(text, copy)
  return made, failure, { text = text, notes = notes }
end

--- The same as the text of a policy file.
---@param source string|table
---@return string? text
---@return string[]|string notes   what could not be carried over, or what is wrong
function policy.import_text(source)
  return require("anvia.sandbox.policy.import").text(source)
end

--- Is this a policy?
function policy.is(value)
  return getmetatable(value) == mt
end

-- ---- using policies ----

local function check_call(call, op)
  if type(call) ~= "table" or type(call.tool) ~= "string" then
    error(op .. ": a call is a table with a tool", 3)
  end
end

--- What a session has used, and what was granted for it. `facts` are what readings need to know.
---@param facts anvia.sandbox.PolicyFacts?
---@return anvia.sandbox.PolicyState
function methods:session_state(facts)
  local state = budget.new_state()
  state.facts = facts
  return state
end

--- Judges a call. Nothing is counted and nobody is asked.
---@param call anvia.sandbox.PolicyCall
---@param state anvia.sandbox.PolicyState?
---@return anvia.sandbox.Verdict
function methods:judge(call, state)
  check_call(call, "judge")
  local verdict = judge.call(self, call, state or self:session_state())
  return verdict
end

local function describe(found)
  return explain.verdict(found)
end

local function refusal(verdict, extra)
  local text = verdict.text
  if extra then text = text .. " " .. extra end
  local err = errors.new(nil, "tool_policy", "%s", text)
  err.verdict = verdict
  return nil, err
end

local function approve(self, verdict, ctx, on_ask)
  if verdict.answer == "allow" then return true end
  if verdict.answer ~= "ask" then return refusal(verdict) end
  if not on_ask then return refusal(verdict, "There is nobody to ask here.") end
  local request, keys = ask.request(verdict, ctx, describe)
  local ok, why = ask.run(on_ask, request, keys, ctx.state)
  if not ok then return refusal(verdict, "It was not approved: " .. why .. ".") end
  -- While somebody was thinking, other calls may have used the session up.
  local over = budget.check(self.layers, ctx.call, ctx.state)
  if over then return refusal(explain.verdict(over)) end
  return true
end

--- Judges a call, asks where the answer is to ask, and counts the call once it may run.
---@param call anvia.sandbox.PolicyCall
---@param state anvia.sandbox.PolicyState
---@param on_ask (fun(request: anvia.sandbox.PolicyRequest): "once"|"session"|boolean|nil)?
---@return true? ok
---@return anvia.sandbox.Error? err   code "tool_policy"; the message is for the model
function methods:authorize(call, state, on_ask)
  check_call(call, "authorize")
  state = state or self:session_state()
  local verdict, ctx = judge.call(self, call, state)
  local ok, err = approve(self, verdict, ctx, on_ask)
  if not ok then return nil, err end
  budget.charge_call(call, state)
  return true
end

--- The limits of a tool: the smallest of all layers. With a state, `timeout_ms` is also no more
--- than what is left of the session's total_ms.
---@param tool string
---@param state anvia.sandbox.PolicyState?
---@return table<string, number>
function methods:limits(tool, state)
  local values = judge.limit_values(self, tool)
  if state and values.total_ms then
    local left = math.max(1, values.total_ms - state:spent(budget.kind_of(tool) .. ".ms"))
    values.timeout_ms = math.min(values.timeout_ms or left, left)
  end
  return values
end

--- How a call is judged, step by step, as text for the author of a policy.
---@param call anvia.sandbox.PolicyCall|string   also a command line
---@param state anvia.sandbox.PolicyState?
---@return string text
---@return anvia.sandbox.Verdict verdict
function methods:explain(call, state)
  if type(call) == "string" then call = selftest.call(call) end
  check_call(call, "explain")
  local verdict = judge.call(self, call, state or self:session_state(), {})
  if not verdict.steps then return verdict.text, verdict end
  return explain.long(verdict), verdict
end

local function tighter(name, old, value)
  if old == nil then return value end
  if type(value) == "number" then return math.min(old, value) end
  return name == "network" and false or value
end

--- What the policy's `container { ... }` asks of the container, which unlike the policy is a
--- boundary: options for sandbox.docker.
---@return table
function methods:container_hints()
  local flat = {}
  for _, layer in ipairs(self.layers) do
    for name, value in pairs(layer.container) do flat[name] = tighter(name, flat[name], value) end
  end
  local hints = {}
  local function put(group, name)
    if flat[name] == nil then return end
    hints[group] = hints[group] or {}
    hints[group][name] = flat[name]
  end
  if flat.network ~= nil then hints.network = false end
  for _, name in ipairs { "memory_mb", "cpus", "pids_limit" } do put("limits", name) end
  for _, name in ipairs { "readonly_rootfs", "no_new_privileges", "drop_capabilities" } do
    put("security", name)
  end
  return hints
end

function mt:__tostring()
  if self.error then return "policy that refuses everything: " .. self.error.message end
  local files = {}
  for i, layer in ipairs(self.layers) do files[i] = layer.file end
  return "policy " .. show.line(table.concat(files, ", "))
end

return policy
