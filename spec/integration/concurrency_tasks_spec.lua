-- SPDX-License-Identifier: MIT
-- tsan: yes
local helper = require("spec.helper")
local sandbox = require("anvia.sandbox")

describe("tasks", function()
  if not helper.engine(helper.BUSYBOX, helper.DEBIAN) then
    return
  end

  it("run commands of one session at the same time", function()
    local session = helper.session({ image = helper.DEBIAN })
    local fns = {}
    for i = 1, 8 do
      fns[i] = function()
        return session:exec({ command = "sh", args = { "-c", "sleep 2; echo " .. i } })
      end
    end
    local took, results, errs = helper.timed(sandbox.all, fns)
    assert.is_nil(errs)
    for i = 1, 8 do
      assert.equal(i .. "\n", results[i].stdout)
    end
    assert.is_true(took < 12000, took .. " ms")
  end)

  it("create and destroy sessions at the same time, with what they need alone", function()
    local fns = {}
    for i = 1, 6 do
      fns[i] = function()
        local image = helper.IMAGES[i % #helper.IMAGES + 1]
        local session = assert(sandbox.docker(helper.options({ image = image })):create_session())
        assert(session:write_file("me", tostring(i)))
        local info = assert(session:start_process({ command = "sleep", args = { "600" } }))
        local mine = assert(session:read_file("me"))
        assert(session:stop_process(info.id))
        assert(session:destroy())
        return mine
      end
    end
    local results, errs = sandbox.all(fns)
    assert.is_nil(errs)
    for i = 1, 6 do
      assert.equal(tostring(i), results[i])
    end
  end)

  it("start, read, cancel and stop in any order", function()
    local session = helper.session({ limits = { max_processes = 40 } })
    local fns = {}
    for i = 1, 32 do
      fns[i] = function()
        if i % 4 == 0 then
          local token = sandbox.cancel_token()
          sandbox.spawn(function()
            sandbox.sleep(30 * i)
            token:cancel()
          end)
          local opts = { command = "sleep", args = { "60" }, cancel = token }
          return assert(session:exec(opts)).cancelled
        elseif i % 4 == 1 then
          for event in assert(session:exec_stream({ command = "yes" })) do
            if event.data then
              break
            end
          end
          return true
        end
        local info = assert(session:start_process({ command = "yes", args = { tostring(i) } }))
        sandbox.sleep(100)
        assert(session:read_process_logs(info.id, { tail_bytes = 100 }))
        return assert(session:stop_process(info.id)).status == "stopped"
      end
    end
    local results, errs = sandbox.all(fns)
    assert.is_nil(errs)
    for i = 1, 32 do
      assert.is_true(results[i])
    end
    assert.equal(0, helper.count(session, "^[y]es"))
  end)

  it("read many short outputs completely", function()
    local session = helper.session()
    for _ = 1, 3 do
      local fns = {}
      for i = 1, 20 do
        fns[i] = function()
          return session:exec({
            command = "sh",
            args = { "-c", "head -c 65536 /dev/zero; printf END" },
          })
        end
      end
      local results, errs = sandbox.all(fns)
      assert.is_nil(errs)
      for i = 1, 20 do
        assert.equal(65539, #results[i].stdout)
        assert.equal("END", results[i].stdout:sub(-3))
      end
    end
  end)

  it("that nobody holds end like others", function()
    local session = helper.session()
    local done = 0
    for _ = 1, 4 do
      coroutine.wrap(function()
        assert(session:exec({ command = "true" }))
        done = done + 1
      end)()
    end
    for _ = 1, 10 do
      collectgarbage()
    end
    assert.equal(4, done)
  end)
end)

describe("Ctrl-C in the terminal", function()
  if not helper.engine(helper.BUSYBOX) then
    return
  end

  it("does not reach the clients", function()
    -- The program ignores the signal that its whole group gets, and prints the result.
    local script = helper.script([[
      local sandbox = require("anvia.sandbox")
      local options = require("spec.support.chosen").options({ image = arg[1] })
      local session = assert(sandbox.docker(options):create_session())
      print("ready")
      local result, err = session:exec({ command = "sleep", args = { "2" } })
      print("code " .. tostring(result and result.exit_code) .. " " .. tostring(err))
      assert(session:destroy())]], helper.BUSYBOX)
    helper.eventually(function() return script.output():find("ready") end, 10000)
    require("spec.support.outside").sh(string.format(
      "sleep 0.5; for p in $(ps -eo pid=,pgid= | awk '$2 == %d && $1 != %d {print $1}'); do "
        .. "kill -INT $p; done", script.pid, script.pid))
    helper.eventually(function() return not script.alive() end, 15000)
    assert.is_truthy(script.output():find("code 0 nil", 1, true), script.output())
    script.forget()
  end)
end)
