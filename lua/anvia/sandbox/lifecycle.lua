-- SPDX-License-Identifier: MIT
-- lifecycle.lua - the end of a session: on request, by the collector, at exit, or
-- before it ever began.
--
-- Ending a session is closing its lease, which the core does at once and without
-- the engine. What is left to do here is to see that everything is really gone.

local container = require("anvia.sandbox.container")
local core = require("anvia.sandbox.core")
local errors = require("anvia.sandbox.errors")
local failure = require("anvia.sandbox.engine.failure")
local sweep = require("anvia.sandbox.sweep")
local task = require("anvia.sandbox.task")

local M = {}

local FOREVER_MS = 2 ^ 52
-- A removal gets this long even when commands must be faster.
local MIN_REMOVAL_MS = 2000
-- How long a caller waits for the way back of a failed create, and how long that
-- goes on behind his back: a slow engine may still be creating.
local ROLLBACK_MS = 2000
local LATE_ROLLBACK_MS = 60000
-- What all removals at exit may take together.
local EXIT_MS = 10000

-- "creating" is nobody's yet; "closing" is also a session whose removal failed.
local MOVES = {
  creating = { open = true, closing = true },
  open = { closing = true },
  closing = { destroyed = true },
  destroyed = {},
}

local Life = {}
Life.__index = Life

-- The lives that still own something on an engine.
local living = {}

-- An object whose finalizer runs before those of all that was made before it, which
-- only matters when the Lua state is closed: then it ends the sessions that are
-- left, together. A newer guard replaces it with every life.
local guard
local guard_mt = {}

function guard_mt.__gc(self)
  if self ~= guard or self.pid ~= core.getpid() then
    return -- replaced, or in a forked child, to which the sessions do not belong
  end
  local deadline = core.now_ms() + EXIT_MS
  local rest = {}
  for life in pairs(living) do
    rest[#rest + 1] = life
    life.core:close()
  end
  for _, life in ipairs(rest) do
    pcall(life.destroy, life, math.max(1, deadline - core.now_ms()))
  end
end

local function new_guard()
  guard = setmetatable({ pid = core.getpid() }, guard_mt)
end

--- `fields` are {core, engine, plan, hooks, timeout_ms}.
function M.new(fields)
  local life = setmetatable({
    state = "creating",
    core = fields.core,
    engine = fields.engine,
    plan = fields.plan,
    hooks = fields.hooks,
    timeout_ms = fields.timeout_ms,
    pid = core.getpid(),
    destroy_volume = false,
    opened = false,
    removal = nil, -- the task that is removing now
    session = nil, -- holds the session where the collector must not take it
    told = false,
  }, Life)
  new_guard()
  return life
end

function Life:_set_state(state)
  if state ~= self.state and not MOVES[self.state][state] then
    error("a session cannot go from " .. self.state .. " to " .. state)
  end
  self.state = state
end

-- The destroy hook is called once, however the session ends.
function Life:_tell(reason)
  if self.opened and not self.told then
    self.told = true
    self.hooks:tell("on_destroy", { reason = reason })
  end
end

-- Removes the volume of a persistent workspace, if it is one of ours.
local function remove_workspace(engine, name)
  local volumes, err = engine:describe_volumes({ name })
  if not volumes then
    return nil, err
  elseif volumes[1] and volumes[1].labels[container.LABEL] ~= "true" then
    return nil, errors.new("destroy", "docker_command", "volume %s is not a workspace", name)
  end
  return engine:remove_volume(name)
end

-- One removal. The client ends after the engine has removed the container; when it
-- does not end in time, the container is removed by force.
function Life:_remove(limit_ms)
  local deadline = core.now_ms() + limit_ms
  local engine = self.engine:within(deadline)
  self.core:close()
  local ended = task.await(self.core:wait_closed(math.max(1, math.floor(limit_ms / 2))))
  local mode = self.opened and "ephemeral" or nil
  local ok, err = sweep.all(engine, self.plan.create_id, mode, deadline)
  if ok and not self.opened and not ended then
    return nil, errors.new("create_session", "timeout", "the engine is still creating")
  elseif ok and self.destroy_volume then
    ok, err = remove_workspace(engine, self.plan.volume.name)
  end
  if not ok then
    return nil, errors.wrap("destroy", err)
  end
  self:_set_state("destroyed")
  living[self] = nil
  self:_tell("destroy")
  return true
end

-- The task that removes; callers that come together share it.
function Life:_start_removal(limit_ms)
  self:_set_state("closing")
  living[self] = true
  if not self.removal then
    local removal = task.spawn(function()
      local ok, err = self:_remove(limit_ms)
      self.removal = nil
      return ok, err
    end)
    -- It may be over by now.
    self.removal = not removal:done() and removal or nil
    return removal
  end
  return self.removal
end

--- Ends the session: true when everything is gone. Callers that come together wait
--- for one and the same removal; after a failure the next call tries again.
function Life:destroy(limit_ms)
  if self.state == "destroyed" then
    return true
  end
  limit_ms = limit_ms or math.max(MIN_REMOVAL_MS, self.timeout_ms)
  local ok, err = self:_start_removal(limit_ms):join()
  if not ok then
    return nil, err
  end
  return true
end

--- Nobody can use the session any more: it is removed in the background.
function Life:forget()
  if self.state == "open" and self.pid == core.getpid() then
    self:_start_removal(math.max(MIN_REMOVAL_MS, self.timeout_ms))
  end
end

--- The way back of a create that failed with `why`. What cannot be removed now is
--- removed in the background, for a while: also from an engine that died meanwhile, which
--- can come back with what it had begun. One that could not be reached has begun nothing.
function Life:abandon(why)
  local ok, err = self:destroy(ROLLBACK_MS)
  if ok or (err.code == "docker_unavailable" and failure.unheard(why.message)) then
    living[self] = nil
    return
  end
  task.spawn(function()
    local deadline = core.now_ms() + LATE_ROLLBACK_MS
    repeat
      task.sleep(200)
    until self:destroy(ROLLBACK_MS) or core.now_ms() >= deadline
    living[self] = nil
  end)
end

-- Tells the destroy hook also about an end that nobody here asked for.
function Life:_watch_end()
  task.spawn(function()
    task.await(self.core:wait_closed(FOREVER_MS))
    local _, reason = self.core:state()
    if self.state == "open" then
      self:_tell(reason)
    end
  end)
end

--- The session is complete and belongs to its user from now on.
function Life:open(session, settings)
  self:_set_state("open")
  self.opened = true
  self.destroy_volume = settings.destroy_volume
  living[self] = true
  if not settings.auto_destroy then
    self.session = session
  end
  if self.hooks:has("on_destroy") then
    self:_watch_end()
  end
end

--- True while the session can be used, or nil, err.
function Life:check_open(op)
  if self.state == "open" or self.state == "creating" then
    return true
  end
  return nil, errors.new(op, "session_destroyed", "the session %s is destroyed", self.plan.id)
end

-- What the client of a command said means that the container is gone.
local GONE = { no_container = true, not_running = true }
-- Else it may be about to: a command's client can see the end before the lease does, on
-- a busy machine long before.
local SETTLE_MS = 1500

-- An error, and what the engine has reported about the container meanwhile.
function Life:_with_note(err)
  local _, _, note = self.core:state()
  if note and not err.message:find(note, 1, true) then
    err.message = err.message .. ": " .. note
  end
  return err
end

-- Failures that can come from the container's state, or are about it.
local ABOUT_CONTAINER = {
  docker_command = true,
  port = true,
  process = true,
  protocol = true,
  session_destroyed = true,
  timeout = true,
}

--- The error for the caller of `op`, from what the core says about its failure.
function Life:explain(op, lost)
  local err = self:_explain(op, lost)
  return ABOUT_CONTAINER[err.code] and self:_with_note(err) or err
end

function Life:_explain(op, lost)
  local result = lost.result
  if lost.code == "docker_command" and result then
    local text = lost.message
    if result.exit_code == nil then
      text = text .. "; it may still be running"
    end
    local err = self.engine:explain(op, result, text)
    if GONE[err.reason or ""] then
      err.code = "session_destroyed"
    elseif err.code == "docker_command" and task.await(self.core:wait_closed(SETTLE_MS)) then
      err.code = "session_destroyed"
      err.message = "the session's container is not running any more: " .. err.message
    end
    return err
  end
  local _, reason = self.core:state()
  if lost.code == "session_destroyed" and reason == "lost" then
    local answers, why = self.engine:ping()
    if not answers then
      local err = errors.new(op, "docker_unavailable", "the engine is gone: %s", why)
      err.result = result
      return err
    end
  end
  return errors.wrap(op, lost)
end

return M
