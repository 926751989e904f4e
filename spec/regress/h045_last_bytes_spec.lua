-- SPDX-License-Identifier: MIT
-- Nothing of an output is missing, however much or little it is.

local helper = require("spec.helper")
local sandbox = require("anvia.sandbox")

helper.describe("the last bytes of an output (H045)", { helper.BUSYBOX }, function()
  it("are there, whatever the size", function()
    local session = helper.session({ limits = { max_output_bytes = 1 << 26 } })
    for power = 20, 25 do
      for _, size in ipairs({ (1 << power) - 1, 1 << power, (1 << power) + 1 }) do
        local result = assert(session:exec({ command = "head",
          args = { "-c", tostring(size), "/dev/zero" }, timeout_ms = 60000 }))
        assert.equal(size, #result.stdout)
      end
    end
  end)

  it("are there each time", function()
    local session = helper.session()
    local calls = {}
    for i = 1, 12 do
      calls[i] = function()
        for _ = 1, 5 do
          assert.equal("running\n", assert(session:exec({ command = "echo",
            args = { "running" } })).stdout)
        end
        return true
      end
    end
    local results = sandbox.all(calls)
    for i = 1, #calls do
      assert.is_true(results[i])
    end
  end)
end)
