-- SPDX-License-Identifier: MIT
-- Calls from coroutines and callbacks, while the collector does its worst.

local helper = require("spec.helper")
local sandbox = require("anvia.sandbox")

describe("calls while the collector runs all the time", function()
  if not helper.engine(helper.BUSYBOX) then
    return
  end

  before_each(function()
    collectgarbage("setpause", 0)
    collectgarbage("setstepmul", 10000)
  end)

  after_each(function()
    collectgarbage("setpause", 200)
    collectgarbage("setstepmul", 100)
  end)

  it("give the right results", function()
    local session = helper.session()
    local fns = {}
    for i = 1, 6 do
      fns[i] = function()
        local seen = {}
        local result = assert(session:exec({
          command = "sh",
          args = { "-c", "echo " .. i .. "; sleep 0.1; echo " .. i },
          on_stdout = function(data)
            seen[#seen + 1] = data
            collectgarbage()
          end,
        }))
        assert.equal(result.stdout, table.concat(seen))
        return result.stdout
      end
    end
    local results = sandbox.all(fns)
    for i = 1, 6 do
      assert.equal(i .. "\n" .. i .. "\n", results[i])
    end
  end)

  it("survive tasks and streams that are dropped half way", function()
    local session = helper.session()
    for _ = 1, 5 do
      sandbox.spawn(function()
        return session:exec({ command = "sleep", args = { "0.3" } })
      end)
      local stream = assert(session:exec_stream({ command = "yes" }))
      stream:next()
      stream = nil -- luacheck: ignore
      for _ = 1, 3 do
        collectgarbage()
      end
    end
    assert.equal("x\n", assert(session:exec({ command = "echo", args = { "x" } })).stdout)
    helper.eventually(function()
      return helper.count(session, "^[y]es") == 0
    end)
  end)
end)
