-- SPDX-License-Identifier: MIT
-- Values as the text an author would write.

local show = {}

local MAX = 120

local function quoted(text)
  return "\"" .. text:gsub("[%c\\\"]", function(c)
    if c == "\n" then return "\\n" end
    if c == "\"" or c == "\\" then return "\\" .. c end
    return ("\\%03d"):format(c:byte())
  end) .. "\""
end

local function sorted_keys(value)
  local keys = {}
  for key in pairs(value) do
    if type(key) == "string" then keys[#keys + 1] = key end
  end
  table.sort(keys)
  return keys
end

local function render(value, depth)
  if type(value) == "string" then return quoted(value) end
  if type(value) == "number" and value % 1 == 0 then return ("%.0f"):format(value) end
  if type(value) ~= "table" then return tostring(value) end
  if value.predicate then return "function" end
  if depth > 6 then return "..." end
  for _, word in ipairs { "any", "only" } do
    if value[word] ~= nil then return word .. " " .. render(value[word], depth + 1) end
  end
  local parts = {}
  for _, item in ipairs(value) do parts[#parts + 1] = render(item, depth + 1) end
  for _, key in ipairs(sorted_keys(value)) do
    local name = key:find("^[%a_][%w_]*$") and key or "[" .. quoted(key) .. "]"
    parts[#parts + 1] = name .. " = " .. render(value[key], depth + 1)
  end
  return #parts == 0 and "{}" or "{ " .. table.concat(parts, ", ") .. " }"
end

--- The value in full: text that means the same when a policy says it.
function show.source(value)
  return render(value, 0)
end

-- Characters that change how a line looks without being seen: zero width, joiners, and those that
-- turn the direction of text around.
local UNSEEN = { "\194\160", "\194\173", "\226\128[\139-\143]", "\226\128[\168-\175]",
  "\226\129[\160-\175]", "\227\128\128", "\239\187\191" }

local function escape(bytes)
  return (bytes:gsub(".", function(c) return ("\\x%02x"):format(c:byte()) end))
end

--- At most `max` bytes of text for people to read: nothing in it is unseen, and no character of it
--- is cut.
function show.line(text, max)
  text = text:gsub("%c", " ")
  if text:find("[\194\226\227\239]") then
    for _, pattern in ipairs(UNSEEN) do text = text:gsub(pattern, escape) end
  end
  max = max or MAX
  if #text <= max then return text end
  local cut = max - 3
  while cut > 0 and (text:byte(cut + 1) or 0) >= 128 and text:byte(cut + 1) < 192 do
    cut = cut - 1
  end
  return text:sub(1, cut) .. "..."
end

function show.value(value)
  return show.line(render(value, 0))
end

--- A rule by what it is about: deny { exec = "git push" }
function show.rule(word, value, subjects)
  local parts = {}
  for _, kind in ipairs(subjects) do
    parts[#parts + 1] = kind .. " = " .. render(value[kind], 0)
  end
  return show.line(word .. " { " .. table.concat(parts, ", ") .. " }")
end

return show
