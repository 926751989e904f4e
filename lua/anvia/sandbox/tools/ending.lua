-- SPDX-License-Identifier: MIT
--- Why a command ended as it did, where the exit code alone does not tell a model.
local evidence = require("anvia.sandbox.tools.evidence")

local ending = {}

local function timed_out(result, input, context)
  local limit, advice = context.limits.exec, ""
  if (input.timeoutMs or limit.default) < limit.max then
    advice = string.format(" Send a timeoutMs of up to %d for more.", limit.max)
  end
  if context.has.start_process then
    advice = advice .. " Run what should keep running, such as a server, with start_process."
  end
  return string.format("Stopped after %.0f ms, with all that it had started.%s",
    result.duration_ms, advice)
end

local SAVE_MEMORY = " Use less memory or work on smaller pieces."

local function killed(result)
  if result.oom_killed then
    return "Killed (SIGKILL) because the sandbox ran out of memory." .. SAVE_MEMORY
  elseif result.oom_killed == false then
    return "Killed (SIGKILL), but neither by a time-out nor for lack of memory."
  end
  return "Killed (SIGKILL), and not by a time-out: possibly the sandbox ran out of memory."
    .. SAVE_MEMORY
end

local function starved(result)
  if result.pids_limited then
    return "The limit of processes in the sandbox was reached. Run fewer at once."
  elseif result.pids_limited == nil and evidence.could_not_fork(result)
      and result.stderr:find("temporarily unavailable", 1, true) then
    return "Possibly the limit of processes in the sandbox was reached. Run fewer at once."
  end
end

--- Adds what is to say about the end of a command to `notes`.
---@param result anvia.sandbox.ExecResult
---@param input table
---@param context table
---@param notes string[]
function ending.explain(result, input, context, notes)
  if result.timed_out then
    notes[#notes + 1] = timed_out(result, input, context)
  elseif result.cancelled then
    notes[#notes + 1] = "Stopped by the user, with all that it had started."
  elseif result.oom_killed or evidence.was_killed(result) then
    notes[#notes + 1] = killed(result)
  end
  notes[#notes + 1] = starved(result)
end

return ending
