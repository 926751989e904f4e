-- SPDX-License-Identifier: MIT
--- The limits of a tool set as they bear on the methods of a session.
---
--- A cap is function(args, limits) -> true | nil, err. It may change `args`, which is a copy: a
--- value that was left out becomes the default, so a limit holds also then.
local errors = require("anvia.sandbox.errors")

local caps = {}

local function duration(op, options, field, limit)
  local value = options[field]
  if value == nil then
    options[field] = limit.default
  elseif type(value) == "number" and (value > limit.max or value ~= value) then
    return nil, errors.new(op, "tool_policy", "%s is above the limit of %d", field, limit.max)
  end
  return true
end

local function command(op)
  return function(args, limits)
    local options = args[1]
    if type(options) ~= "table" then
      return true -- the session says what is wrong
    end
    return duration(op, options, "timeout_ms", limits.exec)
  end
end

caps.exec = command("exec")
caps.exec_stream = command("exec_stream")

local function wait(op)
  return function(args, limits)
    args[2] = args[2] == nil and {} or args[2]
    if type(args[2]) ~= "table" then
      return true
    end
    return duration(op, args[2], "timeout_ms", limits.wait)
  end
end

caps.wait_for_port = wait("wait_for_port")
caps.wait_process = wait("wait_process")

function caps.stop_process(args, limits)
  args[2] = args[2] == nil and {} or args[2]
  if type(args[2]) ~= "table" then
    return true
  end
  return duration("stop_process", args[2], "grace_period_ms",
    { default = limits.grace_ms, max = limits.grace_ms })
end

local function content(op)
  return function(args, limits)
    local most, data = limits.write_bytes, args[2]
    if most and type(data) == "string" and #data > most then
      return nil, errors.new(op, "file_size", "the content has %d bytes; at most %d may be "
        .. "written. Write less, or several files.", #data, most)
    end
    return true
  end
end

caps.write_file = content("write_file")
caps.write_archive = content("write_archive")

return caps
