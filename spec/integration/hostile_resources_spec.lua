-- SPDX-License-Identifier: MIT
-- runner: supervisor
-- A workload takes all there is: processes, memory, space, descriptors, watches, pipes,
-- bandwidth. The supervisor refuses what it cannot do, and goes on.

local helper = require("spec.helper")
local hostile = require("spec.support.hostile")
local sandbox = require("anvia.sandbox")

local FORK = [[
import os, time
n = 0
while True:
    try:
        if os.fork() == 0:
            time.sleep(1000)
        n += 1
    except OSError:
        break
print("full", n, flush=True)
time.sleep(1000)
]]

local INOTIFY = [[
import ctypes, os, time
libc = ctypes.CDLL(None)
os.makedirs("deep", exist_ok=True)
instances = []
while len(instances) < 4096:
    fd = libc.inotify_init()
    if fd < 0:
        break
    instances.append(fd)
watches = 0
for i in range(20000):
    name = b"deep/%d" % i
    os.mkdir(name)
    if libc.inotify_add_watch(instances[0], name, 0xfff) < 0:
        break
    watches += 1
print("full", len(instances), flush=True)
time.sleep(1000)
]]

local DESCRIPTORS = [[
import os, resource, time
soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
hard = min(hard, 20000)
resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
held = []
try:
    while True:
        held.append(os.pipe())
except OSError:
    pass
print("full", len(held), flush=True)
time.sleep(1000)
]]

-- Starts a program that says `full` when it has taken all.
local function fill(session, program)
  local info = assert(session:start_process({ command = "python3", args = { "-c", program } }))
  helper.eventually(function()
    local logs = assert(session:read_process_logs(info.id))
    assert.are.equal("", logs.stderr)
    return logs.stdout:find("full", 1, true)
  end, 30000)
  return info
end

for _, who in ipairs(hostile.USERS) do
  helper.describe("a workload of " .. who.name, { helper.DEBIAN }, function()
    local function session_with(limits, more)
      local extra = { user = who.user, limits = limits }
      for key, value in pairs(more or {}) do
        extra[key] = value
      end
      return hostile.session(extra)
    end

    it("takes every process: commands are refused, the rest goes on", function()
      local session = session_with({ pids_limit = 24, timeout_ms = 5000 })
      local info = fill(session, FORK)
      for _ = 1, 3 do
        local result, err = session:exec({ command = "true" })
        assert.is_nil(result)
        assert.are.equal("process", err.code)
        result, err = session:start_process({ command = "true" })
        assert.is_nil(result)
        assert.are.equal("process", err.code)
        assert(session:write_file("a/file", "kept"))
        assert.are.equal("kept", assert(session:read_file("a/file")))
        assert.are.equal(1, #assert(session:list_files("a")))
      end
      assert.are.equal("stopped", assert(session:stop_process(info.id)).status)
      hostile.intact(session)
    end)

    it("takes all memory: what took it dies, and is said to have", function()
      local session = session_with({ memory_mb = 48 })
      for _ = 1, 4 do
        local result = assert(hostile.python(session, "x = b'x' * (1 << 30)"))
        assert.are.equal(137, result.exit_code)
        assert.are.equal("SIGKILL", result.signal)
        assert.is_true(result.oom_killed)
      end
      local result = assert(session:exec({ command = "sh", args = { "-c", "kill -KILL $$" } }))
      assert.are.equal("SIGKILL", result.signal)
      assert.is_false(result.oom_killed)
      hostile.intact(session)
    end)

    it("fills memory with files, which nobody can be killed for", function()
      local session = session_with({ memory_mb = 48 })
      session:exec({ command = "sh", timeout_ms = 20000,
        args = { "-c", "for i in 1 2 3; do head -c 1G /dev/zero >/dev/shm/$i; done" } })
      -- there is room for nothing now: each command is killed for it, or refused
      for _ = 1, 3 do
        local result, err = session:exec({ command = "true", timeout_ms = 5000 })
        if result then
          assert.is_true(result.exit_code == 0 or result.oom_killed or result.timed_out)
        else
          assert.is_true(err.code == "process" or err.code == "session_destroyed", tostring(err))
        end
      end
    end)

    it("fills the file systems that it can write", function()
      local session = session_with(nil, { security = { readonly_rootfs = true } })
      local result = assert(session:exec({ command = "sh", args = { "-c",
        "cat /dev/zero >/tmp/full; cat /dev/zero >/dev/shm/full; echo full" } }))
      assert.are.equal("full\n", result.stdout)
      assert.is_truthy(result.stderr:find("No space left", 1, true))
      hostile.intact(session)
    end)

    it("takes every watch", function()
      local session = session_with({ timeout_ms = 10000 })
      local info = fill(session, INOTIFY)
      local watch, err = session:watch_files(".")
      assert.is_true(watch ~= nil or err ~= nil)
      hostile.intact(session)
      assert(session:stop_process(info.id, { grace_period_ms = 100 }))
      hostile.intact(session)
    end)

    it("takes descriptors and pipes", function()
      local session = session_with({ timeout_ms = 10000 })
      local info = fill(session, DESCRIPTORS)
      hostile.intact(session)
      assert(session:stop_process(info.id, { grace_period_ms = 100 }))
    end)

    it("floods on every stream, and others wait no longer for it", function()
      local session = session_with({ max_processes = 8, max_output_bytes = 65536 })
      local flood = { command = "sh", args = { "-c", "yes & yes >&2" } }
      for _ = 1, 3 do
        assert(session:start_process(flood))
      end
      local unread = {} -- two whose reader does not read on
      for i = 1, 2 do
        unread[i] = assert(session:exec_stream({ command = "yes", timeout_ms = 60000 }))
        assert.is_truthy(unread[i]:next().data)
      end
      for _ = 1, 10 do
        local took, result = helper.timed(session.exec, session,
          { command = "echo", args = { "hi" } })
        assert.are.equal("hi\n", assert(result).stdout)
        assert.is_true(took < 1500, took)
        assert(session:write_file("file", "x"))
        assert.are.equal("x", assert(session:read_file("file")))
      end
      for _, stream in ipairs(unread) do
        stream:close()
      end
      for _, info in ipairs(assert(session:list_processes())) do
        assert(session:stop_process(info.id, { grace_period_ms = 500 }))
      end
      assert.are.equal(0, hostile.alive(session, "yes"))
      hostile.intact(session)
    end)

    it("holds every pipe it ever got", function()
      local session = session_with({ pids_limit = 400 })
      hostile.intact(session)
      local before = hostile.descriptors(session)
      for _ = 1, 60 do
        local took, result = helper.timed(session.exec, session, { command = "sh",
          args = { "-c", "sleep 3333 & setsid sleep 3333 <&0 & echo hi; echo ho >&2" } })
        assert.are.equal("hi\n", assert(result).stdout)
        assert.are.equal("ho\n", result.stderr)
        assert.is_true(took < 2500, took)
      end
      assert.are.equal(120, hostile.alive(session, "sleep 3333"))
      assert.is_true(hostile.descriptors(session) <= before, hostile.descriptors(session))
      hostile.intact(session)
    end)

    it("does not read what it is sent", function()
      local session = session_with()
      local data = ("x"):rep(20000000)
      local results, errs = sandbox.all({
        function()
          return session:exec({ command = "sleep", args = { "2" }, input = data })
        end,
        function()
          local took, result = helper.timed(session.exec, session, { command = "true" })
          assert.is_true(took < 1500, took)
          return result
        end,
      })
      assert.is_nil(errs)
      assert.are.equal(0, results[1].exit_code)
      hostile.intact(session)
    end)
  end)
end

helper.describe("many at once", { helper.BUSYBOX }, function()
  it("run, or are refused when there is no room", function()
    local session = hostile.session({ image = helper.BUSYBOX, limits = { pids_limit = 100,
      timeout_ms = 60000 } })
    local calls, ran, refused = {}, 0, 0
    for i = 1, 300 do
      calls[i] = function()
        return session:exec({ command = "sh", args = { "-c", "sleep 1; echo done" } })
      end
    end
    local results, errs = sandbox.all(calls)
    for i = 1, 300 do
      if results[i] and results[i].exit_code == 0 then
        assert.are.equal("done\n", results[i].stdout)
        ran = ran + 1
      elseif not results[i] then
        assert.are.equal("process", errs[i].code, tostring(errs[i]))
        refused = refused + 1
      end
    end
    assert.is_true(ran > 0 and refused > 0, ran .. " " .. refused)
    hostile.intact(session)
  end)
end)
