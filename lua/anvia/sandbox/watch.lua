-- SPDX-License-Identifier: MIT
-- watch.lua - learning what happens to the files of a session, as it happens.

local by_supervisor = require("anvia.sandbox.files.by_supervisor")
local core = require("anvia.sandbox.core")
local errors = require("anvia.sandbox.errors")
local options = require("anvia.sandbox.options")
local path = require("anvia.sandbox.path")
local task = require("anvia.sandbox.task")

local M = {}

---@class anvia.sandbox.FileChange
---@field type "created" | "modified" | "deleted" | "lost"
---@field path string?   relative to the workspace; not of "lost": something was missed

local STRING = options.string({ nul = true })
local OPTIONS = options.record({
  recursive = { options.boolean, default = false },
  since = options.integer(0),
})
local TIMEOUT = options.integer(0)

-- So long as no caller waits.
local FOREVER_MS = 2 ^ 52

-- What one read() gives at most; the rest comes with the next.
local MAX_EVENTS = 4096

local TYPES = { c = "created", m = "modified", d = "deleted", l = "lost" }

-- What watch and collector share. The watch itself must not be held by what waits, or it
-- would never be collected.
local State = {}
State.__index = State

-- Takes in one piece of the operation: "<kind><cursor> <path>".
function State:take(data)
  local kind, cursor, name = data:match("^(%l)(%d+) (.*)$")
  self.cursor = tonumber(cursor)
  if not TYPES[kind] then
    return
  end
  self.events[#self.events + 1] = {
    type = TYPES[kind],
    path = kind ~= "l" and self.prefix .. name or nil,
  }
end

-- Takes in what is there already.
function State:drain()
  while #self.events < MAX_EVENTS do
    local which, data = self.operation:read()
    if not which then
      return
    end
    self:take(data)
  end
end

-- A task waits for the next piece, and wakes who waits for the time.
function State:start_pump()
  if self.pumping then
    return
  end
  self.pumping = true
  task.spawn(function()
    local which, data = task.await_stream(self.operation)
    self.pumping = false
    if which then
      self:take(data)
    end
    if self.timer then
      self.timer:cancel()
    end
  end)
end

-- What it came to, when it was not the caller who closed it.
function State:failure()
  local _, err = task.await(self.operation)
  return self.explain(err or errors.new(nil, "internal", "the watch has ended"))
end

---@class anvia.sandbox.Watch
---@field cursor integer of the last event that was read, for `since`
local Watch = {}
Watch.__index = Watch
Watch.__name = "anvia.sandbox.Watch"

--- Waits for changes: returns when there are some, or with an empty list after the time.
---@param timeout_ms integer?   nil: without end
---@return anvia.sandbox.FileChange[]? changes
---@return integer|anvia.sandbox.Error cursor
function Watch:read(timeout_ms)
  if timeout_ms ~= nil then
    options.check_argument("read", TIMEOUT, timeout_ms, "timeout_ms")
  end
  local state = self._state
  if state.closed then
    return nil, errors.new("watch_files", "cancelled", "the watch is closed")
  end
  state:drain()
  if #state.events == 0 and not state.operation:done() then
    if state.timer then
      error("two are reading from the same watch", 2)
    end
    state.timer = core.sleep(timeout_ms or FOREVER_MS)
    state:start_pump()
    task.await(state.timer)
    state.timer = nil
    state:drain()
  end
  if #state.events == 0 and (state.closed or state.operation:done()) then
    if state.closed then
      return nil, errors.new("watch_files", "cancelled", "the watch is closed")
    end
    return nil, state:failure()
  end
  local events = state.events
  state.events = {}
  self.cursor = state.cursor
  return events, self.cursor
end

--- An iterator step: the next changes, or nil and the error.
function Watch:__call()
  return self:read()
end

--- Ends the watch. Whoever waits in read() returns.
function Watch:close()
  local state = self._state
  if not state.closed then
    state.closed = true
    state.operation:cancel()
    if state.timer then
      state.timer:cancel()
    end
  end
end

Watch.__close = Watch.close
Watch.__gc = Watch.close

-- The first piece says that the watch has begun.
local function begin(state)
  local which, data = task.await_stream(state.operation)
  if not which then
    return nil, state:failure()
  end
  state:take(data)
  return true
end

local methods = {}

--- Watches a directory, with `recursive` all that is below it too, now and later:
---
---     local watch = assert(session:watch_files("src", { recursive = true }))
---     for changes, cursor in watch do ... end
---
--- Nothing is missed from its return on; if something had to be, a change of the type
--- "lost" says so. With `since`, a cursor of an earlier watch of this session, it begins
--- with what came after that. A renamed file is deleted and created. Whoever holds a watch
--- keeps the session from being idle. It needs the runner "supervisor".
---@param name? string         ["."]
---@param opts? {recursive: boolean?, since: integer?}
---@return anvia.sandbox.Watch? watch
---@return anvia.sandbox.Error? err
function methods:watch_files(name, opts)
  name = name == nil and "." or name
  options.check_argument("watch_files", STRING, name, "path")
  opts = options.check("watch_files", OPTIONS, opts)
  local relative, err = path.resolve(self.workdir, name, "path", "watch_files")
  if not relative then
    return nil, err
  elseif self.runner ~= "supervisor" then
    return nil, errors.new("watch_files", "internal", "files can only be watched by the runner "
      .. "\"supervisor\"; this session has %q", self.runner)
  end
  local ok
  ok, err = self:_check_open("watch_files")
  if not ok then
    return nil, err
  end
  local life, timeout_ms = self._life, self._limits.timeout_ms
  local state = setmetatable({
    operation = self._core:watch({
      path = relative,
      recursive = opts.recursive,
      cursor = opts.since or 0,
      timeout_ms = timeout_ms,
    }),
    prefix = relative == "." and "" or relative .. "/",
    explain = function(failure)
      return by_supervisor.explain("watch_files", { relative }, timeout_ms,
        life:explain("watch_files", failure))
    end,
    events = {},
    cursor = opts.since or 0,
    timer = nil,
    pumping = false,
    closed = false,
  }, State)
  ok, err = begin(state)
  if not ok then
    return nil, err
  end
  return setmetatable({ _state = state, cursor = state.cursor }, Watch)
end

--- Adds watch_files to the methods of sessions.
function M.attach(class)
  for method, body in pairs(methods) do
    class[method] = body
  end
end

return M
