-- SPDX-License-Identifier: MIT
--- `env -S "words of a command"`: the value becomes arguments of env itself.

local expand = require("anvia.sandbox.policy.shell.expand")

local split = {}

local ESCAPES = { f = "\f", n = "\n", r = "\r", t = "\t", v = "\v", ["_"] = " " }

--- One step at a backslash. Gives the character (nil: nothing) and the length.
local function escape(text, at, quote)
  local char = text:sub(at + 1, at + 1)
  if quote == "'" and char ~= "'" and char ~= "\\" then
    return "\\", 1
  elseif char == "c" and not quote then
    return nil, #text
  elseif char == "_" and not quote then
    return nil, 2
  end
  return ESCAPES[char] or char, 2
end

--- Cuts the text the way env does. Words with ${NAME} in them are not known.
---@param text string
---@return anvia.sandbox.Word[]
function split.words(text)
  local words, current, quote, unknown = {}, nil, nil, false
  local function cut()
    if current then
      words[#words + 1] = unknown and expand.unknown(text) or table.concat(current)
      if unknown then
        words[#words].single = true
      end
    end
    current, unknown = nil, false
  end
  local at = 1
  while at <= #text do
    local char = text:sub(at, at)
    local size = 1
    if char == "\\" then
      local value
      value, size = escape(text, at, quote)
      if value then
        current = current or {}
        current[#current + 1] = value
      else
        cut()
      end
    elseif quote == char then
      quote = nil
    elseif not quote and (char == "'" or char == '"') then
      quote, current = char, current or {}
    elseif not quote and char:find("[ \t\n\v\f\r]") then
      cut()
    elseif not quote and char == "#" and not current then
      break
    else
      current = current or {}
      current[#current + 1] = char
      unknown = unknown or (char == "$" and quote ~= "'")
    end
    at = at + size
  end
  cut()
  return words
end

--- When the options hold -S: the argv that env makes of it.
---@param reader table
---@param found anvia.sandbox.readings.Options
---@param argv anvia.sandbox.Word[]
---@return anvia.sandbox.Word[]?
function split.apply(reader, found, argv)
  local last = found.values[#found.values]
  if not found.stop.next or last.value == nil then
    return nil
  end
  local value = last.value
  if type(value) ~= "string" then
    reader:problem("dynamic", "words of a wrapper are computed", value)
    value = value.holed
  end
  local out = {}
  for i = 1, found.stop.at - 1 do
    out[i] = argv[i]
  end
  -- Flags that share the word with S: -iS.
  local cluster = argv[found.stop.at]
  local flags = type(cluster) == "string" and cluster:match("^%-([^-S][^S]*)S")
  if flags then
    out[#out + 1] = "-" .. flags
  end
  for _, word in ipairs(split.words(value)) do
    out[#out + 1] = word
  end
  for i = found.stop.next, #argv do
    out[#out + 1] = argv[i]
  end
  return out
end

return split
