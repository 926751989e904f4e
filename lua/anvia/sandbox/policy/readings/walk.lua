-- SPDX-License-Identifier: MIT
--- Walks the tree of a script in the order in which a shell would run it, and hands every command
--- to the reader.
---
--- A directory is followed apart for success and failure: after `cd a && x` the command runs in a,
--- after `cd a; x` in a or, when there is no a, where the shell was. Each function gives the
--- directories after failure (nil: the same as after success) and whether the script ends there.

local state = require("anvia.sandbox.policy.shell.state")
local expand = require("anvia.sandbox.policy.shell.expand")
local simple = require("anvia.sandbox.policy.readings.simple")
local redirects = require("anvia.sandbox.policy.readings.redirects")
local control = require("anvia.sandbox.policy.readings.control")
local output = require("anvia.sandbox.policy.readings.output")

local walk = {}

local visit = {}

for name, method in pairs(control) do
  visit[name] = function(scope, node, at)
    return method(walk, scope, node, at)
  end
end

--- Runs something whose changes stay inside.
function walk.apart(scope, run)
  local mark = scope.state:mark()
  run()
  return scope.state:undo(mark)
end

--- Walks a list that may or may not run.
function walk.maybe(scope, run)
  scope.state:merge({ walk.apart(scope, run) }, true)
end

--- Nodes that hand their input on to one command.
local ALONE = { simple = true, list = true, and_or = true, pipeline = true }

--- An input that several commands share: each gets what the others have left.
function walk.shared(stdin)
  if not stdin.text or stdin.shared then
    return stdin
  end
  return { kind = stdin.kind, text = stdin.text, known = stdin.known, shared = true }
end

--- One node with its redirections.
---@param scope table
---@param node anvia.sandbox.shell.Node
---@param at anvia.sandbox.readings.Site
function walk.node(scope, node, at)
  if node.redirects and node.t ~= "simple" then
    walk.redirect_words(scope, node.redirects, at)
    at = redirects.apply(scope, node.redirects, at)
  end
  if at.stdin.text and not at.stdin.shared and not ALONE[node.t] then
    at = scope.reader.inside(at, nil, { stdin = walk.shared(at.stdin) })
  end
  return visit[node.t](scope, node, at)
end

--- The substitutions in a list of parts run in subshells.
function walk.parts(scope, parts, at)
  for _, part in ipairs(parts) do
    if part.list then
      local inner = scope.reader.inside(at, nil, {
        pipe = at.pipe and { from = at.pipe.from }, stdin = walk.shared(at.stdin),
      })
      local changed = walk.apart(scope, function()
        walk.node(scope, part.list, inner)
      end)
      if part.here then
        scope.state:merge({ changed }, true)
      end
    end
    if part.word then
      walk.parts(scope, part.word, at)
      if part.op == "@" and (#part.word ~= 1 or part.word[1].s ~= "Q") then
        scope.reader:problem("syntax", "a value is transformed, maybe run", part.text)
      end
      if part.op == "=" or part.op == ":=" then
        walk.default(scope, part)
      end
    end
    if part.index then
      walk.parts(scope, part.index, at)
    end
    if part.parts then
      walk.parts(scope, part.parts, at)
      walk.arithmetic(scope, part.parts)
    end
  end
end

--- ${name:=word}
function walk.default(scope, part)
  local set = { dynamic = nil }
  local old = scope.state:get(part.name)
  for _, value in ipairs(old) do
    if value and (value ~= "" or part.op == "=") then
      set = state.join(set, { value })
    end
  end
  if old.dynamic then
    set = state.join(set, state.DYNAMIC)
  end
  scope:assign(part.name, state.join(set, expand.value(scope.ex, { parts = part.word })))
end

--- Names that an expression may set are not known any more.
function walk.arithmetic(scope, parts)
  local sets = false
  for _, part in ipairs(parts) do
    sets = sets or part.t ~= "quo" or part.s:find("[=+%-]") ~= nil
  end
  for _, part in ipairs(sets and parts or {}) do
    if part.t == "quo" then
      for name in part.s:gmatch("[%a_][%w_]*") do
        scope:assign(name, state.DYNAMIC)
      end
    end
  end
end

function walk.words(scope, words, at)
  for _, word in ipairs(words) do
    if word.dynamic then
      walk.parts(scope, word.parts, at)
    end
  end
end

function walk.redirect_words(scope, list, at)
  for _, redirect in ipairs(list) do
    if redirect.word and redirect.word.dynamic then
      walk.parts(scope, redirect.word.parts, at)
    end
    if redirect.body then
      walk.parts(scope, redirect.body, at)
    end
  end
end

function visit.simple(scope, node, at)
  return simple.run(walk, scope, node, at)
end

visit["function"] = function(scope, node)
  scope.state:set("f:" .. node.name, { "defined" })
end

function visit.list(scope, node, at)
  local st, last = scope.state, #node.items
  for i, item in ipairs(node.items) do
    local fail, dead
    if item.background then
      walk.apart(scope, function()
        walk.node(scope, item.node, at)
      end)
    else
      fail, dead = walk.node(scope, item.node, at)
    end
    if i == last then
      return fail, dead
    elseif fail and not dead then
      st:set("/cwd", state.join(st:get("/cwd"), fail))
    end
  end
end

function visit.and_or(scope, node, at)
  local st = scope.state
  local fail = walk.node(scope, node.items[1].node, at)
  local good = st:get("/cwd")
  fail = fail or good
  for i = 2, #node.items do
    local item, inner_fail, dead = node.items[i], nil, nil
    st:set("/cwd", item.op == "&&" and good or fail)
    local inner_good
    local changed = walk.apart(scope, function()
      inner_fail, dead = walk.node(scope, item.node, at)
      inner_good = st:get("/cwd")
    end)
    st:merge({ changed }, true)
    inner_fail = inner_fail or inner_good
    if item.op == "&&" then
      good, fail = inner_good, state.join(fail, inner_fail)
    elseif not dead then
      good, fail = state.join(good, inner_good), inner_fail
    else
      fail = good
    end
  end
  st:set("/cwd", good)
  return fail
end

function visit.pipeline(scope, node, at)
  local st = scope.state
  local names = {}
  for i = 1, #node.stages do
    names[i] = {}
  end
  for i, stage in ipairs(node.stages) do
    local inner = scope.reader.inside(at, nil, {
      pipe = {
        names = names[i],
        from = names[i - 1] or (at.pipe and at.pipe.from),
        to = names[i + 1] or (at.pipe and at.pipe.to),
      },
    })
    if i > 1 then
      inner.stdin = { kind = "pipe", text = output.of(scope, node.stages[i - 1]) }
    end
    local changed = walk.apart(scope, function()
      walk.node(scope, stage, inner)
    end)
    if i == #node.stages then
      -- Some shells run the last stage themselves.
      st:merge({ changed }, true)
    end
  end
  if at.pipe and at.pipe.names then
    for _, list in ipairs(names) do
      for _, name in ipairs(list) do
        at.pipe.names[#at.pipe.names + 1] = name
      end
    end
  end
end

function visit.subshell(scope, node, at)
  walk.apart(scope, function()
    walk.node(scope, node.list, at)
  end)
end

function visit.group(scope, node, at)
  return walk.node(scope, node.list, at)
end

function visit.coproc(scope, node, at)
  scope:assign("COPROC", state.DYNAMIC)
  local inner = scope.reader.inside(at, nil, { stdin = { kind = "pipe" } })
  walk.apart(scope, function()
    walk.node(scope, node.body, inner)
  end)
end

function visit.test(scope, node, at)
  walk.words(scope, node.words, at)
  if scope.ex.seen then
    for _, word in ipairs(node.words) do
      expand.value(scope.ex, word)
    end
  end
end

function visit.arithmetic(scope, node, at)
  walk.parts(scope, node.parts, at)
  walk.arithmetic(scope, node.parts)
end

return walk
