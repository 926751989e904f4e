-- SPDX-License-Identifier: MIT
-- tar.lua - makes and reads tar archives, as strings. Pure.
--
-- Written is POSIX ustar, with a pax header where a name, a link's target or a size
-- does not fit. Read is that and what else is common: GNU long names and large
-- numbers, the old format without a magic. Names are bytes, kept as they are; what
-- they may be is for the caller to judge.

local M = {}

---@class anvia.sandbox.TarEntry
---@field path string       without a slash at its end
---@field type "file" | "directory" | "symlink" | "hardlink" | "device" | "fifo"
---@field mode integer?     permissions [0644, for directories 0755]
---@field mtime_ms integer? [0]
---@field content string?   of a file
---@field target string?    of a link

local BLOCK = 512
local ZEROS = ("\0"):rep(BLOCK)

local FLAGS = { file = "0", hardlink = "1", symlink = "2", directory = "5" }
local TYPES = { ["0"] = "file", ["\0"] = "file", ["7"] = "file", ["1"] = "hardlink",
  ["2"] = "symlink", ["3"] = "device", ["4"] = "device", ["5"] = "directory", ["6"] = "fifo" }

-- The largest number in eleven octal digits.
local MAX_OCTAL = 8 ^ 11 - 1
-- Nobody has longer names: a pax header or a GNU long name has at most so many bytes.
local MAX_EXTENSION = 1024 * 1024

local function padding(size)
  return ZEROS:sub(1, (BLOCK - size % BLOCK) % BLOCK)
end

local function octal(value, width)
  return string.format("%0" .. (width - 1) .. "o\0", value)
end

local function field(text, width)
  return text .. ("\0"):rep(width - #text)
end

-- The sum of all bytes of a header, with its own field as spaces.
local function checksum(header)
  local sum = 8 * 32
  for from = 1, 449, 64 do
    local bytes = { header:byte(from, from + 63) }
    for i = 1, 64 do
      sum = sum + bytes[i]
    end
  end
  for i = 149, 156 do
    sum = sum - header:byte(i)
  end
  return sum
end

-- A long path in two parts, at a slash; nil when there is no place for that.
local function split(path)
  if #path <= 100 then
    return "", path
  end
  -- The name needs at most 100 bytes, the prefix 155, with a slash between them.
  local slash = path:find("/", #path - 100, true)
  if slash and slash > 1 and slash <= 156 and slash < #path then
    return path:sub(1, slash - 1), path:sub(slash + 1)
  end
end

local function header(fields)
  local parts = {
    field(fields.name, 100),
    octal(fields.mode, 8), octal(0, 8), octal(0, 8),
    octal(fields.size, 12), octal(fields.mtime, 12),
    "        ", fields.flag,
    field(fields.target or "", 100),
    "ustar\00000", field("", 64), octal(0, 8), octal(0, 8),
    field(fields.prefix, 155), field("", 12),
  }
  local text = table.concat(parts)
  return text:sub(1, 148) .. string.format("%06o\0 ", checksum(text)) .. text:sub(157)
end

-- "LENGTH key=value\n", where LENGTH counts its own digits.
local function pax_record(key, value)
  local rest = #key + #value + 3
  local length = rest + #tostring(rest)
  length = rest + #tostring(length)
  return string.format("%.0f %s=%s\n", length, key, value)
end

local function append_pax(parts, records)
  local data = table.concat(records)
  parts[#parts + 1] = header({ name = "././@PaxHeader", prefix = "", mode = 420, size = #data,
    mtime = 0, flag = "x" })
  parts[#parts + 1] = data
  parts[#parts + 1] = padding(#data)
end

local function append_entry(parts, entry)
  local records = {}
  local path = entry.type == "directory" and entry.path .. "/" or entry.path
  local content = entry.type == "file" and entry.content or ""
  local target, size = entry.target, #content
  local mtime = math.floor((entry.mtime_ms or 0) / 1000)
  local prefix, name = split(path)
  if not prefix then
    records[#records + 1] = pax_record("path", path)
    prefix, name = "", path:sub(1, 100)
  end
  if target and #target > 100 then
    records[#records + 1] = pax_record("linkpath", target)
    target = target:sub(1, 100)
  end
  if size > MAX_OCTAL then
    records[#records + 1] = pax_record("size", string.format("%.0f", size))
    size = 0
  end
  if #records > 0 then
    append_pax(parts, records)
  end
  parts[#parts + 1] = header({
    name = name,
    prefix = prefix,
    mode = entry.mode or (entry.type == "directory" and 493 or 420),
    size = size,
    mtime = mtime >= 0 and mtime <= MAX_OCTAL and mtime or 0,
    flag = FLAGS[entry.type],
    target = target,
  })
  parts[#parts + 1] = content
  parts[#parts + 1] = padding(#content)
end

--- How many bytes an entry takes in an archive, at most.
---@param path string
---@param size integer of its content
---@param target string?
function M.size_of(path, size, target)
  local total = BLOCK + size + BLOCK
  if #path >= 100 or target and #target > 100 then
    total = total + 3 * BLOCK + #path + #(target or "")
  end
  return total
end

--- An archive of these entries: files, directories and links.
---@param entries anvia.sandbox.TarEntry[]
---@return string
function M.write(entries)
  local parts = {}
  for _, entry in ipairs(entries) do
    append_entry(parts, entry)
  end
  parts[#parts + 1] = ZEROS .. ZEROS
  return table.concat(parts)
end

local function text_of(block, from, width)
  local text = block:sub(from, from + width - 1)
  local stop = text:find("\0", 1, true)
  return stop and text:sub(1, stop - 1) or text
end

-- Octal digits, or GNU's big-endian number of eight bits a byte.
local function number_of(block, from, width)
  local first = block:byte(from)
  if first == 0x80 then
    local value = 0
    for i = from + 1, from + width - 1 do
      value = value * 256 + block:byte(i)
    end
    return value < 2 ^ 53 and value or nil
  end
  local text = block:sub(from, from + width - 1):match("^[ %z]*([0-7]*)[ %z]*")
  return text and (text == "" and 0 or tonumber(text, 8)) or nil
end

local function read_pax(data, values)
  local from = 1
  while from <= #data do
    local digits, start = data:match("^(%d+) ()", from)
    local length = digits and #digits <= 9 and tonumber(digits)
    if not length or from + length - 1 > #data or data:byte(from + length - 1) ~= 10 then
      return nil
    end
    local key, value = data:sub(start, from + length - 2):match("^([^=]+)=(.*)$")
    if not key then
      return nil
    end
    values[key] = value
    from = from + length
  end
  return true
end

-- What the extension headers before an entry say, on top of the entry's own.
local function finish(block, flag, extra)
  local entry = { type = TYPES[flag], mode = number_of(block, 101, 8) }
  local mtime = number_of(block, 137, 12)
  local prefix = block:sub(258, 262) == "ustar" and block:sub(263, 263) == "\0"
    and text_of(block, 346, 155) or ""
  entry.path = extra.path or (prefix ~= "" and prefix .. "/" or "") .. text_of(block, 1, 100)
  entry.mtime_ms = math.floor((tonumber(extra.mtime) or mtime or 0) * 1000)
  if entry.type == "symlink" or entry.type == "hardlink" then
    entry.target = extra.linkpath or text_of(block, 158, 100)
  elseif entry.type == "file" and flag ~= "7" and entry.path:find("/$") then
    entry.type = "directory"
  end
  local stripped = entry.path:gsub("/+$", "")
  entry.path = stripped == "" and entry.path:sub(1, 1) or stripped
  return entry
end

local EXTENSIONS = {}

function EXTENSIONS.x(data, extra)
  return read_pax(data, extra)
end

function EXTENSIONS.g()
  return true
end

function EXTENSIONS.L(data, extra)
  extra.path = data:match("^([^%z]*)")
  return true
end

function EXTENSIONS.K(data, extra)
  extra.linkpath = data:match("^([^%z]*)")
  return true
end

-- The flag and the size that a header says, or nil and what is wrong with it.
local function judge(block, extra)
  local flag = block:sub(157, 157)
  local sum = number_of(block, 149, 8)
  if sum ~= checksum(block) then
    return nil, "is no tar header"
  end
  local size = not EXTENSIONS[flag] and extra.size and tonumber(extra.size:match("^%d+$"))
    or number_of(block, 125, 12)
  if not size then
    return nil, "has a size that is no number"
  elseif not TYPES[flag] and not EXTENSIONS[flag] then
    return nil, string.format("is of an unknown kind (0x%02x)", flag:byte())
  elseif EXTENSIONS[flag] and size > MAX_EXTENSION then
    return nil, "is too long"
  elseif extra["GNU.sparse.major"] or extra["GNU.sparse.map"] then
    return nil, "is of a sparse file"
  end
  -- Links and directories have no content, whatever their size field says.
  return flag, TYPES[flag] and TYPES[flag] ~= "file" and 0 or size
end

--- The entries of an archive, in its order; or nil and what is wrong, for people.
---@param data string
---@return anvia.sandbox.TarEntry[]? entries
---@return string? message
function M.read(data)
  local entries, extra, from = {}, {}, 1
  while from <= #data do
    local block = data:sub(from, from + BLOCK - 1)
    if block == ZEROS then
      break
    elseif #block < BLOCK then
      return nil, "the archive is cut off"
    end
    local flag, size = judge(block, extra)
    if not flag then
      return nil, string.format("the header at byte %.0f %s", from - 1, size)
    end
    from = from + BLOCK
    if size + #padding(size) > #data - from + 1 then
      return nil, "the archive is cut off"
    end
    local content = data:sub(from, from + size - 1)
    from = from + size + #padding(size)
    if EXTENSIONS[flag] then
      if not EXTENSIONS[flag](content, extra) then
        return nil, string.format("the pax header before byte %.0f is damaged", from - 1)
      end
    else
      local entry = finish(block, flag, extra)
      entry.content = entry.type == "file" and content or nil
      entries[#entries + 1] = entry
      extra = {}
    end
  end
  return entries
end

return M
