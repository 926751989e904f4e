-- SPDX-License-Identifier: MIT
-- runner: exec
-- A program that kills the wrapper above it does not get out of sight. (What is above a
-- program of the supervisor's is PID 1; see hostile_pid1_spec.lua.)

local helper = require("spec.helper")

local SCRIPT = "kill -9 $PPID; exec sleep 4245"

for _, image in ipairs(helper.IMAGES) do
  helper.describe("a program in " .. image, { image }, function()
    it("that kills its wrapper is dead when the command returns", function()
      local session = helper.session({ image = image, runner = "exec" })
      local result = assert(session:exec({
        command = "sh",
        args = { "-c", SCRIPT },
        timeout_ms = 20000,
      }))
      assert.are.equal(137, result.exit_code)
      assert.are.equal(0, helper.count(session, "[s]leep 4245"))
    end)

    it("that kills its wrapper is not called ended while it lives", function()
      local session = helper.session({ image = image, runner = "exec" })
      local info = assert(session:start_process({ command = "sh", args = { "-c", SCRIPT } }))
      info = assert(session:wait_process(info.id, { timeout_ms = 20000 }))
      assert.are.equal("exited", info.status)
      assert.are.equal(0, helper.count(session, "[s]leep 4245"))
    end)
  end)
end
