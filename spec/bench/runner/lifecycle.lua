-- SPDX-License-Identifier: MIT
-- lifecycle.lua - figures of sessions: created, destroyed, many, and without their owner.

local core = require("anvia.sandbox.core")
local http = require("spec.bench.runner.http")
local kills = require("spec.support.owner_kills")
local measure = require("spec.bench.runner.measure")
local outside = require("spec.support.outside")
local sandbox = require("anvia.sandbox")

local M = {}

local SESSIONS, PROCESSES = 20, 50

-- The same container as a session's, by plain requests.
local function twin_of(session)
  local facts = http.request("GET", "/containers/anvia-sandbox-" .. session.id .. "/json")
  local body = facts.Config
  body.Hostname, body.Labels = nil, nil
  body.HostConfig = facts.HostConfig
  body.HostConfig.AutoRemove = false
  return body
end

local function created(box, label, checks)
  local session = assert(box:create_session())
  local body = twin_of(session)
  assert(session:destroy())
  local id
  local times = measure.in_turn(20, {
    a_floor = function()
      id = http.request("POST", "/containers/create", body).Id
      http.request("POST", "/containers/" .. id .. "/start")
    end,
    b_floor = function()
      http.request("DELETE", "/containers/" .. id .. "?force=1&v=1")
    end,
    c_ours = function() session = assert(box:create_session()) end,
    d_ours = function() assert(session:destroy()) end,
  })
  for _, one in ipairs({ { "create_session", "a_floor", "c_ours" },
    { "destroy", "b_floor", "d_ours" } }) do
    local floor, ours = times[one[2]], times[one[3]]
    measure.row({ figure = one[1] .. label, supervisor = checks and ours or nil, floor = floor,
      exec = not checks and ours or nil, checks = checks and {
        { "median / the engine's own", ours.median / floor.median, 1.1 },
      } })
  end
end

local function status(pid, field)
  local text = outside.sh("cat /proc/" .. pid .. "/status")
  return tonumber(text:match(field .. ":%s*(%d+)"))
end

local function many(box)
  local sessions, largest = {}, 0
  local threads = status(core.getpid(), "Threads")
  for i = 1, SESSIONS do
    sessions[i] = assert(box:create_session())
  end
  sandbox.sleep(1000)
  for _, session in ipairs(sessions) do
    local pid = tonumber((outside.sh("docker inspect --format '{{.State.Pid}}' anvia-sandbox-"
      .. session.id)))
    largest = math.max(largest, status(pid, "VmRSS"))
  end
  local work = {}
  for i, session in ipairs(sessions) do
    work[i] = function()
      for _ = 1, PROCESSES do
        assert(session:start_process({ command = "sh",
          args = { "-c", "echo up; exec sleep 1000" } }))
      end
    end
  end
  local took = measure.time(function()
    local _, errs = sandbox.all(work)
    assert(not errs)
  end)
  sandbox.sleep(1000)
  collectgarbage()
  collectgarbage()
  local pid = core.getpid()
  local resident = status(pid, "VmRSS") / 1024
  measure.row({ figure = SESSIONS * PROCESSES .. " processes in " .. SESSIONS .. " sessions",
    supervisor = string.format("%.1f MiB", resident), checks = {
      { "resident MiB", resident, 64 },
      { "more threads", status(pid, "Threads") - threads, 0 },
      { "child processes", #outside.children(), 0 },
    } })
  measure.row({ figure = "  (starting them, each)",
    supervisor = string.format("%.2f ms", took / SESSIONS / PROCESSES) })
  measure.row({ figure = "a supervisor at rest", supervisor = largest .. " KiB", checks = {
    { "resident KiB, largest", largest, 1024 },
  } })
  for i, session in ipairs(sessions) do
    work[i] = function() return session:destroy() end
  end
  sandbox.all(work)
end

local function killed(tries)
  local failures = 0
  for _ = 1, tries do
    local _, left = kills.once(5000, "supervisor")
    failures = failures + (left and 1 or 0)
  end
  measure.row({ figure = "kill -9 of the owner, " .. tries .. " times",
    supervisor = (tries - failures) .. " of " .. tries, checks = {
      { "something left 5 s later", failures, 0 },
    } })
end

--- `box(runner)` makes a sandbox with room for the processes.
function M.run(box)
  created(box("supervisor"), "", true)
  created(box("exec"), ", portable runner", false)
  many(box("supervisor"))
  killed(tonumber(os.getenv("KILLS")) or measure.rounds(200))
end

return M
