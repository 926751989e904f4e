-- SPDX-License-Identifier: MIT
-- A container that does not notice the end of its lease is removed all the same, also
-- while Lua is busy.

local core = require("anvia.sandbox.core")
local helper = require("spec.helper")
local outside = require("spec.support.outside")

-- Keeps a writing end of PID 1's input, so that PID 1 never reads its end.
local HOLDER = {
  command = "sh",
  args = {
    "-c",
    [[for fd in 0 3; do exec 5>/proc/1/fd/$fd && [ -p /proc/self/fd/5 ] && exec sleep 1000; done]],
  },
}

local TTL_MS = 2000

-- Without a look at what the core has done: Lua only runs other programs.
local function gone_within(ms)
  local deadline = core.now_ms() + ms
  local left
  repeat
    left = table.concat(outside.containers(), " ")
  until left == "" or core.now_ms() > deadline
  assert.are.equal("", left)
end

describe("a session whose container does not see the end of its lease", function()
  if not helper.engine(helper.DEBIAN) then
    return
  end

  for _, image in ipairs(helper.IMAGES) do
    it("ends with its time to live, though its input is held open: " .. image, function()
      local session = helper.session({ image = image, lifecycle = { ttl_ms = TTL_MS } })
      assert(session:start_process(HOLDER))
      gone_within(TTL_MS + 5700)
    end)
  end

  it("ends with its time to live, though it is paused", function()
    local session = helper.session({ lifecycle = { ttl_ms = TTL_MS } })
    outside.sh("docker pause anvia-sandbox-" .. session.id)
    gone_within(TTL_MS + 5700)
  end)

  it("is destroyed in seconds", function()
    local session = helper.session()
    assert(session:start_process(HOLDER))
    local took = helper.timed(session.destroy, session)
    assert.is_true(took < 8000, took)
  end)
end)
