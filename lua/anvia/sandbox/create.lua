-- SPDX-License-Identifier: MIT
-- create.lua - the steps from options to a session, and the way back.
--
-- Whatever goes wrong, nothing that this very call has made is left behind: not the
-- container, not its volume, and not what the engine makes after we gave up.

local container = require("anvia.sandbox.container")
local core = require("anvia.sandbox.core")
local errors = require("anvia.sandbox.errors")
local hooks = require("anvia.sandbox.hooks")
local image = require("anvia.sandbox.image")
local lifecycle = require("anvia.sandbox.lifecycle")
local manifest = require("anvia.sandbox.manifest")
local owner = require("anvia.sandbox.owner")
local ports = require("anvia.sandbox.ports")
local sessions = require("anvia.sandbox.session")
local task = require("anvia.sandbox.task")
local workspace = require("anvia.sandbox.workspace")

local M = {}

local OP = "create_session"

local function plan_of(sandbox, opts)
  return container.plan(sandbox, opts, {
    id = core.random_hex(24),
    create_id = core.random_hex(32),
    now_ms = core.wall_ms(),
    ttl_ms = sandbox.lifecycle.ttl_ms,
    owner_labels = owner.label({}, owner.here()),
  })
end

local function core_session(sandbox, engine, plan)
  return core.session({
    attach = engine:attach_request(plan),
    exec = engine:exec_request(plan.name),
    root_exec = engine:exec_request(plan.name, "0"),
    agent = engine:agent_request(plan.name),
    remove = engine:remove_request(plan.name),
    workdir = plan.workdir,
    ttl_ms = sandbox.lifecycle.ttl_ms,
    idle_timeout_ms = sandbox.lifecycle.idle_timeout_ms,
    max_processes = sandbox.limits.max_processes,
    max_output_bytes = sandbox.limits.max_output_bytes,
  })
end

-- What a failed start means for the caller; the engine's words are kept in `result`
-- and, where they say more, in the message.
local EXPLANATIONS = {
  name_in_use = function(plan, err)
    err.message = string.format("the session id '%s' is in use", plan.id)
  end,
  image_missing = function(plan, err)
    err.message = string.format("the image %s is not there", plan.image)
  end,
  no_shell = function(plan, err)
    err.message = string.format("the image %s has no usable shell: %s", plan.image, err.message)
  end,
  port_in_use = function(_, err)
    err.code = "port"
  end,
}

local function explain(engine, plan, failure, timeout_ms)
  local result = failure.result
  if failure.code == "timeout" then
    local err = errors.new(OP, "timeout", "the engine did not start the container within %d ms",
      timeout_ms)
    err.result = result
    return err
  elseif not result or not result.exit_code then
    return errors.wrap(OP, failure)
  end
  local err = engine:explain(OP, result)
  if result.stderr == "" then
    err.message = string.format("the container of image %s ended at once with status %d",
      plan.image, result.exit_code)
  end
  local better = EXPLANATIONS[err.reason or ""]
  if better then
    better(plan, err)
  end
  return err
end

-- Starts the container: its life and what it says of itself, or nil, err.
local function start(sandbox, engine, plan, session_hooks)
  local cs, failure = core_session(sandbox, engine, plan)
  if not cs then
    return nil, errors.wrap(OP, failure)
  end
  local life = lifecycle.new({
    core = cs,
    engine = engine,
    plan = plan,
    hooks = session_hooks,
    timeout_ms = sandbox.limits.timeout_ms,
  })
  local hello
  hello, failure = task.await(cs:open(sandbox.limits.timeout_ms))
  if not hello then
    local err = explain(engine, plan, failure, sandbox.limits.timeout_ms)
    life:abandon(err)
    return nil, err
  end
  return life, hello
end

-- The first start, and a second one when the image had to be fetched.
local function start_with_image(sandbox, engine, plan, session_hooks)
  local ok, err = image.before_create(engine, plan.image, sandbox.pull)
  if not ok then
    return nil, err
  end
  local life, hello = start(sandbox, engine, plan, session_hooks)
  if life then
    return life, hello
  end
  ok, err = image.after_failure(engine, plan.image, sandbox.pull, hello)
  if ok then
    return start(sandbox, engine, plan, session_hooks)
  end
  return nil, err or hello
end

-- Everything that a container needs to become a session.
local function furnish(session, opts, hello)
  local ok, err = workspace.prepare(session, hello)
  if ok and opts.manifest then
    ok, err = manifest.apply(session, opts.manifest)
  end
  if ok and #opts.ports > 0 then
    local list, addresses = ports.read_back(session._engine, session._plan.name, opts.ports)
    ok, err = list, addresses
    if list then
      session.published_ports, session._addresses = list, addresses
    end
  end
  if ok then
    ok, err = session._hooks:ask(OP, "on_session_create", {})
  end
  if ok then
    return true
  end
  err.op = OP
  return nil, err
end

--- Creates one session. `sandbox` and `opts` are checked options.
function M.session(sandbox, engine, opts)
  local plan = plan_of(sandbox, opts)
  local ok, err = ports.check_possible(engine, plan.network, plan.ports)
  if not ok then
    return nil, err
  end
  local session_hooks = hooks.new(sandbox.hooks, {
    session_id = plan.id,
    provider = "docker",
    workdir = plan.workdir,
  })
  local life, hello = start_with_image(sandbox, engine, plan, session_hooks)
  if not life then
    return nil, hello
  end
  local session = sessions.new({
    core = life.core,
    engine = engine,
    plan = plan,
    hooks = session_hooks,
    life = life,
    limits = sandbox.limits,
    env = opts.manifest and opts.manifest.env or {},
    metadata = opts.metadata,
  })
  ok, err = furnish(session, opts, hello)
  if not ok then
    life:abandon(err)
    return nil, err
  end
  life:open(session, {
    auto_destroy = sandbox.lifecycle.auto_destroy,
    destroy_volume = opts.workspace.destroy_on_session_destroy,
  })
  return session
end

return M
