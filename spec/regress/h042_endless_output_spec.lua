-- SPDX-License-Identifier: MIT
-- Output without end ends at the deadline and at the cap, and no byte is lost before.

local core = require("anvia.sandbox.core")
local helper = require("spec.helper")

local MIB = 1024 * 1024
local SLACK = (os.getenv("SBX_SANITIZE") or "") == "" and 1 or 8

local function resident()
  for line in io.lines("/proc/self/status") do
    local kib = line:match("^VmRSS:%s+(%d+)")
    if kib then
      return tonumber(kib) * 1024
    end
  end
end

helper.describe("output", helper.IMAGES, function()
  for _, image in ipairs(helper.IMAGES) do
    it("on both streams for ever costs the cap, until the deadline: " .. image, function()
      local session = helper.session({ image = image, limits = { max_output_bytes = MIB } })
      assert(session:exec({ command = "true" }))
      local before, began = resident(), core.now_ms()
      local result = assert(session:exec({
        command = "sh",
        args = { "-c", "yes & yes >&2" },
        timeout_ms = 1500,
      }))
      assert.is_true(core.now_ms() - began < 4500)
      assert.is_true(result.timed_out)
      assert.are.equal(MIB, #result.stdout)
      assert.are.equal(MIB, #result.stderr)
      assert.is_true(result.stdout_truncated and result.stderr_truncated)
      assert.is_true(resident() - before < 36 * MIB * SLACK, resident() - before)
      assert.are.equal(0, helper.count(session, "^[y]es"))
    end)

    it("has every size exactly (H045): " .. image, function()
      local session = helper.session({ image = image, limits = { max_output_bytes = 40 * MIB } })
      for _, power in ipairs({ 16, 20, 22, 25 }) do
        for size = 2 ^ power - 1, 2 ^ power + 1 do
          local result = assert(session:exec({
            command = "head",
            args = { "-c", string.format("%d", size), "/dev/zero" },
          }))
          assert.are.equal(size, #result.stdout)
          assert.is_false(result.stdout_truncated)
        end
      end
    end)
  end
end)
