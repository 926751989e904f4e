-- SPDX-License-Identifier: MIT
-- ports.lua - figures of waiting for a port.

local floors = require("spec.bench.runner.floor")
local measure = require("spec.bench.runner.measure")
local sandbox = require("anvia.sandbox")

local M = {}

-- Listens and stops listening when told so, and says at what time.
local SERVER = [[
import socket, sys, time
for line in sys.stdin:
    if line == "listen\n":
        s = socket.socket()
        s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        s.bind(("0.0.0.0", 8000))
        s.listen()
        print("at %.0f" % (time.monotonic_ns() / 1000), flush=True)
    else:
        s.close()
        print("closed", flush=True)
]]

local function listening(session)
  local server = assert(session:start_process({ command = "python3",
    args = { "-m", "http.server", "8000" } }))
  assert(session:wait_for_port(8000))
  return function()
    assert(session:wait_for_port(8000))
  end, function()
    assert(session:stop_process(server.id))
  end
end

-- How long after a server listens its waiter knows.
local function latency(session)
  local server = assert(session:start_process({ command = "python3", args = { "-c", SERVER },
    stdin = true }))
  local cursor
  local function say(word)
    assert(session:write_process(server.id, word .. "\n"))
  end
  local function answer()
    local text = ""
    repeat
      local logs = assert(session:read_process_logs(server.id, { since = cursor }))
      cursor, text = logs.cursor, text .. logs.stdout
    until text:find("\n", 1, true)
    return text
  end
  return function()
    local known
    sandbox.all({
      function()
        assert(session:wait_for_port(8000))
        known = measure.now_us()
      end,
      function()
        sandbox.sleep(20 + math.random(0, 20))
        say("listen")
      end,
    })
    local at = tonumber(answer():match("at (%d+)"))
    say("close")
    answer()
    return (known - at) / 1000
  end
end

--- Measures in sessions of both runners that publish port 8000 and have Python.
function M.run(supervised, portable)
  local floor = floors.open(supervised)
  local known, stop = listening(supervised)
  local known_portable, stop_portable = listening(portable)
  local fast = measure.in_turn(200, { f0 = floor.f0, wait = known })
  local slow = measure.in_turn(12, { wait = known_portable })
  stop()
  stop_portable()
  floor.close()
  local news = measure.in_turn(50, { supervisor = latency(supervised) })
  local slow_news = measure.in_turn(12, { exec = latency(portable) })
  measure.row({ figure = "wait_for_port, listening already", supervisor = fast.wait,
    floor = fast.f0, exec = slow.wait, checks = {
      { "median / F0", fast.wait.median / fast.f0.median, 2 },
    } })
  measure.row({ figure = "wait_for_port, after a new listener", supervisor = news.supervisor,
    exec = slow_news.exec, checks = {
      { "p95, ms", news.supervisor.p95, 10 },
    } })
end

return M
