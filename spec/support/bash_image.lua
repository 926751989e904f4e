-- SPDX-License-Identifier: MIT
-- bash_image.lua - the Debian image with bash as its /bin/sh, for the time of a spec.

local outside = require("spec.support.outside")

local M = {}

M.NAME = "anvia-test/bash-as-sh:spec"

--- Makes the image. What cannot be made fails the first test that needs it.
function M.make(from)
  local said, ok = outside.sh(table.concat({
    "c=$(docker create --entrypoint /bin/ln " .. outside.quote(from) .. " -sf bash /bin/sh)",
    "docker start -a $c",
    "docker commit $c " .. M.NAME,
    "docker rm $c",
  }, " && "))
  assert(ok, said)
end

function M.remove()
  outside.sh("docker image rm -f " .. M.NAME)
end

return M
