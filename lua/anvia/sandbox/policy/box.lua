-- SPDX-License-Identifier: MIT
-- The box that one policy file lives in: loads it, hands out what it declared, calls predicates.
--
-- The code of policy/inside runs in the box, which is another Lua state. It is found as `require`
-- would find it, and crosses as bytecode, so it may use nothing but what the box gives it.

local box = {}

local INSIDE = {
  { "near", "anvia.sandbox.policy.near" },
  { "glob", "anvia.sandbox.policy.glob" },
  { "patterns", "anvia.sandbox.policy.inside.patterns" },
  { "strings", "anvia.sandbox.policy.inside.strings" },
  { "tables", "anvia.sandbox.policy.inside.tables" },
  { "call", "anvia.sandbox.policy.inside.call" },
  { "words", "anvia.sandbox.policy.inside.words" },
}

--- Budgets: what one policy file may use, when it is loaded and for each call of a predicate.
box.limits = {
  source_bytes = 512 * 1024,
  memory_bytes = 16 * 1024 * 1024,
  load_instructions = 10 * 1000 * 1000,
  load_cpu_ms = 2000,
  call_instructions = 1000 * 1000,
  call_cpu_ms = 250,
}

local dumped = nil

local function chunk_of(name)
  for _, searcher in ipairs(package.searchers or rawget(package, "loaders")) do
    local loader = searcher(name)
    if type(loader) == "function" then return string.dump(loader, true) end
  end
  error("module '" .. name .. "' not found")
end

local function inside()
  if dumped then return dumped end
  local list = {}
  for i, part in ipairs(INSIDE) do list[i] = { part[1], chunk_of(part[2]) } end
  dumped = list
  return dumped
end

local SPENT = {
  instructions = "used more than its budget of %s instructions",
  time = "used more than its budget of %s ms of processor time",
  memory = "used more than its budget of %s bytes of memory",
}

-- What happened, as the end of a sentence that begins with who it happened to.
local function describe(failure, limits, during)
  local format = SPENT[failure.kind]
  if not format then return failure.message end
  local limit = limits.memory_bytes
  if failure.kind == "instructions" then limit = limits[during .. "_instructions"]
  elseif failure.kind == "time" then limit = limits[during .. "_cpu_ms"] end
  return format:format(("%.0f"):format(limit))
end

local methods = {}
local mt = { __index = methods }

--- An empty box. Raises when there is no memory for it.
function box.new(limits)
  local made = { limits = {} }
  for name, value in pairs(box.limits) do made.limits[name] = limits and limits[name] or value end
  made.core = require("anvia.sandbox.core").box.new {
    memory_bytes = made.limits.memory_bytes,
    instructions = made.limits.load_instructions,
    cpu_ms = made.limits.load_cpu_ms,
  }
  for _, part in ipairs(inside()) do
    local ok, failure = made.core:define(part[1], part[2])
    if not ok then error(failure.message) end
  end
  made.core:setup("strings")
  made.core:setup("tables")
  local ok, ids = made.core:setup("words")
  if not ok then error(ids.message) end
  made.harvest = ids.harvest
  return setmetatable(made, mt)
end

--- Runs policy text -> list of declarations | nil, what is wrong
function methods:load(source, file)
  if #source > self.limits.source_bytes then
    return nil, ("%s: larger than %d bytes"):format(file, self.limits.source_bytes)
  end
  local ok, result = self.core:run(source, "@" .. file)
  if ok then ok, result = self.core:call(self.harvest) end
  if not ok then
    local what = describe(result, self.limits, "load")
    if SPENT[result.kind] or not what:find(":%d+:") then what = file .. ": " .. what end
    return nil, what
  end
  self.core:budget(self.limits.call_instructions, self.limits.call_cpu_ms)
  return result
end

--- Calls a predicate with copies -> true, its answer | nil, what is wrong
function methods:call(id, ...)
  local ok, result = self.core:call(id, ...)
  if not ok then return nil, describe(result, self.limits, "call") end
  return true, result
end

function methods:close()
  self.core:close()
end

return box
