-- SPDX-License-Identifier: MIT
-- process.lua - managed processes: started, watched, read and stopped by id.
--
-- The records, their output and the escalation of a stop live in the core; here is
-- what the methods accept and when hooks are called.

local exec = require("anvia.sandbox.exec")
local options = require("anvia.sandbox.options")
local task = require("anvia.sandbox.task")

local M = {}

local GRACE_PERIOD_MS = 5000
-- Longer than any session: the watcher waits for the end of the process.
local FOREVER_MS = 2 ^ 52

local TERMINAL_SIDE = options.integer(1, 65535)
local TERMINAL = options.record({
  rows = { TERMINAL_SIDE, required = true },
  cols = { TERMINAL_SIDE, required = true },
})

local START_OPTIONS = {
  stdin = { options.boolean, default = false },
  pty = TERMINAL,
}
for name, field in pairs(exec.COMMAND) do
  START_OPTIONS[name] = field
end
START_OPTIONS = options.record(START_OPTIONS)

local ID = options.string({ min = 1, max = 128 })
local DATA = options.string({ nul = true })
local SIGNAL = options.one_of({
  "HUP", "INT", "QUIT", "KILL", "USR1", "USR2", "PIPE", "ALRM",
  "TERM", "CONT", "STOP", "TSTP", "TTIN", "TTOU", "WINCH",
})

local LOG_OPTIONS = options.record({
  tail_bytes = options.integer(0),
  since = options.string({ pattern = "^%d+:%d+$", what = "a cursor of an earlier call" }),
})
local WAIT_OPTIONS = options.record({ timeout_ms = options.integer(1) })
local STOP_OPTIONS = options.record({
  grace_period_ms = { options.integer(0), default = GRACE_PERIOD_MS },
})

-- Tells on_exec_end about the end of a process, exactly once. Holds the core's
-- session and the hooks, not the session itself, so that the collector may have it.
local function watch(cs, hooks, facts)
  task.spawn(function()
    local info, err = task.await(cs:wait(facts.process_id, FOREVER_MS))
    facts.result, facts.error = info, err
    hooks:tell("on_exec_end", facts)
  end)
end

local methods = {}

--- Starts a process that runs until it ends or is stopped.
---
--- Returns when the program is about to run. A program that is missing or cannot be
--- executed is an error with the code "process", and leaves no record. With `pty` it sits
--- at a terminal, which is its input and both of its outputs; that takes the supervisor.
---@param opts anvia.sandbox.ProcessOptions
---@return anvia.sandbox.ProcessInfo? info
---@return anvia.sandbox.Error? err
function methods:start_process(opts)
  opts = options.check("start_process", START_OPTIONS, opts)
  local directory, err = exec.directory(self, "start_process", opts.cwd)
  if not directory then
    return nil, err
  end
  local ok
  ok, err = self:_check_open("start_process")
  if not ok then
    return nil, err
  end
  local id = self:_next_process_id()
  local facts = { command = opts.command, args = opts.args, cwd = directory, process_id = id }
  ok, err = self._hooks:ask("start_process", "on_exec_start", facts)
  if not ok then
    return nil, err
  end
  local info
  info, err = self:_call("start_process", function(cs)
    return cs:start({
      id = id,
      command = opts.command,
      args = opts.args,
      cwd = directory,
      env = exec.environment(self, opts.env),
      stdin = opts.stdin,
      pty = opts.pty and { opts.pty.rows, opts.pty.cols },
      timeout_ms = self._limits.timeout_ms,
    })
  end)
  if not info then
    return nil, err
  end
  if self._hooks:has("on_exec_end") then
    watch(self._core, self._hooks, facts)
  end
  return info
end

--- The processes that are tracked, oldest first, also those that have ended.
---@return anvia.sandbox.ProcessInfo[]? list
---@return anvia.sandbox.Error? err
function methods:list_processes()
  return self:_call("list_processes", function(cs)
    return cs:list()
  end)
end

---@param id string
---@return anvia.sandbox.ProcessInfo? info
---@return anvia.sandbox.Error? err
function methods:process_info(id)
  options.check_argument("process_info", ID, id, "id")
  return self:_call("process_info", function(cs)
    return cs:info(id)
  end)
end

--- The output of a process that is still kept: its last bytes, or with `since`, a
--- cursor of an earlier call, what came after that.
---@param id string
---@param opts? {tail_bytes: integer?, since: anvia.sandbox.LogCursor?}
---@return anvia.sandbox.ProcessLogs? logs
---@return anvia.sandbox.Error? err
function methods:read_process_logs(id, opts)
  options.check_argument("read_process_logs", ID, id, "id")
  opts = options.check("read_process_logs", LOG_OPTIONS, opts)
  return self:_call("read_process_logs", function(cs)
    return cs:logs(id, opts)
  end)
end

--- Sends one signal to the whole tree of a process.
---@param id string
---@param name string          as in "HUP" or "SIGHUP"
---@return anvia.sandbox.ProcessInfo? info
---@return anvia.sandbox.Error? err
function methods:signal_process(id, name)
  options.check_argument("signal_process", ID, id, "id")
  local short = type(name) == "string" and name:gsub("^SIG", "") or name
  options.check_argument("signal_process", SIGNAL, short, "name")
  return self:_call("signal_process", function(cs)
    return cs:signal(id, short)
  end)
end

--- Gives the terminal of a process another size, and tells the process.
---@param id string
---@param size anvia.sandbox.TerminalSize
---@return anvia.sandbox.ProcessInfo? info
---@return anvia.sandbox.Error? err
function methods:resize_process(id, size)
  options.check_argument("resize_process", ID, id, "id")
  size = options.check("resize_process", TERMINAL, size)
  return self:_call("resize_process", function(cs)
    return cs:resize(id, size.rows, size.cols)
  end)
end

--- Writes to the standard input of a process that was started with `stdin`. Returns
--- when the process has taken most of it.
---@param id string
---@param data string
---@return anvia.sandbox.ProcessInfo? info
---@return anvia.sandbox.Error? err
function methods:write_process(id, data)
  options.check_argument("write_process", ID, id, "id")
  options.check_argument("write_process", DATA, data, "data")
  return self:_call("write_process", function(cs)
    return cs:write(id, data)
  end)
end

---@param id string
---@return anvia.sandbox.ProcessInfo? info
---@return anvia.sandbox.Error? err
function methods:close_process_stdin(id)
  options.check_argument("close_process_stdin", ID, id, "id")
  return self:_call("close_process_stdin", function(cs)
    return cs:close_stdin(id)
  end)
end

--- Waits until a process has ended, at most `limits.timeout_ms` if nothing else is
--- said; then the error has the code "timeout" and the process goes on.
---@param id string
---@param opts? {timeout_ms: integer?}
---@return anvia.sandbox.ProcessInfo? info
---@return anvia.sandbox.Error? err
function methods:wait_process(id, opts)
  options.check_argument("wait_process", ID, id, "id")
  opts = options.check("wait_process", WAIT_OPTIONS, opts)
  return self:_call("wait_process", function(cs)
    return cs:wait(id, opts.timeout_ms or self._limits.timeout_ms)
  end)
end

--- Stops a process with everything it has started: TERM, up to the grace period,
--- then KILL. An error names what survives.
---@param id string
---@param opts? {grace_period_ms: integer?}
---@return anvia.sandbox.ProcessInfo? info
---@return anvia.sandbox.Error? err
function methods:stop_process(id, opts)
  options.check_argument("stop_process", ID, id, "id")
  opts = options.check("stop_process", STOP_OPTIONS, opts)
  return self:_call("stop_process", function(cs)
    return cs:stop(id, opts.grace_period_ms)
  end)
end

--- Adds the methods for processes to the methods of sessions.
function M.attach(class)
  for name, method in pairs(methods) do
    class[name] = method
  end
end

return M
