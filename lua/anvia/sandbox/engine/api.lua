-- SPDX-License-Identifier: MIT
-- api.lua - an engine behind its own socket: no command line client is needed.
--
-- Has the methods of cli.lua (see init.lua), and the same results and errors.

local core = require("anvia.sandbox.core")
local errors = require("anvia.sandbox.errors")
local task = require("anvia.sandbox.task")
local api_create = require("anvia.sandbox.engine.api_create")
local api_place = require("anvia.sandbox.engine.api_place")
local api_pull = require("anvia.sandbox.engine.api_pull")
local container = require("anvia.sandbox.container")
local describe = require("anvia.sandbox.engine.describe")
local failure = require("anvia.sandbox.engine.failure")
local http = require("anvia.sandbox.engine.api_http")

local M = {}

-- Descriptions asked for at once.
local BATCH = 16
-- An exec's status can come a moment after the end of its output.
local STATUS_MS = 2000

local Api = {}
Api.__index = Api
api_place(Api)

--- `options` are {host}: the endpoint, "unix:///..." or "tcp://host:port".
function M.new(options)
  return setmetatable({ kind = "api", host = options.host, _http = http.new(options.host) }, Api)
end

--- The same engine, whose requests also end at `deadline` (monotonic, ms).
function Api:within(deadline)
  return setmetatable({
    kind = "api",
    host = self.host,
    _http = self._http:within(deadline),
  }, Api)
end

--- True when the engine answers; otherwise false and why not.
function Api:ping()
  local ok, err = self._http:ping()
  return ok == true, err and err.message
end

--- The error for a stream that failed with `result` {stdout, stderr, exit_code}.
--- Whether the engine or only this request failed is found out by asking the engine.
function Api:explain(op, result)
  local otherwise = string.format("the engine's stream ended with status %s",
    tostring(result.exit_code))
  return failure.explain(op, result, otherwise, function()
    return (self:ping())
  end)
end

--- Whether the engine's loopback addresses are this machine's. Only a socket in the
--- file system is taken for local.
function Api:is_local()
  if self.host:find("^unix://") then
    return true
  end
  return false, self.host
end

function Api:_stream(flow, path, body, label)
  return {
    kind = "http",
    flow = flow,
    endpoint = self.host,
    prefix = self._http:prefix(),
    path = path,
    body = body and assert(core.json_encode(body)),
    label = label,
  }
end

--- The request that creates and starts the planned container and stays attached.
function Api:attach_request(plan)
  local body = api_create.body(plan, core.scripts.control, self._http:minor() or http.NEWEST)
  return self:_stream("run", "/containers/create" .. http.query({ name = plan.name }), body,
    container.LABEL_CREATE .. "=" .. plan.create_id)
end

local function exec_body(user, argv, input)
  return {
    AttachStdin = input,
    AttachStdout = true,
    AttachStderr = true,
    Tty = false,
    User = user,
    Cmd = argv,
  }
end

local function exec_path(name)
  return "/containers/" .. http.escape(name) .. "/exec"
end

--- The request that runs one command of the portable runner in container `name`.
function Api:exec_request(name, user)
  return self:_stream("exec", exec_path(name),
    exec_body(user, { "/bin/sh", "-c", core.scripts.run }, true))
end

--- The request that opens a second control channel, which may signal every process.
function Api:agent_request(name)
  return self:_stream("exec", exec_path(name),
    exec_body("0", { "/bin/sh", "-c", core.scripts.control, "sh", "agent" }, true))
end

--- The request that removes a container which does not end with its lease.
function Api:remove_request(name)
  return self:_stream("remove", "/containers/" .. http.escape(name) .. "?force=1&v=1")
end

-- What is inside the engine's frames (see core/wire/stdcopy.h), both outputs as one.
local function payload_of(text)
  local parts, at = {}, 1
  while at + 7 <= #text do
    local a, b, c, d = text:byte(at + 4, at + 7)
    local size = ((a * 256 + b) * 256 + c) * 256 + d
    parts[#parts + 1] = text:sub(at + 8, at + 7 + size)
    at = at + 8 + size
  end
  return table.concat(parts)
end

function Api:_exec_status(id)
  local deadline = core.now_ms() + STATUS_MS
  while true do
    local answer, err = self._http:request("exec", "GET", "/exec/" .. http.escape(id) .. "/json")
    local state
    if answer then
      state, err = http.decode("exec", answer)
    end
    if not state then
      return nil, err
    elseif not state.Running and type(state.ExitCode) == "number" then
      return state.ExitCode
    elseif core.now_ms() >= deadline then
      return nil, errors.new("exec", "protocol", "the engine does not know how the command ended")
    end
    task.sleep(10)
  end
end

--- Runs a command in the container as any user; an error unless it ends with 0.
function Api:run_as(name, user, argv)
  local answer, err = self._http:request("exec", "POST", exec_path(name),
    { body = exec_body(user, argv, false) })
  local created
  if answer then
    created, err = http.decode("exec", answer)
  end
  if created and type(created.Id) ~= "string" then
    created, err = nil, errors.new("exec", "protocol", "the engine named no exec")
  end
  if created then
    answer, err = self._http:request("exec", "POST",
      "/exec/" .. http.escape(created.Id) .. "/start", { body = { Detach = false, Tty = false } })
  end
  if not created or not answer then
    return nil, err
  end
  local status
  status, err = self:_exec_status(created.Id)
  if status == 0 then
    return true
  elseif not status then
    return nil, err
  end
  local text = payload_of(answer.body)
  err = errors.new("exec", "docker_command", "%s",
    failure.summary(text) or string.format("the command ended with status %d", status))
  err.result = { stdout = "", stderr = text, exit_code = status }
  return nil, err
end

function Api:_get(op, path)
  local answer, err = self._http:request(op, "GET", path)
  if not answer then
    return nil, err
  end
  return http.decode(op, answer)
end

--- One container's description (see describe.lua), or nil, err.
function Api:inspect(name)
  local raw, err = self:_get("inspect", "/containers/" .. http.escape(name) .. "/json")
  if not raw then
    return nil, err
  end
  return describe.container(raw)
end

local function filters(labels)
  local list = {}
  for name, value in pairs(labels) do
    list[#list + 1] = value == true and name or name .. "=" .. value
  end
  table.sort(list)
  return assert(core.json_encode({ label = list }))
end

-- The texts in `field` of a list of objects.
local function column(list, field)
  local texts = {}
  for _, entry in ipairs(type(list) == "table" and list or {}) do
    if type(entry) == "table" and type(entry[field]) == "string" then
      texts[#texts + 1] = entry[field]
    end
  end
  return texts
end

--- The ids of the containers with these labels, running or not.
function Api:find_containers(labels)
  return self:_ids({ all = 1, filters = filters(labels) })
end

function Api:_ids(query)
  local list, err = self:_get("list", "/containers/json" .. http.query(query))
  return list and column(list, "Id"), err
end

--- The names of the volumes with these labels.
function Api:find_volumes(labels)
  local found, err = self:_get("list", "/volumes" .. http.query({ filters = filters(labels) }))
  return found and column(found.Volumes, "Name"), err
end

-- Descriptions of those of `names` that still exist, several asked for at once.
function Api:_describe(names, path, missing, convert)
  local rows = {}
  for first = 1, #names, BATCH do
    local operations = {}
    for i = first, math.min(first + BATCH - 1, #names) do
      local operation, err = self._http:start("list", "GET", string.format(path,
        http.escape(names[i])))
      if not operation then
        return nil, err
      end
      operations[#operations + 1] = operation
    end
    for _, operation in ipairs(operations) do
      local answer, err = self._http:finish("list", operation)
      local raw
      if answer then
        raw, err = http.decode("list", answer)
      end
      if raw then
        rows[#rows + 1] = convert(raw)
      elseif err.reason ~= missing then
        return nil, err
      end
    end
  end
  return rows
end

function Api:describe_containers(ids)
  return self:_describe(ids, "/containers/%s/json", "no_container", describe.container)
end

function Api:describe_volumes(names)
  return self:_describe(names, "/volumes/%s", "no_volume", describe.volume)
end

-- True when the request succeeded or failed for one of the reasons in `fine`.
function Api:_remove(path, fine, extra)
  local answer, err = self._http:request("remove", "DELETE", path, extra)
  if answer or fine[err.reason or ""] then
    return true
  end
  return nil, err
end

function Api:remove_container(id, label)
  return self:_remove("/containers/" .. http.escape(id) .. "?force=1&v=1",
    { no_container = true, removing = true }, { disarms = label })
end

function Api:remove_volume(name)
  return self:_remove("/volumes/" .. http.escape(name), { no_volume = true })
end

--- `options` see api_pull.lua.
function Api:pull(image, timeout_ms, options)
  return api_pull.pull(self._http, image, timeout_ms, options or {})
end

return M
