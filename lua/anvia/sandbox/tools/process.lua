-- SPDX-License-Identifier: MIT
--- start_process, list_processes, read_process_logs and stop_process.
local advice = require("anvia.sandbox.tools.advice")
local exec = require("anvia.sandbox.tools.exec")
local text = require("anvia.sandbox.tools.text")

local process = {}

local function id_property()
  return {
    type = "string",
    minLength = 1,
    description = "The process_id that start_process or list_processes shows.",
  }
end

local function object(properties, required)
  return {
    type = "object",
    properties = properties,
    required = required,
    additionalProperties = false,
  }
end

--- The lines of one process.
---@param info anvia.sandbox.ProcessInfo
function process.text(info)
  local lines = {
    "process_id: " .. info.id,
    "status: " .. info.status,
    "command: " .. text.command_line(info.command, info.args),
  }
  if info.exit_code then
    lines[#lines + 1] = "exit_code: " .. tostring(info.exit_code)
  end
  if info.signal then
    lines[#lines + 1] = "signal: " .. tostring(info.signal)
  end
  return table.concat(lines, "\n")
end

local function start(session, input)
  local info, err = session:start_process({
    command = input.command,
    args = input.args,
    cwd = input.cwd,
    env = input.env,
  })
  if not info then
    return nil, advice.on_start(err, input)
  end
  return process.text(info)
end

local function list(session)
  local known, err = session:list_processes()
  if not known then
    return nil, err
  elseif #known == 0 then
    return "There are no processes."
  end
  local blocks = {}
  for i, info in ipairs(known) do
    blocks[i] = process.text(info)
  end
  return text.join(blocks)
end

local function logs_schema(lim)
  return object({
    processId = id_property(),
    tailBytes = {
      type = "integer",
      minimum = 0,
      maximum = lim.log_bytes,
      description = string.format("How many bytes of the end of each stream to show. Default: %d.",
        lim.log_bytes),
    },
  }, { "processId" })
end

--- How a model gets at what is not in the tail.
local function explain_tail(tail, context, cut)
  local most = context.limits.log_bytes
  local which = #cut == 1 and "Only the end of " .. cut[1] .. " is shown."
    or "Only the ends of stdout and stderr are shown."
  if tail < most then
    return string.format("%s Send a tailBytes of up to %d for more.", which, most)
  end
  return which .. " To keep everything, start the process with its output in a file."
end

--- The text of a tail.
function process.logs_text(logs, tail, context)
  local parts, cut, lossy = {}, {}, {}
  for _, stream in ipairs({ "stdout", "stderr" }) do
    local block, replaced = text.block(stream, logs[stream])
    parts[#parts + 1] = block
    if logs[stream .. "_truncated"] then
      cut[#cut + 1] = stream
    end
    if replaced > 0 then
      lossy[#lossy + 1] = text.lossy_note(stream, replaced)
    end
  end
  if #parts == 0 and #cut == 0 then
    return "The process has printed nothing."
  end
  if #cut > 0 then
    parts[#parts + 1] = "output_truncated: true"
  end
  if #lossy > 0 then
    parts[#parts + 1] = "output_lossy: true"
  end
  if #cut > 0 then
    parts[#parts + 1] = "note: " .. explain_tail(tail, context, cut)
  end
  if #lossy > 0 then
    parts[#parts + 1] = "note: " .. table.concat(lossy, " ")
  end
  return text.join(parts)
end

local function logs(session, input, context)
  local tail = input.tailBytes or context.limits.log_bytes
  local found, err = session:read_process_logs(input.processId, { tail_bytes = tail })
  if not found then
    return nil, advice.on_process(err, session)
  end
  return process.logs_text(found, tail, context)
end

local function stop_schema()
  return object({ processId = id_property() }, { "processId" })
end

local function stop(session, input)
  local info, err = session:stop_process(input.processId)
  if not info then
    return nil, advice.on_process(err, session)
  end
  return process.text(info)
end

process.tools = {
  {
    name = "start_process",
    needs = "processes",
    description = function()
      return "Start a program that keeps running in the sandbox, such as a server or a watcher, "
        .. "and return at once with its process_id."
    end,
    input_schema = function()
      return object(exec.command_properties(), { "command" })
    end,
    run = start,
  },
  {
    name = "list_processes",
    needs = "processes",
    read_only = true,
    description = function()
      return "List the processes that start_process started, with their status."
    end,
    input_schema = function()
      return object({})
    end,
    run = list,
  },
  {
    name = "read_process_logs",
    needs = "processes",
    read_only = true,
    description = function(lim)
      return string.format("Read the end of what a process printed, up to %d bytes of stdout and "
        .. "of stderr. Works also after the process has ended.", lim.log_bytes)
    end,
    input_schema = logs_schema,
    run = logs,
  },
  {
    name = "stop_process",
    needs = "processes",
    description = function(lim)
      return string.format("Stop a process and all that it started: asked first, killed after "
        .. "%d ms.", lim.grace_ms)
    end,
    input_schema = stop_schema,
    run = stop,
  },
}

return process
