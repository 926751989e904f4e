-- SPDX-License-Identifier: MIT
-- commands.lua - figures of commands and managed processes.

local floors = require("spec.bench.runner.floor")
local measure = require("spec.bench.runner.measure")
local outside = require("spec.support.outside")

local M = {}

local TRUE = { command = "/bin/true" }
local SLEEP = { command = "/bin/sleep", args = { "1000" } }
local STUBBORN = { command = "sh",
  args = { "-c", 'trap "" TERM; echo r; while :; do sleep 1000; done' } }
local GRACE_MS = 100

local function exec(session)
  return function()
    assert(assert(session:exec(TRUE)).exit_code == 0)
  end
end

-- Start and stop are timed apart.
local function start_and_stop(session)
  local info
  return function()
    info = assert(session:start_process(SLEEP))
  end, function()
    assert(assert(session:stop_process(info.id)).status == "stopped")
  end
end

local function stop_stubborn(session)
  return function()
    local info = assert(session:start_process(STUBBORN))
    repeat
      local logs = assert(session:read_process_logs(info.id))
    until logs.stdout ~= ""
    return (measure.time(function()
      assert(session:stop_process(info.id, { grace_period_ms = GRACE_MS }))
    end))
  end
end

local function docker(session, arguments)
  return function()
    local said, ok = outside.sh(arguments:gsub("NAME", "anvia-sandbox-" .. session.id))
    assert(ok, said)
  end
end

--- Measures in sessions of both runners.
function M.run(supervised, portable)
  local floor = floors.open(supervised)
  local start, stop = start_and_stop(supervised)
  local fast = measure.in_turn(400, {
    f0 = floor.f0,
    f1 = floor.f1,
    exec = exec(supervised),
    start_a = start,
    start_b = stop,
  })
  M.f0, M.f1 = fast.f0, fast.f1
  start, stop = start_and_stop(portable)
  local slow = measure.in_turn(20, {
    exec = exec(portable),
    start_a = start,
    start_b = stop,
    docker_exec = docker(supervised, "docker exec NAME /bin/true"),
    docker_start = docker(supervised, "docker exec -d NAME /bin/sleep 4567"),
    docker_stop = docker(supervised, "docker exec NAME sh -c 'kill $(pidof sleep)'"),
  })
  local stubborn = measure.in_turn(20, {
    supervisor = stop_stubborn(supervised),
    exec = stop_stubborn(portable),
  })
  floor.close()

  local f1 = fast.f1.median
  measure.row({ figure = "F0: a round trip to a shell that runs", floor = fast.f0 })
  measure.row({ figure = "F1: the same, with a program started", floor = fast.f1 })
  measure.row({ figure = "exec of true", supervisor = fast.exec, floor = fast.f1,
    docker = slow.docker_exec, exec = slow.exec, checks = {
      { "median / F1", fast.exec.median / f1, 1.3 },
      { "p95 / F1", fast.exec.p95 / f1, 2 },
      { "50 x / docker exec", 50 * fast.exec.median / slow.docker_exec.median, 1 },
    } })
  measure.row({ figure = "start_process", supervisor = fast.start_a, floor = fast.f1,
    docker = slow.docker_start, exec = slow.start_a, checks = {
      { "median / F1", fast.start_a.median / f1, 1.3 },
    } })
  measure.row({ figure = "stop_process, TERM obeyed", supervisor = fast.start_b,
    floor = fast.f1, docker = slow.docker_stop, exec = slow.start_b, checks = {
      { "median / F1", fast.start_b.median / f1, 2 },
    } })
  measure.row({ figure = "stop_process, TERM ignored, grace " .. GRACE_MS .. " ms",
    supervisor = stubborn.supervisor, exec = stubborn.exec, checks = {
      { "p95 - grace", stubborn.supervisor.p95 - GRACE_MS, 10 },
    } })
end

return M
