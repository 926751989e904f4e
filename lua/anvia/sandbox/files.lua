-- SPDX-License-Identifier: MIT
-- files.lua - the file methods of a session.
--
-- The work is done inside the container, as the session's user: by the supervisor, or by
-- shell scripts where the runner is another. A path is judged here by its text and there
-- by where its links lead. Paths in results are relative to the workspace.

local by_scripts = require("anvia.sandbox.files.by_scripts")
local by_supervisor = require("anvia.sandbox.files.by_supervisor")
local errors = require("anvia.sandbox.errors")
local options = require("anvia.sandbox.options")
local path = require("anvia.sandbox.path")
local text_page = require("anvia.sandbox.text_page")

local M = {}

---@class anvia.sandbox.FileEntry
---@field path string       relative to the workspace
---@field type "file" | "directory" | "symlink" | "other"
---@field size integer      in bytes; of a link the length of its target

---@class anvia.sandbox.FileStat: anvia.sandbox.FileEntry
---@field mode string       permissions in octal digits, as in "0644"
---@field mtime_ms integer? missing where only an image's commands can tell, and there is no stat
---@field target string?    of a link: what it says

--- What a file may have when `limits.max_file_bytes` is not set.
M.DEFAULT_MAX_FILE_BYTES = 64 * 1024 * 1024

-- What list_files returns at most when nothing else is said.
local MAX_ENTRIES = 1000000
local MAX_TREE_ENTRIES = 100000

local STRING = options.string({ nul = true })
local LIST_OPTIONS = options.record({
  recursive = { options.boolean, default = false },
  max_entries = options.integer(1, MAX_ENTRIES),
})
local REMOVE_OPTIONS = options.record({ recursive = { options.boolean, default = false } })

--- The most bytes that a file may have which is read or written in `session`.
---@return integer
function M.max_file_bytes(session)
  local limits = session._limits or session.limits -- the latter of one with a policy
  return limits and limits.max_file_bytes or M.DEFAULT_MAX_FILE_BYTES
end

--- What does the work in `session`: the same functions, whatever the runner.
function M.backend(session)
  return session.runner == "supervisor" and by_supervisor or by_scripts
end

-- A path that must not be the workspace itself, nor (for `file`) say that it is a
-- directory by a slash at its end.
function M.resolve_entry(session, op, name, field, file)
  local relative, err = path.resolve(session.workdir, name, field, op)
  if not relative then
    return nil, err
  elseif relative == "." then
    return nil, errors.new(op, "path", "%s is the workspace itself, a directory", path.show(name))
  elseif file and name:find("/%.?$") then
    return nil, errors.new(op, "path", "%s names a directory", path.show(name))
  end
  return relative
end

local methods = {}

--- Reads a whole file.
---
--- A link is followed inside the workspace. Pipes, devices and directories are
--- refused at once, files over `limits.max_file_bytes` before a byte is sent. Of a
--- file that grows meanwhile, the bytes that it had at first are returned.
---@param name string
---@return string? data
---@return anvia.sandbox.Error? err
function methods:read_file(name)
  options.check_argument("read_file", STRING, name, "path")
  local relative, err = M.resolve_entry(self, "read_file", name, "path", true)
  if not relative then
    return nil, err
  end
  return M.backend(self).read(self, "read_file", relative, M.max_file_bytes(self))
end

--- Writes a whole file, and makes the directories above it.
---
--- The file is complete or as it was: the bytes go to a new file that takes the
--- old one's place. It belongs to the session's user and keeps the old one's
--- permissions (a new file has 0644); another hard link keeps the old content. A
--- link inside the workspace is followed, and its target replaced.
---@param name string
---@param data string
---@return boolean? written
---@return anvia.sandbox.Error? err
function methods:write_file(name, data)
  options.check_argument("write_file", STRING, name, "path")
  options.check_argument("write_file", STRING, data, "data")
  local relative, err = M.resolve_entry(self, "write_file", name, "path", true)
  if not relative then
    return nil, err
  end
  local limit = M.max_file_bytes(self)
  if #data > limit then
    return nil, errors.new("write_file", "file_size", "%s: %d bytes are more than the %.0f of "
      .. "max_file_bytes", path.show(relative), #data, limit)
  end
  local ok
  ok, err = M.backend(self).write(self, "write_file", relative, data)
  if not ok then
    return nil, err
  end
  self:_fire("on_file_write", { path = relative, size = #data })
  return true
end

--- Reads some lines of a file of any size; only these are sent.
---
--- See text_page.lua for what a page is and how to get on after it. Behind the end
--- of the file a page is empty, with `end_line` one less than `start_line`.
---@param name string
---@param opts? anvia.sandbox.TextPageOptions
---@return anvia.sandbox.TextPage? page
---@return anvia.sandbox.Error? err
function methods:read_text_page(name, opts)
  options.check_argument("read_text_page", STRING, name, "path")
  opts = options.check("read_text_page", text_page.OPTIONS, opts)
  local relative, err = M.resolve_entry(self, "read_text_page", name, "path", true)
  if not relative then
    return nil, err
  end
  local bytes = opts.max_bytes + text_page.LOOK_AHEAD
  local data
  data, err = M.backend(self).page(self, "read_text_page", relative, opts, bytes)
  if not data then
    return nil, err
  end
  return text_page.cut(data, opts)
end

--- The entries of one directory, hidden ones too, sorted by their bytes; with
--- `recursive` those of the directories below as well.
---
--- Links are listed, not followed, but `name` itself may be a link to a directory. When
--- there are more than `max_entries`, so many are returned and `list.truncated` is true.
---@param name? string         ["."]
---@param opts? {recursive: boolean?, max_entries: integer?}
---@return anvia.sandbox.FileEntry[]? list
---@return anvia.sandbox.Error? err
function methods:list_files(name, opts)
  name = name == nil and "." or name
  options.check_argument("list_files", STRING, name, "path")
  opts = options.check("list_files", LIST_OPTIONS, opts)
  local relative, err = path.resolve(self.workdir, name, "path", "list_files")
  if not relative then
    return nil, err
  end
  local max = opts.max_entries or (opts.recursive and MAX_TREE_ENTRIES or MAX_ENTRIES)
  local list
  list, err = M.backend(self).list(self, "list_files", relative,
    { recursive = opts.recursive, max = max })
  if not list then
    return nil, err
  end
  list.truncated = #list > max or nil
  for i = #list, max + 1, -1 do
    list[i] = nil
  end
  return list
end

--- Describes one entry; a link itself, not its target.
---@param name string
---@return anvia.sandbox.FileStat? stat
---@return anvia.sandbox.Error? err
function methods:stat(name)
  options.check_argument("stat", STRING, name, "path")
  local relative, err = path.resolve(self.workdir, name, "path", "stat")
  if not relative then
    return nil, err
  end
  return M.backend(self).stat(self, "stat", relative)
end

--- Makes a directory and those above it; one that exists is fine.
---@param name string
---@return boolean? made
---@return anvia.sandbox.Error? err
function methods:mkdir(name)
  options.check_argument("mkdir", STRING, name, "path")
  local relative, err = path.resolve(self.workdir, name, "path", "mkdir")
  if not relative then
    return nil, err
  end
  return M.backend(self).mkdir(self, "mkdir", relative)
end

--- Removes a file, a link itself, or an empty directory; with `recursive` also a
--- full one.
---@param name string
---@param opts? {recursive: boolean?}
---@return boolean? removed
---@return anvia.sandbox.Error? err
function methods:remove(name, opts)
  options.check_argument("remove", STRING, name, "path")
  opts = options.check("remove", REMOVE_OPTIONS, opts)
  local relative, err = M.resolve_entry(self, "remove", name, "path")
  if not relative then
    return nil, err
  end
  return M.backend(self).remove(self, "remove", relative, opts.recursive)
end

--- Renames an entry, a link itself. A file or link in the way is replaced, a
--- directory is not. The directory of `to` must exist.
---@param from string
---@param to string
---@return boolean? renamed
---@return anvia.sandbox.Error? err
function methods:rename(from, to)
  options.check_argument("rename", STRING, from, "from")
  options.check_argument("rename", STRING, to, "to")
  local old, err = M.resolve_entry(self, "rename", from, "from")
  if not old then
    return nil, err
  end
  local new
  new, err = M.resolve_entry(self, "rename", to, "to")
  if not new then
    return nil, err
  end
  return M.backend(self).rename(self, "rename", old, new)
end

--- Adds the file methods to the methods of sessions.
---@param class table
function M.attach(class)
  for name, method in pairs(methods) do
    class[name] = method
  end
end

return M
