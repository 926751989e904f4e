-- SPDX-License-Identifier: MIT
-- outside.lua - looks at what this program has left on the engine and on the host,
-- with other means than the library's own.

local core = require("anvia.sandbox.core")
local task = require("anvia.sandbox.task")

local M = {}

-- Sessions of these processes are ours to look for: this one and what specs start.
local pids = { [core.getpid()] = true }

function M.watch_pid(pid)
  pids[pid] = true
end

function M.quote(text)
  return "'" .. text:gsub("'", "'\\''") .. "'"
end

--- Runs a shell command, without the library: its output and whether it succeeded.
function M.sh(command)
  local pipe = assert(io.popen(command .. " 2>&1", "r"))
  local text = pipe:read("a")
  return text, pipe:close() == true
end

function M.lines(text)
  local lines = {}
  for line in text:gmatch("[^\n]+") do
    lines[#lines + 1] = line
  end
  return lines
end

local OWNER = "anvia.sandbox.owner.pid="
local MODE = "anvia.sandbox.workspace.mode"
local SOCKET = (os.getenv("DOCKER_HOST") or ""):match("^unix://(/.+)$")

-- Both kinds of things of all our processes in one request to the engine's socket, which
-- is much faster than four starts of its client; nil when that cannot be.
local function ask_socket()
  local words = { "curl -sSf --max-time 20 --unix-socket " .. M.quote(SOCKET) }
  for pid in pairs(pids) do
    local filters = "filters=%7B%22label%22:%5B%22" .. OWNER .. pid .. "%22%5D%7D"
    words[#words + 1] = M.quote("http://engine/containers/json?all=1&" .. filters)
    words[#words + 1] = M.quote("http://engine/volumes?" .. filters)
  end
  local text, ok = M.sh(table.concat(words, " "))
  local containers, volumes = {}, {}
  for _, line in ipairs(ok and M.lines(text) or {}) do
    local answer = assert(core.json_decode(line))
    for _, one in ipairs(answer) do
      containers[#containers + 1] = one.Id:sub(1, 12)
    end
    for _, one in ipairs(answer.Volumes or {}) do
      volumes[#volumes + 1] = { name = one.Name, mode = one.Labels[MODE] }
    end
  end
  if ok then
    return { containers = containers, volumes = volumes }
  end
end

local function ask_client()
  local containers, volumes = {}, {}
  for pid in pairs(pids) do
    local filter = " --filter label=" .. OWNER .. pid
    for _, line in ipairs(M.lines((M.sh("docker ps -a -q" .. filter)))) do
      containers[#containers + 1] = line
    end
    local format = M.quote(string.format('{{.Name}} {{.Label "%s"}}', MODE))
    for _, line in ipairs(M.lines((M.sh("docker volume ls --format " .. format .. filter)))) do
      local name, mode = line:match("^(%S+) (%a+)$")
      volumes[#volumes + 1] = { name = name or line, mode = mode }
    end
  end
  return { containers = containers, volumes = volumes }
end

-- What the engine has of our processes: {containers, volumes}, ids and {name, mode}.
local function owned()
  return SOCKET and ask_socket() or ask_client()
end

local function names_of(volumes, all)
  local names = {}
  for _, volume in ipairs(volumes) do
    if all or volume.mode ~= "persistent" then
      names[#names + 1] = volume.name
    end
  end
  return names
end

function M.containers()
  return owned().containers
end

--- Anonymous volumes, or with `all` the named ones too.
function M.volumes(all)
  return names_of(owned().volumes, all)
end

-- The children of this process, zombies too, but for the shell that looks.
function M.children()
  local text = M.sh(string.format(
    "ps -o pid=,stat=,args= --ppid %d | grep -v 'ps -o pid=,stat=' || true", core.getpid()))
  return M.lines(text)
end

--- Processes on the host whose arguments contain `text`.
function M.processes_with(text)
  local command = "ps -eo pid=,args= | grep -F -- %s | grep -v grep || true"
  return M.lines((M.sh(command:format(M.quote(text)))))
end

--- Clients of this engine that hold a session: those of another engine, where other specs may
--- run meanwhile, do not count.
function M.clients()
  local same = "tr '\\0' '\\n' 2>/dev/null </proc/%s/environ | grep -qxF -- %s && echo %s || true"
  local found = {}
  for _, line in ipairs(M.lines((M.sh("pgrep -a docker | grep anvia-sandbox- || true")))) do
    local host = os.getenv("DOCKER_HOST")
    local pid = line:match("^%d+")
    if not host or M.sh(same:format(pid, M.quote("DOCKER_HOST=" .. host), pid)) ~= "" then
      found[#found + 1] = line
    end
  end
  return found
end

function M.descriptors()
  return tonumber((M.sh(string.format("ls /proc/%d/fd | wc -l", core.getpid()))))
end

-- Operations that somebody waits for, by way of task.lua's own table.
local function waiting()
  local seen = {}
  local function search(fn)
    for i = 1, 255 do
      local name, value = debug.getupvalue(fn, i)
      if not name then
        return nil
      elseif name == "waiting" then
        return value
      elseif type(value) == "function" and not seen[value] then
        seen[value] = true
        local found = search(value)
        if found then
          return found
        end
      end
    end
  end
  return assert(search(task.dispatch), "task.lua has no table of that name")
end

function M.operations()
  local count = 0
  for _ in pairs(waiting()) do
    count = count + 1
  end
  return count
end

--- What may stay: the state before a test. The I/O thread runs by then, and libuv
--- has the spare descriptor that it takes with the first stream.
function M.baseline()
  task.await(core.run({ argv = { "true" }, timeout_ms = 10000 }))
  collectgarbage()
  collectgarbage()
  return {
    descriptors = M.descriptors(),
    operations = M.operations(),
    volumes = #M.volumes(true),
  }
end

local function look(before)
  local left = {}
  local function note(what, list)
    if #list > 0 then
      left[#left + 1] = what .. ": " .. table.concat(list, ", ")
    end
  end
  local there = owned()
  note("containers", there.containers)
  note("volumes", names_of(there.volumes))
  note("children", M.children())
  if #there.volumes > before.volumes then
    note("persistent volumes", names_of(there.volumes, true))
  end
  local descriptors = M.descriptors()
  if descriptors > before.descriptors then
    note("descriptors", { before.descriptors .. " -> " .. descriptors })
  end
  if M.operations() > before.operations then
    note("operations", { before.operations .. " -> " .. M.operations() })
  end
  return #left > 0 and table.concat(left, "\n") or nil
end

--- Nil, or what is left compared with `before` and does not go away in time.
function M.left_behind(before, timeout_ms)
  local deadline = core.now_ms() + (timeout_ms or 10000)
  while true do
    collectgarbage()
    collectgarbage()
    task.sleep(1)
    local left = look(before)
    if not left or core.now_ms() >= deadline then
      return left
    end
    task.sleep(50)
  end
end

--- Removes what a failed test has left, so that the next one is judged alone.
function M.clean()
  for _, id in ipairs(M.containers()) do
    M.sh("docker rm -f -v " .. id)
  end
  for _, name in ipairs(M.volumes(true)) do
    M.sh("docker volume rm -f " .. name)
  end
end

return M
