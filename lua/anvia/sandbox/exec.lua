-- SPDX-License-Identifier: MIT
-- exec.lua - runs one command of a session to its end.

local options = require("anvia.sandbox.options")
local path = require("anvia.sandbox.path")
local stream = require("anvia.sandbox.stream")

local M = {}

-- How long a command that timed out or was cancelled may take to obey TERM.
local GRACE_PERIOD_MS = 2000

local ENV_NAME = options.string({
  pattern = "^[%a_][%w_]*$",
  what = "a name of letters, digits and underscores",
})

--- The options that say what to run; start_process has them too.
M.COMMAND = {
  command = { options.string({ min = 1 }), required = true },
  args = { options.list(options.string()), default = {} },
  cwd = { options.string({ nul = true }), default = "." },
  env = { options.map(ENV_NAME, options.string()), default = {} },
}

local function with_command(fields)
  for name, field in pairs(M.COMMAND) do
    fields[name] = field
  end
  return options.record(fields)
end

local STREAM_FIELDS = {
  input = options.string({ nul = true }),
  timeout_ms = options.integer(1),
  grace_period_ms = { options.integer(0), default = GRACE_PERIOD_MS },
  max_output_bytes = options.integer(0),
  keep = { options.one_of({ "head", "tail", "both" }), default = "both" },
  cancel = options.cancel_token,
}

local STREAM_OPTIONS = with_command(STREAM_FIELDS)

local EXEC_FIELDS = { on_stdout = options.callback, on_stderr = options.callback }
for name, field in pairs(STREAM_FIELDS) do
  EXEC_FIELDS[name] = field
end
local EXEC_OPTIONS = with_command(EXEC_FIELDS)

--- The absolute directory that `cwd` means, or nil, err.
function M.directory(session, op, cwd)
  local relative, err = path.resolve(session.workdir, cwd, "cwd", op)
  if not relative then
    return nil, err
  end
  return relative == "." and session.workdir or session.workdir .. "/" .. relative
end

--- The session's environment with the command's own on top.
function M.environment(session, env)
  local merged = {}
  for name, value in pairs(session._env) do
    merged[name] = value
  end
  for name, value in pairs(env) do
    merged[name] = value
  end
  return merged
end

local function never_started()
  return {
    stdout = "",
    stderr = "",
    duration_ms = 0,
    timed_out = false,
    cancelled = true,
    stdout_truncated = false,
    stderr_truncated = false,
    stdout_omitted_bytes = 0,
    stderr_omitted_bytes = 0,
  }
end

-- What the core gets to run.
local function request_of(session, opts, directory, streamed)
  local limits = session._limits
  return {
    command = opts.command,
    args = opts.args,
    cwd = directory,
    env = M.environment(session, opts.env),
    input = opts.input,
    timeout_ms = opts.timeout_ms or limits.timeout_ms,
    grace_period_ms = opts.grace_period_ms,
    max_output_bytes = opts.max_output_bytes or limits.max_output_bytes,
    keep = opts.keep,
    stream = streamed,
  }
end

-- Everything before the command itself: its directory, its cancel token, and the
-- hook that may refuse it. Returns the directory and what the hooks are told; or
-- nil, err; or nil, nil and the result of a command that never starts.
local function prepare(session, op, opts)
  local directory, err = M.directory(session, op, opts.cwd)
  if not directory then
    return nil, err
  end
  local ok
  ok, err = session:_check_open(op)
  if not ok then
    return nil, err
  elseif opts.cancel and opts.cancel.cancelled then
    return nil, nil, never_started()
  end
  local facts = { command = opts.command, args = opts.args, cwd = directory }
  ok, err = session._hooks:ask(op, "on_exec_start", facts)
  if not ok then
    return nil, err
  end
  return directory, facts
end

local function tell_end(session, facts, result, err)
  facts.result, facts.error = result, err
  session._hooks:tell("on_exec_end", facts)
  return result, err
end

local methods = {}

--- Runs one command to its end.
---
--- A non-zero exit code, a time-out and a cancel are results, not errors. After a
--- time-out or a cancel the command's whole process tree is dead, what it printed so
--- far is in the result, and the exit code of a time-out is 124. A command that
--- cannot be started is an error with the code "process". on_stdout and on_stderr
--- get each piece of output as it comes; when one raises, the command is killed and
--- the error raised again here.
---@param opts anvia.sandbox.ExecOptions
---@return anvia.sandbox.ExecResult? result
---@return anvia.sandbox.Error? err
function methods:exec(opts)
  opts = options.check("exec", EXEC_OPTIONS, opts)
  local directory, facts, early = prepare(self, "exec", opts)
  if early then
    return early
  elseif not directory then
    return nil, facts
  end
  local streamed = (opts.on_stdout or opts.on_stderr) ~= nil
  local request = request_of(self, opts, directory, streamed)
  local raised
  local result, err = self:_call("exec", function(cs)
    return cs:exec(request)
  end, opts.cancel, streamed and function(operation)
    raised = stream.deliver(operation, opts)
  end)
  tell_end(self, facts, result, err)
  if raised then
    error(raised.value, 0)
  elseif not result then
    return nil, err
  end
  return result
end

--- Runs one command and iterates over its output as it comes:
---
---     for event in assert(session:exec_stream{ command = "make" }) do ... end
---
--- An event is {type = "stdout" | "stderr", data}; the last one is {type = "exit",
--- result} or, when the session was lost meanwhile, {type = "error", error}. Leaving
--- the loop early ends the command. Reading slowly slows the command down.
---@param opts anvia.sandbox.ExecOptions
---@return anvia.sandbox.ExecStream? stream
---@return anvia.sandbox.Error? err
function methods:exec_stream(opts)
  opts = options.check("exec_stream", STREAM_OPTIONS, opts)
  local directory, facts, early = prepare(self, "exec_stream", opts)
  if not directory and not early then
    return nil, facts
  end
  local events
  if early then
    events = stream.finished(early)
  else
    local request = request_of(self, opts, directory, true)
    events = stream.open(self._core:exec(request), opts.cancel, function(result, failure)
      return tell_end(self, facts, result,
        failure and self._life:explain("exec_stream", failure))
    end)
  end
  return events, nil, nil, events
end

--- Adds the methods that run commands to the methods of sessions.
function M.attach(class)
  for name, method in pairs(methods) do
    class[name] = method
  end
end

return M
