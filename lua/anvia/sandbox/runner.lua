-- SPDX-License-Identifier: MIT
-- runner.lua - which runner a session gets: the supervisor where it can run, or the one
-- that needs nothing of ours.

local errors = require("anvia.sandbox.errors")
local image = require("anvia.sandbox.image")
local supervisor = require("anvia.sandbox.supervisor")

local M = {}

local OP = "create_session"

-- Failures of the placement that say nothing about the supervisor.
local OTHERS = { foreign_volume = true, image_missing = true }

--- The other runner, unless the supervisor was asked for by name: then nil, err.
function M.instead(sandbox, warn, why)
  if sandbox.runner == "supervisor" then
    return nil, errors.new(OP, "docker_command", "the supervisor cannot run: %s", why)
  end
  warn(string.format("the supervisor cannot run, so commands run through the engine: %s", why))
  return { name = "exec" }
end

-- The supervisor's volume, by the engine's leave: true, or nil, err.
local function place(call, program)
  local sandbox = call.sandbox
  local ok, err, removals = supervisor.ready(call.engine, sandbox.image, program,
    sandbox.limits.timeout_ms)
  for _, removal in ipairs(removals or {}) do
    call.removals[#call.removals + 1] = removal
  end
  return ok, err
end

--- What a session is to be run by: {name = "exec"}, or {name = "supervisor", program, path,
--- mount, user}; or nil, err. A call is {sandbox, engine, cache, warn, removals}: the cache
--- belongs to the sandbox (see image.lua), warn(text) tells of a runner that was not the
--- first choice, and the list of removals gets tasks that the caller has to join.
function M.choose(call)
  local sandbox, warn = call.sandbox, call.warn
  if sandbox.runner == "exec" then
    return { name = "exec" }
  end
  local facts, err = image.facts(call.engine, sandbox.image, call.cache)
  if not facts then
    return nil, errors.wrap(OP, err)
  end
  local program, why = supervisor.program(facts)
  if not program then
    return M.instead(sandbox, warn, why)
  end
  local ok
  ok, err = place(call, program)
  if not ok and err.code == "docker_command" and not OTHERS[err.reason or ""] then
    return M.instead(sandbox, warn, err.message)
  elseif not ok then
    return nil, errors.wrap(OP, err)
  end
  return {
    name = "supervisor",
    program = program,
    path = supervisor.PATH,
    mount = supervisor.mount(program),
    user = sandbox.user or facts.user,
  }
end

--- The volume of a chosen supervisor is not what it was.
function M.again(runner, engine)
  supervisor.forget(engine, runner.program)
end

return M
