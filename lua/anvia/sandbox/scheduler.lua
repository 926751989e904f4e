-- SPDX-License-Identifier: MIT
-- scheduler.lua - resumes tasks, and blocks where nobody can yield. Used by task.lua.
--
-- A task is a coroutine that this file resumes. In a task, waiting yields and other
-- tasks run. Anywhere else (plain Lua, or a coroutine of the user's own) waiting blocks,
-- and tasks run meanwhile; so a callback may call any method, also one that waits.

local core = require("anvia.sandbox.core")
local errors = require("anvia.sandbox.errors")

local M = {}

-- What a task yields when it waits. Anything else is a yield of the user's.
local WAIT = {}

local tasks = setmetatable({}, { __mode = "k" }) -- coroutine -> its task
local waiting = {} -- operation -> task, or the flag table of a blocked call; anchors both
local ready = { first = 1, last = 0 } -- tasks to be resumed, in order

--- The task that is running, if one is.
function M.current()
  local co = coroutine.running()
  return co and tasks[co]
end

--- May the caller wait by yielding? Not inside of a C function that calls back
--- (string.gsub, say): there a task blocks, too.
function M.can_yield()
  return M.current() and coroutine.isyieldable()
end

--- Yields the current task until somebody passes it to make_ready().
function M.yield()
  coroutine.yield(WAIT)
end

function M.make_ready(task)
  ready.last = ready.last + 1
  ready[ready.last] = task
end

local function after_resume(task, ok, ...)
  if not ok or coroutine.status(task._co) == "dead" then
    task:_finish(ok, ...)
  elseif (...) ~= WAIT then
    -- the user's own yield lets others run: through the mailbox, so that it also works
    -- below a foreign loop, and the news of others come first
    local op, err = core.sleep(0)
    if op then
      waiting[op] = task
    else
      task:_finish(false, errors.wrap("task", err))
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

--- Starts a new task {_co, _finish(self, ok, ...)}: it runs up to its first wait.
function M.start(task, ...)
  tasks[task._co] = task
  resume(task, ...)
  if not M.current() then
    run_ready() -- it may have woken others, and nobody else may be there to run them
  end
end

-- An operation has something to read, or is done.
local function deliver(op)
  local waiter = waiting[op]
  if not waiter then
    return -- its owner is busy and will look before it waits
  end
  waiting[op] = nil
  if waiter._co then
    M.make_ready(waiter)
  else
    waiter.news = true
  end
end

--- Blocks until is_over() while everything else goes on.
function M.block(is_over)
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

--- Waits until there is news of op. Only one can wait for the same operation.
function M.wait_news(op)
  if waiting[op] then
    error("two are waiting for the same operation", 0)
  end
  if M.can_yield() then
    waiting[op] = M.current()
    M.yield()
    return
  end
  local flag = { news = false }
  waiting[op] = flag
  local ok, raised = pcall(M.block, function()
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

--- Handles all news there is, without blocking.
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
