-- SPDX-License-Identifier: MIT
--- What the container's control group counted: kills for lack of memory, forks that were refused.
---
--- A killed command and one that could not fork look the same whatever the reason; the counters
--- tell. They are read after such an end only, so an ordinary command costs nothing. They cannot be
--- read while the limit of processes leaves no room for the reader.
local evidence = {}

-- Builtins only: it must also run when no process can be started. Version 2 of control groups has
-- the first file of each pair, version 1 the second.
local SCRIPT = [[
show() {
  while read -r name count; do
    [ "$name" != "$2" ] || echo "$2 $count"
  done <"$1"
} 2>/dev/null
for file in /sys/fs/cgroup/memory.events /sys/fs/cgroup/memory/memory.oom_control; do
  [ ! -r "$file" ] || show "$file" oom_kill
done
for file in /sys/fs/cgroup/pids.events /sys/fs/cgroup/pids/pids.events; do
  [ ! -r "$file" ] || show "$file" max
done
]]

-- session -> the counters when they were last read; they begin at 0 with the container.
local LAST = setmetatable({}, { __mode = "k" })

local function read(session)
  local result = session:_internal_exec({
    command = "/bin/sh",
    args = { "-c", SCRIPT },
    timeout_ms = 5000,
    max_output_bytes = 4096,
  })
  if not result or result.exit_code ~= 0 then
    return nil
  end
  return {
    oom_kill = tonumber(result.stdout:match("oom_kill (%d+)")),
    max = tonumber(result.stdout:match("max (%d+)")),
  }
end

local function rose(now, last, name)
  if now[name] then
    return now[name] > (last[name] or 0)
  end
end

--- Whether a command seems to have failed for want of a process or thread.
function evidence.could_not_fork(result)
  local text = result.stderr
  return result.exit_code ~= 0 and (text:find("temporarily unavailable", 1, true) ~= nil
    or text:find("fork", 1, true) ~= nil or text:find("thread", 1, true) ~= nil)
end

function evidence.was_killed(result)
  return not result.timed_out and not result.cancelled
    and (result.exit_code == 137 or result.signal == "KILL" or result.signal == "SIGKILL")
end

--- Sets result.oom_killed and result.pids_limited to true or false where that can be told. The
--- runner may have told already that the command itself was killed for lack of memory; that one of
--- its own children was, only the counters know.
function evidence.add(session, result)
  local killed, starved = evidence.was_killed(result), evidence.could_not_fork(result)
  if not (killed or starved) or type(session._internal_exec) ~= "function" then
    return
  end
  local now, last = read(session), LAST[session] or {}
  LAST[session] = now or last
  if killed and not result.oom_killed then
    local told = now and rose(now, last, "oom_kill")
    -- without counters, only the word of a runner that looks is worth something
    if told ~= nil or not result.usage then
      result.oom_killed = told
    end
  end
  if starved and result.pids_limited == nil then
    result.pids_limited = now and rose(now, last, "max")
  end
end

return evidence
