-- SPDX-License-Identifier: MIT
--- A simple command: assignments, redirections, words; functions and aliases.

local state = require("anvia.sandbox.policy.shell.state")
local shell = require("anvia.sandbox.policy.shell")
local expand = require("anvia.sandbox.policy.shell.expand")
local redirects = require("anvia.sandbox.policy.readings.redirects")
local functions = require("anvia.sandbox.policy.readings.functions")
local assign = require("anvia.sandbox.policy.readings.assign")
local text_of = require("anvia.sandbox.policy.readings.text")
local variables = require("anvia.sandbox.policy.readings.variables")

local MAX_WAYS = 12
local MAX_STEPS = 100000

--- Commands whose arguments may become values, or are evaluated.
local WATCHED = {
  echo = true, printf = true, let = true, test = true, ["["] = true, unset = true, read = true,
  eval = true, set = true, mapfile = true, readarray = true, wait = true, command = true,
  builtin = true,
}

local simple = {}

--- Builtins whose arguments are assignments.
local DECLARES = {
  export = true, readonly = true, ["local"] = true, declare = true, typeset = true,
}

--- Commands that are known to take a part of their input and leave the rest.
local SHARES = {
  head = true, dd = true, sed = true, line = true, read = true, tail = false, ssh = true,
}

--- The argument lists that words may stand for.
---@return anvia.sandbox.Word[][]
local function arguments(ex, words)
  local lists, ways = {}, 1
  for i, word in ipairs(words) do
    local own = expand.fields(ex, word)
    if ways * #own > MAX_WAYS then
      own = { { expand.unknown(word.text) } }
    end
    ways = ways * #own
    lists[i] = own
  end
  local out = {}
  for n = 0, ways - 1 do
    local argv, rest = {}, n
    for _, own in ipairs(lists) do
      local pick = own[rest % #own + 1]
      rest = math.floor(rest / #own)
      for _, field in ipairs(pick) do
        argv[#argv + 1] = field
      end
    end
    out[#out + 1] = argv
  end
  return out
end

--- Runs one argument list.
local function run(walk, scope, argv, at)
  local name = argv[1]
  local bodies = type(name) == "string" and scope.functions[name]
  if bodies then
    functions.call(walk, scope, name, bodies, argv, at)
    local defined = state.single(scope.state:get("f:" .. name))
    if defined == "defined" and not scope.reader.openers.is_special(name) then
      return
    end
  elseif type(name) ~= "string" and next(scope.functions) then
    -- Any function may be meant.
    for _, each in ipairs(scope:function_names()) do
      if not scope.called[each] then
        functions.call(walk, scope, each, scope.functions[each],
          { each, expand.unknown("$@") }, at)
      end
    end
  end
  if scope.from_stdin and at.stdin.kind == "script" and SHARES[name] then
    scope:shares_input(at, name)
  end
  scope.reader:run(argv, at)
end

--- Replaces an alias by its text.
local function expand_alias(walk, scope, node, at)
  local first = node.words[1] and node.words[1].literal
  local set = first and scope.aliased and scope.state:get("a:" .. first)
  if not set or at.aliases and at.aliases[first] then
    return
  end
  local used = { [first] = true }
  for name in pairs(at.aliases or {}) do
    used[name] = true
  end
  for _, value in ipairs(set) do
    if type(value) == "string" then
      local inner = scope.reader.inside(at, "alias " .. first, { aliases = used })
      local parsed = scope.alias_texts[value] or shell.parse(value, scope.dialect)
      scope.alias_texts[value] = parsed
      local only = #parsed.list.items == 1 and parsed.list.items[1].node
      if parsed.failed or not only or only.t ~= "simple" or value:find("[ \t&;\n]$") then
        scope.reader:problem("syntax", "an alias that is more than a simple command", value)
      else
        local joined = { t = "simple", assigns = {}, words = {}, redirects = node.redirects }
        for _, list in ipairs({ node.assigns, only.assigns }) do
          for _, each in ipairs(list) do
            joined.assigns[#joined.assigns + 1] = each
          end
        end
        for _, word in ipairs(only.words) do
          joined.words[#joined.words + 1] = word
        end
        for i = 2, #node.words do
          joined.words[#joined.words + 1] = node.words[i]
        end
        walk.node(scope, joined, inner)
      end
      if only then
        walk.node(scope, parsed.list, inner)
      end
    end
  end
end

--- A loop or a function is read with the variables in mind that its text sets. A builtin that is
--- named by an expansion is not seen there.
local function late_setters(reader, ways, at)
  for _, argv in ipairs(ways) do
    if (at.looping or at.calls) and type(argv[1]) == "string"
      and reader.openers.is_setter(argv[1]) then
      reader:problem("dynamic", "a builtin that sets variables is named by an expansion", argv[1])
    end
  end
end

--- Drops argument lists that occur twice.
local function distinct(ways)
  if #ways == 1 then
    return ways
  end
  local out, seen = {}, {}
  for _, argv in ipairs(ways) do
    local key = text_of.key(argv)
    if not seen[key] then
      seen[key] = true
      out[#out + 1] = argv
    end
  end
  return out
end

---@param walk table  the module that walks trees
---@param scope table
---@param node anvia.sandbox.shell.Node
---@param at anvia.sandbox.readings.Site
function simple.run(walk, scope, node, at)
  local st, reader = scope.state, scope.reader
  reader.steps = reader.steps + 1
  if reader.steps > MAX_STEPS then
    return reader:problem("bound", "too many commands")
  end
  for _, each in ipairs(node.assigns) do
    if each.index then
      walk.parts(scope, each.index, at)
    end
    walk.words(scope, each.array or { each.word }, at)
  end
  walk.words(scope, node.words, at)
  if node.redirects then
    walk.redirect_words(scope, node.redirects, at)
  end
  expand_alias(walk, scope, node, at)

  local sets = assign.prefix(scope, node)
  local site = node.redirects and redirects.apply(scope, node.redirects, at) or at
  if st:get("<exec").dynamic and site.stdin == at.stdin then
    site = reader.inside(site, nil, { stdin = { kind = "file" } })
  end
  local first = node.words[1] and node.words[1].literal
  scope.ex.watch = not first or WATCHED[first] or scope.functions[first] ~= nil
  local ways = distinct(arguments(scope.ex, node.words))
  scope.ex.watch = false
  local only_assigns = false
  for _, argv in ipairs(ways) do
    only_assigns = only_assigns or argv[1] == nil
  end
  if only_assigns then
    for _, each in ipairs(sets) do
      scope:assign_at(each.name, each.set, at)
    end
  end
  if #node.words == 0 then
    return
  end

  local env = at.env
  if #sets > 0 then
    env = {}
    for name, value in pairs(at.env) do
      env[name] = value
    end
    for _, each in ipairs(sets) do
      local value = state.single(each.set)
      env[each.name] = type(value) == "string" and value or true
      variables.run(reader, each.name, env[each.name], at)
      -- It stays after a function, and after some builtins.
      if not first or scope.functions[first] or reader.openers.is_special(first) then
        scope:assign(each.name, state.join(st:get(each.name), each.set))
      end
    end
  end

  local effect = {}
  local command = reader.inside(site, nil, {
    cwds = st:get("/cwd"), env = env, vars = scope.vars, effect = effect, locals = at.locals or {},
  })
  if first and DECLARES[first] then
    assign.declare(walk, scope, node, command)
  end
  if not first then
    late_setters(reader, ways, at)
  end
  if #ways == 1 then
    run(walk, scope, ways[1], command)
  else
    local branches = {}
    for i, argv in ipairs(ways) do
      local mark = st:mark()
      run(walk, scope, argv, command)
      branches[i] = st:undo(mark)
    end
    st:merge(branches, false)
  end
  if first == "exec" and node.redirects then
    scope:exec_redirects(site, at)
  end
  return effect.fail, effect.dead
end

return simple
