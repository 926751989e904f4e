-- SPDX-License-Identifier: MIT
-- One command's words, sorted into options and operands.
--
-- Each item is one of
--   { operand = text, maybe = true? }   `maybe`: could also be the value of the option before it,
--                                       or is a word that may be left out (skip)
--   { option = "--force", letters = {"-a", "-b"}?, known = bool, after = bool, text = word,
--     maybe = true? }
--   { dynamic = word, option_possible = bool }
-- `known` options are described, so it is certain what they take; `next` is the word behind them;
-- `after` ones stand behind the first operand, which has its `command`: the name that all its
-- aliases share. Words after `--` are operands.

local glob = require("anvia.sandbox.policy.glob")

local argv = {}

local NOTHING = { before = { kind = {}, risky = {}, same = {} }, skip = {}, commands = {} }
NOTHING.after = NOTHING.before

local function dynamic_item(word, operands_only)
  local prefix = word.prefix or ""
  local name = prefix:match("^(%-[^=]+)=")
  if name and word.single and not operands_only then
    return { option = name, known = true, text = prefix }
  end
  return { dynamic = word, option_possible = prefix == "" and not operands_only,
    dashed = prefix:sub(1, 1) == "-" and not operands_only }
end

-- `-abc` as letters, up to one that takes a value: the rest, or the next word, is that value.
local function read_letters(item, kind)
  item.letters, item.known = {}, true
  for at = 2, #item.text do
    local letter = "-" .. item.text:sub(at, at)
    item.letters[#item.letters + 1] = letter
    if kind[letter] == "value" then return at == #item.text end
    if not kind[letter] then item.known = false end
  end
  return false
end

-- -> item, whether it takes the next word for certain
local function option_item(word, options)
  local kind = options.kind
  local name = word:match("^(%-%-?[^=]+)=")
  if name then
    return { option = name, text = word, known = kind[name] ~= nil }, false
  elseif kind[word] then
    return { option = word, text = word, known = true }, kind[word] == "value"
  end
  local item = { option = word, text = word, known = false }
  if word:find("^%-[^-]") then
    local first = word:sub(1, 2)
    if #word > 2 and kind[first] == "value" then
      item.option, item.known, item.letters = first, true, { first }
      return item, false
    end
    return item, read_letters(item, kind)
  end
  return item, false
end

local function skipped(description, word)
  for _, matcher in ipairs(description.skip) do
    if glob.test(matcher, word) then return true end
  end
  return false
end

local function add(items, item, after)
  item.after = after
  items[#items + 1] = item
  return item
end

--- The items of `words` from the second on.
function argv.items(words, description)
  description = description or NOTHING
  local items = {}
  local options, after, operands_only, open = description.before, false, false, false
  local i = 2
  while i <= #words do
    local word = words[i]
    if type(word) == "table" then
      add(items, dynamic_item(word, operands_only), after)
      open = false
    elseif not operands_only and word == "--" then
      operands_only, open = true, false
    elseif not operands_only and word:find("^%-.") then
      local item, takes = option_item(word, options)
      item.options = options
      item.maybe = open or nil
      item.next = type(words[i + 1]) == "string" and words[i + 1] or nil
      add(items, item, after)
      if takes then i = i + 1 end
      open = not takes and not item.known and not word:find("=", 1, true)
    elseif not after and skipped(description, word) then
      add(items, { operand = word, maybe = true, skip = true }, after)
      open = false
    else
      local item = add(items, { operand = word, maybe = open }, after)
      if not after then item.command = description.commands[word] or word end
      if not open then options, after = description.after, true end
      open = false
    end
    i = i + 1
  end
  return items
end

return argv
