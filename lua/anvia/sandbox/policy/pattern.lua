-- SPDX-License-Identifier: MIT
-- Command patterns: from what an author writes to what match.lua tests.
--
--   "git push"                              words, each one a glob; more words may follow
--   { "git", any { "push", "fetch" } }      the same as a list, with alternatives
--   any { "ls", "cat", { "git", "log" } }   one of several patterns
--   only "git status"                       nothing may follow
--
-- A word that begins with '-' is an option and may stand anywhere. The others are the program and
-- its first operands, in order.

local glob = require("anvia.sandbox.policy.glob")

local pattern = {}

local MAX_ALTERNATIVES = 400

local SHELL_SYNTAX = "[|;&<>()`$'\"]"

local function split(text)
  if text:find(SHELL_SYNTAX) then
    local hint = "use a list of words: { \"echo\", \"a;b\" }"
    if text:find("|", 1, true) then hint = "for a pipe write pipe = \"curl | sh\"" end
    if text:find("[;&]") then hint = "write one rule for each command" end
    if text:find("[<>]") then hint = "for a redirect write write = \"path\" or read = \"path\"" end
    return nil, ("'%s' is shell text, and a pattern is the words of one command; %s")
      :format(text, hint)
  end
  local words = {}
  for word in text:gmatch("%S+") do words[#words + 1] = word end
  if #words == 0 then return nil, "an empty pattern" end
  return words
end

-- Each alternative is a list of words; a word is a list of texts, of which one must fit.
local expand

local function expand_any(list)
  local out = {}
  if #list == 0 then return nil, "any { } is empty" end
  for _, item in ipairs(list) do
    local more, wrong = expand(item)
    if not more then return nil, wrong end
    for _, alternative in ipairs(more) do out[#out + 1] = alternative end
  end
  return out
end

-- All alternatives one word long and of one kind: they are one word with several texts.
local function as_one_word(alternatives)
  local texts, options = {}, nil
  for _, words in ipairs(alternatives) do
    if #words ~= 1 then return nil end
    for _, text in ipairs(words[1]) do
      local option = text:find("^%-.") ~= nil
      if options ~= nil and options ~= option then return nil end
      options = option
      texts[#texts + 1] = text
    end
  end
  return { { texts } }
end

local function join(heads, tails)
  local out = {}
  for _, head in ipairs(heads) do
    for _, tail in ipairs(tails) do
      local words = {}
      for _, word in ipairs(head) do words[#words + 1] = word end
      for _, word in ipairs(tail) do words[#words + 1] = word end
      out[#out + 1] = words
    end
  end
  if #out > MAX_ALTERNATIVES then return nil, "too many combinations of alternatives" end
  return out
end

local function expand_list(list)
  local out = { {} }
  if #list == 0 then return nil, "an empty list" end
  for i, item in ipairs(list) do
    local tails, wrong
    if type(item) == "string" then
      if i == 1 and item:find("%s") then
        return nil, ("'%s' in a list is one word with a blank in it; write { \"%s\" }"):format(item,
          table.concat(split(item) or { item }, "\", \""))
      end
      tails = { { { item } } }
    elseif type(item) == "table" and item.any then
      tails, wrong = expand_any(item.any)
      tails = tails and (as_one_word(tails) or tails)
    elseif type(item) == "table" then
      wrong = "a list in a list; for alternatives write any { ... }"
    else
      wrong = "a word is text, not a " .. type(item)
    end
    if not tails then return nil, wrong end
    out, wrong = join(out, tails)
    if not out then return nil, wrong end
  end
  return out
end

function expand(value)
  if type(value) == "string" then
    local words, wrong = split(value)
    if not words then return nil, wrong end
    local texts = {}
    for i, word in ipairs(words) do texts[i] = { word } end
    return { texts }
  elseif type(value) ~= "table" then
    return nil, "a pattern is text, a list of words or any { ... }, not a " .. type(value)
  elseif value.any then
    return expand_any(value.any)
  elseif value.only then
    return nil, "only { ... } stands at the outside of a pattern"
  end
  return expand_list(value)
end

-- `-rf` as -r and -f. What looks the same and is one long option (-delete) still fits as a whole.
local function cluster(text)
  if not text:find("^%-%a%w+$") then return nil end
  local letters = {}
  for letter in text:sub(2):gmatch(".") do
    letters[#letters + 1] = { literal = "-" .. letter, text = "-" .. letter }
  end
  return letters
end

local function matchers(texts, folded)
  local out = {}
  for i, text in ipairs(texts) do
    local matcher, wrong = glob.token(text, folded)
    if not matcher then return nil, wrong end
    matcher.cluster = matcher.literal and cluster(text)
    out[i] = matcher
  end
  return out
end

local function is_option(word)
  return word[1]:find("^%-.") ~= nil
end

-- One alternative, sorted into program, options and operands.
local function sort_words(words)
  local built = { options = {}, words = {} }
  local operands_only = false
  for i, word in ipairs(words) do
    local list, wrong = matchers(word, i == 1)
    if not list then return nil, wrong end
    if i == 1 then
      built.programs = list
      built.exact = matchers(word) -- allow compares the program's name as it is written
    elseif word[1] == "--" then
      operands_only = true
    elseif is_option(word) and not operands_only then
      built.options[#built.options + 1] = list
    else
      built.words[#built.words + 1] = list
    end
  end
  return built
end

local function join_value(option, value)
  local out = {}
  for _, name in ipairs(option) do
    for _, text in ipairs(value) do
      out[#out + 1] = name .. (name:find("^%-%-") and "=" or "") .. text
    end
  end
  return out
end

-- { "curl", "-X", "POST" } also as { "curl", "-XPOST" }: for each option that a word follows, the
-- pattern with the two as one. Only deny and ask look at these.
local function joined_patterns(words)
  local out = {}
  for i = 2, #words - 1 do
    if words[i][1] == "--" then break end
    if is_option(words[i]) and not is_option(words[i + 1]) then
      local copy = {}
      for j, word in ipairs(words) do
        if j == i then word = join_value(words[i], words[i + 1]) end
        if j ~= i + 1 then copy[#copy + 1] = word end
      end
      out[#out + 1] = sort_words(copy)
    end
  end
  return #out > 0 and out or nil
end

local function check_words(words)
  for _, word in ipairs(words) do
    for _, text in ipairs(word) do
      if text:find("^%-%S*%s") then
        return ("'%s' is one word with a blank in it; write \"%s\""):format(text,
          (text:gsub("%s+", "\", \"")))
      end
    end
  end
  return nil
end

local function build(words, only)
  local wrong = check_words(words)
  if wrong then return nil, wrong end
  local text = {}
  for i, word in ipairs(words) do text[i] = table.concat(word, "|") end
  if not only and #words > 1 and words[#words][1] == "*" then words[#words] = nil end
  local built
  built, wrong = sort_words(words)
  if not built then return nil, wrong end
  built.only = only or nil
  built.text = table.concat(text, " ")
  built.joined = not only and joined_patterns(words) or nil
  return built
end

--- What an author wrote -> list of patterns | nil, what is wrong
function pattern.compile(value)
  local only = false
  if type(value) == "table" and value.only then
    only, value = true, value.only
  end
  local alternatives, wrong = expand(value)
  if not alternatives then return nil, wrong end
  local out = {}
  for i, words in ipairs(alternatives) do
    out[i], wrong = build(words, only)
    if not out[i] then return nil, wrong end
  end
  return out
end

--- A list of patterns, or one as text: what `except` takes.
function pattern.compile_list(value)
  if type(value) == "string" or (type(value) == "table" and (value.any or value.only)) then
    return pattern.compile(value)
  elseif type(value) ~= "table" then
    return nil, "expected text or a list of patterns, not a " .. type(value)
  end
  local out = {}
  for _, item in ipairs(value) do
    local patterns, wrong = pattern.compile(item)
    if not patterns then return nil, wrong end
    for _, one in ipairs(patterns) do out[#out + 1] = one end
  end
  return out
end

return pattern
