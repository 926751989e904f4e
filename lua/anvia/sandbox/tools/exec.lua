-- SPDX-License-Identifier: MIT
--- exec_command: runs one program to completion.
local advice = require("anvia.sandbox.tools.advice")
local ending = require("anvia.sandbox.tools.ending")
local evidence = require("anvia.sandbox.tools.evidence")
local limits = require("anvia.sandbox.tools.limits")
local text = require("anvia.sandbox.tools.text")

local exec = {}

--- The inputs that say what runs; start_process has them too.
function exec.command_properties()
  return {
    command = {
      type = "string",
      minLength = 1,
      description = "The program to run, by name or path. One program, not a shell line: "
        .. "for pipes, && or * use sh with the args [\"-c\", \"...\"].",
    },
    args = {
      type = "array",
      items = { type = "string" },
      maxItems = 4096,
      description = "The arguments, one element each. No quoting is needed.",
    },
    cwd = {
      type = "string",
      minLength = 1,
      description = "The directory to run in, relative to the workspace. Default: the workspace.",
    },
    env = {
      type = "object",
      additionalProperties = { type = "string" },
      maxProperties = 1024,
      description = "Environment variables to add.",
    },
  }
end

local function input_schema(lim)
  local properties = exec.command_properties()
  properties.timeoutMs = {
    type = "integer",
    minimum = 1,
    maximum = lim.exec.max,
    description = string.format("Milliseconds after which the command is stopped. Default: %d.",
      lim.exec.default),
  }
  properties.input = {
    type = "string",
    description = "Text for the standard input of the program.",
  }
  return {
    type = "object",
    properties = properties,
    required = { "command" },
    additionalProperties = false,
  }
end

local function gap_of(result, stream)
  local omitted = result[stream .. "_omitted_bytes"] or 0
  if omitted > 0 then
    return { at = result[stream .. "_cut_at"] or #result[stream], bytes = omitted }
  end
end

local function explain_gaps(gaps, context, notes)
  local what = {}
  for _, stream in ipairs({ "stdout", "stderr" }) do
    if gaps[stream] then
      what[#what + 1] = string.format("%s of %s", text.plural(gaps[stream].bytes, "byte"), stream)
    end
  end
  local how = "print less"
  if context.has.read_file then
    how = "write the output to a file in the workspace and read that with read_file, or print less"
  end
  notes[#notes + 1] = string.format("Left out: %s. To see the rest, %s.",
    table.concat(what, " and "), how)
end

local function add_streams(result, context, parts, notes)
  local gaps, lossy = {}, {}
  for _, stream in ipairs({ "stdout", "stderr" }) do
    local gap = gap_of(result, stream)
    local block, replaced = text.block(stream, result[stream], gap)
    parts[#parts + 1] = block
    gaps[stream] = gap
    if replaced > 0 then
      lossy[#lossy + 1] = text.lossy_note(stream, replaced)
    end
  end
  if result.stdout_truncated or result.stderr_truncated then
    parts[#parts + 1] = "output_truncated: true"
    if next(gaps) then
      explain_gaps(gaps, context, notes)
    end
  end
  if #lossy > 0 then
    parts[#parts + 1] = "output_lossy: true"
    notes[#notes + 1] = table.concat(lossy, " ")
  end
end

--- The text of a result.
---@param result anvia.sandbox.ExecResult
function exec.text(result, input, context)
  local parts, notes = { "exit_code: " .. tostring(result.exit_code or "unknown") }, {}
  if result.signal and not result.timed_out and not result.cancelled then
    parts[#parts + 1] = "signal: " .. result.signal
  end
  if result.timed_out then
    parts[#parts + 1] = "timed_out: true"
  end
  if result.cancelled then
    parts[#parts + 1] = "aborted: true"
  end
  ending.explain(result, input, context, notes)
  add_streams(result, context, parts, notes)
  for _, note in ipairs(notes) do
    parts[#parts + 1] = "note: " .. note
  end
  return text.join(parts)
end

local function run(session, input, context)
  local result, err = session:exec({
    command = input.command,
    args = input.args,
    cwd = input.cwd,
    env = input.env,
    input = input.input,
    timeout_ms = input.timeoutMs,
    max_output_bytes = context.limits.output_bytes,
    keep = "both",
    cancel = context.cancel,
  })
  if not result then
    return nil, advice.on_start(err, input)
  end
  evidence.add(context.session, result)
  return exec.text(result, input, context)
end

exec.tools = {
  {
    name = "exec_command",
    description = function(lim)
      return string.format("Run one program in the sandbox and wait until it has ended. Returns "
        .. "its exit code, stdout and stderr, each up to %d bytes: of longer output the head and "
        .. "the tail.", lim.output_bytes)
    end,
    input_schema = input_schema,
    bytes = { input = limits.MAX_INPUT_BYTES },
    run = run,
  },
}

return exec
