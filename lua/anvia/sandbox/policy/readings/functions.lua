-- SPDX-License-Identifier: MIT
--- Calls of functions: a body is read where it is called, with the arguments of the call.
---
--- A function that calls itself is read once more with nothing known, which covers all deeper
--- calls. The same is done when there are too many calls.

local state = require("anvia.sandbox.policy.shell.state")

local MAX_CALLS = 8
local MAX_INLINED = 2000
local MAX_STEPS = 8000

local functions = {}

--- Reads the bodies with nothing known, once.
local function in_general(scope, name, bodies, calls, at)
  scope.general = scope.general or {}
  scope:forget_functions()
  if scope.general[name] then
    return
  end
  scope.general[name] = true
  for _, body in ipairs(bodies) do
    scope:any_time(body, scope.reader.inside(at, nil, { calls = calls, locals = {} }))
  end
end

--- Reads one body, then gives back the variables that the function made its own.
local function run_body(walk, scope, body, params, at)
  local st = scope.state
  local mark, outer = st:mark(), st:get("@")
  st:set("@", params)
  local fail = walk.node(scope, body, at)
  if fail then
    st:set("/cwd", state.join(st:get("/cwd"), fail))
  end
  for variable, set in pairs(at.locals) do
    st:set(variable, state.join(set, st:get(variable)))
  end
  st:set("@", outer)
  return st:undo(mark)
end

---@param walk table
---@param scope table
---@param name string
---@param bodies anvia.sandbox.shell.Node[]
---@param argv anvia.sandbox.Word[]
---@param at anvia.sandbox.readings.Site
function functions.call(walk, scope, name, bodies, argv, at)
  local calls, depth = {}, 0
  for known, count in pairs(at.calls or {}) do
    calls[known] = count
    depth = depth + count
  end
  calls[name] = (calls[name] or 0) + 1
  scope.called[name] = true
  scope.inlined = scope.inlined + 1
  if calls[name] > 2 or depth >= MAX_CALLS or scope.inlined > MAX_INLINED
    or scope.reader.steps > MAX_STEPS then
    return in_general(scope, name, bodies, calls, at)
  end

  local params = { { words = {} } }
  for i = 2, #argv do
    params[1].words[i - 1] = argv[i]
  end
  if calls[name] == 2 then
    params = state.DYNAMIC
    scope:forget_functions()
  end
  local branches = {}
  for i, body in ipairs(bodies) do
    local inner = scope.reader.inside(at, nil, { calls = calls, locals = {} })
    branches[i] = run_body(walk, scope, body, params, inner)
  end
  scope.state:merge(branches, false)
end

return functions
