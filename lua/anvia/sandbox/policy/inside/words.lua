-- SPDX-License-Identifier: MIT
-- Runs inside the box: the words of the policy language.
-- luacheck: globals keep near where call
--
-- Words only take notes. What a declaration means, and whether it is a good one, is decided
-- outside, where the policy cannot reach; here it becomes a plain copy with the line it stands on.

local env = ...
local suggest = near().suggest

local MAX_DEPTH = 16

local declared = {}
local judging = false -- true while a call is judged: then words answer, they declare nothing

local function plain(value, depth)
  local kind = type(value)
  if kind == "function" then return { predicate = keep(value) } end
  if kind ~= "table" then return value end
  if depth > MAX_DEPTH then error("a value is nested too deeply, or contains itself", 0) end
  local copy = {}
  for key, item in pairs(value) do
    if type(key) ~= "string" and type(key) ~= "number" then
      error("a " .. type(key) .. " as a key has no meaning here", 0)
    end
    copy[key] = plain(item, depth + 1)
  end
  return copy
end

local function declare(word, fields)
  if judging then
    error("'" .. word .. " { ... }' declares a rule; inside a predicate return " .. word
      .. "(\"why\")", 3)
  end
  local ok, copy = pcall(plain, fields, 0)
  if not ok then error(word .. ": " .. tostring(copy), 3) end
  copy.word, copy.line = word, where()
  declared[#declared + 1] = copy
end

-- allow, ask and deny are rules at load time and answers in a predicate.
local function answer_word(word)
  return function(value, more)
    if not judging then
      if type(value) ~= "table" then
        error("'" .. word .. "' takes a table: " .. word .. " { exec = \""
          .. (type(value) == "string" and value or "git status") .. "\" }", 2)
      end
      return declare(word, { value = value })
    end
    if value ~= nil and type(value) ~= "string" then
      error("'" .. word .. "' in a predicate takes the reason as text", 2)
    end
    local instead = type(more) == "table" and more.instead or nil
    return { answer = word, because = value, instead = instead }
  end
end

local function check_table(word, value)
  if type(value) ~= "table" then
    error("'" .. word .. "' takes a table, not a " .. type(value), 3)
  end
end

-- program "git" { ... } and wrapper "mine" { ... }
local function described_word(word)
  return function(name, fields)
    if type(name) ~= "string" then
      error("'" .. word .. "' is followed by a name: " .. word .. " \"git\" { ... }", 2)
    end
    local function describe(description)
      check_table(word .. " \"" .. name .. "\"", description)
      declare(word, { name = name, value = description })
    end
    if fields == nil then return describe end
    return describe(fields)
  end
end

for _, word in ipairs { "allow", "ask", "deny" } do env[word] = answer_word(word) end
for _, word in ipairs { "program", "wrapper" } do env[word] = described_word(word) end

for _, word in ipairs { "limit", "container" } do
  env[word] = function(value)
    check_table(word, value)
    declare(word, { value = value })
  end
end

function env.default(value)
  if type(value) ~= "string" then check_table("default", value) end
  declare("default", { value = value })
end

function env.rule(name, predicate)
  if type(name) ~= "string" or type(predicate) ~= "function" then
    error("'rule' takes a name and a function: rule(\"no pipe into a shell\", function(call) "
      .. "... end)", 2)
  end
  declare("rule", { name = name, value = predicate })
end

function env.expect(call, answer)
  if (type(call) ~= "string" and type(call) ~= "table") or type(answer) ~= "string" then
    error("'expect' takes a call and an answer: expect(\"git push -f\", \"deny\")", 2)
  end
  declare("expect", { call = call, value = answer })
end

-- any { "a", "b" } and only { "git", "status" } mark a pattern.
for _, word in ipairs { "any", "only" } do
  env[word] = function(value, ...)
    if type(value) == "string" and (word == "any" or ...) then value = { value, ... } end
    if type(value) ~= "string" then check_table(word, value) end
    return { [word] = value }
  end
end

-- A name that is nil is a slip of the pen: nothing in a policy is nil by intent.
setmetatable(env, {
  __index = function(_, name)
    local words = {}
    for word in pairs(env) do words[#words + 1] = word end
    error("unknown word '" .. tostring(name) .. "'" .. suggest(tostring(name), words), 2)
  end,
})

local wrap = call(env)

local function judge(predicate)
  return function(call_copy, subject)
    judging = true
    local value = predicate(wrap(call_copy), subject)
    judging = false
    if type(value) == "table" then
      return { answer = value.answer, because = value.because, instead = value.instead }
    elseif type(value) == "string" then
      return { answer = value }
    end
    return value
  end
end

-- The host calls what keep() took, so a predicate is kept with its call object around it.
local keep_raw = keep
function keep(predicate)
  return keep_raw(judge(predicate))
end

return { harvest = keep_raw(function() return declared end) }
