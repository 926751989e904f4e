-- SPDX-License-Identifier: MIT
--- Readings as text for people: one line, quoted as a shell would need it, cut where it gets long.

local text = {}

local MAX_WORD = 80
local MAX_LINE = 240

local NAMED = { ["\n"] = "\\n", ["\r"] = "\\r", ["\t"] = "\\t", ["\1"] = "<?>" }

local function visible(char)
  return NAMED[char] or ("\\x%02x"):format(char:byte())
end

--- Cuts a text without cutting a UTF-8 character.
function text.shorten(s, max)
  if #s <= max then
    return s
  end
  local stop = max
  while stop > 0 and s:byte(stop + 1) >= 0x80 and s:byte(stop + 1) < 0xC0 do
    stop = stop - 1
  end
  return s:sub(1, stop) .. "..."
end

--- One word.
---@param word anvia.sandbox.Word
function text.word(word)
  local s = type(word) == "string" and word or word.text
  local cut = text.shorten(s, MAX_WORD)
  if cut:find("[%c\127]") then
    cut = cut:gsub("[%c\127]", visible)
  end
  if type(word) ~= "string" then
    return cut
  elseif cut == "" or cut:find("[^%w_@%%+=:,./%-]") then
    return "'" .. cut:gsub("'", "'\\''") .. "'"
  end
  return cut
end

--- A whole command.
---@param argv anvia.sandbox.Word[]
function text.command(argv)
  local out, size = {}, 0
  for i, word in ipairs(argv) do
    out[i] = text.word(word)
    size = size + #out[i] + 1
    if size > MAX_LINE then
      out[i + 1] = i < #argv and "..." or nil
      break
    end
  end
  return table.concat(out, " ")
end

--- A key that is the same for equal words only.
function text.key(argv)
  local out = {}
  for i, word in ipairs(argv) do
    out[i] = type(word) == "string" and "s" .. word or "d" .. word.pattern .. "\0" .. word.text
  end
  return table.concat(out, "\0")
end

return text
