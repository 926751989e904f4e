-- SPDX-License-Identifier: MIT
-- A command that is given up while it starts never runs, not even later.

local helper = require("spec.helper")
local sandbox = require("anvia.sandbox")

-- The shell in the container is busy for a while with looking for the program.
local LONG_PATH = ("/a:"):rep(40000) .. "/bin:/usr/bin"

for _, image in ipairs(helper.IMAGES) do
  helper.describe("a command in " .. image, { image }, function()
    local function request(seconds)
      return { command = "sleep", args = { seconds }, env = { PATH = LONG_PATH } }
    end

    it("does not run when it was cancelled while it started", function()
      local session = helper.session({ image = image })
      for delay = 20, 240, 20 do
        local token = sandbox.cancel_token()
        local opts = request("4231")
        opts.cancel = token
        local task = sandbox.spawn(session.exec, session, opts)
        sandbox.sleep(delay)
        token:cancel()
        assert.is_true(assert(task:join()).cancelled)
      end
      sandbox.sleep(400) -- what was under way would run by now
      assert.are.equal(0, helper.count(session, "[s]leep 4231"))
    end)

    it("does not run when its time was over while it started", function()
      local session = helper.session({ image = image })
      for delay = 20, 240, 20 do
        local opts = request("4232")
        opts.timeout_ms = delay
        local result, err = session:exec(opts)
        assert.is_true(result and result.timed_out or err.code == "timeout", tostring(err))
      end
      sandbox.sleep(400)
      assert.are.equal(0, helper.count(session, "[s]leep 4232"))
    end)

    it("is no managed process when its start took too long", function()
      local session = helper.session({ image = image })
      local limits = session._limits
      for delay = 30, 180, 50 do
        session._limits = { timeout_ms = delay }
        local info, err = session:start_process(request("4233"))
        if info then
          assert(session:stop_process(info.id, { grace_period_ms = 0 }))
        else
          assert.are.equal("timeout", err.code)
        end
      end
      session._limits = limits
      sandbox.sleep(400)
      for _, info in ipairs(assert(session:list_processes())) do
        assert.are.equal("stopped", info.status)
      end
      assert.are.equal(0, helper.count(session, "[s]leep 4233"))
    end)
  end)
end
