-- SPDX-License-Identifier: MIT
--- Building blocks of the texts that a model reads.
---
--- Everything a model gets is valid UTF-8. What is not is replaced, counted and reported, so that a
--- lossy text never passes for a faithful one.
local text = {}

local REPLACEMENT = "\239\191\189" -- U+FFFD

--- Valid UTF-8 without NUL, and how many bytes were replaced.
---@param bytes string
---@return string clean
---@return integer replaced
function text.clean(bytes)
  if utf8.len(bytes) and not bytes:find("\0", 1, true) then
    return bytes, 0
  end
  local parts, replaced, from = {}, 0, 1
  while from <= #bytes do
    local length, bad = utf8.len(bytes, from)
    if length then
      parts[#parts + 1] = bytes:sub(from)
      break
    end
    parts[#parts + 1] = bytes:sub(from, bad - 1)
    parts[#parts + 1] = REPLACEMENT
    replaced = replaced + 1
    from = bad + 1
  end
  local clean, nuls = table.concat(parts):gsub("%z", REPLACEMENT)
  return clean, replaced + nuls
end

--- One line of text: a name that could break the line, or that is not UTF-8, is shown as a JSON
--- string, which is also what a model sends to name it.
function text.name(name)
  local clean, replaced = text.clean(name)
  if not clean:find('[%c"]') and clean ~= "" then
    return clean .. (replaced > 0 and " (the name is not UTF-8)" or "")
  end
  local quoted = clean:gsub('[%c"\\]', function(c)
    if c == '"' or c == "\\" then
      return "\\" .. c
    elseif c == "\n" then
      return "\\n"
    elseif c == "\t" then
      return "\\t"
    end
    return string.format("\\u%04x", c:byte())
  end)
  return '"' .. quoted .. '"' .. (replaced > 0 and " (the name is not UTF-8)" or "")
end

local function word(argument)
  if argument:find("^[%w_@%%+=:,./-]+$") then
    return argument
  end
  local clean = text.clean(argument)
  return "'" .. clean:gsub("'", "'\\''"):gsub("%c", " ") .. "'"
end

local MAX_COMMAND_BYTES = 400

--- A command line for reading: arguments quoted where they need it, one line, shortened.
function text.command_line(command, args)
  local words = { word(command) }
  for _, argument in ipairs(args or {}) do
    words[#words + 1] = word(argument)
  end
  local line = table.concat(words, " ")
  if #line > MAX_COMMAND_BYTES then
    local stop = MAX_COMMAND_BYTES
    while stop > 0 and line:byte(stop + 1) >= 128 and line:byte(stop + 1) < 192 do
      stop = stop - 1
    end
    line = line:sub(1, stop) .. " ..."
  end
  return line
end

function text.plural(count, noun)
  return string.format("%d %s%s", count, noun, count == 1 and "" or "s")
end

--- Without white space at the end. A loop, because `%s+$` takes quadratic time on blanks.
function text.trim_end(s)
  local stop = #s
  while stop > 0 and s:find("^%s", stop) do
    stop = stop - 1
  end
  return s:sub(1, stop)
end

--- One stream of output as a block under its label; nil when there is nothing to show.
---
--- `gap` {at, bytes}: that many bytes are missing after the first `at` bytes.
---@return string? block
---@return integer replaced   bytes that could not be shown
function text.block(label, bytes, gap)
  if not gap then
    local clean, replaced = text.clean(bytes)
    clean = text.trim_end(clean)
    return clean ~= "" and label .. ":\n" .. clean or nil, replaced
  end
  local head, replaced = text.clean(bytes:sub(1, gap.at))
  local tail, more = text.clean(bytes:sub(gap.at + 1))
  local parts = { label .. ":" }
  if head ~= "" then
    parts[#parts + 1] = (head:gsub("\n$", ""))
  end
  parts[#parts + 1] = string.format("[... %s left out here ...]", text.plural(gap.bytes, "byte"))
  if tail ~= "" then
    parts[#parts + 1] = (tail:gsub("^\n", ""))
  end
  return text.trim_end(table.concat(parts, "\n")), replaced + more
end

function text.lossy_note(what, replaced)
  return string.format("%s is not text: %s shown as U+FFFD.", what,
    replaced == 1 and "1 byte is" or replaced .. " bytes are")
end

--- Parts with a blank line between them.
function text.join(parts)
  return table.concat(parts, "\n\n")
end

return text
