-- SPDX-License-Identifier: MIT
-- by_scripts.lua - file work by commands: each function is one shell script, run inside
-- the container as the session's user. The scripts are in files/scripts/.
--
-- Same functions as by_supervisor.lua. Paths are relative to the workspace and judged
-- by their text already; `op` is the public method, for errors.

local core = require("anvia.sandbox.core")
local entries = require("anvia.sandbox.files.entries")
local errors = require("anvia.sandbox.errors")
local failures = require("anvia.sandbox.files.failures")
local many = require("anvia.sandbox.files.many")
local path = require("anvia.sandbox.path")
local read_scripts = require("anvia.sandbox.files.scripts.read")
local run = require("anvia.sandbox.files.run")
local write_scripts = require("anvia.sandbox.files.scripts.write")

local M = {}

-- A listing may be this long; a million entries with short names.
local LISTING_BYTES = 64 * 1024 * 1024

-- `read` sends whole blocks of this size.
local BLOCK_BYTES = 65536

local READ_TRIES = 3

-- What one command takes on; a file with more content than that goes alone.
local BATCH_ENTRIES = 500
local BATCH_PATH_BYTES = 65536
local BATCH_CONTENT_BYTES = 8 * 1024 * 1024

-- So many commands run at the same time, where one does not do.
local AT_ONCE = 8

local unpack = table.unpack or _G.unpack

local PLAIN, DETAILED = "%f %s", "%f %s %Y %y"

local function whole(number)
  return string.format("%.0f", number)
end

-- true for a script that has nothing to say.
local function done(result, err)
  if not result then
    return nil, err
  end
  return true
end

--- The bytes of a file that has at most `limit`.
function M.read(session, op, name, limit)
  for _ = 1, READ_TRIES do
    local result, err = run(session, op, read_scripts.read, { name }, { name, whole(limit) },
      { max_output_bytes = limit + BLOCK_BYTES })
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
  return nil, failures.of(op, "changes", name)
end

--- Up to `bytes` bytes from opts.start_line and start_byte on, or so many lines.
function M.page(session, op, name, opts, bytes)
  local result, err = run(session, op, read_scripts.page, { name }, {
    name,
    whole(opts.start_line),
    whole(opts.start_byte + 1),
    whole(opts.line_count + 1),
    whole(bytes),
  }, { max_output_bytes = bytes })
  return result and result.stdout, err
end

function M.write(session, op, name, data)
  return done(run(session, op, write_scripts.write, { name },
    { ".anvia-" .. core.random_hex(24), name, tostring(#data) }, { input = data }))
end

local function damaged(op, name)
  return nil, errors.new(op, "internal", "%s: the listing is damaged", path.show(name))
end

-- The first of the paths from `from` on that fit into one command, and the next one.
local function take_paths(list, from)
  local taken, bytes, i = {}, 0, from
  while i <= #list and #taken < BATCH_ENTRIES and (i == from or bytes < BATCH_PATH_BYTES) do
    taken[#taken + 1] = list[i]
    bytes = bytes + #list[i]
    i = i + 1
  end
  return taken, i
end

-- What is below `directories`, level by level, until there are more than `max` entries.
local function descend(session, op, found, opts)
  local from = 1
  while #found <= opts.max do
    local directories = {}
    for i = from, #found do
      if found[i].type == "directory" then
        directories[#directories + 1] = found[i].path
      end
    end
    if #directories == 0 then
      return true
    end
    from = #found + 1
    local next_one = 1
    while next_one <= #directories and #found <= opts.max do
      local batch
      batch, next_one = take_paths(directories, next_one)
      local result, err = run(session, op, read_scripts.list_many, batch,
        { opts.details and DETAILED or PLAIN, unpack(batch) },
        { max_output_bytes = LISTING_BYTES })
      if not result then
        return nil, err
      elseif not entries.append(found, batch, result.stdout, opts.details) then
        return damaged(op, batch[1])
      end
    end
  end
  return true
end

-- Adds to each link among `found` what it says.
local function add_targets(session, op, found)
  local links = {}
  for _, entry in ipairs(found) do
    if entry.type == "symlink" then
      links[#links + 1] = entry
    end
  end
  local names, from = {}, 1
  for i, entry in ipairs(links) do
    names[i] = entry.path
  end
  while from <= #names do
    local batch, after = take_paths(names, from)
    local result, err = run(session, op, read_scripts.targets, batch, batch,
      { max_output_bytes = LISTING_BYTES })
    if not result then
      return nil, err
    end
    for i, target in ipairs(entries.strings(result.stdout)) do
      links[from + i - 1].target = target
    end
    from = after
  end
  return true
end

--- The entries of a directory, sorted; not more than about opts.max. With
--- opts.recursive those below it too, with opts.details mode, mtime_ms and target.
function M.list(session, op, name, opts)
  local result, err = run(session, op, read_scripts.list, { name },
    { opts.details and DETAILED or PLAIN, name }, { max_output_bytes = LISTING_BYTES })
  if not result then
    return nil, err
  end
  local found = {}
  if not entries.append(found, { name }, result.stdout, opts.details) then
    return damaged(op, name)
  end
  local ok = true
  if opts.recursive then
    ok, err = descend(session, op, found, opts)
  end
  if ok and opts.details then
    ok, err = add_targets(session, op, found)
  end
  if not ok then
    return nil, err
  end
  return entries.sort(found)
end

function M.stat(session, op, name)
  local result, err = run(session, op, read_scripts.stat, { name }, { name })
  if not result then
    return nil, err
  end
  local line, target = result.stdout:match("^([^\n]*)\n(.*)$")
  local entry = entries.describe(line or "")
  if not entry then
    return nil, failures.of(op, "not_found", name)
  end
  entry.path = name
  entry.target = entry.type == "symlink" and target:match("^(.+)%z$") or nil
  return entry
end

--- `mode` are octal digits, or nil: an old directory keeps its own.
function M.mkdir(session, op, name, mode)
  return done(run(session, op, write_scripts.mkdir, { name }, { name, mode or "" }))
end

function M.remove(session, op, name, recursive)
  return done(run(session, op, write_scripts.remove, { name },
    { name, recursive and "yes" or "" }))
end

function M.rename(session, op, old, new)
  return done(run(session, op, write_scripts.rename, { old, new }, { old, new }))
end

-- The steps from `from` on that fit into one command.
local function take_batch(steps, from)
  local paths, args, contents, bytes, path_bytes = {}, {}, {}, 0, 0
  for i = from, math.min(#steps, from + BATCH_ENTRIES - 1) do
    local step = steps[i]
    local content = step.content or ""
    bytes, path_bytes = bytes + #content, path_bytes + #step.path
    if i > from and (bytes > BATCH_CONTENT_BYTES or path_bytes > BATCH_PATH_BYTES) then
      break
    end
    paths[#paths + 1] = step.path
    contents[#contents + 1] = content
    args[#args + 1] = step.content and (step.mode or "") or "dir"
    args[#args + 1] = tostring(#content)
    args[#args + 1] = step.path
  end
  return paths, args, table.concat(contents)
end

--- Many writes at once: each step is a file {path, content, mode}, or {path} alone for
--- a directory. In their order; after a failure some of it may be there.
function M.write_many(session, op, steps)
  local from = 1
  while from <= #steps do
    local paths, args, input = take_batch(steps, from)
    table.insert(args, 1, ".anvia-" .. core.random_hex(24))
    table.insert(args, 2, tostring(#input))
    local ok, err = run(session, op, write_scripts.write_many, paths, args, { input = input })
    if not ok then
      return nil, err
    end
    from = from + #paths
  end
  return true
end

--- Makes links {path, target}, each in place of a file or link of its name.
function M.symlink_many(session, op, links)
  return many.each(links, AT_ONCE, function(link)
    return done(run(session, op, write_scripts.symlink, { link.path },
      { link.target, link.path }))
  end)
end

--- So many reads may run at the same time.
M.READS_AT_ONCE = AT_ONCE

return M
