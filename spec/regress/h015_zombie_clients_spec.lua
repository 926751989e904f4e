-- SPDX-License-Identifier: MIT
-- A client that is forgotten while it runs must still be reaped, and a host that
-- ignores SIGCHLD must get its answers.

local helper = require("spec.helper")
local outside = require("spec.support.outside")
local sandbox = require("anvia.sandbox")

describe("clients of the engine", function()
  if not helper.engine(helper.BUSYBOX) then
    return
  end

  it("are reaped when session and command are forgotten", function()
    do
      local session = assert(sandbox.docker(helper.options()):create_session())
      for _ = 1, 3 do
        assert(session:exec_stream({ command = "sleep", args = { "600" } }))
      end
      session = nil -- luacheck: ignore
    end
    helper.eventually(function()
      collectgarbage()
      return #outside.children() == 0
    end)
  end)

  it("answer a host that ignores SIGCHLD", function()
    local name = os.tmpname()
    local file = assert(io.open(name, "w"))
    file:write([[
      local sandbox = require("anvia.sandbox")
      local options = require("spec.support.chosen").options({ image = arg[1] })
      local session = assert(sandbox.docker(options):create_session())
      local result, err = session:exec({ command = "sh", args = { "-c", "echo hi; exit 3" } })
      print(result and result.stdout .. result.exit_code or err)
      print(session:destroy())]])
    file:close()
    local said = outside.sh(string.format("perl -e '$SIG{CHLD} = \"IGNORE\"; exec @ARGV' "
      .. "timeout 30 %s %s %s", os.getenv("SBX_LUA") or "lua5.4", name, helper.BUSYBOX))
    os.remove(name)
    assert.equal("hi\n3\ntrue\n", said)
  end)
end)
