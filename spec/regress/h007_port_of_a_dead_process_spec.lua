-- SPDX-License-Identifier: MIT
-- Nobody waits for the port of a server that has ended.

local helper = require("spec.helper")

helper.describe("waiting for the port of the only process", { helper.BUSYBOX }, function()
  local function wait_after(script)
    local session = helper.session({ network = true }, { ports = { 8000 } })
    local info = assert(session:start_process({ command = "sh", args = { "-c", script } }))
    local took, ready, err = helper.timed(session.wait_for_port, session, 8000,
      { timeout_ms = 20000 })
    assert.is_nil(ready)
    assert.are.equal("process", err.code)
    assert.is_true(took < 3000, took)
    assert.are.equal(3, assert(session:process_info(info.id)).exit_code)
  end

  it("ends when it has ended already", function()
    wait_after("exit 3")
  end)

  it("ends when it ends meanwhile", function()
    wait_after("sleep 0.5; exit 3")
  end)

  it("goes on for a server that a command has left in the background", function()
    local session = helper.session({ network = true }, { ports = { 8000 } })
    local serve = "(sleep 0.5; httpd -f -p 8000 -h /tmp) >/dev/null 2>&1 &"
    assert(session:exec({ command = "sh", args = { "-c", serve } }))
    assert(session:wait_for_port(8000, { timeout_ms = 8000 }))
  end)
end)
