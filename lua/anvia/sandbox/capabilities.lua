-- SPDX-License-Identifier: MIT
-- capabilities.lua - what the option `security.drop_capabilities` leaves, where a
-- supervisor is PID 1.
--
-- PID 1 has a few capabilities of its own, so the engine cannot be asked to drop them
-- for the whole container. Commands get what the engine would have left them, and this
-- is worked out here; the supervisor takes everything else away before a command begins.

local M = {}

-- What engines give to a container that says nothing.
local DEFAULT = {
  "AUDIT_WRITE", "CHOWN", "DAC_OVERRIDE", "FOWNER", "FSETID", "KILL", "MKNOD",
  "NET_BIND_SERVICE", "NET_RAW", "SETFCAP", "SETGID", "SETPCAP", "SETUID", "SYS_CHROOT",
}

-- What PID 1 needs to hand the workspace over, to become the session's user, and to
-- signal the processes of any user.
local PID1 = { "CHOWN", "DAC_OVERRIDE", "FOWNER", "KILL", "SETGID", "SETPCAP", "SETUID" }

-- The numbers of Linux for the names in DEFAULT.
local NUMBERS = {
  CHOWN = 0,
  DAC_OVERRIDE = 1,
  FOWNER = 3,
  FSETID = 4,
  KILL = 5,
  SETGID = 6,
  SETUID = 7,
  SETPCAP = 8,
  NET_BIND_SERVICE = 10,
  NET_RAW = 13,
  SYS_CHROOT = 18,
  MKNOD = 27,
  AUDIT_WRITE = 29,
  SETFCAP = 31,
}

-- Engines take names in any case, with and without "CAP_".
local function dropped(list)
  local set = {}
  for _, name in ipairs(list) do
    set[(name:upper():gsub("^CAP_", ""))] = true
  end
  return set
end

--- The names that commands keep, in order, and the same as a mask by number.
function M.of_commands(drop)
  local gone = dropped(drop)
  local names, mask = {}, 0
  for _, name in ipairs(gone.ALL and {} or DEFAULT) do
    if not gone[name] then
      names[#names + 1] = name
      mask = mask + 2 ^ NUMBERS[name]
    end
  end
  return names, mask
end

--- The names that the container needs: PID 1's, and those of its commands.
function M.of_container(commands)
  local set, names = {}, {}
  for _, list in ipairs({ PID1, commands }) do
    for _, name in ipairs(list) do
      if not set[name] then
        set[name] = true
        names[#names + 1] = name
      end
    end
  end
  table.sort(names)
  return names
end

return M
