-- SPDX-License-Identifier: MIT
local core = require("anvia.sandbox.core")

describe("core.supervisor", function()
  it("is a static program for the architecture asked for", function()
    local machines = { amd64 = 62, arm64 = 183 } -- e_machine
    for arch, machine in pairs(machines) do
      local bytes, sha256 = core.supervisor(arch)
      if bytes then
        assert.equal("\127ELF", bytes:sub(1, 4))
        assert.equal(machine, (string.unpack("<I2", bytes, 19)))
        assert.matches("^" .. ("%x"):rep(64) .. "$", sha256)
      end
    end
  end)

  it("is nil for an architecture there is none for", function()
    assert.is_nil((core.supervisor("pdp11")))
    assert.is_nil((core.supervisor("")))
    assert.has_error(function() core.supervisor() end)
  end)
end)
