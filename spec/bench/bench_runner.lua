-- SPDX-License-Identifier: MIT
-- bench_runner.lua - how fast the supervisor is, beside two floors that no runner can be
-- faster than by much, `docker exec`, and the portable runner. All in milliseconds,
-- median / 95th percentile, unless it says something else. Environment: QUICK (a tenth of
-- the rounds), KILLS (how often the owner is killed, 200), SBX_ENGINE (api).
--
-- Ends with status 1 when a limit was missed.

local measure = require("spec.bench.runner.measure")
local sandbox = require("anvia.sandbox")

local SMALL = "anvia-test/busybox:1"
local LARGE = "anvia-test/debian:1"

local function box(runner, extra)
  local options = { image = SMALL, pull = "never", runner = runner,
    engine = os.getenv("SBX_ENGINE") or "api", limits = { max_processes = 64 } }
  for key, value in pairs(extra or {}) do
    options[key] = value
  end
  return sandbox.docker(options)
end

-- Runs a part in a session of each runner.
local function in_both(name, extra, session_options, ...)
  local part = require("spec.bench.runner." .. name)
  local supervised = assert(box("supervisor", extra):create_session(session_options))
  local portable = assert(box("exec", extra):create_session(session_options))
  part.run(supervised, portable, ...)
  assert(supervised:destroy())
  assert(portable:destroy())
end

local only = os.getenv("ONLY")
local function wanted(name)
  return not only or only:find(name, 1, true)
end

if wanted("commands") then
  in_both("commands")
end
if wanted("files") then
  in_both("files")
end
if wanted("ports") then
  in_both("ports", { image = LARGE, network = true }, { ports = { 8000 } })
end
if wanted("output") then
  in_both("output", { image = LARGE }, nil, LARGE)
end
if wanted("lifecycle") then
  require("spec.bench.runner.lifecycle").run(box)
end
os.exit(measure.print() == 0, true)
