-- SPDX-License-Identifier: MIT
-- task.lua - waiting: for operations of the core, and for each other. How it is done is
-- in scheduler.lua.

local cancel = require("anvia.sandbox.cancel")
local core = require("anvia.sandbox.core")
local errors = require("anvia.sandbox.errors")
local scheduler = require("anvia.sandbox.scheduler")

local M = {}

local unpack = table.unpack or rawget(_G, "unpack") -- the latter in LuaJIT

---@class anvia.sandbox.Task
local Task = {}
Task.__index = Task
Task.__name = "anvia.sandbox.Task"

--- Waits for an operation of the core and gives its result. What the core's functions
--- return can be passed as it is: `task.await(core.run{...})`.
---@param op anvia.sandbox.core.Op?
---@param more any a cancel token; or, without an operation, the error
---@return any value
---@return anvia.sandbox.Error? err
function M.await(op, more)
  if op == nil then
    return nil, errors.wrap(nil, more)
  end
  local unsubscribe
  if cancel.is_token(more) then
    unsubscribe = more:on_cancel(function()
      op:cancel()
    end)
  end
  while not op:done() do
    scheduler.wait_news(op)
  end
  if unsubscribe then
    unsubscribe()
  end
  local value, err = op:result()
  if err then
    return nil, errors.wrap(nil, err)
  end
  return value
end

--- Waits for the next piece that a streaming operation has read. After the last one it
--- returns nil; then await() gives the result at once.
---@param op anvia.sandbox.core.Op
---@return "stdout"|"stderr"|nil which
---@return string? data
function M.await_stream(op)
  while true do
    local done = op:done() -- before the read: what comes in between is read next time
    local which, data = op:read()
    if which then
      return which, data
    elseif done then
      return nil
    end
    scheduler.wait_news(op)
  end
end

--- Starts fn(...) as a task. It runs at once, up to the first thing that it waits for.
---@param fn function
---@return anvia.sandbox.Task
function M.spawn(fn, ...)
  if type(fn) ~= "function" then
    error("spawn needs a function, not a " .. type(fn), 2)
  end
  local task
  local function note_traceback(raised)
    task._traceback = debug.traceback("", 2):gsub("^\n", "")
    return raised
  end
  task = setmetatable({
    -- Caught inside, so that what the function has to close is closed, and may wait.
    _co = coroutine.create(function(...)
      return xpcall(fn, note_traceback, ...)
    end),
    _done = false,
    _ok = nil,
    _results = nil,
    _traceback = nil,
    _joined = false,
    _joiners = {},
  }, Task)
  scheduler.start(task, ...)
  return task
end

-- The function has returned (ok and results) or raised (false and the error); or the
-- task could not go on (resumed is false).
function Task:_finish(resumed, ok, ...)
  self._done, self._ok = true, resumed and ok
  if resumed then
    self._results = { n = select("#", ...), ... }
  else
    self._results = { n = 1, ok }
    self._traceback = debug.traceback(self._co)
  end
  local joiners = self._joiners
  self._joiners = nil
  for i = 1, #joiners do
    scheduler.make_ready(joiners[i])
  end
end

local function wait_end(task)
  if task._done then
    return
  end
  local me = scheduler.current()
  if me == task then
    error("a task cannot join itself", 3)
  elseif scheduler.can_yield() then
    task._joiners[#task._joiners + 1] = me
    scheduler.yield()
  elseif coroutine.status(task._co) == "normal" then
    error("deadlock: the task waits for this call to return", 3)
  else
    scheduler.block(function()
      return task._done
    end)
  end
end

--- Waits for the end of the task and returns what its function returned. An error of the
--- function is raised again; if it is a string, with the traceback of the task.
function Task:join()
  wait_end(self)
  self._joined = true
  if self._ok then
    return unpack(self._results, 1, self._results.n)
  end
  local raised = self._results[1]
  if type(raised) == "string" then
    raised = raised .. "\nin a task:\n" .. self._traceback
  end
  error(raised, 0)
end

--- Has the function returned or raised?
---@return boolean
function Task:done()
  return self._done
end

-- An error that nobody has asked for is at least visible with `lua -W`.
function Task:__gc()
  if self._done and not self._ok and not self._joined and warn then
    warn("anvia.sandbox: a task failed: " .. tostring(self._results[1]))
  end
end

--- Runs all functions as tasks and waits until every one of them has ended.
---
--- results[i] is the first value that function i returned (results.n: how many there
--- are). If one returned nil or false and an error, errs[i] is that error; without any,
--- errs is nil. If one raised, the error of the first such function is raised, after all
--- have ended.
---@param fns function[]
---@return table results
---@return table? errs
function M.all(fns)
  if type(fns) ~= "table" then
    error("all needs an array of functions", 2)
  end
  for i = 1, #fns do
    if type(fns[i]) ~= "function" then
      error(string.format("all needs an array of functions, [%d] is a %s", i, type(fns[i])), 2)
    end
  end
  local started = {}
  for i = 1, #fns do
    started[i] = M.spawn(fns[i])
  end
  for i = 1, #started do
    wait_end(started[i])
    started[i]._joined = true
  end
  local results, errs = { n = #started }, nil
  for i = 1, #started do
    local value, err = started[i]:join()
    results[i] = value
    if not value and err ~= nil then
      errs = errs or {}
      errs[i] = err
    end
  end
  return results, errs
end

--- Waits for a while.
---@param ms integer
---@param token anvia.sandbox.CancelToken?
---@return true? done
---@return anvia.sandbox.Error? err
function M.sleep(ms, token)
  if type(ms) ~= "number" or ms ~= math.floor(ms) or ms < 0 or ms > 2 ^ 53 then
    error("sleep needs milliseconds, an integer from 0 to 2^53", 2)
  end
  local value, err = M.await(core.sleep(ms), token)
  return value, err and errors.wrap("sleep", err)
end

M.cancel_token = cancel.token
M.is_cancel_token = cancel.is_token
M.dispatch = scheduler.dispatch

return M
