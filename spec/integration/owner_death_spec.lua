-- SPDX-License-Identifier: MIT
-- The owner is killed at random moments; what is left is judged by the engine and the
-- host's process table.

local helper = require("spec.helper")
local kills = require("spec.support.owner_kills")
local outside = require("spec.support.outside")

local TRIES = tonumber(os.getenv("KILLS")) or 30

helper.describe("a killed owner", { helper.BUSYBOX }, function()
  it("leaves nothing, whatever it was doing", function()
    math.randomseed(20)
    local seen = {}
    for _ = 1, TRIES do
      local where, left = kills.once(5000, helper.RUNNER)
      seen[where] = true
      assert.is_nil(left)
    end
    -- the kills hit more than one kind of moment
    local kinds = 0
    for _ in pairs(seen) do
      kinds = kinds + 1
    end
    assert.is_true(kinds >= 3, "the kills came always at the same point")
  end)

  it("leaves no client of the engine", function()
    local owner = helper.script(kills.OWNER, helper.BUSYBOX, helper.RUNNER)
    helper.eventually(function()
      return owner.output():find("write", 1, true)
    end)
    owner.kill("KILL")
    helper.eventually(function()
      return #outside.clients() == 0
    end)
    owner.forget()
  end)
end)
