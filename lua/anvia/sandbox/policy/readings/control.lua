-- SPDX-License-Identifier: MIT
--- Walks branches and loops: what may have run, and what may be set afterwards.

local state = require("anvia.sandbox.policy.shell.state")
local expand = require("anvia.sandbox.policy.shell.expand")

local control = {}

control["if"] = function(walk, scope, node, at)
  local st, branches, has_else = scope.state, {}, false
  for i, arm in ipairs(node.arms) do
    local fail
    if not arm.condition then
      has_else = true
    elseif i == 1 then
      fail = walk.node(scope, arm.condition, at)
    else
      walk.maybe(scope, function()
        fail = walk.node(scope, arm.condition, at)
      end)
    end
    branches[i] = walk.apart(scope, function()
      st:set("/cwd", st:get("/cwd"))
      local after = walk.node(scope, arm.list, at)
      if after then
        st:set("/cwd", state.join(st:get("/cwd"), after))
      end
    end)
    if fail then
      st:set("/cwd", node.arms[i + 1] and fail or state.join(st:get("/cwd"), fail))
    end
  end
  st:merge(branches, not has_else)
end

--- What a loop sets may be set when it begins again.
local function widen(scope, assigned)
  local st = scope.state
  for name, values in pairs(assigned) do
    st:widen(name, values == true and state.DYNAMIC or values)
  end
  scope:forget_functions()
end

function control.loop(walk, scope, node, at)
  walk.maybe(scope, function()
    widen(scope, node.assigned)
    local inner = scope.reader.inside(at, nil, { looping = true })
    walk.node(scope, node.condition, inner)
    walk.node(scope, node.list, inner)
  end)
end

--- The values that a for loop gives its variable.
local function values_of(scope, words)
  local set = {}
  for _, word in ipairs(words) do
    for _, way in ipairs(expand.fields(scope.ex, word)) do
      for _, field in ipairs(way) do
        set = state.join(set, type(field) == "string" and { field } or state.DYNAMIC)
      end
    end
    if set.dynamic and #set > 0 then
      break
    end
  end
  return set
end

control["for"] = function(walk, scope, node, at)
  if node.parts then
    walk.parts(scope, node.parts, at)
    walk.arithmetic(scope, node.parts)
  elseif node.words then
    walk.words(scope, node.words, at)
  end
  local values
  if node.words then
    values = values_of(scope, node.words)
  elseif node.name then
    values = values_of(scope, { { parts = { { t = "var", name = "@", q = true } }, text = "$@" } })
  end
  walk.maybe(scope, function()
    widen(scope, node.assigned)
    if node.name then
      scope:assign_at(node.name, values, at)
    end
    walk.node(scope, node.list, scope.reader.inside(at, nil, { looping = true }))
  end)
end

control["case"] = function(walk, scope, node, at)
  walk.words(scope, { node.word }, at)
  for _, arm in ipairs(node.arms) do
    walk.words(scope, arm.patterns, at)
  end
  local branches, complete = {}, false
  for i, arm in ipairs(node.arms) do
    local function run()
      walk.node(scope, arm.list, at)
    end
    if node.falls then
      walk.maybe(scope, run)
    else
      branches[i] = walk.apart(scope, run)
    end
    complete = complete or (#arm.patterns == 1 and arm.patterns[1].literal == "*")
  end
  scope.state:merge(branches, not complete)
end

return control
