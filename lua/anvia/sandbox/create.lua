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
local runners = require("anvia.sandbox.runner")
local sessions = require("anvia.sandbox.session")
local task = require("anvia.sandbox.task")
local workspace = require("anvia.sandbox.workspace")

local M = {}

local OP = "create_session"

-- What all tries of one call have in common.
local function facts_of(sandbox, opts)
  return {
    id = opts.id or core.random_hex(24),
    create_id = core.random_hex(32),
    now_ms = core.wall_ms(),
    ttl_ms = sandbox.lifecycle.ttl_ms,
    owner_labels = owner.label({}, owner.here()),
  }
end

local function core_session(sandbox, engine, plan)
  local request = {
    attach = engine:attach_request(plan),
    remove = engine:remove_request(plan.name),
    workdir = plan.workdir,
    ttl_ms = sandbox.lifecycle.ttl_ms,
    idle_timeout_ms = sandbox.lifecycle.idle_timeout_ms,
    max_processes = sandbox.limits.max_processes,
    max_output_bytes = sandbox.limits.max_output_bytes,
  }
  if plan.supervisor then
    request.runner = "supervisor"
    request.user = plan.supervisor.user
    request.capabilities = plan.supervisor.capabilities
    request.no_new_privileges = plan.no_new_privileges
  else
    request.exec = engine:exec_request(plan.name)
    request.root_exec = engine:exec_request(plan.name, "0")
    request.agent = engine:agent_request(plan.name)
  end
  return core.session(request)
end

-- What a failed start means for the caller; the engine's words are kept in `result`
-- and, where they say more, in the message.
local EXPLANATIONS = {
  name_in_use = function(plan, err)
    err.message = string.format("the session id '%s' is in use", plan.id)
  end,
  image_missing = function(plan, err)
    err.message = image.missing(plan.image)
  end,
  no_shell = function(plan, err)
    err.message = string.format("the image %s has no usable shell: %s", plan.image, err.message)
  end,
  no_supervisor = function(plan, err)
    err.message = string.format("the supervisor does not start in a container of image %s: %s",
      plan.image, err.message)
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

-- One try: the runner, the plan for it, and the start.
local function try(call, choose)
  local runner, err = choose(call)
  if not runner then
    return nil, err
  end
  call.runner = runner
  call.plan = container.plan(call.sandbox, call.opts, call.facts, runner)
  return start(call.sandbox, call.engine, call.plan, call.hooks)
end

-- The first start, and further ones where there is hope: the image had to be fetched, or
-- somebody has removed the volume of the supervisor meanwhile.
local function start_with_image(call)
  local sandbox, engine = call.sandbox, call.engine
  local ok, err = image.before_create(engine, sandbox.image, sandbox.pull, call.cache)
  if not ok then
    return nil, err
  end
  local life, hello = try(call, runners.choose)
  if life then
    return life, hello
  end
  ok, err = image.after_failure(engine, sandbox.image, sandbox.pull, call.cache, hello)
  if ok then
    life, hello = try(call, runners.choose)
  elseif err then
    return nil, err
  end
  if not life and hello.reason == "no_supervisor" then
    runners.again(call.runner, engine)
    life, hello = try(call, runners.choose)
  end
  if not life and hello.reason == "no_supervisor" then
    local why = hello.message
    life, hello = try(call, function()
      return runners.instead(sandbox, call.warn, why)
    end)
  end
  return life, hello
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

-- The call of M.session, with what it needs on its way.
local function call_of(sandbox, engine, opts, cache)
  local facts = facts_of(sandbox, opts)
  local session_hooks = hooks.new(sandbox.hooks, {
    session_id = facts.id,
    provider = "docker",
    workdir = sandbox.workdir,
  })
  return {
    sandbox = sandbox,
    engine = engine,
    opts = opts,
    cache = cache,
    facts = facts,
    hooks = session_hooks,
    removals = {},
    warn = function(message)
      session_hooks:tell("on_warning", { message = message })
    end,
  }
end

--- Creates one session. `sandbox` and `opts` are checked options; `cache` is the sandbox's
--- (see image.lua).
function M.session(sandbox, engine, opts, cache)
  local ok, err = ports.check_possible(engine, container.network(sandbox.network), opts.ports)
  if not ok then
    return nil, err
  end
  local call = call_of(sandbox, engine, opts, cache)
  local life, hello = start_with_image(call)
  for _, removal in ipairs(call.removals) do
    removal:join()
  end
  if not life then
    return nil, hello
  end
  local session = sessions.new({
    core = life.core,
    engine = engine,
    plan = call.plan,
    runner = call.runner.name,
    hooks = call.hooks,
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
