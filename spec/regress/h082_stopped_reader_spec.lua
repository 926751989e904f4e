-- SPDX-License-Identifier: MIT
-- What reads the lease inside the container can be stopped and killed by the workload,
-- and is there again at once: no session outlives its owner, and kills go on working.

local bash_image = require("spec.support.bash_image")
local helper = require("spec.helper")
local outside = require("spec.support.outside")

local IMAGES = { helper.BUSYBOX, helper.DEBIAN, bash_image.NAME }
local ATTACKS = { "kill -STOP -1", "kill -KILL -1", "kill -STOP -1; kill -KILL -1" }

local OWNER = [[
  local options = require("spec.support.chosen").options({ image = arg[1] })
  local session = assert(require("anvia.sandbox").docker(options):create_session())
  session:exec({ command = "sh", args = { "-c", "kill -STOP -1" }, timeout_ms = 500 })
  print("stopped")
  require("anvia.sandbox").sleep(60000)
]]

local function left_of(pid)
  return (outside.sh("docker ps -a -q --filter label=anvia.sandbox.owner.pid=" .. pid))
end

describe("the reader of the lease", function()
  if not helper.engine(helper.DEBIAN) then
    return
  end

  setup(function()
    bash_image.make(helper.DEBIAN)
  end)
  teardown(bash_image.remove)

  for _, image in ipairs(IMAGES) do
    it("goes on after every signal from inside: " .. image, function()
      local session = helper.session({ image = image })
      for _, attack in ipairs(ATTACKS) do
        session:exec({
          command = "sh",
          args = { "-c", attack },
          timeout_ms = 500,
          grace_period_ms = 0,
        })
        local took, result, err = helper.timed(session.exec, session, {
          command = "sleep",
          args = { "4242" },
          timeout_ms = 2000,
        })
        assert.is_nil(err)
        assert.is_true(result.timed_out)
        assert.is_true(took < 4500, attack .. ": " .. took)
      end
      assert.are.equal(0, helper.count(session, "[s]leep 4242"))
    end)

    it("lets PID 1 reap orphans, and no signal ends it: " .. image, function()
      local session = helper.session({ image = image })
      local result = assert(session:exec({
        command = "sh",
        args = { "-c", [[
          n=0
          while [ $n -lt 30 ]; do (sleep 0.1 &); n=$((n + 1)); done
          n=1
          while [ $n -lt 65 ]; do kill -$n 1; n=$((n + 1)); done
          sleep 0.5
          grep -l '^State:.Z' /proc/[0-9]*/status]] },
      }))
      assert.are.equal("", result.stdout)
      assert.are.equal(0, assert(session:exec({ command = "true" })).exit_code)
    end)

    it("sees the owner's death when it was stopped: " .. image, function()
      local owner = helper.script(OWNER, image)
      helper.eventually(function()
        return owner.output():find("stopped", 1, true)
      end, 15000)
      owner.kill("KILL")
      helper.eventually(function()
        return left_of(owner.pid) == ""
      end)
      owner.forget()
    end)
  end
end)
