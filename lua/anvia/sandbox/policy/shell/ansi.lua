-- SPDX-License-Identifier: MIT
--- The escapes of $'...'.

local ansi = {}

local SIMPLE = {
  a = "\a", b = "\b", e = "\27", E = "\27", f = "\f", n = "\n", r = "\r", t = "\t", v = "\v",
  ["\\"] = "\\", ["'"] = "'", ['"'] = '"', ["?"] = "?",
}

--- UTF-8 of a code point, also beyond what Unicode uses, as shells do.
local function utf8_char(code)
  if code < 0x80 then
    return string.char(code)
  end
  local lead, count
  if code < 0x800 then
    lead, count = 0xC0, 1
  elseif code < 0x10000 then
    lead, count = 0xE0, 2
  else
    lead, count = 0xF0, 3
  end
  local tail = {}
  for i = count, 1, -1 do
    tail[i] = string.char(0x80 + code % 64)
    code = math.floor(code / 64)
  end
  return string.char((lead + code) % 256) .. table.concat(tail)
end

--- What the shell of busybox knows of them.
local SMALL = { a = "\a", b = "\b", f = "\f", n = "\n", r = "\r", t = "\t", v = "\v",
  ["\\"] = "\\", ["'"] = "'", ['"'] = '"' }

local OCTAL = { "^\\([0-7][0-7]?[0-7]?)", 8 }
local HEX = { "^\\x(%x%x?)", 16 }

local NUMERIC = {
  HEX,
  { "^\\x{(%x+)}?", 16 },
  { "^\\u(%x%x?%x?%x?)", 16, true },
  { "^\\U(%x%x?%x?%x?%x?%x?%x?%x?)", 16, true },
  OCTAL,
}
local NUMERIC_SMALL = { HEX, OCTAL }

local function numeric(text, at, forms)
  for _, form in ipairs(forms) do
    local from, stop, digits = text:find(form[1], at)
    if from then
      local code = tonumber(digits:sub(-6), form[2])
      if form[3] and code > 0 then
        return stop + 1, utf8_char(code % 0x200000)
      end
      return stop + 1, string.char(code % 256)
    end
  end
end

--- Decodes what stands between $' and '. A NUL ends the text in bash and vanishes in busybox.
---@param text string
---@param small boolean?  as busybox does it
---@return string
function ansi.decode(text, small)
  if not text:find("\\", 1, true) then
    return text
  end
  local out, at = {}, 1
  while at <= #text do
    local back = text:find("\\", at, true)
    if not back then
      out[#out + 1] = text:sub(at)
      break
    end
    out[#out + 1] = text:sub(at, back - 1)
    local char = text:sub(back + 1, back + 1)
    local stop, value = numeric(text, back, small and NUMERIC_SMALL or NUMERIC)
    if stop then
      if value == "\0" and not small then
        break
      end
      value = value ~= "\0" and value or ""
    elseif char == "c" and not small and back + 2 <= #text then
      stop, value = back + 3, string.char(text:byte(back + 2) % 32)
    else
      stop, value = back + 2, (small and SMALL or SIMPLE)[char] or ("\\" .. char)
    end
    out[#out + 1] = value
    at = stop
  end
  return table.concat(out)
end

return ansi
