-- SPDX-License-Identifier: MIT
-- The script that is PID 1 with the portable runner, run by each shell of this machine:
-- it ends with its lease, and only with it.

local TRIES = 20

-- How a run of the script ended whose lease is what `feeder` prints; "KILL" after 20 s.
local function ended(shell, feeder)
  local line = "( %s ) | timeout -s KILL 20 %s core/proc/sh/control.sh init >/dev/null 2>&1"
  local _, _, code = os.execute(line:format(feeder, shell))
  return code
end

for _, shell in ipairs({ "dash", "bash --posix", "busybox sh" }) do
  describe("the lease of PID 1 with " .. shell, function()
    if not os.execute("command -v " .. shell:match("%w+") .. " >/dev/null") then
      assert(os.getenv("SBX_MUST_WORK") ~= "1", shell .. " is missing")
      pending("is not on this machine")
      return
    end

    it("ends the script each time", function()
      for try = 1, TRIES do
        assert.equal(0, ended(shell, "sleep 0.01"), "try " .. try)
      end
    end)

    it("ends it also when something was asked before", function()
      for try = 1, TRIES do
        assert.equal(0, ended(shell, "echo aaaa table; echo bbbb ports"), "try " .. try)
      end
    end)

    it("holds it as long as nobody lets go", function()
      local line = "sleep 30 | timeout -s KILL 1 %s core/proc/sh/control.sh init >/dev/null 2>&1"
      local _, _, code = os.execute("timeout 2 sh -c '" .. line:format(shell) .. "' 2>/dev/null")
      assert.is_true(code == 137 or code == 124, tostring(code))
    end)
  end)
end
