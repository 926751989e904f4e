-- SPDX-License-Identifier: MIT
-- archive.lua - whole directories in and out of a session, as tar archives.
--
-- They are made and taken apart here, and what is in them goes through the ordinary file
-- operations: an archive can do nothing that the file methods could not.

local errors = require("anvia.sandbox.errors")
local files = require("anvia.sandbox.files")
local many = require("anvia.sandbox.files.many")
local options = require("anvia.sandbox.options")
local path = require("anvia.sandbox.path")
local tar = require("anvia.sandbox.tar")

local M = {}

local MAX_ENTRIES = 100000

local STRING = options.string({ nul = true })

-- What the file operations make of new directories by themselves.
local DIRECTORY_MODE = 493 -- 0755

local function too_large(op, name, limit)
  return nil, errors.new(op, "file_size", "%s: an archive of it has more than the %.0f bytes of "
    .. "max_file_bytes", path.show(name), limit)
end

-- What an archive of `name` holds: entries as `list` gives them with details, and the
-- part of their paths that is left out. A file is its own archive.
local function survey(session, op, name)
  local backend = files.backend(session)
  local list, err = backend.list(session, op, name,
    { recursive = true, details = true, max = MAX_ENTRIES })
  if list then
    return list, name == "." and 0 or #name + 1
  elseif err.code ~= "path" then
    return nil, err
  end
  local entry = backend.stat(session, op, name)
  if not entry or entry.type ~= "file" then
    return nil, err
  end
  return { entry }, #(name:match("^.*/") or "")
end

-- Reads the files among `list` into contents[i]; one that has gone meanwhile is false.
local function read_contents(session, op, list, limit)
  local backend = files.backend(session)
  local wanted, contents, left = {}, {}, limit
  for i, entry in ipairs(list) do
    if entry.type == "file" then
      wanted[#wanted + 1] = i
    end
  end
  local ok, err = many.each(wanted, backend.READS_AT_ONCE, function(i)
    local data, why = backend.read(session, op, list[i].path, math.max(left, 0))
    if not data and why.code ~= "not_found" then
      return nil, why
    end
    contents[i] = data or false
    left = left - #(data or "")
    return true
  end)
  if not ok then
    return nil, err
  end
  return contents, left
end

local methods = {}

--- A tar archive of a directory (or of one file), as bytes: regular files, directories
--- and links, with their permissions; sockets and the like are left out. Names in it
--- are relative to the directory.
---
--- It has at most `limits.max_file_bytes`. Of what changes meanwhile, some may be in it.
---@param name? string     ["."]
---@return string? archive
---@return anvia.sandbox.Error? err
function methods:read_archive(name)
  name = name == nil and "." or name
  options.check_argument("read_archive", STRING, name, "path")
  local relative, err = path.resolve(self.workdir, name, "path", "read_archive")
  if not relative then
    return nil, err
  end
  local list, skipped = survey(self, "read_archive", relative)
  if not list then
    return nil, skipped
  end
  local limit, total = files.max_file_bytes(self), 0
  for _, entry in ipairs(list) do
    total = total + tar.size_of(entry.path, entry.type == "file" and entry.size or 0,
      entry.target)
  end
  if total > limit or #list > MAX_ENTRIES then
    return too_large("read_archive", relative, limit)
  end
  local contents, left = read_contents(self, "read_archive", list, limit)
  if not contents then
    return nil, left
  elseif left < 0 then
    return too_large("read_archive", relative, limit)
  end
  local packed = {}
  for i, entry in ipairs(list) do
    local gone = contents[i] == false or entry.type == "symlink" and (entry.target or "") == ""
    if entry.type ~= "other" and not gone then
      packed[#packed + 1] = {
        path = entry.path:sub(skipped + 1),
        type = entry.type,
        mode = tonumber(entry.mode, 8) % 4096,
        mtime_ms = entry.mtime_ms,
        content = contents[i] or nil,
        target = entry.target,
      }
    end
  end
  return tar.write(packed)
end

-- Where an entry goes, relative to the workspace; "." for the directory itself.
local function place(session, op, base, name)
  local function refuse(why)
    return nil, errors.new(op, "path", "the archive's entry %s %s", path.show(name), why)
  end
  if name:sub(1, 1) == "/" then
    return refuse("is absolute")
  elseif ("/" .. name .. "/"):find("/../", 1, true) then
    return refuse("has a '..' in it")
  end
  local inner, err = path.resolve(session.workdir, name == "" and "." or name, "archive entry", op)
  if not inner then
    return nil, err
  elseif inner == "." then
    return base
  end
  return path.resolve(session.workdir, base == "." and inner or base .. "/" .. inner,
    "archive entry", op)
end

-- The content of a file, or of the file that a hard link names; or nil, err.
local function content_of(op, entry, step_of, target)
  if entry.type == "file" then
    return entry.content
  end
  local step = target and step_of[target]
  if not step or not step.content then
    return nil, errors.new(op, "path", "the archive's entry %s is a hard link to %s, which is no "
      .. "file before it in the archive", path.show(entry.path), path.show(entry.target))
  end
  return step.content
end

-- One entry as a step: {path, mode, content} a file, {path, target} a link, {path, mode} a
-- directory. The later of two for the same path counts.
local function plan_entry(session, op, base, entry, step_of)
  local name, err = place(session, op, base, entry.path)
  if not name then
    return nil, err
  elseif entry.type == "device" or entry.type == "fifo" then
    return nil, errors.new(op, "path", "the archive's entry %s is a %s", path.show(entry.path),
      entry.type)
  end
  local step = { path = name, mode = (entry.mode or DIRECTORY_MODE) % 512 }
  if entry.type == "symlink" then
    step.target = entry.target
    if step.target == "" or step.target:find("\0", 1, true) or #step.target > 4095 then
      return nil, errors.new(op, "path", "the archive's entry %s is a link to nothing that can be "
        .. "a path", path.show(entry.path))
    end
  elseif entry.type ~= "directory" then
    local limit = files.max_file_bytes(session)
    step.content, err = content_of(op, entry, step_of,
      entry.type == "hardlink" and place(session, op, base, entry.target) or nil)
    if not step.content then
      return nil, err
    elseif #step.content > limit then
      return nil, errors.new(op, "file_size", "the archive's entry %s has %d bytes, more than the "
        .. "%.0f of max_file_bytes", path.show(entry.path), #step.content, limit)
    end
  end
  if name == base and entry.type == "directory" then
    return true -- it keeps its own permissions
  elseif name == base then
    return nil, errors.new(op, "path", "the archive's entry %s is not a directory",
      path.show(entry.path))
  end
  step_of[name] = step
  step_of[#step_of + 1] = step
  return true
end

--- What write_archive() would write: files {path, content, mode} and directories {path},
--- first to last; the links {path, target} and permissions {path, mode} for the end, since
--- nothing must be led away by a link of the archive's own. Paths are relative to the
--- workspace.
---@param session table
---@param name string
---@param archive string
---@return table[]? steps
---@return table[]|anvia.sandbox.Error links
---@return table[]? directories
function M.plan(session, name, archive)
  local op = "write_archive"
  local base, failure = path.resolve(session.workdir, name, "path", op)
  if not base then
    return nil, failure
  end
  local entries, complaint = tar.read(archive)
  if not entries then
    return nil, errors.new(op, "protocol", "not a tar archive: %s", complaint)
  end
  local step_of = {}
  for _, entry in ipairs(entries) do
    local ok, err = plan_entry(session, op, base, entry, step_of)
    if not ok then
      return nil, err
    end
  end
  local steps, links, directories = { base ~= "." and { path = base } or nil }, {}, {}
  for _, step in ipairs(step_of) do
    if step_of[step.path] ~= step then -- luacheck: ignore 542
      -- replaced by a later one
    elseif step.target then
      links[#links + 1] = step
    elseif step.content then
      step.mode = string.format("%03o", step.mode)
      steps[#steps + 1] = step
    else
      steps[#steps + 1] = { path = step.path }
      if step.mode ~= DIRECTORY_MODE then
        table.insert(directories, 1, step) -- inner ones first
      end
    end
  end
  return steps, links, directories
end

--- Takes a tar archive apart below a directory, which is made if it is missing.
---
--- Files, directories, links and hard links to files of the archive; with permissions, but
--- never set-uid, and without owners and times. An archive with anything else in it, with
--- absolute names or `..`, is refused as a whole before anything is written. A link that is
--- in the way is followed inside the workspace, and never out. After another failure some of
--- it may be there.
---@param name string
---@param archive string
---@return boolean? written
---@return anvia.sandbox.Error? err
function methods:write_archive(name, archive)
  options.check_argument("write_archive", STRING, name, "path")
  options.check_argument("write_archive", STRING, archive, "archive")
  local steps, links, directories = M.plan(self, name, archive)
  if not steps then
    return nil, links
  end
  local backend = files.backend(self)
  local ok, err = backend.write_many(self, "write_archive", steps)
  if ok then
    ok, err = backend.symlink_many(self, "write_archive", links)
  end
  if ok then
    ok, err = many.each(directories, 1, function(step)
      return backend.mkdir(self, "write_archive", step.path, string.format("%03o", step.mode))
    end)
  end
  if not ok then
    return nil, err
  end
  for _, step in ipairs(steps) do
    if step.content then
      self:_fire("on_file_write", { path = step.path, size = #step.content })
    end
  end
  return true
end

--- Adds the methods for archives to the methods of sessions.
function M.attach(class)
  for method, body in pairs(methods) do
    class[method] = body
  end
end

return M
