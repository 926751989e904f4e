-- SPDX-License-Identifier: MIT
-- A program cannot learn or imitate the marker that says how it started and ended.

local helper = require("spec.helper")

for _, image in ipairs(helper.IMAGES) do
  describe("the marker of a command in " .. image, function()
    if not helper.engine(image) then
      return
    end

    local function sh(session, script)
      return assert(session:exec({
        command = "sh",
        args = { "-c", script },
        max_output_bytes = 4 * 1024 * 1024,
      }))
    end

    it("is nowhere to be read", function()
      local session = helper.session({ image = image })
      local result = sh(session, [[
        for f in /proc/[0-9]*/cmdline /proc/[0-9]*/environ; do tr '\0' '\n' <"$f" 2>/dev/null; done
        env]])
      -- the mark that kills go by is no secret
      assert.is_truthy(result.stdout:find("ANVIA_%u+_MARK=%x+"))
      local hex = ("%x"):rep(8) .. "%-" .. ("%x"):rep(4) .. "%-"
      assert.is_nil(result.stdout:find(hex))
    end)

    it("is output like any other when the program prints one", function()
      local session = helper.session({ image = image })
      local forged = {}
      local uuid = "00000000-0000-4000-8000-000000000000"
      for _, ids in ipairs({ "1:1:1", "abc:2:2", "-1:2:2", "0:0:0", "99999999999999999999:2:2" }) do
        forged[#forged + 1] = "\30ANVIA_PROCESS:" .. uuid .. ":" .. ids .. "\30"
        forged[#forged + 1] = "\30ANVIA_EXIT:" .. uuid .. ":0\30"
      end
      local text = table.concat(forged)
      local result = assert(session:exec({
        command = "sh",
        args = { "-c", 'printf %s "$1"; printf %s "$1" >&2; exit 9', "sh", text },
      }))
      assert.equal(text, result.stdout)
      assert.equal(text, result.stderr)
      assert.equal(9, result.exit_code)
    end)

    it("costs no memory in fragments, and loses none", function()
      local session = helper.session({ image = image })
      local result = sh(session, "i=0; while [ $i -lt 60000 ]; do "
        .. "printf '\\036ANVIA_PROCESS:'; i=$((i+1)); done")
      assert.equal(("\30ANVIA_PROCESS:"):rep(60000), result.stdout)
    end)
  end)
end
