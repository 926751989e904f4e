-- SPDX-License-Identifier: MIT
-- supervisor.lua - brings our program into the containers of sessions.
--
-- The program lies in a volume that is named after its contents and mounted read-only in
-- every session. It is put there once per engine, through the engine, by way of a
-- container that is made from the session's own image, never started, and removed.
--
-- Why a volume. An upload into each session's container is as portable, but costs a
-- quarter of create and start, and is refused for a read-only root, where there has to be
-- a volume anyway. A directory of the host does not exist for a remote engine. An image of
-- our own, or one built upon the session's, changes what the user asked for. A volume costs
-- nothing per session, and no session can write to it: not even root without the right
-- to mount, which nobody gets here.
--
-- A volume is used only after its contents have been read back and are ours, byte for
-- byte; that is remembered for each engine as long as this program runs. One that is not
-- complete (somebody crashed) is filled again, one that holds something else is nobody's
-- to repair. Of several programs that find it missing one fills it, the one whose container
-- got the name; the others wait.

local container = require("anvia.sandbox.container")
local core = require("anvia.sandbox.core")
local placement = require("anvia.sandbox.placement")
local task = require("anvia.sandbox.task")

local M = {}

--- Where a session finds it.
M.DIRECTORY = "/.anvia"
M.PATH = M.DIRECTORY .. "/supervisor"

local VOLUME_PREFIX = "anvia-sandbox-supervisor-"

local function program_for(architecture)
  local bytes, digest = core.supervisor(architecture)
  if not bytes then
    return nil
  end
  digest = digest:sub(1, 16)
  return { bytes = bytes, digest = digest, volume = VOLUME_PREFIX .. digest }
end

--- The program for images of this description (see describe.lua): {bytes, digest,
--- volume}, or nil and why there is none.
function M.program(image)
  local program = image.os == "linux" and program_for(image.architecture)
  if not program then
    return nil, string.format("there is no supervisor for %s/%s",
      image.os ~= "" and image.os or "?", image.architecture ~= "" and image.architecture or "?")
  end
  return program
end

--- Is this the name of a volume with one of the programs that are in use today?
function M.is_current(volume)
  for _, architecture in ipairs({ "amd64", "arm64" }) do
    local program = program_for(architecture)
    if program and program.volume == volume then
      return true
    end
  end
  return false
end

--- The mount of a plan, by which the session sees the program.
function M.mount(program, writable)
  return {
    name = program.volume,
    target = M.DIRECTORY,
    read_only = not writable,
    labels = {
      [container.LABEL_SUPERVISOR] = core._VERSION,
      [container.LABEL_CREATED] = string.format("%.0f", core.wall_ms()),
    },
  }
end

-- What is known of the engines' volumes: true, or who is finding out: {task, removals}.
local known = {}

local function key_of(engine, program)
  return program.volume .. " " .. engine:key()
end

local function start(key, mine, place)
  local running = { task = nil, removals = place.removals }
  known[mine] = running
  running.task = task.spawn(function()
    local ok, err = placement.bring(place)
    known[key], known[mine] = ok, nil
    return ok, err
  end)
  return running
end

--- Sees to it that the volume of `program` is there and right: true, or nil, err. A third
--- result are tasks that remove what was needed for that; they have to be joined.
function M.ready(engine, image, program, timeout_ms)
  local key = key_of(engine, program)
  if known[key] == true then
    return true
  end
  -- A forked child inherits a task that will not end there.
  local mine = key .. " " .. core.getpid()
  local deadline = core.now_ms() + timeout_ms
  local running = known[mine] or start(key, mine, {
    engine = engine:within(deadline),
    patient = engine,
    image = image,
    program = program,
    mount = M.mount(program, true),
    deadline = deadline,
    removals = {},
  })
  local ok, err = running.task:join()
  return ok, err, running.removals
end

--- Something is wrong with it: look again before the next session.
function M.forget(engine, program)
  known[key_of(engine, program)] = nil
end

return M
