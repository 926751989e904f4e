-- SPDX-License-Identifier: MIT
-- output.lua - figures of output: beyond a cap, and as a stream.

local http = require("spec.bench.runner.http")
local measure = require("spec.bench.runner.measure")
local native = require("spec.bench.runner.native")
local outside = require("spec.support.outside")

local M = {}

local MIB = 1024 * 1024
local CAPPED, STREAMED = 100, 256 -- MiB

local function furnish(session)
  local script = string.format("head -c %d /dev/zero >capped; head -c %d /dev/zero >streamed; "
    .. "cat capped streamed >/dev/null", CAPPED * MIB, STREAMED * MIB)
  assert(assert(session:exec({ command = "sh", args = { "-c", script },
    timeout_ms = 120000 })).exit_code == 0)
end

local function capped(session)
  return function()
    local result = assert(session:exec({ command = "cat", args = { "capped" },
      max_output_bytes = MIB, timeout_ms = 60000 }))
    assert(result.exit_code == 0 and #result.stdout == MIB)
    assert(result.stdout_omitted_bytes == (CAPPED - 1) * MIB)
  end
end

local function inside(session, script)
  return function()
    assert(assert(session:exec({ command = "sh", args = { "-c", script } })).exit_code == 0)
  end
end

local function streamed(session)
  return function()
    local bytes = 0
    for event in assert(session:exec_stream({ command = "cat", args = { "streamed" },
      max_output_bytes = 1000, timeout_ms = 60000 })) do
      bytes = bytes + #(event.data or "")
    end
    assert(bytes == STREAMED * MIB)
  end
end

-- The same bytes over the attached stream of a container that has nothing else.
local function raw(image)
  return function()
    local id = http.request("POST", "/containers/create", {
      Image = image,
      Entrypoint = { "sh", "-c", string.format("head -c %d /dev/zero >/tmp/streamed; "
        .. "cat /tmp/streamed >/dev/null; echo ready; read x; exec cat /tmp/streamed",
        STREAMED * MIB) },
      AttachStdin = true, AttachStdout = true, OpenStdin = true, StdinOnce = true,
      HostConfig = { NetworkMode = "none", LogConfig = { Type = "none" } },
    }).Id
    local bytes, took = native.drain(http.socket(), id, function()
      http.request("POST", "/containers/" .. id .. "/start")
    end)
    http.request("DELETE", "/containers/" .. id .. "?force=1&v=1")
    assert(bytes >= STREAMED * MIB)
    return took / 1000
  end
end

local function docker(session, command)
  return function()
    local said, ok = outside.sh(command:gsub("NAME", "anvia-sandbox-" .. session.id))
    assert(ok, said)
  end
end

local function rate(stats)
  return string.format("%.0f MiB/s", STREAMED * 1000 / stats.median)
end

--- Measures in sessions of both runners with `image`.
function M.run(supervised, portable, image)
  furnish(supervised)
  furnish(portable)
  local cap = measure.in_turn(15, {
    floor = inside(supervised, "cat capped >/dev/null"),
    pipe = inside(supervised, "cat capped | cat >/dev/null"),
    supervisor = capped(supervised),
    exec = capped(portable),
    docker = docker(supervised, "docker exec NAME cat capped | head -c 1048576 >/dev/null"),
  })
  measure.row({ figure = CAPPED .. " MiB under a cap of 1 MiB", supervisor = cap.supervisor,
    floor = cap.floor, docker = cap.docker, exec = cap.exec, checks = {
      { "median / cat >/dev/null", cap.supervisor.median / cap.floor.median, 2 },
    } })
  measure.row({ figure = "  (cat into another cat, inside)", floor = cap.pipe })
  local stream = measure.in_turn(7, {
    raw = raw(image),
    supervisor = streamed(supervised),
    exec = streamed(portable),
    docker = docker(supervised, "docker exec NAME cat streamed >/dev/null"),
  })
  measure.row({ figure = "a stream of " .. STREAMED .. " MiB", supervisor = stream.supervisor,
    floor = stream.raw, docker = stream.docker, exec = stream.exec, checks = {
      { "0.9 x / raw", 0.9 * stream.supervisor.median / stream.raw.median, 1 },
    } })
  measure.row({ figure = "  (as a rate)", supervisor = rate(stream.supervisor),
    floor = rate(stream.raw), docker = rate(stream.docker), exec = rate(stream.exec) })
end

return M
