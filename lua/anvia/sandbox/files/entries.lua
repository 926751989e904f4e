-- SPDX-License-Identifier: MIT
-- entries.lua - reads what the scripts `list` and `stat` print.

local path = require("anvia.sandbox.path")

local M = {}

-- By the file type in a raw mode (its digit above the permissions), and by the
-- first letter of `ls -l`.
local TYPES = { [4] = "directory", [8] = "file", [10] = "symlink" }
local LETTERS = { ["d"] = "directory", ["-"] = "file", ["l"] = "symlink" }

local function octal(mode)
  return string.format("%04o", mode)
end

-- "rwxr-sr-x" is 2755 in octal.
local function permissions_of(letters)
  local mode = 0
  for i = 1, 9 do
    local letter = letters:sub(i, i)
    if letter:find("[rwxst]") then
      mode = mode + 2 ^ (9 - i)
    end
    if letter:find("[sStT]") then
      mode = mode + 2 ^ (12 - i / 3)
    end
  end
  return mode
end

-- The fraction of "2026-12-01 02:54:30.325103655 +0000", in whole milliseconds.
local function milliseconds(time)
  local fraction = time:match("%d:%d%d%.(%d%d%d)")
  return fraction and tonumber(fraction) or 0
end

--- One line of description, or nil when the entry has gone (or the line is not one).
---@param line string
---@return {type: string, size: integer, mode: string, mtime_ms: integer?}?
function M.describe(line)
  local mode, size, rest = line:match("^(%x+) (%d+)(.*)$")
  if mode then
    local number = tonumber(mode, 16)
    local kind = math.floor(number / 4096)
    local seconds, time = rest:match("^ (%d+) (.*)$")
    return {
      type = TYPES[kind] or "other",
      size = tonumber(size),
      mode = octal(number - kind * 4096),
      mtime_ms = seconds and tonumber(seconds) * 1000 + milliseconds(time) or nil,
    }
  end
  local letter, letters
  letter, letters, size = line:match("^(%S)([rwxsStT-]+)[^%s]* (%S+)$")
  if not letter or #letters ~= 9 then
    return nil
  end
  return {
    type = LETTERS[letter] or "other",
    size = tonumber(size:match("^%d+$")) or 0, -- a device has "8," there
    mode = octal(permissions_of(letters)),
  }
end

-- One string that ends in NUL, and where the next one starts.
local function take(data, from)
  local stop = data:find("\0", from, true)
  if not stop then
    return nil, from
  end
  return data:sub(from, stop - 1), stop + 1
end

local function take_batch(data, from)
  local names = {}
  local text
  text, from = take(data, from)
  while text and text ~= "" do
    names[#names + 1] = text
    text, from = take(data, from)
  end
  text, from = take(data, from)
  return text and names, text, from
end

-- Calls visit(name, description) for every entry of a batch; false: it is damaged.
local function each_of(names, text, visit)
  local i = 0
  for line in (text .. "\n"):gmatch("(.-)\n") do
    i = i + 1
    local entry = names[i] and M.describe(line)
    if entry then
      visit(names[i]:sub(3), entry) -- without "./"
    end
  end
  -- The lines of a batch with vanished entries end in one newline more.
  return i >= #names
end

--- Sorts entries by the bytes of their paths.
function M.sort(list)
  local compare = function(a, b)
    return path.less(a.path, b.path)
  end
  local locale = os.setlocale(nil, "collate")
  if locale == "C" or locale == "POSIX" then
    compare = function(a, b)
      return a.path < b.path
    end
  end
  table.sort(list, compare)
  return list
end

--- Adds to `found` what `list` or `list_many` printed of these directories, which are
--- relative to the workspace. False when it is damaged.
---@param found anvia.sandbox.FileEntry[]
---@param directories string[]
---@param data string
---@param details boolean   permissions and times too
---@return boolean whole
function M.append(found, directories, data, details)
  local prefix, from = nil, 1
  local function enter(directory)
    prefix = directory and (directory == "." and "" or directory .. "/")
  end
  local function visit(name, entry)
    local item = { path = prefix .. name, type = entry.type, size = entry.size }
    if details then
      item.mode, item.mtime_ms = entry.mode, entry.mtime_ms
    end
    found[#found + 1] = item
  end
  enter(directories[1])
  while from <= #data do
    local names, text, after = take_batch(data, from)
    if not names then
      return false
    end
    from = after
    if #names == 0 then
      enter(directories[tonumber(text)])
    elseif not prefix or not each_of(names, text, visit) then
      return false
    end
  end
  return prefix ~= nil
end

--- The strings, each ended by NUL, that `targets` printed.
function M.strings(data)
  local found, from = {}, 1
  local text
  text, from = take(data, from)
  while text do
    found[#found + 1] = text
    text, from = take(data, from)
  end
  return found
end

return M
