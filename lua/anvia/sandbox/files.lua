-- SPDX-License-Identifier: MIT
-- files.lua - the file methods of a session.
--
-- Every method is one command inside the container, run as the session's user; the
-- scripts are in files/scripts/. A path is judged here by its text and there by
-- where its links lead. Paths in results are relative to the workspace.

local core = require("anvia.sandbox.core")
local entries = require("anvia.sandbox.files.entries")
local errors = require("anvia.sandbox.errors")
local failures = require("anvia.sandbox.files.failures")
local options = require("anvia.sandbox.options")
local path = require("anvia.sandbox.path")
local read_scripts = require("anvia.sandbox.files.scripts.read")
local run = require("anvia.sandbox.files.run")
local text_page = require("anvia.sandbox.text_page")
local write_scripts = require("anvia.sandbox.files.scripts.write")

local M = {}

---@class anvia.sandbox.FileEntry
---@field path string       relative to the workspace
---@field type "file" | "directory" | "symlink" | "other"
---@field size integer      in bytes; of a link the length of its target

---@class anvia.sandbox.FileStat: anvia.sandbox.FileEntry
---@field mode string       permissions in octal digits, as in "0644"
---@field mtime_ms integer? missing in images without a stat command

--- What a file may have when `limits.max_file_bytes` is not set.
M.DEFAULT_MAX_FILE_BYTES = 64 * 1024 * 1024

-- A listing may be this long; a million entries with short names.
local LISTING_BYTES = 64 * 1024 * 1024

-- `read` sends whole blocks of this size.
local BLOCK_BYTES = 65536

local READ_TRIES = 3

local STRING = options.string({ nul = true })
local REMOVE_OPTIONS = options.record({ recursive = { options.boolean, default = false } })

--- The most bytes that a file may have which is read or written in `session`.
---@return integer
function M.max_file_bytes(session)
  return session._limits.max_file_bytes or M.DEFAULT_MAX_FILE_BYTES
end

-- A path that must not be the workspace itself, nor (for `file`) say that it is a
-- directory by a slash at its end.
local function resolve_entry(session, op, name, field, file)
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
  local relative, err = resolve_entry(self, "read_file", name, "path", true)
  if not relative then
    return nil, err
  end
  local limit = M.max_file_bytes(self)
  for _ = 1, READ_TRIES do
    local result
    result, err = run(self, "read_file", read_scripts.read, { relative },
      { relative, string.format("%.0f", limit) }, { max_output_bytes = limit + BLOCK_BYTES })
    if not result then
      return nil, err
    end
    -- dd adds its statistics after the line that says the size.
    local said = result.stderr:match("^.-\nanvia%-files size %d+ %d+\n") or ""
    local word, _, size = failures.last_word(said)
    if word and #result.stdout >= size then
      return #result.stdout == size and result.stdout or result.stdout:sub(1, size)
    end
  end
  return nil, errors.new("read_file", "path", "%s changes while it is read", path.show(relative))
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
  local relative, err = resolve_entry(self, "write_file", name, "path", true)
  if not relative then
    return nil, err
  end
  local limit = M.max_file_bytes(self)
  if #data > limit then
    return nil, errors.new("write_file", "file_size", "%s: %d bytes are more than the %.0f of "
      .. "max_file_bytes", path.show(relative), #data, limit)
  end
  local result
  result, err = run(self, "write_file", write_scripts.write, { relative },
    { ".anvia-" .. core.random_hex(24), relative, tostring(#data) }, { input = data })
  if not result then
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
  local relative, err = resolve_entry(self, "read_text_page", name, "path", true)
  if not relative then
    return nil, err
  end
  local bytes = opts.max_bytes + text_page.LOOK_AHEAD
  local result
  result, err = run(self, "read_text_page", read_scripts.page, { relative }, {
    relative,
    string.format("%.0f", opts.start_line),
    string.format("%.0f", opts.start_byte + 1),
    string.format("%.0f", opts.line_count + 1),
    string.format("%.0f", bytes),
  }, { max_output_bytes = bytes })
  if not result then
    return nil, err
  end
  return text_page.cut(result.stdout, opts)
end

--- The entries of one directory, hidden ones too, sorted by their bytes.
---
--- Links are listed, not followed, but `name` itself may be a link to a directory.
---@param name? string         ["."]
---@return anvia.sandbox.FileEntry[]? list
---@return anvia.sandbox.Error? err
function methods:list_files(name)
  name = name == nil and "." or name
  options.check_argument("list_files", STRING, name, "path")
  local relative, err = path.resolve(self.workdir, name, "path", "list_files")
  if not relative then
    return nil, err
  end
  local result
  result, err = run(self, "list_files", read_scripts.list, { relative }, { relative },
    { max_output_bytes = LISTING_BYTES })
  if not result then
    return nil, err
  end
  local list = entries.listing(relative, result.stdout)
  if not list then
    return nil, errors.new("list_files", "internal", "%s: the listing is damaged",
      path.show(relative))
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
  local result
  result, err = run(self, "stat", read_scripts.stat, { relative }, { relative })
  if not result then
    return nil, err
  end
  local entry = entries.describe(result.stdout:gsub("\n$", ""))
  if not entry then
    return nil, errors.new("stat", "not_found", "%s does not exist", path.show(relative))
  end
  entry.path = relative
  return entry
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
  local result
  result, err = run(self, "mkdir", write_scripts.mkdir, { relative }, { relative })
  if not result then
    return nil, err
  end
  return true
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
  local relative, err = resolve_entry(self, "remove", name, "path")
  if not relative then
    return nil, err
  end
  local result
  result, err = run(self, "remove", write_scripts.remove, { relative },
    { relative, opts.recursive and "yes" or "" })
  if not result then
    return nil, err
  end
  return true
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
  local old, err = resolve_entry(self, "rename", from, "from")
  if not old then
    return nil, err
  end
  local new
  new, err = resolve_entry(self, "rename", to, "to")
  if not new then
    return nil, err
  end
  local result
  result, err = run(self, "rename", write_scripts.rename, { old, new }, { old, new })
  if not result then
    return nil, err
  end
  return true
end

--- Adds the file methods to the methods of sessions.
---@param class table
function M.attach(class)
  for name, method in pairs(methods) do
    class[name] = method
  end
end

return M
