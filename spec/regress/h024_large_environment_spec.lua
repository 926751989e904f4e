-- SPDX-License-Identifier: MIT
-- Looking for what is to be killed does not read every environment in the container:
-- that took longer than the look may take.

local helper = require("spec.helper")

local CROWD = [[
import os, time
env = {'V%d' % i: 'x' * 130000 for i in range(14)}
for i in range(40):
    if os.fork() == 0:
        os.execve('/bin/sleep', ['sleep', '4244'], env)
print('ready', flush=True)
time.sleep(1000)
]]

helper.describe("a kill among processes with large environments", { helper.DEBIAN }, function()
  it("takes no longer than elsewhere", function()
    local session = helper.session({ image = helper.DEBIAN })
    local crowd = assert(session:start_process({ command = "python3", args = { "-c", CROWD } }))
    helper.eventually(function()
      return assert(session:read_process_logs(crowd.id)).stdout ~= ""
    end, 60000)
    local took, result, err = helper.timed(session.exec, session, {
      command = "sleep",
      args = { "100" },
      timeout_ms = 3000,
    })
    assert.is_nil(err)
    assert.is_true(result.timed_out)
    assert.is_true(took < 5500, took)
    assert.are.equal("stopped", assert(session:stop_process(crowd.id)).status)
    assert.are.equal(0, helper.count(session, "[s]leep 4244"))
  end)
end)
