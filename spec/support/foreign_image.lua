-- SPDX-License-Identifier: MIT
-- foreign_image.lua - an image that says it is of an architecture nobody here has, and
-- runs all the same, for the time of a spec.

local outside = require("spec.support.outside")

local M = {}

M.NAME = "anvia-test/foreign:spec"
M.ARCHITECTURE = "s390x"

-- The image's description is changed in an archive of it.
local SCRIPT = [[
  set -e
  dir=$(mktemp -d)
  trap 'rm -rf "$dir"' EXIT
  docker save %s | tar -C "$dir" -x
  rm -f "$dir/repositories"
  for file in "$dir"/*.json; do
    sed -i -e 's/"architecture":"[^"]*"/"architecture":"%s"/' -e 's,"%s","%s",' "$file"
  done
  tar -C "$dir" -c . | docker load]]

--- Makes the image. What cannot be made fails the first test that needs it.
function M.make(from)
  local said, ok = outside.sh("sh -c " .. outside.quote(SCRIPT:format(from, M.ARCHITECTURE, from,
    M.NAME)))
  assert(ok, said)
end

function M.remove()
  outside.sh("docker image rm -f " .. M.NAME)
end

return M
