-- SPDX-License-Identifier: MIT
-- failures.lua - what can go wrong in file work, in words: those of the scripts, which the
-- supervisor's error numbers are translated into.

local errors = require("anvia.sandbox.errors")
local path = require("anvia.sandbox.path")

local M = {}

-- Word of the script -> its exit status, the error's code and its text. `%s` is the
-- path, `%d` the number that the script gave.
local WORDS = {
  not_found = { 40, "not_found", "%s does not exist" },
  outside = { 41, "path", "%s leads out of the workspace" },
  is_directory = { 42, "path", "%s is a directory" },
  not_regular = { 43, "path", "%s is not a regular file" },
  not_directory = { 44, "path", "%s needs a directory where something else is" },
  denied = { 45, "path", "%s cannot be opened: permission denied" },
  no_workspace = { 46, "path", "%s cannot be reached: the workspace is not there" },
  link_loop = { 47, "path", "%s goes through too many links" },
  too_large = { 48, "file_size", "%s has %d bytes, more than max_file_bytes" },
  failed = { 49, "path", "%s cannot be used that way" },
  incomplete = { 50, "path", "%s was not written: only %d bytes arrived on the disk" },
  no_tool = { 51, "internal", "%s cannot be used: the image lacks a tool that this needs" },
  changes = { nil, "path", "%s changes while it is read" },
  not_empty = { 52, "path", "%s is a directory that is not empty" },
}

--- The last thing that a script said: its word, the index of the path it was about,
--- and a number.
---@param stderr string
---@return string? word
---@return integer? index
---@return integer? number
function M.last_word(stderr)
  local word, index, number = stderr:match("\nanvia%-files ([%l_]+) (%d+) (%d+)\n$")
  return word, tonumber(index), tonumber(number)
end

-- What the tools said, for people: the last line that is not dd's statistics.
local function remark(stderr)
  local found
  for line in stderr:gmatch("[^\n]+") do
    if not line:find("^%d+%+%d+ records") and not line:find("^%d+ bytes")
      and not line:find("^anvia%-files ") then
      found = line
    end
  end
  return found and found:sub(1, 300):gsub("[%c\128-\255]", "?")
end

--- The error that one of the words stands for.
---@param op string
---@param word string
---@param name string     the path that it is about, relative to the workspace
---@param number integer?
---@param said string?    by the system, where that tells more
---@return anvia.sandbox.Error
function M.of(op, word, name, number, said)
  local entry = WORDS[word]
  local text = entry[3]:gsub("%%d", string.format("%.0f", number or 0))
  text = text:gsub("%%s", function()
    return path.show(name)
  end)
  if said and (word == "failed" or word == "incomplete") then
    text = text .. ": " .. said
  end
  return errors.new(op, entry[2], "%s", text)
end

--- The error for a script that did not end well.
---@param op string
---@param paths string[]       what the script was about
---@param result table         of the internal command
---@return anvia.sandbox.Error
function M.explain(op, paths, result)
  local word, index, number = M.last_word(result.stderr)
  local entry = word and WORDS[word]
  local tool = remark(result.stderr)
  if not entry or entry[1] ~= result.exit_code then
    return errors.new(op, "internal", "%s: the script ended with status %s%s", path.show(paths[1]),
      tostring(result.exit_code), tool and ": " .. tool or "")
  end
  return M.of(op, word, paths[index] or paths[1], number, tool)
end

return M
