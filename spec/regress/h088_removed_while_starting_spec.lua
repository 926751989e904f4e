-- SPDX-License-Identifier: MIT
-- A container that goes away while commands start in it is a lost session for each of
-- them, not a failure of the engine.

local helper = require("spec.helper")
local sandbox = require("anvia.sandbox")

helper.describe("calls that start when the container goes", { helper.BUSYBOX }, function()
  for _, how in ipairs({ "rm -f", "kill" }) do
    it("all say that the session is destroyed: docker " .. how, function()
      for delay = 0, 100, 25 do
        local session = helper.session()
        os.execute(string.format("(sleep %.3f; docker %s anvia-sandbox-%s) >/dev/null 2>&1 &",
          delay / 1000, how, session.id))
        local calls = {
          function()
            return session:exec({ command = "sleep", args = { "3" } })
          end,
          function()
            return session:write_file("x", ("y"):rep(3000000))
          end,
          function()
            return session:start_process({ command = "sleep", args = { "3" } })
          end,
        }
        local results, errs = sandbox.all(calls)
        assert.is_nil(results[1])
        for i = 1, #calls do
          local err = errs[i]
          assert.is_true(not err or err.code == "session_destroyed", tostring(err))
        end
        assert(session:destroy())
      end
    end)
  end
end)
