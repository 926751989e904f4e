-- SPDX-License-Identifier: MIT
-- hostile.lua - for the specs in which the workload is the enemy: sessions of the
-- supervisor, attacks in Python, and looks from the host.

local assert = require("luassert")
local helper = require("spec.helper")
local outside = require("spec.support.outside")
local sandbox = require("anvia.sandbox")

local M = {}

M.IMAGE = "anvia-test/hostile:1"

--- Who the workload is: root by name, the image's own user, and somebody else.
M.USERS = {
  { name = "root", user = "0" },
  { name = "the image's user" },
  { name = "uid 1000", user = "1000:1000" },
}

--- A session with the supervisor in it.
function M.session(extra, session_options)
  local options = { image = helper.DEBIAN, runner = "supervisor" }
  for key, value in pairs(extra or {}) do
    options[key] = value
  end
  return helper.session(options, session_options)
end

--- Runs a Python program to its end.
function M.python(session, program, args, extra)
  local opts = { command = "python3", args = { "-c", program }, timeout_ms = 60000 }
  for _, arg in ipairs(args or {}) do
    opts.args[#opts.args + 1] = arg
  end
  for key, value in pairs(extra or {}) do
    opts[key] = value
  end
  return session:exec(opts)
end

--- The lines that a Python program prints, as a set; it must succeed.
function M.findings(session, program, args)
  local result = assert(M.python(session, program, args))
  assert.are.equal("", result.stderr)
  assert.are.equal(0, result.exit_code)
  local found = {}
  for line in result.stdout:gmatch("[^\n]+") do
    found[line] = true
  end
  return found
end

--- PID 1 of the session, as the host numbers it.
function M.pid1(session)
  local said = outside.sh("docker inspect --format '{{.State.Pid}}' anvia-sandbox-" .. session.id)
  return assert(tonumber(said), said)
end

--- A field of /proc/PID/status on the host.
function M.status(pid, field)
  local said = outside.sh(string.format("cat /proc/%d/status", pid))
  return said:match("\n" .. field .. ":%s*([^\n]*)")
end

--- How many descriptors PID 1 has open.
function M.descriptors(session)
  return tonumber((outside.sh(string.format("ls /proc/%d/fd | wc -l", M.pid1(session)))))
end

--- The session does all that sessions do.
function M.intact(session)
  local result = assert(session:exec({ command = "echo", args = { "still here" } }))
  assert.are.equal("still here\n", result.stdout)
  assert.are.equal(0, result.exit_code)
  assert(session:write_file("intact/file", "kept"))
  assert.are.equal("kept", assert(session:read_file("intact/file")))
  assert.are.equal(1, #assert(session:list_files("intact")))
  local info = assert(session:start_process({ command = "sleep", args = { "900" } }))
  assert.are.equal("stopped", assert(session:stop_process(info.id)).status)
  assert(session:remove("intact", { recursive = true }))
end

--- The session goes on, or it is over and says so.
function M.intact_or_over(session)
  local result, err = session:exec({ command = "true" })
  if result then
    M.intact(session)
  else
    assert.are.equal("session_destroyed", err.code)
  end
end

--- How many live processes of the session have `text` in their arguments, as the host
--- sees it. A zombie lives while it has more than one thread.
function M.alive(session, text)
  local said = outside.sh("docker top anvia-sandbox-" .. session.id .. " -eo pid,nlwp,stat,args")
  local count = 0
  for threads, state, arguments in said:gmatch("\n%s*%d+%s+(%d+)%s+(%S+)%s+([^\n]*)") do
    local dead = state:sub(1, 1) == "Z" and threads == "1"
    if not dead and arguments:find(text, 1, true) then
      count = count + 1
    end
  end
  return count
end

--- How many threads the container has, by its control group: also those that no list of
--- processes shows, because they are never the same for long.
function M.tasks(session)
  local said = outside.sh("pid=$(docker inspect --format '{{.State.Pid}}' anvia-sandbox-"
    .. session.id .. ") && while IFS=: read -r _ kinds path; do case $kinds in"
    .. " pids) cat /sys/fs/cgroup/pids$path/pids.current ;;"
    .. " '') cat /sys/fs/cgroup$path/pids.current 2>/dev/null ;; esac; done </proc/$pid/cgroup")
  return assert(tonumber(said:match("%d+")), said)
end

--- Nothing with `text` in its arguments lives, and nothing appears again.
function M.gone(session, text)
  for _ = 1, 5 do
    assert.are.equal(0, M.alive(session, text))
    sandbox.sleep(50)
  end
end

return M
