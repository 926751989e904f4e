-- SPDX-License-Identifier: MIT
--- Reads the options of a wrapper, to find where the program that it runs begins.

local options = {}

---@class anvia.sandbox.readings.Options
---@field values {name: string, value: anvia.sandbox.Word?}[]  options in order
---@field rest anvia.sandbox.Word[]   what is left: operands and the program
---@field assigns anvia.sandbox.Word[]  NAME=value words between the options
---@field doubts string[]             options that are not known, and words that may be options
---@field computed boolean            a word that may be an option is not known
---@field stop {at: integer, next: integer}?  the words of the option that ended the reading

local function has(list, char)
  return list ~= nil and list:find(char, 1, true) ~= nil
end

local function note(found, name, value)
  found.values[#found.values + 1] = { name = name, value = value }
end

--- Everything after the first `size` bytes of a word.
local function tail_of(word, size)
  if type(word) == "string" then
    return word:sub(size + 1)
  end
  local copy = {}
  for key, value in pairs(word) do
    copy[key] = value
  end
  copy.prefix = word.prefix:sub(size + 1)
  copy.holed = word.holed:sub(size + 1)
  copy.pattern = word.pattern:sub(size + 1)
  copy.literal = word.literal and word.literal:sub(size + 1)
  return copy
end

options.tail_of = tail_of

--- The long option of `spec` that a (maybe shortened) name means.
local function long_name(spec, name)
  local long = spec.long or {}
  if long[name] ~= nil then
    return name
  end
  local found
  for each in pairs(long) do
    if each:sub(1, #name) == name then
      if found then
        return nil
      end
      found = each
    end
  end
  return found
end

--- --name or --name=value. Gives the number of words it takes.
local function long_option(spec, found, word, following, dashes)
  local text = type(word) == "string" and word or word.prefix
  local name, equals = text:sub(dashes + 1):match("^([^=]*)(=?)")
  local known = long_name(spec, name)
  if equals == "=" then
    note(found, known or name, tail_of(word, dashes + #name + 1))
    if known == nil and not spec.lenient then
      found.doubts[#found.doubts + 1] = text
    end
    return 1
  elseif known == nil then
    note(found, name)
    if not spec.lenient then
      found.doubts[#found.doubts + 1] = text
    end
    return 1
  elseif spec.long[known] == true then
    note(found, known, following)
    return 2
  end
  note(found, known)
  return 1
end

--- A cluster of short options. Gives the number of words it takes.
local function short_options(spec, found, word, following)
  local text = type(word) == "string" and word or word.prefix
  for i = 2, #text do
    local char = text:sub(i, i)
    local attached = i < #text or type(word) ~= "string"
    if has(spec.values, char) then
      if attached then
        note(found, char, tail_of(word, i))
        return 1
      end
      note(found, char, following)
      return 2
    elseif has(spec.attached, char) then
      note(found, char, attached and tail_of(word, i) or nil)
      return 1
    end
    note(found, char)
    if not has(spec.flags, char) and not spec.lenient then
      found.doubts[#found.doubts + 1] = text
      return 1
    end
  end
  if type(word) ~= "string" then
    found.computed = true
  end
  return 1
end

--- True when a word is an option, false when it is none, nil when that is not known.
local function is_option(spec, word)
  local text = type(word) == "string" and word or word.prefix
  if type(word) ~= "string" and (text == "" or not word.single and text:sub(1, 1) ~= "-") then
    return nil
  end
  if spec.numeric and text:find("^%+%d") then
    return true
  end
  return text:sub(1, 1) == "-" and text ~= "-"
end

local function is_assignment(word)
  return (type(word) == "string" and word or word.prefix):find("^[%a_][%w_]*=") ~= nil
end

--- True after an option that ends the reading (spec.stops).
local function stopped(spec, found, at)
  local last = found.values[#found.values]
  if last and spec.stops and spec.stops[last.name] then
    found.stop.next = at
    return true
  end
  return false
end

--- Reads the words after the program.
---@param spec anvia.sandbox.Wrapper
---@param argv anvia.sandbox.Word[]
---@param from integer
---@return anvia.sandbox.readings.Options
function options.read(spec, argv, from)
  local found = { values = {}, rest = {}, doubts = {}, assigns = {}, computed = false, stop = {} }
  local rest, at = found.rest, from
  while at <= #argv and not stopped(spec, found, at) do
    local word = argv[at]
    found.stop.at = at
    local kind = is_option(spec, word)
    if word == "--" then
      at = at + 1
      break
    elseif word == "-" and spec.clears and spec.clears["-"] then
      note(found, "-")
      at = at + 1
    elseif kind == nil then
      -- Not known: it may be options, nothing at all, or the first operand.
      found.computed = true
      if not spec.permute then
        break
      end
      rest[#rest + 1] = word
      at = at + 1
    elseif not kind and spec.assignments == "mixed" and is_assignment(word) then
      found.assigns[#found.assigns + 1] = word
      at = at + 1
    elseif not kind then
      if not spec.permute then
        break
      end
      rest[#rest + 1] = word
      at = at + 1
    elseif spec.numeric and type(word) == "string" and word:find("^[-+]+%d+$") then
      note(found, "number")
      at = at + 1
    elseif (type(word) == "string" and word or word.prefix):sub(1, 2) == "--" then
      at = at + long_option(spec, found, word, argv[at + 1], 2)
    elseif spec.single_dash then
      at = at + long_option(spec, found, word, argv[at + 1], 1)
    else
      at = at + short_options(spec, found, word, argv[at + 1])
    end
  end
  stopped(spec, found, at)
  for i = at, #argv do
    rest[#rest + 1] = argv[i]
  end
  return found
end

return options
