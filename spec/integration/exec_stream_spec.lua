-- SPDX-License-Identifier: MIT
-- runner: both
local helper = require("spec.helper")
local sandbox = require("anvia.sandbox")

local function sh(script, extra)
  local opts = { command = "sh", args = { "-c", script } }
  for key, value in pairs(extra or {}) do
    opts[key] = value
  end
  return opts
end

for _, image in ipairs(helper.IMAGES) do
  describe("exec_stream in " .. image, function()
    if not helper.engine(image) then
      return
    end

    local session

    before_each(function()
      session = helper.session({ image = image })
    end)

    it("gives the output as it comes, and the result at the end", function()
      local events, first = {}, nil
      for event in assert(session:exec_stream(sh("echo a; sleep 1; echo b >&2; exit 3"))) do
        first = first or sandbox.now_ms()
        events[#events + 1] = event
      end
      assert.is_true(sandbox.now_ms() - first > 700)
      assert.same({ "stdout", "stderr", "exit" },
        { events[1].type, events[2].type, events[3].type })
      assert.equal("a\n", events[1].data)
      assert.equal("b\n", events[2].data)
      assert.equal(3, events[3].result.exit_code)
      assert.equal("a\n", events[3].result.stdout)
      assert.equal(3, #events)
    end)

    it("ends the command when the loop is left", function()
      local took = helper.timed(function()
        for event in assert(session:exec_stream(sh("echo a; sleep 444"))) do
          if event.data == "a\n" then
            break
          end
        end
      end)
      assert.is_true(took < 1000, took .. " ms")
      assert.equal(0, helper.count(session, "[s]leep 444"))
    end)

    it("ends the command when the loop raises, also in a task", function()
      local function loop()
        for event in assert(session:exec_stream(sh("echo a; sleep 445"))) do
          error(event.data, 0)
        end
      end
      assert.same({ false, "a\n" }, { pcall(loop) })
      assert.equal(0, helper.count(session, "[s]leep 445"))
      local results = sandbox.all({ function() return { pcall(loop) } end })
      assert.same({ false, "a\n" }, results[1])
      assert.equal(0, helper.count(session, "[s]leep 445"))
    end)

    it("ends the command when it is closed or collected", function()
      local stream = assert(session:exec_stream(sh("sleep 446")))
      stream:close()
      assert.is_nil(stream:next())
      assert.equal(0, helper.count(session, "[s]leep 446"))

      stream = assert(session:exec_stream(sh("echo a; sleep 447")))
      stream:next()
      stream = nil -- luacheck: ignore
      helper.eventually(function()
        collectgarbage()
        return helper.count(session, "[s]leep 447") == 0
      end)
    end)

    it("ends with the result of a time-out or a cancel", function()
      local token = sandbox.cancel_token()
      local last
      for event in assert(session:exec_stream(sh("echo a; sleep 448", { timeout_ms = 1500 }))) do
        last = event
      end
      assert.is_true(last.result.timed_out)
      for event in assert(session:exec_stream(sh("echo a; sleep 449", { cancel = token }))) do
        token:cancel()
        last = event
      end
      assert.is_true(last.result.cancelled)
      assert.equal(0, helper.count(session, "[s]leep 44"))
    end)

    it("is refused as exec is", function()
      local stream, err = session:exec_stream(sh("true", { cwd = "../x" }))
      assert.is_nil(stream)
      assert.equal("path", err.code)
    end)

    it("gives the error of a command that cannot start as its last event", function()
      local events = {}
      for event in assert(session:exec_stream({ command = "nosuch" })) do
        events[#events + 1] = event
      end
      assert.equal(1, #events)
      assert.equal("error", events[1].type)
      assert.equal("process", events[1].error.code)
    end)
  end)
end
