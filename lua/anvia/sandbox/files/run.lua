-- SPDX-License-Identifier: MIT
-- run.lua - runs one of the file scripts in a session.

local errors = require("anvia.sandbox.errors")
local failures = require("anvia.sandbox.files.failures")
local path = require("anvia.sandbox.path")

-- Enough for whatever the tools have to say.
local MESSAGE_BYTES = 65536

--- Runs `script` on `paths`; the arguments follow the workspace in "$@".
---
--- Its deadline is the session's `limits.timeout_ms`, like that of any command.
---@param session table
---@param op string            the method, for errors
---@param script string
---@param paths string[]       relative paths, for errors
---@param args string[]
---@param more? {input: string?, max_output_bytes: integer?}
---@return table? result       {stdout, stderr}
---@return anvia.sandbox.Error? err
return function(session, op, script, paths, args, more)
  more = more or {}
  local words = { "-c", script, "sh", session.workdir }
  for _, word in ipairs(args) do
    words[#words + 1] = word
  end
  local result, err = session:_internal_exec({
    command = "/bin/sh",
    args = words,
    input = more.input,
    timeout_ms = session._limits.timeout_ms,
    max_output_bytes = math.max(more.max_output_bytes or 0, MESSAGE_BYTES),
  })
  if not result then
    return nil, errors.wrap(op, err)
  end
  if result.timed_out then
    return nil, errors.new(op, "timeout", "%s: no answer within %s ms", path.show(paths[1]),
      tostring(session._limits.timeout_ms))
  elseif result.exit_code ~= 0 then
    return nil, failures.explain(op, paths, result)
  elseif result.stdout_truncated then
    return nil, errors.new(op, "file_size", "%s: more than %d bytes of answer",
      path.show(paths[1]), more.max_output_bytes or MESSAGE_BYTES)
  end
  return result
end
