-- SPDX-License-Identifier: MIT
-- session.lua - what the user of a session holds: fields and methods.
--
-- The methods are gathered from the files that they are about.

local archive = require("anvia.sandbox.archive")
local exec = require("anvia.sandbox.exec")
local files = require("anvia.sandbox.files")
local ports = require("anvia.sandbox.ports")
local process = require("anvia.sandbox.process")
local task = require("anvia.sandbox.task")
local watches = require("anvia.sandbox.watch")

local M = {}

local methods = {}

archive.attach(methods)
exec.attach(methods)
files.attach(methods)
ports.attach(methods)
process.attach(methods)
watches.attach(methods)

--- Ends the session: its commands, processes, container and ephemeral workspace.
---
--- Returns when everything is gone. Calling it again is fine; after a failure that
--- means trying again.
---@return boolean? destroyed
---@return anvia.sandbox.Error? err
function methods:destroy()
  return self._life:destroy()
end

--- Counts as activity for the idle time.
---@return boolean? touched
---@return anvia.sandbox.Error? err
function methods:touch()
  local ok, err = self:_check_open("touch")
  if ok then
    self._core:touch()
  end
  return ok, err
end

function methods:_check_open(op)
  return self._life:check_open(op)
end

-- Starts an operation of the core by `start` and waits for it. The token, if there is
-- one, can cancel it; `watch` is called with the running operation.
function methods:_call(op, start, token, watch)
  local ok, err = self:_check_open(op)
  if not ok then
    return nil, err
  end
  local operation = start(self._core)
  if watch then
    local unsubscribe = token and token:on_cancel(function()
      operation:cancel()
    end)
    watch(operation)
    if unsubscribe then
      unsubscribe()
    end
  end
  local value, failure = task.await(operation, token)
  if failure then
    return nil, self._life:explain(op, failure)
  end
  return value
end

-- One command of the library's own: no hooks, no policy, none of the session's
-- environment.
function methods:_internal_exec(request)
  return self:_call(nil, function(cs)
    return cs:exec({
      command = request.command,
      args = request.args,
      cwd = self.workdir,
      input = request.input,
      root = request.user == "root",
      timeout_ms = request.timeout_ms,
      max_output_bytes = request.max_output_bytes,
      keep = "head",
    })
  end)
end

function methods:_next_process_id()
  self._process_count = self._process_count + 1
  return "p" .. self._process_count
end

function methods:_fire(name, fields)
  self._hooks:tell(name, fields)
end

local mt = { __name = "anvia.sandbox.Session", __index = methods }

function mt.__tostring(session)
  return string.format("session %s (%s)", session.id, session._life.state)
end

function mt.__close(session)
  session:destroy()
end

function mt.__gc(session)
  session._life:forget()
end

--- `fields` are {core, engine, plan, runner, hooks, life, limits, env, metadata}.
function M.new(fields)
  local plan = fields.plan
  return setmetatable({
    id = plan.id,
    provider = "docker",
    workdir = plan.workdir,
    runner = fields.runner,
    metadata = fields.metadata,
    published_ports = {},
    _addresses = {},
    _core = fields.core,
    _engine = fields.engine,
    _env = fields.env,
    _hooks = fields.hooks,
    _life = fields.life,
    _limits = fields.limits,
    _plan = plan,
    _process_count = 0,
  }, mt)
end

--- Judges any table that has the methods.
function M.is_process_session(value)
  return type(value) == "table" and type(value.start_process) == "function"
    and type(value.list_processes) == "function" and type(value.stop_process) == "function"
end

function M.is_port_session(value)
  return type(value) == "table" and type(value.wait_for_port) == "function"
    and type(value.published_ports) == "table"
end

return M
