-- SPDX-License-Identifier: MIT
-- workspace.lua - makes a new session's workspace usable for its user.
--
-- A fresh volume belongs to root, or to whoever owns that directory in the image. The
-- supervisor hands it over before it greets. Without one, its owner may open it to
-- everybody without any capability, so the owner is asked.

local errors = require("anvia.sandbox.errors")

local M = {}

local OP = "create_session"

-- The numeric owner of the directory; `ls -nd` is the portable way to see it.
local OWNER = [[set -- $(ls -nd "$1") && printf %s "$3"]]
local OPEN = [[chmod 0777 "$1"]]
local WRITABLE = [=[[ -w "$1" ] && [ -x "$1" ]]=]

-- Prints the owner of the first entry that belongs to somebody else and cannot be
-- written. For root, `-w` is always true in some shells, also without the capability
-- to write what others own, so its capabilities (CAP_DAC_OVERRIDE is 2) are looked at.
-- Some file systems bring a lost+found of root's along.
local STRANGER = [=[
cd "$1" || exit 0
wanted=$2 capable=
while read -r key value; do
  [ "$key" = CapEff: ] && [ $((0x$value & 2)) != 0 ] && capable=yes
done </proc/self/status
may_write() {
  [ "$wanted" = 0 ] || { [ -w "$1" ]; return; }
  [ -n "$capable" ] || [ -O "$1" ]
}
for name in * .[!.]* ..?*; do
  [ -e "$name" ] && [ ! -L "$name" ] && [ "$name" != lost+found ] || continue
  may_write "./$name" && continue
  set -- $(ls -nd "./$name")
  [ "$3" = "$wanted" ] && continue
  printf %s "$3"
  exit 0
done]=]

local function run(session, script, arg)
  return session:_internal_exec({
    command = "/bin/sh",
    args = { "-c", script, "sh", session.workdir, arg },
    timeout_ms = session._limits.timeout_ms,
    max_output_bytes = 4096,
  })
end

local function unusable(session, why)
  return nil, errors.new(OP, "docker_command", "the workspace %s cannot be written by the "
    .. "session's user: %s", session.workdir, why)
end

-- Opens the directory as its owner.
local function open_to_all(session)
  local owner, err = run(session, OWNER)
  if not owner then
    return nil, err
  end
  local uid = owner.stdout:match("^%d+$")
  if not uid then
    return unusable(session, "its owner cannot be found")
  end
  local changed
  changed, err = session._engine:run_as(session._plan.name, uid,
    { "/bin/sh", "-c", OPEN, "sh", session.workdir })
  if not changed then
    return unusable(session, err.message)
  end
  local check
  check, err = run(session, WRITABLE)
  if not check then
    return nil, err
  elseif check.exit_code ~= 0 then
    return unusable(session, "it belongs to uid " .. uid)
  end
  return true
end

local function check_entries(session, uid)
  local result, err = run(session, STRANGER, tostring(uid))
  if not result and err.code == "process" and session.runner == "supervisor" then
    return true -- an image without a shell: what cannot be written shows when it is written
  elseif not result then
    return nil, err
  elseif result.stdout ~= "" then
    return nil, errors.new(OP, "docker_command", "the workspace '%s' holds files of uid %s, "
      .. "which the session's user, uid %s, cannot write", session._plan.volume.name,
      result.stdout, tostring(uid))
  end
  return true
end

--- `hello` is what the container said about its user: {uid, writable}.
function M.prepare(session, hello)
  if not hello.writable and session.runner == "supervisor" then
    return unusable(session, "it belongs to somebody else, or is read-only")
  elseif not hello.writable then
    local ok, err = open_to_all(session)
    if not ok then
      return nil, err
    end
  end
  if session._plan.volume.name then
    return check_entries(session, hello.uid)
  end
  return true
end

return M
