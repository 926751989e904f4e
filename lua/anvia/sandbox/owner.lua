-- SPDX-License-Identifier: MIT
-- owner.lua - who owns a session, written into labels, and whether that owner
-- is provably dead.
--
-- A process is named by the boot of its machine, its pid namespace (containers of
-- one machine share the boot id and number their pids apart), its pid, and its
-- start time (pids are used again). Dead is what can be proven from here; all
-- doubt is "unknown".

local core = require("anvia.sandbox.core")
local task = require("anvia.sandbox.task")

local M = {}

local PREFIX = "anvia.sandbox.owner."

-- The whole file, or nil and the system's error number (2 is "no such file").
local function read_file(path)
  local file, _, code = io.open(path, "r")
  if not file then
    return nil, code
  end
  local text, _, read_code = file:read("a")
  file:close()
  return text, read_code
end

local function read_line(path, read)
  return ((read(path) or ""):match("^[^\n]*"))
end

-- State letter and start time from /proc/<pid>/stat. The name in parentheses may
-- hold anything, so only what follows the last parenthesis counts.
local function parse_stat(text)
  local rest = text:match("^.*%)%s+(.*)$")
  if not rest then
    return nil
  end
  local fields = {}
  for word in rest:gmatch("%S+") do
    fields[#fields + 1] = word
  end
  return fields[1], fields[20]
end

-- Plain Lua cannot read a link; the question costs one short child process.
local function pid_namespace()
  local result = task.await(core.run({
    argv = { "readlink", "/proc/self/ns/pid" },
    timeout_ms = 5000,
    max_output_bytes = 256,
  }))
  return result and result.exit_code == 0 and result.stdout:match("%d+") or ""
end

local known

--- This process, as an owner. A forked child gets an answer of its own.
function M.here()
  local pid = core.getpid()
  if not known or known.pid ~= pid then
    local _, start = parse_stat(read_file("/proc/" .. pid .. "/stat") or "")
    known = {
      boot = read_line("/proc/sys/kernel/random/boot_id", read_file),
      host = read_line("/proc/sys/kernel/hostname", read_file),
      pidns = pid_namespace(),
      pid = pid,
      start = start or "",
    }
  end
  return known
end

--- Adds the labels of `owner` to `labels`.
function M.label(labels, owner)
  labels[PREFIX .. "boot"] = owner.boot
  labels[PREFIX .. "host"] = owner.host
  labels[PREFIX .. "pidns"] = owner.pidns
  labels[PREFIX .. "pid"] = string.format("%d", owner.pid)
  labels[PREFIX .. "start"] = owner.start
  return labels
end

--- The owner that `labels` name, or nil when something is missing or malformed.
function M.from_labels(labels)
  local pid = (labels[PREFIX .. "pid"] or ""):match("^[1-9]%d*$")
  local owner = {
    boot = labels[PREFIX .. "boot"] or "",
    host = labels[PREFIX .. "host"] or "",
    pidns = labels[PREFIX .. "pidns"] or "",
    start = labels[PREFIX .. "start"] or "",
    pid = pid and #pid <= 10 and tonumber(pid),
  }
  if not owner.pid or owner.boot == "" then
    return nil
  end
  return owner
end

-- True when /proc shows the processes of other users too.
local function sees_everybody(read)
  for line in (read("/proc/self/mounts") or ""):gmatch("[^\n]+") do
    if line:find("^%S+ /proc proc ") and line:find("hidepid=") then
      return false
    end
  end
  return read("/proc/1/stat") ~= nil
end

--- "alive", "dead" or "unknown", and the reason in words. `here` is M.here();
--- `read` reads a file, as io does, and is there for the specs.
function M.state(owner, here, read)
  read = read or read_file
  if owner.boot ~= here.boot then
    return "unknown", "its owner belongs to another machine or another boot"
  elseif owner.pidns == "" or owner.pidns ~= here.pidns then
    return "unknown", "its owner belongs to another pid namespace"
  elseif owner.start == "" then
    return "unknown", "its owner's start time is not known"
  end
  local text, code = read(string.format("/proc/%d/stat", owner.pid))
  if text then
    local state, start = parse_stat(text)
    if not start then
      return "unknown", "its owner's status cannot be read"
    elseif start ~= owner.start then
      return "dead", "its owner's pid belongs to another process now"
    elseif state == "Z" or state == "X" then
      return "dead", "its owner has ended"
    end
    return "alive", "its owner is alive"
  elseif (code == 2 or code == 3) and sees_everybody(read) then
    return "dead", "its owner is gone"
  end
  return "unknown", "its owner cannot be seen from here"
end

return M
