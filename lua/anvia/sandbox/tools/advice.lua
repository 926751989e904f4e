-- SPDX-License-Identifier: MIT
--- What to do next, added to errors that a model meets.
---
--- An error keeps its code and its facts; only the message gains a sentence.
local errors = require("anvia.sandbox.errors")
local text = require("anvia.sandbox.tools.text")

local advice = {}

--- The same error with one more sentence.
---@param err anvia.sandbox.Error
---@param sentence string?
function advice.add(err, sentence)
  if not sentence then
    return err
  end
  local message = text.trim_end(err.message)
  if not message:find("[.!?]$") then
    message = message .. "."
  end
  local more = errors.new(err.op, err.code, "%s %s", message, sentence)
  for key, value in pairs(err) do
    if more[key] == nil then
      more[key] = value
    end
  end
  more.cause = err
  return more
end

--- A command that could not be started.
function advice.on_start(err, input)
  if err.code ~= "process" then
    return err
  elseif input.command:find("%s") then
    return advice.add(err, "'command' is one program: send its arguments in 'args', or run sh with "
      .. "the args [\"-c\", \"<the whole line>\"].")
  elseif input.command:find("[|&;<>*$]") then
    return advice.add(err, "'command' is not a shell line: run sh with the args "
      .. "[\"-c\", \"<the whole line>\"].")
  end
  return err
end

--- A process id that is not known.
function advice.on_process(err, session)
  if err.code ~= "not_found" then
    return err
  end
  local known, ids = session:list_processes(), {}
  for _, info in ipairs(known or {}) do
    ids[#ids + 1] = info.id
  end
  if #ids == 0 then
    return advice.add(err, "There are no processes; start one with start_process.")
  end
  return advice.add(err, "The process ids are " .. table.concat(ids, ", ") .. ".")
end

return advice
