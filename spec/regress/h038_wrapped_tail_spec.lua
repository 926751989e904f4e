-- SPDX-License-Identifier: MIT
-- The tail of a log that has wrapped around begins with a whole character, and bytes that
-- are no UTF-8 stay what they are.

local helper = require("spec.helper")

helper.describe("a log of more than is kept", { helper.BUSYBOX }, function()
  local function tail_of(script, bytes, cap)
    local session = helper.session({ limits = { max_output_bytes = cap } })
    local info = assert(session:start_process({ command = "sh", args = { "-c", script } }))
    assert(session:wait_process(info.id))
    local logs = assert(session:read_process_logs(info.id, { tail_bytes = bytes }))
    assert.is_true(logs.stdout_truncated)
    return logs.stdout
  end

  it("begins with a whole character, wherever the ring is cut", function()
    local print_many = "i=0; while [ $i -lt 40 ]; do printf 日本語; i=$((i+1)); done"
    for cap = 100, 103 do
      local text = tail_of(print_many, cap, cap)
      assert.are.equal(cap - cap % 3, #text)
      assert.are.equal(("日本語"):rep(40):sub(-#text), text)
    end
  end)

  it("keeps continuation bytes that belong to nothing, but for three", function()
    local text = tail_of([[i=0; while [ $i -lt 400 ]; do printf '\200'; i=$((i+1)); done]], 50, 64)
    assert.is_true(#text >= 47, #text)
    assert.are.equal(("\128"):rep(#text), text)
  end)
end)
