-- SPDX-License-Identifier: MIT
-- What must stay bounded, whatever a command prints; measured on this process.

local core = require("anvia.sandbox.core")
local helper = require("spec.helper")
local sandbox = require("anvia.sandbox")

local MIB = 1024 * 1024

-- The highest resident size that this process ever had, in bytes.
local function peak()
  for line in io.lines("/proc/self/status") do
    local kib = line:match("^VmHWM:%s+(%d+) kB")
    if kib then
      return tonumber(kib) * 1024
    end
  end
end

-- Sanitizers keep freed memory for a while.
local SLACK = (os.getenv("SBX_SANITIZE") or "") == "" and 1 or 8

helper.describe("output without end", helper.IMAGES, function()
  for _, image in ipairs(helper.IMAGES) do
    it("is counted exactly and costs no more than its cap: " .. image, function()
      local session = helper.session({ image = image, limits = { max_output_bytes = MIB } })
      assert(session:exec({ command = "true" }))
      collectgarbage()
      local before = peak()
      local result = assert(session:exec({
        command = "head",
        args = { "-c", tostring(200 * MIB), "/dev/zero" },
        timeout_ms = 120000,
      }))
      assert.are.equal(0, result.exit_code)
      assert.are.equal(MIB, #result.stdout)
      assert.are.equal(199 * MIB, result.stdout_omitted_bytes)
      assert.is_true(result.stdout_truncated)
      assert.is_true(peak() - before < 16 * MIB * SLACK, "grew by " .. (peak() - before))
    end)
  end

  it("of a managed process stays within its buffer, and does not disturb others", function()
    local session = helper.session({ limits = { max_output_bytes = 65536 } })
    local before = peak()
    local info = assert(session:start_process({ command = "yes" }))
    for _ = 1, 10 do
      sandbox.sleep(200)
      local logs = assert(session:read_process_logs(info.id))
      assert.is_true(#logs.stdout <= 65536)
    end
    local took, result = helper.timed(session.exec, session, { command = "echo", args = { "hi" } })
    assert.are.equal("hi\n", assert(result).stdout)
    assert.is_true(took < 5000)
    local stopping, stopped = helper.timed(session.stop_process, session, info.id)
    assert.are.equal("stopped", assert(stopped).status)
    assert.is_true(stopping < 5000)
    assert.is_true(peak() - before < 16 * MIB * SLACK)
  end)

  it("waits for a reader that is slow, and the deadline passes meanwhile", function()
    local session = helper.session({ limits = { max_output_bytes = 10 } })
    local before, bytes, result = peak(), 0, nil
    local began = core.now_ms()
    for event in assert(session:exec_stream({
      command = "head",
      args = { "-c", tostring(100 * MIB), "/dev/zero" },
      timeout_ms = 4000,
    })) do
      if event.type == "exit" then
        result = event.result
      else
        bytes = bytes + #event.data
        sandbox.sleep(50)
      end
    end
    assert.is_true(result.timed_out)
    assert.are.equal(124, result.exit_code)
    assert.is_true(bytes < 100 * MIB)
    assert.is_true(core.now_ms() - began < 20000)
    assert.is_true(peak() - before < 16 * MIB * SLACK)
  end)

  it("arrives completely when the reader pauses and goes on", function()
    local session = helper.session({ limits = { max_output_bytes = 10 } })
    local bytes, paused, result = 0, false, nil
    for event in assert(session:exec_stream({
      command = "head",
      args = { "-c", tostring(20 * MIB), "/dev/zero" },
      timeout_ms = 60000,
    })) do
      if event.type == "exit" then
        result = event.result
      else
        bytes = bytes + #event.data
        if not paused then
          paused = true
          sandbox.sleep(1000)
        end
      end
    end
    assert.are.equal(20 * MIB, bytes)
    assert.are.equal(0, result.exit_code)
  end)
end)

helper.describe("output of every kind", helper.IMAGES, function()
  it("comes back byte for byte", function()
    local session = helper.session()
    local bytes = {}
    for i = 0, 255 do
      bytes[#bytes + 1] = string.char(i)
    end
    local every = table.concat(bytes):rep(1000)
    local line = ("x"):rep(1000000) .. "\n"
    for _, input in ipairs({ every, line, "\30ANVIA_PROCESS:\30", ("\30"):rep(200000), "" }) do
      local result = assert(session:exec({ command = "cat", input = input }))
      assert.is_true(result.stdout == input)
      assert.are.equal(0, result.stdout_omitted_bytes)
    end
  end)

  it("is complete in every one of many commands", function()
    local session = helper.session()
    local fns = {}
    for i = 1, 60 do
      fns[i] = function()
        return session:exec({
          command = "sh",
          args = { "-c", "head -c 65536 /dev/zero; printf END" },
          timeout_ms = 60000,
        })
      end
    end
    for from = 1, #fns, 20 do
      local batch = {}
      for i = from, from + 19 do
        batch[#batch + 1] = fns[i]
      end
      local results, errs = sandbox.all(batch)
      assert.is_nil(errs)
      for _, result in ipairs(results) do
        assert.are.equal(65539, #result.stdout)
        assert.are.equal("END", result.stdout:sub(-3))
      end
    end
  end)
end)

helper.describe("a Lua program that never waits", { helper.BUSYBOX }, function()
  local function spin(ms)
    local stop = core.now_ms() + ms
    while core.now_ms() < stop do -- luacheck: ignore 542
    end
  end

  it("does not keep a server from being drained", function()
    local session = helper.session()
    -- far more than any pipe holds: it can only get on while somebody reads
    local info = assert(session:start_process({
      command = "sh",
      args = { "-c", [[i=0
        while [ $i -lt 20 ]; do
          head -c 1000000 /dev/zero; i=$((i + 1)); sleep 0.1
        done
        echo finished >&2]] },
    }))
    spin(5000)
    local logs = assert(session:read_process_logs(info.id))
    assert.are.equal("finished\n", logs.stderr)
    assert.are.equal("exited", assert(session:process_info(info.id)).status)
  end)

  it("does not hold up a time-out", function()
    local session = helper.session()
    local task = sandbox.spawn(function()
      return session:exec({
        command = "sh",
        args = { "-c", "echo a; sleep 60" },
        timeout_ms = 1500,
      })
    end)
    spin(4000)
    local result = assert(task:join())
    assert.is_true(result.timed_out)
    assert.is_true(result.duration_ms < 3500)
    assert.are.equal(0, helper.count(session, "[s]leep 60"))
  end)

  it("does not hold up the session's own end", function()
    local session = helper.session({ lifecycle = { ttl_ms = 600 } })
    spin(2500)
    local result, err = session:exec({ command = "true" })
    assert.is_nil(result)
    assert.are.equal("session_destroyed", err.code)
  end)
end)
