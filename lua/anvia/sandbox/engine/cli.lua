-- SPDX-License-Identifier: MIT
-- cli.lua - an engine behind its command line client (docker, podman).
--
-- The client inherits this program's whole environment, so contexts, TLS settings
-- and ssh agents work as they do for the client alone.

local core = require("anvia.sandbox.core")
local errors = require("anvia.sandbox.errors")
local task = require("anvia.sandbox.task")
local cli_look = require("anvia.sandbox.engine.cli_look")
local cli_place = require("anvia.sandbox.engine.cli_place")
local cli_run = require("anvia.sandbox.engine.cli_run")
local failure = require("anvia.sandbox.engine.failure")

local M = {}

local REQUEST_TIMEOUT_MS = 10000
local PING_TIMEOUT_MS = 5000
local MAX_OUTPUT_BYTES = 64 * 1024 * 1024

local Cli = {}
Cli.__index = Cli
cli_look(Cli)
cli_place(Cli)

--- `options` are {path, host}: the client to run and the endpoint to name to it,
--- both optional.
function M.new(options)
  local env = {}
  if options.host then
    env = { DOCKER_HOST = options.host, CONTAINER_HOST = options.host, DOCKER_CONTEXT = false }
  end
  return setmetatable({
    path = options.path or "docker",
    _host = options.host,
    _env = env,
    _deadline = nil,
  }, Cli)
end

--- The same engine, whose requests also end at `deadline` (monotonic, ms).
function Cli:within(deadline)
  local copy = {}
  for key, value in pairs(self) do
    copy[key] = value
  end
  copy._deadline = deadline
  return setmetatable(copy, Cli)
end

function Cli:_time(limit_ms)
  if not self._deadline then
    return limit_ms
  end
  return math.max(1, math.min(limit_ms, self._deadline - core.now_ms()))
end

-- `extra` are {timeout_ms, cancel, input, max_output_bytes}, all optional.
function Cli:_run(args, extra)
  extra = extra or {}
  local argv = { self.path }
  for _, arg in ipairs(args) do
    argv[#argv + 1] = arg
  end
  return task.await(core.run({
    argv = argv,
    env = self._env,
    input = extra.input,
    timeout_ms = self:_time(extra.timeout_ms or REQUEST_TIMEOUT_MS),
    max_output_bytes = extra.max_output_bytes or MAX_OUTPUT_BYTES,
    keep = "head",
  }), extra.cancel)
end

-- The error for a client that was ended at its time.
function Cli:_too_late(op, result)
  local err = errors.new(op, "timeout", "the engine did not answer within %d ms",
    result.duration_ms)
  err.result = result
  return err
end

--- One request to the end: the client's result if it succeeded, else nil, err.
function Cli:_request(op, args, extra)
  local result, err = self:_run(args, extra)
  if not result then
    return nil, errors.wrap(op, err)
  elseif result.cancelled then
    return nil, errors.new(op, "cancelled", "cancelled")
  elseif result.timed_out then
    return nil, self:_too_late(op, result)
  elseif result.exit_code == 0 then
    return result
  end
  return nil, self:explain(op, result)
end

--- The error for a client that failed with `result` {stdout, stderr, exit_code}.
--- Whether the engine or only this request failed is found out by asking the engine.
--- `otherwise` is the message where the client says nothing.
function Cli:explain(op, result, otherwise)
  otherwise = otherwise
    or string.format("the client ended with status %s", tostring(result.exit_code))
  return failure.explain(op, result, otherwise, function()
    return (self:ping())
  end)
end

--- True when the engine answers; otherwise false and what the client says.
function Cli:ping()
  local result, err = self:_run({ "version", "--format", "{{.Server.Version}}" },
    { timeout_ms = PING_TIMEOUT_MS })
  if not result then
    return false, err.message
  elseif result.timed_out then
    return false, "the engine does not answer"
  elseif result.exit_code ~= 0 then
    return false, failure.summary(result.stderr) or "the engine does not answer"
  end
  return true
end

local function is_local_endpoint(endpoint)
  local scheme = endpoint:match("^(%a+)://")
  return scheme == nil or scheme == "unix" or scheme == "npipe" or scheme == "fd"
end

--- Whether the engine's loopback addresses are this machine's: true, or false and
--- the endpoint, or nil, err. Only a local socket is taken for local.
function Cli:is_local()
  local endpoint = self._host or os.getenv("DOCKER_HOST")
  if not endpoint or endpoint == "" then
    local format = { "context", "inspect", "--format", "{{.Endpoints.docker.Host}}" }
    local result, err = self:_request("create_session", format)
    -- A client without contexts has nothing but its own machine.
    if not result and (err.code ~= "docker_command" or os.getenv("DOCKER_CONTEXT")) then
      return nil, err
    end
    endpoint = result and result.stdout:match("%S+") or ""
  end
  if is_local_endpoint(endpoint) then
    return true
  end
  return false, endpoint
end

function Cli:_child(args)
  local argv = { self.path }
  for _, arg in ipairs(args) do
    argv[#argv + 1] = arg
  end
  return { kind = "child", argv = argv, env = self._env }
end

--- The request that creates and starts the planned container and stays attached.
function Cli:attach_request(plan)
  return self:_child(cli_run.argv(plan, core.scripts.control, os.getenv))
end

--- The request that runs one command of the portable runner in container `name`.
function Cli:exec_request(name, user)
  local args = { "exec", "-i" }
  if user then
    args[3], args[4] = "-u", user
  end
  for _, arg in ipairs({ name, "/bin/sh", "-c", core.scripts.run }) do
    args[#args + 1] = arg
  end
  return self:_child(args)
end

--- The request that opens a second control channel, which may signal every process.
function Cli:agent_request(name)
  return self:_child({
    "exec", "-i", "-u", "0", name, "/bin/sh", "-c", core.scripts.control, "sh", "agent",
  })
end

--- The request that removes a container which does not end with its lease.
function Cli:remove_request(name)
  return self:_child({ "rm", "-f", "-v", name })
end

--- Runs a command in the container as any user; an error unless it ends with 0.
function Cli:run_as(name, user, argv)
  local args = { "exec", "-u", user, name }
  for _, arg in ipairs(argv) do
    args[#args + 1] = arg
  end
  return self:_request("exec", args)
end

-- True when the request succeeded or failed for one of the reasons in `fine`.
function Cli:_remove(args, fine)
  local result, err = self:_request("remove", args)
  if result or fine[err.reason or ""] then
    return true
  end
  return nil, err
end

function Cli:remove_container(id)
  return self:_remove({ "rm", "-f", "-v", id }, { no_container = true, removing = true })
end

function Cli:remove_volume(name)
  return self:_remove({ "volume", "rm", name }, { no_volume = true })
end

function Cli:pull(image, timeout_ms, options)
  local result, err = self:_request("pull", { "pull", "--quiet", image },
    { timeout_ms = timeout_ms, cancel = options and options.cancel })
  if result then
    return true
  end
  err.message = "image " .. image .. " could not be pulled: " .. err.message
  return nil, err
end

return M
