-- SPDX-License-Identifier: MIT
-- task.lua - waiting: for operations of the core, and for each other.
--
-- A task is a coroutine that this file resumes. In a task, waiting yields and other
-- tasks run. Anywhere else (plain Lua, or a coroutine of the user's own) waiting blocks,
-- and tasks run meanwhile; so a callback may call any method, also one that waits.

local cancel = require("anvia.sandbox.cancel")
local core = require("anvia.sandbox.core")
local errors = require("anvia.sandbox.errors")

local M = {}

local unpack = table.unpack or rawget(_G, "unpack") -- the latter in LuaJIT

---@class anvia.sandbox.Task
local Task = {}
Task.__index = Task
Task.__name = "anvia.sandbox.Task"

-- What a task yields when it waits. Anything else is a yield of the user's.
local WAIT = {}

local tasks = setmetatable({}, { __mode = "k" }) -- coroutine -> its task
local waiting = {} -- operation -> task, or the flag table of a blocked call; anchors both
local ready = { first = 1, last = 0 } -- tasks to be resumed, in order

local function current()
  local co = coroutine.running()
  return co and tasks[co]
end

-- Inside of a C function that calls back (string.gsub, say) a task blocks too.
local function can_yield()
  return current() and coroutine.isyieldable()
end

local function make_ready(task)
  ready.last = ready.last + 1
  ready[ready.last] = task
end

local function finish(task, ok, ...)
  task._done, task._ok = true, ok
  task._results = { n = select("#", ...), ... }
  if not ok then
    task._traceback = debug.traceback(task._co)
  end
  local joiners = task._joiners
  task._joiners = nil
  for i = 1, #joiners do
    make_ready(joiners[i])
  end
end

local function after_resume(task, ok, ...)
  if not ok or coroutine.status(task._co) == "dead" then
    finish(task, ok, ...)
  elseif (...) ~= WAIT then
    -- the user's own yield lets others run: through the mailbox, so that it also works
    -- below a foreign loop, and the news of others come first
    local op, err = core.sleep(0)
    if op then
      waiting[op] = task
    else
      finish(task, false, errors.wrap("task", err))
    end
  end
end

local function resume(task, ...)
  after_resume(task, coroutine.resume(task._co, ...))
end

local function run_ready()
  while ready.first <= ready.last do
    local task = ready[ready.first]
    ready[ready.first] = nil
    ready.first = ready.first + 1
    resume(task)
  end
  ready.first, ready.last = 1, 0
end

-- An operation has something to read, or is done.
local function deliver(op)
  local waiter = waiting[op]
  if not waiter then
    return -- its owner is busy and will look before it waits
  end
  waiting[op] = nil
  if getmetatable(waiter) == Task then
    make_ready(waiter)
  else
    waiter.news = true
  end
end

-- Blocks until is_over() while everything else goes on.
local function block(is_over)
  repeat
    run_ready()
    if is_over() then
      return
    end
    if next(waiting) == nil then
      error("deadlock: every task waits for another one", 0)
    end
    local op = core.next() -- nil: a signal; hooks of the interpreter run now
    if op then
      deliver(op)
    end
  until false
end

-- Waits until there is news of op. Only one can wait for the same operation.
local function wait_news(op)
  if waiting[op] then
    error("two are waiting for the same operation", 0)
  end
  if can_yield() then
    waiting[op] = current()
    coroutine.yield(WAIT)
    return
  end
  local flag = { news = false }
  waiting[op] = flag
  local ok, raised = pcall(block, function()
    return flag.news or op:done()
  end)
  if waiting[op] == flag then
    waiting[op] = nil
  end
  if not ok then -- Ctrl-C: nobody will ask for the result
    op:cancel()
    error(raised, 0)
  end
end

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
    wait_news(op)
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
    wait_news(op)
  end
end

--- Starts fn(...) as a task. It runs at once, up to the first thing that it waits for.
---@param fn function
---@return anvia.sandbox.Task
function M.spawn(fn, ...)
  if type(fn) ~= "function" then
    error("spawn needs a function, not a " .. type(fn), 2)
  end
  local task = setmetatable({
    _co = coroutine.create(fn),
    _done = false,
    _ok = nil,
    _results = nil,
    _traceback = nil,
    _joined = false,
    _joiners = {},
  }, Task)
  tasks[task._co] = task
  resume(task, ...)
  if not current() then
    run_ready() -- it may have woken others, and nobody else may be there to run them
  end
  return task
end

local function wait_end(task)
  if task._done then
    return
  end
  local me = current()
  if me == task then
    error("a task cannot join itself", 3)
  elseif can_yield() then
    task._joiners[#task._joiners + 1] = me
    coroutine.yield(WAIT)
  elseif coroutine.status(task._co) == "normal" then
    error("deadlock: the task waits for this call to return", 3)
  else
    block(function()
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

--- For a foreign loop: handles all news there is, without blocking.
---@return integer count of operations that had news
function M.dispatch()
  local count = 0
  local op = core.next(0)
  while op do
    count = count + 1
    deliver(op)
    op = core.next(0)
  end
  run_ready()
  return count
end

return M
