-- SPDX-License-Identifier: MIT
-- http.lua - plain requests to the engine, as a floor for what the library does.

local core = require("anvia.sandbox.core")
local endpoint = require("anvia.sandbox.engine.endpoint")
local task = require("anvia.sandbox.task")

local M = {}

function M.request(method, path, body)
  local answer = assert(task.await(core.http({
    endpoint = assert(endpoint.find()),
    method = method,
    path = path,
    body = body and core.json_encode(body),
    timeout_ms = 30000,
  })))
  assert(answer.status < 400, answer.body)
  return answer.body ~= "" and core.json_decode(answer.body) or nil
end

--- The path of the engine's Unix socket.
function M.socket()
  local host = os.getenv("DOCKER_HOST") or "unix:///var/run/docker.sock"
  return assert(host:match("^unix://(.*)$"), "the benchmark needs the engine's own socket")
end

return M
