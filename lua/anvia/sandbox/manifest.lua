-- SPDX-License-Identifier: MIT
-- manifest.lua - the files and directories that a new session starts with.
--
-- The environment of a manifest is the session's business; here it is only checked.

local errors = require("anvia.sandbox.errors")
local files = require("anvia.sandbox.files")
local options = require("anvia.sandbox.options")
local path = require("anvia.sandbox.path")

local M = {}

local OP = "create_session"

-- Permissions are octal digits, as in "755" or "0644", or the number that these
-- digits make (tonumber("755", 8)).
local function check_mode(value, name)
  local number = value
  if type(value) == "string" then
    number = value:find("^[0-7]+$") and tonumber(value, 8)
  end
  if type(number) ~= "number" or number % 1 ~= 0 or number < 0 or number > 511 then
    return nil, "option '" .. name .. "' must be permissions such as \"0755\""
  end
  return string.format("%03o", number)
end

local TEXT = options.string({ nul = true })

local DETAILED = options.record({ content = { TEXT, required = true }, mode = check_mode })

local function check_file(value, name)
  if type(value) == "table" then
    return DETAILED(value, name)
  elseif type(value) ~= "string" then
    return nil, "option '" .. name .. "' must be the content or a table {content, mode}"
  end
  return value
end

--- For options.record: {files, directories, env}.
M.CHECK = options.record({
  files = options.map(TEXT, check_file),
  directories = options.list(TEXT),
  env = options.map(options.string({
    pattern = "^[%a_][%w_]*$",
    what = "a name of letters, digits and underscores",
  }), options.string()),
})

-- One step of the work: {path} is a directory, {path, content, mode} a file.
local function plan_directories(session, list, steps)
  for _, name in ipairs(list) do
    local relative, err = path.resolve(session.workdir, name, "manifest directory", OP)
    if not relative then
      return nil, err
    end
    steps[#steps + 1] = { path = relative }
  end
  return true
end

local function plan_file(session, name, file)
  local relative, err = path.resolve(session.workdir, name, "manifest file", OP)
  if not relative then
    return nil, err
  elseif relative == "." or name:find("/%.?$") then
    return nil, errors.new(OP, "path", "manifest file %s names a directory", path.show(name))
  end
  local step = { path = relative, content = file, mode = nil }
  if type(file) == "table" then
    step.mode, step.content = file.mode, file.content
  end
  local limit = files.max_file_bytes(session)
  if #step.content > limit then
    return nil, errors.new(OP, "file_size", "manifest file %s: %d bytes are more than the %.0f "
      .. "of max_file_bytes", path.show(relative), #step.content, limit)
  end
  return step
end

local function plan_files(session, list, steps)
  local first, seen = #steps + 1, {}
  local found = {}
  for name, file in pairs(list) do
    local step, err = plan_file(session, name, file)
    if not step then
      return nil, err
    elseif seen[step.path] then
      return nil, errors.new(OP, "path", "manifest file %s is there twice", path.show(step.path))
    end
    seen[step.path] = true
    found[#found + 1] = step
  end
  table.sort(found, function(a, b)
    return path.less(a.path, b.path)
  end)
  for i, step in ipairs(found) do
    steps[first + i - 1] = step
  end
  return true
end

--- Writes the files and directories of a manifest that M.CHECK has passed.
---
--- Directories first, then files in the order of their paths. Fires no hooks. After
--- a failure some of it may be there.
---@param session table
---@param manifest {files: table?, directories: string[]?}
---@return boolean? done
---@return anvia.sandbox.Error? err
function M.apply(session, manifest)
  local steps = {}
  local ok, err = plan_directories(session, manifest.directories or {}, steps)
  if ok then
    ok, err = plan_files(session, manifest.files or {}, steps)
  end
  if not ok then
    return nil, err
  end
  return files.backend(session).write_many(session, OP, steps)
end

return M
