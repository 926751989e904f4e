-- SPDX-License-Identifier: MIT
-- A host without standard input, output or error, as daemons are, works and ends as
-- others do.

local helper = require("spec.helper")
local outside = require("spec.support.outside")

local HOST = [[
  local options = require("spec.support.chosen").options({ image = arg[1] })
  local session = assert(require("anvia.sandbox").docker(options):create_session())
  local result = assert(session:exec({ command = "cat", input = "text" }))
  assert(result.stdout == "text" and result.stderr == "")
  assert(session:destroy())
]]

helper.describe("a host that has closed", { helper.BUSYBOX }, function()
  for _, closed in ipairs({ "<&-", ">&-", "2>&-", "<&- >&- 2>&-" }) do
    it(closed .. " does its work and ends well", function()
      local name = os.tmpname()
      local file = assert(io.open(name, "w"))
      file:write(HOST)
      file:close()
      local said = outside.sh(string.format("(%s %s %s %s); echo status $?",
        os.getenv("SBX_LUA") or "lua5.4", name, outside.quote(helper.BUSYBOX), closed))
      os.remove(name)
      assert.are.equal("status 0\n", said)
    end)
  end
end)
