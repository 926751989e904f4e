-- SPDX-License-Identifier: MIT
-- runner: supervisor
-- A workload that is root inside the container tries to get at PID 1: by signals, by its
-- memory, descriptors and limits, by its program, by what it says.

local helper = require("spec.helper")
local hostile = require("spec.support.hostile")
local outside = require("spec.support.outside")
local sandbox = require("anvia.sandbox")

local function read(name)
  local file = assert(io.open(name, "rb"))
  local text = file:read("a")
  file:close()
  return text
end

local SIGNALS = [[
import ctypes, os, time
libc = ctypes.CDLL(None)
ARM = os.uname().machine == "aarch64"
info = ctypes.create_string_buffer(b"\0" * 8 + b"\xff\xff\xff\xff", 128)
fd = libc.syscall(434, 1, 0)
for signal in range(1, 65):
    try:
        os.kill(1, signal)
    except OSError:
        pass
    libc.syscall(131 if ARM else 234, 1, 1, signal)
    libc.syscall(138 if ARM else 129, 1, signal, info)
    libc.syscall(424, fd, signal, 0, 0)
    if signal not in (9, 15, 19, 20, 21, 22):
        try:
            os.kill(-1, signal)
        except OSError:
            pass
time.sleep(0.3)
]]

local LIMITS = [[
import os, resource
def attempt(what, *args):
    try:
        getattr(*what)(*args)
        print(what[1], args)
    except (OSError, ValueError, PermissionError):
        pass
for name in dir(resource):
    if name.startswith("RLIMIT_"):
        attempt((resource, "prlimit"), 1, getattr(resource, name), (0, 0))
attempt((os, "setpriority"), os.PRIO_PROCESS, 1, 19)
attempt((os, "sched_setscheduler"), 1, os.SCHED_IDLE, os.sched_param(0))
attempt((os, "sched_setaffinity"), 1, [0])
]]

local REPLACE = [[
import os, shutil
P = "/.anvia/supervisor"
def attempt(what, fn):
    try:
        fn()
        print(what)
    except OSError:
        pass
open("/tmp/mine", "w").write("#!/bin/sh\nexit 0\n")
os.chmod("/tmp/mine", 0o755)
attempt("write", lambda: os.open(P, os.O_WRONLY))
attempt("append", lambda: os.open(P, os.O_WRONLY | os.O_APPEND))
attempt("truncate", lambda: os.truncate(P, 0))
attempt("chmod", lambda: os.chmod(P, 0o777))
attempt("chown", lambda: os.chown(P, 1000, 1000))
attempt("utime", lambda: os.utime(P))
attempt("copy", lambda: shutil.copy("/tmp/mine", P))
attempt("rename", lambda: os.rename(P, "/.anvia/old"))
attempt("rename over", lambda: os.rename("/tmp/mine", P))
attempt("link over", lambda: os.symlink("/tmp/mine", "/.anvia/other"))
attempt("unlink", lambda: os.unlink(P))
attempt("move away", lambda: os.rename("/.anvia", "/away"))
attempt("rmdir", lambda: os.rmdir("/.anvia"))
attempt("create", lambda: os.open("/.anvia/new", os.O_WRONLY | os.O_CREAT))
attempt("setxattr", lambda: os.setxattr(P, "user.x", b"1"))
shutil.rmtree("/.anvia", ignore_errors=True)
]]

local FACTS = [[
import os
for line in open("/proc/self/status"):
    if line.split(":")[0] in ("SigBlk", "SigIgn", "SigPnd", "ShdPnd"):
        print(" ".join(line.split()))
own = set(os.listdir("/proc/self/fd"))
print("fds", " ".join(sorted(fd for fd in own if os.path.exists("/proc/self/fd/" + fd))))
print("umask %o" % os.umask(0), "leader", os.getsid(0) == os.getpid() == os.getpgrp())
]]

for _, who in ipairs(hostile.USERS) do
  helper.describe("PID 1, attacked by " .. who.name, { helper.DEBIAN }, function()
    local session, pid

    before_each(function()
      session = hostile.session({ user = who.user })
      pid = hostile.pid1(session)
    end)

    local function still_there()
      assert.are.equal(pid, hostile.pid1(session))
      hostile.intact(session)
    end

    it("is not ended, stopped or confused by signals", function()
      for _ = 1, 3 do
        local result = assert(hostile.python(session, SIGNALS))
        assert.are.equal("", result.stderr)
      end
      assert.is_truthy(hostile.status(pid, "State"):find("^[SR]"))
      still_there()
      local result = assert(session:exec({ command = "sh",
        args = { "-c", "kill -KILL $PPID; kill -STOP $PPID; echo $PPID" } }))
      assert.are.equal("1\n", result.stdout)
      still_there()
    end)

    it("shows nothing of its memory, its descriptors and its environment", function()
      local found = hostile.findings(session, read("spec/support/attacks/reach.py"))
      for line in pairs(found) do -- root sees how many descriptors there are, not what
        if line:find("^list /proc/1/.*fd") or line:find("^list /proc/1/.*fdinfo")
          or line:find("^open /proc/1/.*fdinfo/%d+$") then
          found[line] = nil
        end
      end
      assert.are.same({}, found)
      still_there()
    end)

    it("keeps its limits, its priority and its processors", function()
      local before = outside.sh("cat /proc/" .. pid .. "/limits")
      assert.are.same({}, hostile.findings(session, LIMITS))
      assert.are.equal(before, outside.sh("cat /proc/" .. pid .. "/limits"))
      still_there()
    end)

    it("goes on when everybody wants the processor", function()
      local busy = assert(session:start_process({ command = "sh", args = { "-c",
        "for i in 1 2 3 4 5 6 7 8; do while :; do :; done & done; wait" } }))
      sandbox.sleep(300)
      local took, result = helper.timed(session.exec, session, { command = "true" })
      assert.are.equal(0, assert(result).exit_code)
      assert.is_true(took < 3000, took)
      assert(session:stop_process(busy.id, { grace_period_ms = 100 }))
      still_there()
    end)

    it("runs a program that nobody can replace, here or in another session", function()
      local function digest(one)
        return assert(one:exec({ command = "sha256sum", args = { "/.anvia/supervisor" } })).stdout
      end
      local other = hostile.session({ user = "0" })
      local before = digest(other)
      assert.is_truthy(before:find("^%x+"))
      assert.are.same({}, hostile.findings(session, REPLACE))
      assert.are.equal(before, digest(session))
      assert.are.equal(before, digest(other))
      assert.are.equal(before, digest(hostile.session({ user = "0" })))
      still_there()
    end)

    it("starts commands with nothing of its own", function()
      local found = hostile.findings(session, FACTS)
      for _, line in ipairs({ "SigBlk: ", "SigPnd: ", "ShdPnd: " }) do
        assert.is_true(found[line .. ("0"):rep(16)], line)
      end
      -- Python itself ignores PIPE and XFSZ
      assert.is_true(found["SigIgn: 0000000001001000"])
      assert.is_true(found["fds 0 1 2"])
      assert.is_true(found["umask 22 leader True"])
    end)

    it("takes frames that a program prints for what they are: output", function()
      local forge = read("spec/support/attacks/forge.py")
      local result = assert(hostile.python(session, forge, { "print" }))
      assert.are.equal(9, result.exit_code)
      assert.are.equal(result.stdout, result.stderr)
      assert.is_true(#result.stdout > 3000)
      still_there()
    end)

    it("reads no frame from its workload, whatever that can open", function()
      local forge = read("spec/support/attacks/forge.py")
      local seen
      local victim = sandbox.spawn(session.exec, session,
        { command = "sh", args = { "-c", "sleep 2; exit 7" }, keep = "head" })
      local process = assert(session:start_process({ command = "sleep", args = { "30" } }))
      for _ = 1, 3 do
        seen = assert(hostile.python(session, forge, { "write" }))
        assert.are.equal("PID 1's: 0\n", seen.stdout)
      end
      -- others of the same user get it as output of theirs, and nothing else happens
      assert.are.equal(7, assert(victim:join()).exit_code)
      assert.are.equal("running", assert(session:process_info(process.id)).status)
      still_there()
    end)
  end)
end
