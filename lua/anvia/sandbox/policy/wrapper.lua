-- SPDX-License-Identifier: MIT
-- The word `wrapper`: a program that runs another one, in the words of `program`, made into what
-- the readings take.
--
--   wrapper "mytool" { options_with_value = { "-c", "--config" }, operands = 1 }

local near = require("anvia.sandbox.policy.near")
local show = require("anvia.sandbox.policy.show")

local wrapper = {}

local LISTS = { "options", "options_with_value", "script_options" }
local FIELDS = { "options", "options_with_value", "script_options", "operands", "assignments",
  "script" }

local function add_option(made, option, takes)
  local letter = option:match("^%-([^-])$")
  local long = option:match("^%-%-?([^-].+)$")
  if letter then
    local field = takes and "values" or "flags"
    made[field] = (made[field] or "") .. letter
  elseif long then
    made.long = made.long or {}
    made.long[long] = takes
    if option:sub(2, 2) ~= "-" then made.single_dash = true end
  end
  return letter or long
end

local function add_options(made, value, wrong)
  for _, field in ipairs(LISTS) do
    for _, option in ipairs(type(value[field]) == "table" and value[field] or {}) do
      local name = type(option) == "string" and add_option(made, option, field ~= "options")
      if not name then
        wrong(field, "expected options like \"-c\" and \"--config\", got " .. show.value(option))
      elseif field == "script_options" then
        made.script = made.script or {}
        made.script[name] = true
      end
    end
  end
end

local function check(value, wrong)
  for field, item in pairs(value) do
    local known = false
    for _, name in ipairs(FIELDS) do known = known or name == field end
    if not known then
      field = tostring(field)
      wrong(nil, "unknown field '" .. field .. "'" .. near.suggest(field, FIELDS))
    elseif field == "operands" then
      if type(item) ~= "number" or item < 0 or item % 1 ~= 0 then
        wrong(field, "expected a number of words, got " .. show.value(item))
      end
    elseif field == "assignments" or field == "script" then
      if type(item) ~= "boolean" then wrong(field, "expected true or false") end
    elseif type(item) ~= "table" then
      wrong(field, "expected a list, got " .. show.value(item))
    end
  end
end

--- A declaration -> wrapper. `complain(line, text)` is called for what is wrong.
function wrapper.compile(declared, complain)
  local value = declared.value
  local function wrong(field, text)
    complain(declared.line, ("wrapper \"%s\"%s: %s"):format(declared.name,
      field and "." .. field or "", text))
  end
  local builtin = require("anvia.sandbox.policy.readings.wrappers").table
  if builtin[declared.name] ~= nil then
    wrong(nil, "this wrapper is built in; describing it anew could hide what it runs")
  end
  check(value, wrong)
  local made = { operands = value.operands, assignments = value.assignments or nil,
    tail = value.script and "script" or nil }
  add_options(made, value, wrong)
  return made
end

return wrapper
