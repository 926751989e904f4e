-- SPDX-License-Identifier: MIT
-- Whether an option of a command is the one that a pattern names, however it is written.

local glob = require("anvia.sandbox.policy.glob")

local options = {}

local function same(described, a, b)
  return a == b or (described.same[a] ~= nil and described.same[a] == described.same[b])
end

local function abbreviates(item, text)
  return item.option:find("^%-%-.") and not item.known and #item.option < #text
    and text:sub(1, #item.option) == item.option
end

-- `--rec` for -r, which is --recursive
local function abbreviates_same(item, text)
  local same_options = item.options and item.options.same or {}
  local canonical = same_options[text]
  for name, other in pairs(canonical and same_options or {}) do
    if other == canonical and abbreviates(item, name) then return true end
  end
  return false
end

-- For the strict answers an option and its value are one, however they are written: -XPOST and
-- -X POST, --request=POST and --request POST.
local function fits_with_value(matcher, item)
  if not item.next then return false end
  if item.text ~= item.option then return false end
  return glob.test(matcher, item.option .. "=" .. item.next)
    or (#item.option == 2 and glob.test(matcher, item.option .. item.next))
end

local NO = { ["false"] = true, no = true, off = true, never = true, none = true, ["0"] = true,
  [""] = true }

-- `--dry-run=false` is no --dry-run to whoever has to be certain.
local function switched_off(item)
  return NO[(item.text:match("=(.*)$") or "yes"):lower()] == true
end

local function option_fits(matcher, item, strict)
  if glob.test(matcher, item.text) then return true end
  if glob.test(matcher, item.option) then return strict or not switched_off(item) end
  if strict and fits_with_value(matcher, item) then return true end
  local text = matcher.literal
  if not text then return false end
  local described = item.options
  if described and same(described, item.option, text) then return true end
  for _, letter in ipairs((strict or item.known) and item.letters or {}) do
    if letter == text or (described and same(described, letter, text)) then return true end
  end
  return strict and (abbreviates(item, text) or abbreviates_same(item, text)) or false
end

--- Whether the item is one of the options. `strict` also takes what only may be it.
function options.names(matchers, item, strict)
  for _, matcher in ipairs(matchers) do
    if option_fits(matcher, item, strict) then return true end
    for _, letter in ipairs(strict and matcher.cluster or {}) do
      if option_fits(letter, item, strict) then return true end
    end
  end
  return false
end

local function find_one(matcher, items, strict)
  local maybe = nil
  for _, item in ipairs(items) do
    if item.option and option_fits(matcher, item, strict) then return "yes" end
    if item.dynamic and (item.option_possible or item.dashed) then maybe = "maybe" end
  end
  return maybe
end

-- `-rf` is -r and -f, wherever they stand.
local function find_cluster(letters, items)
  local answer = "yes"
  for _, letter in ipairs(letters) do
    local found = find_one(letter, items, true)
    if not found then return nil end
    if found == "maybe" then answer = "maybe" end
  end
  return answer
end

--- For deny and ask -> "yes" | "maybe" | nil
function options.find(matchers, items)
  local maybe = nil
  for _, matcher in ipairs(matchers) do
    local found = find_one(matcher, items, true)
    if found ~= "yes" and matcher.cluster then
      found = find_cluster(matcher.cluster, items) or found
    end
    if found == "yes" then return found end
    maybe = maybe or found
  end
  return maybe
end

--- Whether the item takes back one of the options: --no-dry-run behind --dry-run.
function options.takes_back(matchers, item)
  local name = item.option:match("^%-%-no%-(.+)$")
  for _, matcher in ipairs(name and matchers or {}) do
    if matcher.literal == "--" .. name then return true end
  end
  return false
end

--- Whether the item makes its program run or overwrite something else.
function options.risky(item)
  local described = item.options
  if not described or not described.has_risky then return false end
  if described.risky[item.option] then return true end
  for name in pairs(described.risky) do
    if abbreviates(item, name) then return true end
  end
  for _, letter in ipairs(item.letters or {}) do
    if described.risky[letter] then return true end
  end
  return false
end

return options
