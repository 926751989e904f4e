-- SPDX-License-Identifier: MIT
--- Builds the fields of one word: what a program gets as arguments.
---
--- A field that is fully known is a string. Any other is a table (anvia.sandbox.DynamicWord), which
--- keeps what is known of it: a glob, the known start, and `holed`, the text with a byte 1 for every
--- part that is not known (used when the field turns out to be shell text itself).

local builder = {}
builder.__index = builder

builder.HOLE = "\1"

---@param text string  the source of the word
---@param ifs string   field separators
function builder.new(text, ifs)
  return setmetatable({ text = text, ifs = ifs, fields = {}, current = nil }, builder)
end

local function open(self)
  local field = self.current
  if not field then
    field = { plain = {}, pattern = {}, holed = {}, known = true }
    self.current = field
  end
  return field
end

--- Text that stands for itself.
function builder:quoted(text)
  local field = open(self)
  field.plain[#field.plain + 1] = text
  field.pattern[#field.pattern + 1] = (text:gsub("[*?%[\\]", "\\%0"))
  field.holed[#field.holed + 1] = text
end

--- Text in which *, ? and [ are still special.
function builder:literal(text)
  local field = open(self)
  field.plain[#field.plain + 1] = text
  field.pattern[#field.pattern + 1] = (text:gsub("\\", "\\%0"))
  field.holed[#field.holed + 1] = text
  if text:find("[*?]") or text:find("[", 1, true) then
    field.globbing = true
  end
end

--- Something not known. `single`: it cannot end this field; `number`: it is only digits.
function builder:hole(single, process, number)
  local field = open(self)
  if field.known then
    field.known, field.prefix = false, table.concat(field.plain)
  end
  field.pattern[#field.pattern + 1] = "*"
  field.holed[#field.holed + 1] = builder.HOLE
  field.many = field.many or not single
  field.process = field.process or process
  field.open = field.open or not number
end

--- True when the text of a field holds an active glob.
local function is_glob(field)
  if not field.globbing then
    return false
  end
  local at, pattern, class = 1, table.concat(field.pattern), "[*?%[\\]"
  while true do
    local pos = pattern:find(class, at)
    if not pos then
      return false
    end
    local char = pattern:sub(pos, pos)
    if char == "\\" then
      at = pos + 2
    elseif char == "[" and not pattern:find("]", pos + 2, true) then
      at, class = pos + 1, "[*?\\]"
    else
      return true
    end
  end
end

--- Ends the field that is being built.
function builder:cut()
  local field = self.current
  if not field then
    return
  end
  self.current = nil
  local glob = is_glob(field)
  if field.known and not glob then
    self.fields[#self.fields + 1] = table.concat(field.plain)
    return
  end
  local plain = table.concat(field.plain)
  self.fields[#self.fields + 1] = {
    dynamic = true,
    text = self.text,
    pattern = table.concat(field.pattern),
    prefix = field.prefix or plain:match("^[^*?%[]*"),
    single = not field.many and not glob,
    glob = field.known,
    literal = field.known and plain or nil,
    holed = table.concat(field.holed),
    process = field.process,
    numeric = not field.known and not field.open,
  }
end

--- The result of an unquoted expansion: cut at the field separators.
function builder:split(text)
  local ifs, at = self.ifs, 1
  if ifs == "" then
    return self:literal(text)
  end
  local class = "[" .. ifs:gsub("%W", "%%%0") .. "]"
  while at <= #text do
    local pos = text:find(class, at)
    if not pos then
      return self:literal(text:sub(at))
    end
    if pos > at then
      self:literal(text:sub(at, pos - 1))
    end
    if not text:sub(pos, pos):find("[ \t\n]") then
      open(self)
    end
    self:cut()
    at = pos + 1
  end
end

--- A field that was built before, as in "$@".
function builder:field(word)
  if type(word) == "string" then
    return self:quoted(word)
  end
  local field = open(self)
  if field.known then
    field.known, field.prefix = false, table.concat(field.plain) .. word.prefix
  end
  field.pattern[#field.pattern + 1] = word.pattern
  field.holed[#field.holed + 1] = word.holed
  field.many, field.open = field.many or not word.single, true
  field.process = field.process or word.process
end

---@return anvia.sandbox.Word[]
function builder:finish()
  self:cut()
  return self.fields
end

return builder
