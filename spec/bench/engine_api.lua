-- SPDX-License-Identifier: MIT
-- engine_api.lua - what the engine's socket saves against its command line client, and
-- how near a session comes to what the engine itself needs. Prints lines `name value`.

local core = require("anvia.sandbox.core")
local sandbox = require("anvia.sandbox")
local task = require("anvia.sandbox.task")
local endpoint = require("anvia.sandbox.engine.endpoint")

local IMAGE = os.getenv("ANVIA_SANDBOX_IMAGE") or "anvia-test/busybox:1"
local ROUNDS = tonumber(os.getenv("ROUNDS")) or 15
local SESSIONS = 100

local function median(list)
  table.sort(list)
  return list[math.floor((#list + 1) / 2)]
end

local function timed(rounds, fn)
  local times = {}
  for i = 1, rounds do
    local start = core.now_ms()
    fn(i)
    times[i] = core.now_ms() - start
  end
  return median(times)
end

local function report(name, format, value)
  print(string.format("%-44s " .. format, name, value))
end

local function http(method, path, body)
  local answer = assert(task.await(core.http({
    endpoint = assert(endpoint.find()),
    method = method,
    path = path,
    body = body and core.json_encode(body),
    timeout_ms = 30000,
  })))
  assert(answer.status < 400, answer.body)
  return core.json_decode(answer.body)
end

local function box(engine)
  return sandbox.docker({ image = IMAGE, pull = "never", engine = engine })
end

-- The same container as a session's, by plain requests.
local function plain(at)
  local container = require("anvia.sandbox.container")
  local api_create = require("anvia.sandbox.engine.api_create")
  local sb = box("api")
  local plan = container.plan(sb._options, { ports = {}, metadata = {}, workspace =
    sb._options.workspace }, {
    id = core.random_hex(24), create_id = core.random_hex(32), now_ms = core.wall_ms(),
    owner_labels = {},
  })
  local body = api_create.body(plan, core.scripts.control, 41)
  body.HostConfig.AutoRemove = false
  local id = http("POST", "/containers/create?name=" .. plan.name, body).Id
  http("POST", "/containers/" .. id .. "/start")
  at[#at + 1] = id
end

local function exec_times()
  local medians = {}
  for _, engine in ipairs({ "cli", "api" }) do
    local session = assert(box(engine):create_session())
    medians[engine] = timed(ROUNDS * 2, function()
      assert(assert(session:exec({ command = "true" })).exit_code == 0)
    end)
    report("exec of true, " .. engine .. ", ms", "%.1f", medians[engine])
    assert(session:destroy())
  end
  report("exec of true, api / cli (at most 0.75)", "%.2f", medians.api / medians.cli)
end

local function create_times()
  local made, sessions, floor, ours = {}, {}, {}, {}
  local sb = box("api")
  -- one of each in turn, so that the machine's moods hit both
  for i = 1, ROUNDS do
    floor[i] = timed(1, function() plain(made) end)
    http("DELETE", "/containers/" .. table.remove(made) .. "?force=1&v=1")
    ours[i] = timed(1, function() sessions[1] = assert(sb:create_session()) end)
    assert(sessions[1]:destroy())
  end
  local engine, session = median(floor), median(ours)
  report("create + start, plain requests, ms", "%.1f", engine)
  report("create_session, api, ms", "%.1f", session)
  report("create_session / plain (at most 1.10)", "%.2f", session / engine)
end

local function read(path, pattern)
  local file = assert(io.open(path))
  local text = file:read("a")
  file:close()
  return text:match(pattern)
end

local function many()
  local sb, sessions = box("api"), {}
  for i = 1, SESSIONS do
    sessions[i] = assert(sb:create_session())
  end
  sandbox.sleep(2000)
  collectgarbage()
  report(SESSIONS .. " sessions open: resident MiB (under 48)", "%.1f",
    tonumber(read("/proc/self/status", "VmRSS:%s*(%d+)")) / 1024)
  local children = read("/proc/self/task/" .. core.getpid() .. "/children", "^(.*)$")
  report(SESSIONS .. " sessions open: child processes", "%d",
    select(2, children:gsub("%d+", "")))
  local work = {}
  for i, session in ipairs(sessions) do
    work[i] = function() return session:destroy() end
  end
  for _, result in ipairs({ sandbox.all(work) }) do
    assert(result)
  end
end

exec_times()
create_times()
if os.getenv("SESSIONS") ~= "0" then
  many()
end
