-- SPDX-License-Identifier: MIT
-- The file methods of real sessions: every case, in each kind of image, as root and
-- not, with and without a root file system that can be written.

local files_cases = require("spec.support.files_cases")
local helper = require("spec.helper")
local manifest = require("anvia.sandbox.manifest")
local outside = require("spec.support.outside")
local sandbox = require("anvia.sandbox")

-- The portable runner starts a process for every step of an archive, and its scripts meet every
-- name in unit/files_shells, too.
local PORTABLE = helper.RUNNER == "exec"

-- All cases where tools and rights differ most; elsewhere what depends on the
-- difference.
local CASES = {
  { name = "busybox, uid 1000, read-only root file system", image = helper.BUSYBOX,
    user = "1000:1000", readonly = true },
  { name = "Debian, root", image = helper.DEBIAN,
    groups = PORTABLE and { "written", "listing", "links" } or nil },
  { name = "busybox, root, read-only root file system", image = helper.BUSYBOX, readonly = true,
    groups = { "written" } },
  { name = "Debian, uid 1000", image = helper.DEBIAN, user = "1000:1000",
    groups = { "written" } },
  { name = "an image with a USER", image = "anvia-test/user:1", groups = { "written" } },
  { name = "an image without find", image = "anvia-test/nofind:1", groups = { "listing" } },
}

-- One session for all cases of a describe(), with an empty workspace for each.
local function world_of(case)
  local world = { few_names = PORTABLE }
  local before, written

  setup(function()
    -- the first child opens a descriptor that stays
    assert(sandbox.docker(helper.options()):list())
    before = outside.baseline()
    world.session = assert(sandbox.docker(helper.options({
      image = case.image,
      user = case.user,
      security = { readonly_rootfs = case.readonly },
      hooks = {
        on_file_write = function(event)
          assert(event.session_id == world.session.id and event.workdir == "/workspace")
          written[#written + 1] = { path = event.path, size = event.size }
        end,
      },
    })):create_session())
  end)

  teardown(function()
    assert(world.session:destroy())
    local complaint = outside.left_behind(before)
    if complaint then
      error("left behind:\n" .. complaint, 0)
    end
  end)

  before_each(function()
    written = {}
    world.sh("rm -rf ./* ./.[!.]* ./..?*")
  end)

  function world.sh(script)
    return assert(world.session:exec({ command = "sh", args = { "-c", script } })).stdout
  end

  function world.outside()
    world.sh("rm -rf /tmp/outside; mkdir /tmp/outside")
    return "/tmp/outside"
  end

  function world.written()
    local list = written
    written = {}
    return list
  end

  function world.apply(tree)
    return manifest.apply(world.session, assert(manifest.CHECK(tree, "manifest")))
  end

  return world
end

for _, case in ipairs(CASES) do
  describe("files in " .. case.name, function()
    if not helper.needs_engine(case.image) then
      pending("no engine here")
      return
    end
    local world = world_of(case)
    files_cases.run(world, case.groups)
  end)
end
