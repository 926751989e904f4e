-- SPDX-License-Identifier: MIT
-- by_supervisor.lua - file work by the supervisor in the container, as the session's
-- user: each function is one operation of the core, and no program is started.
--
-- Same functions as by_scripts.lua.

local errors = require("anvia.sandbox.errors")
local failures = require("anvia.sandbox.files.failures")
local many = require("anvia.sandbox.files.many")
local path = require("anvia.sandbox.path")

local M = {}

local READ_TRIES = 3

-- So many operations are under way at the same time, where there are more to do.
local AT_ONCE = 32

local EEXIST = 17

-- What Linux's error numbers mean here.
local WORDS = {
  [1] = "denied", -- EPERM
  [2] = "not_found", -- ENOENT
  [6] = "not_regular", -- ENXIO
  [13] = "denied", -- EACCES
  [18] = "outside", -- EXDEV
  [19] = "no_workspace", -- ENODEV
  [20] = "not_directory", -- ENOTDIR
  [21] = "is_directory", -- EISDIR
  [39] = "not_empty", -- ENOTEMPTY
  [40] = "link_loop", -- ELOOP
}

--- The error for the caller, from what the core says about its failure.
---@param op string
---@param paths string[]       that it was about
---@param timeout_ms integer
---@param err anvia.sandbox.Error
---@return anvia.sandbox.Error
function M.explain(op, paths, timeout_ms, err)
  local said = type(err.result) == "table" and err.result or {}
  local name = said.other and paths[2] or paths[1]
  if err.code == "timeout" then
    return errors.new(op, "timeout", "%s: no answer within %s ms", path.show(name),
      tostring(timeout_ms))
  elseif said.size then
    return failures.of(op, "too_large", name, said.size)
  elseif said.errno and err.code ~= "internal" then
    return failures.of(op, WORDS[said.errno] or "failed", name, nil, err.message)
  elseif said.errno then
    return errors.new(op, "internal", "%s: %s", path.show(name), err.message)
  end
  return errors.wrap(op, err)
end

local function call(session, op, request)
  request.timeout_ms = session._limits.timeout_ms
  local result, err = session:_call(op, function(cs)
    return cs:file(request)
  end)
  if not result then
    local number = type(err.result) == "table" and err.result.errno
    return nil, M.explain(op, { request.path, request.other }, request.timeout_ms, err), number
  end
  return result
end

local function done(result, err)
  if not result then
    return nil, err
  end
  return true
end

function M.read(session, op, name, limit)
  for _ = 1, READ_TRIES do
    local result, err = call(session, op, { verb = "read", path = name, limit = limit })
    if not result then
      return nil, err
    elseif #result.data == result.size then
      return result.data
    end
  end
  return nil, failures.of(op, "changes", name)
end

function M.page(session, op, name, opts, bytes)
  local result, err = call(session, op, {
    verb = "read",
    path = name,
    skip_lines = opts.start_line - 1,
    offset = opts.start_byte,
    length = bytes,
  })
  return result and result.data, err
end

local function write(session, op, name, data, mode)
  return done(call(session, op, { verb = "write", path = name, data = data,
    mode = mode and tonumber(mode, 8), parents = true }))
end

function M.write(session, op, name, data)
  return write(session, op, name, data)
end

function M.list(session, op, name, opts)
  local result, err = call(session, op, { verb = "list", path = name, length = opts.max + 1,
    recursive = opts.recursive, details = opts.details })
  return result and result.entries, err
end

function M.stat(session, op, name)
  local result, err = call(session, op, { verb = "stat", path = name })
  if not result then
    return nil, err
  end
  result.entry.path = name
  return result.entry
end

function M.mkdir(session, op, name, mode)
  return done(call(session, op, { verb = "mkdir", path = name, mode = mode and tonumber(mode, 8) }))
end

function M.remove(session, op, name, recursive)
  return done(call(session, op, { verb = "remove", path = name, recursive = recursive }))
end

function M.rename(session, op, old, new)
  return done(call(session, op, { verb = "rename", path = old, other = new }))
end

function M.write_many(session, op, steps)
  -- A directory first: what is written into it must not race with it.
  local directories, files = {}, {}
  for _, step in ipairs(steps) do
    local list = step.content and files or directories
    list[#list + 1] = step
  end
  local ok, err = many.each(directories, AT_ONCE, function(step)
    return M.mkdir(session, op, step.path, step.mode)
  end)
  if not ok then
    return nil, err
  end
  return many.each(files, AT_ONCE, function(step)
    return write(session, op, step.path, step.content, step.mode)
  end)
end

-- A link takes the place of what is there, but not that of a directory.
local function symlink(session, op, link)
  local request = { verb = "symlink", path = link.path, other = link.target, parents = true }
  local result, err, number = call(session, op, request)
  if result or number ~= EEXIST then
    return done(result, err)
  end
  local entry
  entry, err = M.stat(session, op, link.path)
  if not entry then
    return nil, err
  elseif entry.type == "directory" then
    return nil, failures.of(op, "is_directory", link.path)
  end
  local ok
  ok, err = M.remove(session, op, link.path)
  if not ok then
    return nil, err
  end
  return done(call(session, op, request))
end

function M.symlink_many(session, op, links)
  return many.each(links, AT_ONCE, function(link)
    return symlink(session, op, link)
  end)
end

M.READS_AT_ONCE = AT_ONCE

return M
