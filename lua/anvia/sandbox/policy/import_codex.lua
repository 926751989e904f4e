-- SPDX-License-Identifier: MIT
-- Codex prefix rules in JSON:
--   { "rules": [ { "pattern": ["git", ["push", "fetch"]], "decision": "prompt",
--                  "justification": "...", "match": [["git", "push"]], "not_match": ["git log"] } ]
--   }

local show = require("anvia.sandbox.policy.show")

local codex = {}

local WORD = { allow = "allow", prompt = "ask", forbidden = "deny" }

local function rules_of(value)
  return value.rules or value.prefix_rules or value.prefix_rule or value
end

--- Whether the decoded value looks like prefix rules.
function codex.knows(value)
  local rules = rules_of(value)
  if type(rules) ~= "table" then return false end
  if rules.pattern then return true end
  return type(rules[1]) == "table" and rules[1].pattern ~= nil
end

local function literal(text)
  return (text:gsub("[*?%[\\]", "\\%0"))
end

local function word_source(item)
  if type(item) == "string" then return show.source(literal(item)) end
  if type(item) ~= "table" or #item == 0 then return nil end
  local parts = {}
  for i, text in ipairs(item) do
    if type(text) ~= "string" then return nil end
    parts[i] = show.source { literal(text) }
  end
  return "any { " .. table.concat(parts, ", ") .. " }"
end

local function pattern_source(pattern)
  if type(pattern) == "string" then pattern = { pattern } end
  if type(pattern) ~= "table" or #pattern == 0 then return nil end
  local parts = {}
  for i, item in ipairs(pattern) do
    parts[i] = word_source(item)
    if not parts[i] then return nil end
  end
  return "{ " .. table.concat(parts, ", ") .. " }"
end

local function rule_source(rule)
  local word = WORD[rule.decision or "allow"]
  if not word then return nil, "unknown decision " .. show.value(rule.decision) end
  local pattern = pattern_source(rule.pattern)
  if not pattern then return nil, "a pattern is a list of texts and lists of texts" end
  local fields = { "exec = " .. pattern }
  if type(rule.justification) == "string" and rule.justification ~= "" then
    fields[#fields + 1] = "because = " .. show.source(rule.justification)
  end
  for _, name in ipairs { "match", "not_match" } do
    local list = rule[name]
    if type(list) == "table" and #list > 0 then
      fields[#fields + 1] = name .. " = " .. show.source(list)
    end
  end
  return ("%s { %s }"):format(word, table.concat(fields, ", "))
end

--- -> text, notes | nil, what is wrong
function codex.text(value)
  local rules = rules_of(value)
  if rules.pattern then rules = { rules } end
  local lines = { "-- from Codex prefix rules", "default { exec = \"ask\" }" }
  for i, rule in ipairs(rules) do
    local source, wrong = rule_source(rule)
    if not source then return nil, ("rule %d: %s"):format(i, wrong) end
    lines[#lines + 1] = source
  end
  return table.concat(lines, "\n") .. "\n", {}
end

return codex
