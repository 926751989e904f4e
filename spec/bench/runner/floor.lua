-- SPDX-License-Identifier: MIT
-- floor.lua - the floors that everything is compared with: a shell that already runs in
-- the container, driven over `docker exec -i`. F0 is a round trip in which it does
-- nothing, F1 one in which it starts a program and waits for it.

local outside = require("spec.support.outside")

local M = {}

local SHELL = [[while read -r what; do case $what in 1) /bin/true ;; esac; echo .; done]]

--- A floor in the container of a session: {f0(), f1(), close()}.
function M.open(session)
  local dir = os.tmpname()
  os.remove(dir)
  outside.sh(string.format("mkdir %s && mkfifo %s/in %s/out", dir, dir, dir))
  os.execute(string.format("docker exec -i anvia-sandbox-%s sh -c %s <%s/in >%s/out 2>&1 &",
    session.id, outside.quote(SHELL), dir, dir))
  local input = assert(io.open(dir .. "/in", "w"))
  local output = assert(io.open(dir .. "/out", "r"))
  outside.sh("rm -r " .. dir)
  input:setvbuf("no")
  local function round(word)
    input:write(word)
    assert(output:read("l") == ".")
  end
  return {
    f0 = function() round("0\n") end,
    f1 = function() round("1\n") end,
    close = function()
      input:close()
      output:close()
    end,
  }
end

return M
