-- SPDX-License-Identifier: MIT
-- Whether a command pattern holds for a command.
--
-- There are two readings of a pattern, because the strict and the permissive answers may err in
-- opposite directions only:
--   match.strict   for deny and ask: "yes", "maybe" (a word is only known when it runs), or nil.
--                  Looks past options, known or not, and takes the program by its name whatever
--                  path, case or blanks it is written with.
--   match.exact    for allow and for exceptions: true only if the pattern holds whatever the
--                  unknown parts turn out to be. Looks past harmless options that are described.

local argv = require("anvia.sandbox.policy.argv")
local glob = require("anvia.sandbox.policy.glob")
local options = require("anvia.sandbox.policy.match_option")

local match = {}

-- Blanks that no shell takes off, but a reader does not see.
local UNSEEN = { "\194\160", "\226\128[\128-\143\168-\175]", "\226\129\159", "\227\128\128",
  "\239\187\191", "[%s%c]" }

--- A program's name as the strict answers compare it.
function match.fold(name)
  if name:find("^[%w._+-]*$") then return name:lower() end
  for _, unseen in ipairs(UNSEEN) do name = name:gsub(unseen, "") end
  return name:lower()
end

--- What match.strict and match.exact work on; made once for a command and a set of descriptions.
function match.view(command, programs)
  local first = command.argv[1]
  local name = command.name and match.fold(command.name) or nil
  local description = name and programs[name]
  return {
    name = name,
    description = description,
    written = type(first) == "string" and first or nil,
    path = command.file or command.path,
    items = argv.items(command.argv, description),
  }
end

local function test_any(matchers, text)
  for _, matcher in ipairs(matchers) do
    if glob.test(matcher, text) then return true end
  end
  return false
end

-- ---- strict ----

-- Whether a word that is not known yet could become what the matchers want.
local function could_be(matchers, word)
  local cover = glob.token(word.pattern or "*") or glob.token("*")
  for _, matcher in ipairs(matchers) do
    if not matcher.literal or glob.test(cover, matcher.literal) then return true end
  end
  return false
end

-- Whether an operand is what the matchers want; for a sub-command also by another of its names.
local function names_operand(matchers, item, description, strict)
  if test_any(matchers, item.operand) then return true end
  if not item.command or not description then return false end
  for _, matcher in ipairs(matchers) do
    local wanted = matcher.literal
    if wanted and (description.commands[wanted] or wanted) == item.command then return true end
    if wanted and strict and description.abbreviates and #item.operand > 2
      and wanted:sub(1, #item.operand) == item.operand then
      return true
    end
  end
  return false
end

local walk

local function walk_dynamic(state, w, i)
  local item = state.items[i]
  if not item.dynamic.single then return "maybe" end
  if not item.option_possible and not item.dashed and state.words[w][1].text == "*" then
    return walk(state, w + 1, i + 1)
  end
  if could_be(state.words[w], item.dynamic) and walk(state, w + 1, i + 1) then return "maybe" end
  if item.option_possible and walk(state, w, i + 1) then return "maybe" end
  return nil
end

-- Whether the pattern's words from w on are the operands from item i on. Operands that may be an
-- option's value are tried both ways; what failed once is not tried again.
function walk(state, w, i)
  local wanted = state.words[w]
  if not wanted then return "yes" end
  local item = state.items[i]
  while item and item.option do
    i = i + 1
    item = state.items[i]
  end
  if not item then return nil end
  local key = w * (#state.items + 1) + i
  if state.failed[key] then return nil end
  local found
  if item.dynamic then
    found = walk_dynamic(state, w, i)
  else
    found = names_operand(wanted, item, state.description, true) and walk(state, w + 1, i + 1)
    if not found and item.maybe then found = walk(state, w, i + 1) end
  end
  if not found then state.failed[key] = true end
  return found or nil
end

-- `only` for deny and ask: something more in the command and the pattern does not hold.
local function nothing_more(pattern, view)
  local operands = 0
  for _, item in ipairs(view.items) do
    if item.option then
      local named = false
      for _, matchers in ipairs(pattern.options) do
        named = named or options.names(matchers, item, true)
      end
      if not named then return false end
    else
      operands = operands + 1
    end
  end
  return operands <= #pattern.words
end

-- A program that is not known yet is left to the default for what cannot be read; only "*" is sure
-- to name it.
local function program_unknown(pattern)
  for _, matcher in ipairs(pattern.programs) do
    if matcher.text == "*" then return true end
  end
  return false
end

local function program_strict(pattern, view)
  if not view.name then return program_unknown(pattern) end
  for i, matcher in ipairs(pattern.programs) do
    if matcher.text:find("/", 1, true) then
      local exact = pattern.exact[i]
      if glob.test(exact, view.written or "") or glob.test(exact, view.path or "") then
        return true
      end
      -- a bare name may well be found at that path
      if view.written and not view.written:find("/", 1, true)
        and glob.test(glob.token(matcher.text:match("[^/]*$"), true) or matcher, view.name) then
        return true
      end
    elseif glob.test(matcher, view.name) then
      return true
    end
  end
  return false
end

local function strict(pattern, view)
  local answer = "yes"
  for _, matchers in ipairs(pattern.options) do
    local found = options.find(matchers, view.items)
    if not found then return nil end
    if found == "maybe" then answer = "maybe" end
  end
  if #pattern.words > 0 then
    local found = walk({ words = pattern.words, items = view.items, failed = {},
      description = view.description }, 1, 1)
    if not found then return nil end
    if found == "maybe" then answer = "maybe" end
  end
  if pattern.only and not nothing_more(pattern, view) then return nil end
  return answer
end

--- -> "yes" | "maybe" | nil
function match.strict(pattern, view)
  if not program_strict(pattern, view) then return nil end
  local best = strict(pattern, view)
  for _, joined in ipairs(best ~= "yes" and pattern.joined or {}) do
    local found = strict(joined, view)
    if found == "yes" then return found end
    best = best or found
  end
  return best
end

-- ---- exact ----

local function program_exact(pattern, view)
  local written = view.written
  if not written then return program_unknown(pattern) end
  local path = written:find("/", 1, true) ~= nil
  for _, matcher in ipairs(pattern.exact) do
    -- a name without a path never stands for a program in some directory
    local same_form = (matcher.text:find("/", 1, true) ~= nil) == path
    if (same_form or matcher.text == "*") and glob.test(matcher, written) then return true end
  end
  return false
end

-- Notes which options of the pattern the item is. Not one that may be the value of an unknown
-- option before it: git push -o --dry-run.
local function named_by(pattern, item, seen)
  local named = false
  for i, matchers in ipairs(pattern.options) do
    if not item.maybe and options.names(matchers, item, false) then
      named = true
      seen[i] = true
    end
  end
  return named
end

local function takes_back(pattern, item)
  for _, matchers in ipairs(pattern.options) do
    if options.takes_back(matchers, item) then return true end
  end
  return false
end

-- -> the number of pattern words matched so far, or nil when the pattern cannot hold
local function exact_item(pattern, item, matched, seen, description)
  local wanted = pattern.words[matched + 1]
  if item.option then
    if takes_back(pattern, item) then return nil end
    if named_by(pattern, item, seen) then return matched end
    if pattern.only or options.risky(item) or (wanted and not item.known) then return nil end
    return matched
  elseif item.dynamic then
    local option = item.option_possible or item.dashed
    local decides = #pattern.options > 0 or (description and description.has_risky)
    if option and decides then return nil end
    if not wanted then return not pattern.only and matched or nil end
    return wanted[1].text == "*" and item.dynamic.single and not option and matched + 1 or nil
  elseif wanted then
    if names_operand(wanted, item, description, false) then
      return (item.skip or not item.maybe) and matched + 1 or nil
    end
    return item.skip and matched or nil
  end
  return not pattern.only and matched or nil
end

--- -> true | false
function match.exact(pattern, view)
  if not program_exact(pattern, view) then return false end
  local matched, seen = 0, {}
  for _, item in ipairs(view.items) do
    matched = exact_item(pattern, item, matched, seen, view.description)
    if not matched then return false end
  end
  for i = 1, #pattern.options do
    if not seen[i] then return false end
  end
  return matched == #pattern.words
end

return match
