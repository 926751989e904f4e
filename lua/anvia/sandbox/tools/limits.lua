-- SPDX-License-Identifier: MIT
--- The options of `sandbox.tools`: what they are, their defaults, and what contradicts what.
---
--- Every limit has a value after `resolve`, so it holds also when the model leaves the value out.
local errors = require("anvia.sandbox.errors")
local opt = require("anvia.sandbox.options")

local limits = {}

local KIB, MIB = 1024, 1024 * 1024

-- The most a model may ask for, whatever the options say.
limits.MAX_TIMEOUT_MS = 300000
limits.MAX_LINE_COUNT = 10000
limits.MAX_TEXT_BYTES = MIB
limits.MAX_INPUT_BYTES = 64 * MIB

local DEFAULT_TIMEOUT_MS = 30000

local command = opt.string({ pattern = "^[^%s]+$", what = "the name or path of one program" })
local duration = opt.integer(1, limits.MAX_TIMEOUT_MS)
local text_bytes = opt.integer(1, limits.MAX_TEXT_BYTES)
local lines = opt.integer(1, limits.MAX_LINE_COUNT)

--- The check of the whole options table, for options.check.
limits.OPTIONS = opt.record({
  allow = opt.list(opt.string()),
  include = opt.list(opt.string()),
  exec = opt.record({
    allowed_commands = opt.list(command),
    blocked_commands = opt.list(command),
    default_timeout_ms = duration,
    max_timeout_ms = duration,
    max_output_bytes = text_bytes,
  }),
  read_file = opt.record({
    max_bytes = text_bytes,
    default_line_count = lines,
    max_line_count = lines,
  }),
  write_file = opt.record({ max_bytes = opt.integer(0) }),
  process = opt.record({
    max_log_bytes = text_bytes,
    default_wait_timeout_ms = duration,
    max_wait_timeout_ms = duration,
    stop_grace_period_ms = opt.integer(0, limits.MAX_TIMEOUT_MS),
  }),
  policy = opt.any,
  on_ask = opt.callback,
})

local function refuse(...)
  return nil, errors.new("tools", "tool_policy", ...)
end

--- A default above its maximum is a contradiction when both were given; a maximum alone lowers the
--- default.
local function pair(group, name, default_name, default, max_name, max)
  local given, most = group[default_name], group[max_name] or max
  if given and given > most then
    return refuse("%s.%s (%d) is above %s.%s (%d)", name, default_name, given, name, max_name, most)
  end
  return { default = given or math.min(default, most), max = most }
end

local function basename(path)
  return path:match("([^/]*)$")
end

local function check_commands(exec)
  local allowed, blocked = exec.allowed_commands, exec.blocked_commands
  if allowed and #allowed == 0 then
    return refuse("exec.allowed_commands is empty: no command could ever run; leave exec_command "
      .. "and start_process out of allow, or leave the list out to admit every command")
  end
  local blocks = {}
  for _, name in ipairs(blocked or {}) do
    blocks[basename(name)] = name
  end
  for _, name in ipairs(allowed or {}) do
    local block = blocks[basename(name)]
    if block == name then
      return refuse("'%s' is in exec.allowed_commands and in exec.blocked_commands", name)
    elseif block then
      return refuse("exec.allowed_commands has '%s', but exec.blocked_commands has '%s', which is "
        .. "the same program", name, block)
    end
  end
  return true
end

local function same_set(a, b)
  local seen = {}
  for _, name in ipairs(a) do
    seen[name] = 1
  end
  for _, name in ipairs(b) do
    if not seen[name] then
      return false
    end
    seen[name] = 2
  end
  for _, mark in pairs(seen) do
    if mark == 1 then
      return false
    end
  end
  return true
end

--- Which tools to build. `known` is the array of all names.
local function choose(options, known, default)
  local allow, include = options.allow, options.include
  if allow and include and not same_set(allow, include) then
    return refuse("allow and include are two names for one option, and they differ")
  end
  local chosen = allow or include or default
  if #chosen == 0 then
    return refuse("%s is empty: there would be no tool", allow and "allow" or "include")
  end
  local exists, wanted = {}, {}
  for _, name in ipairs(known) do
    exists[name] = true
  end
  for _, name in ipairs(chosen) do
    if not exists[name] then
      return refuse("there is no tool '%s'; the tools are %s", name, table.concat(known, ", "))
    end
    wanted[name] = true
  end
  return wanted
end

--- The session's own limits, where it has them.
local function session_limit(session, name)
  local own = session.limits or session._limits
  local value = type(own) == "table" and own[name]
  return type(value) == "number" and value or nil
end

---@class anvia.sandbox.tools.Limits
---@field wanted table<string, true>
---@field allowed_commands string[]?
---@field blocked_commands string[]?
---@field exec {default: integer, max: integer}     milliseconds
---@field wait {default: integer, max: integer}     milliseconds
---@field lines {default: integer, max: integer}
---@field output_bytes integer    of each stream of a command
---@field read_bytes integer
---@field write_bytes integer?    nil: the session's own limit
---@field log_bytes integer
---@field grace_ms integer

--- Fills in every default, or says what contradicts what.
---@param options table   passed by `limits.OPTIONS`
---@param session table
---@param known string[]
---@param default string[]
---@return anvia.sandbox.tools.Limits?
---@return anvia.sandbox.Error?
function limits.resolve(options, session, known, default)
  local exec, read = options.exec or {}, options.read_file or {}
  local process, write = options.process or {}, options.write_file or {}

  local wanted, err = choose(options, known, default)
  if not wanted then
    return nil, err
  end
  local ok, exec_time, wait_time, line_count
  ok, err = check_commands(exec)
  if not ok then
    return nil, err
  end
  exec_time, err = pair(exec, "exec", "default_timeout_ms",
    session_limit(session, "timeout_ms") or DEFAULT_TIMEOUT_MS,
    "max_timeout_ms", limits.MAX_TIMEOUT_MS)
  if not exec_time then
    return nil, err
  end
  wait_time, err = pair(process, "process", "default_wait_timeout_ms", DEFAULT_TIMEOUT_MS,
    "max_wait_timeout_ms", limits.MAX_TIMEOUT_MS)
  if not wait_time then
    return nil, err
  end
  line_count, err = pair(read, "read_file", "default_line_count", 500, "max_line_count", 2000)
  if not line_count then
    return nil, err
  end
  local most_output = session_limit(session, "max_output_bytes") or limits.MAX_TEXT_BYTES
  return {
    wanted = wanted,
    allowed_commands = exec.allowed_commands,
    blocked_commands = exec.blocked_commands,
    exec = exec_time,
    wait = wait_time,
    lines = line_count,
    output_bytes = exec.max_output_bytes or math.min(64 * KIB, most_output),
    read_bytes = read.max_bytes or 64 * KIB,
    write_bytes = write.max_bytes,
    log_bytes = process.max_log_bytes or 64 * KIB,
    grace_ms = process.stop_grace_period_ms or 5000,
  }
end

return limits
