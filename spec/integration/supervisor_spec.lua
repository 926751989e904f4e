-- SPDX-License-Identifier: MIT
-- runner: supervisor
-- What only the supervisor does, or does better than the portable runner.

local core = require("anvia.sandbox.core")
local foreign_image = require("spec.support.foreign_image")
local helper = require("spec.helper")
local hostile = require("spec.support.hostile")
local outside = require("spec.support.outside")
local sandbox = require("anvia.sandbox")

local MIB = 1024 * 1024
local STATIC = "anvia-test/static:1"

local function session_of(image, extra, session_options)
  local options = { image = image, runner = "supervisor" }
  for key, value in pairs(extra or {}) do
    options[key] = value
  end
  return helper.session(options, session_options)
end

local function sh(script, extra)
  local opts = { command = "sh", args = { "-c", script } }
  for key, value in pairs(extra or {}) do
    opts[key] = value
  end
  return opts
end

-- Bytes that this process has read so far, from wherever.
local function bytes_read()
  for line in io.lines("/proc/self/io") do
    local count = line:match("^rchar: (%d+)")
    if count then
      return tonumber(count)
    end
  end
end

helper.describe("the end of a command", helper.IMAGES, function()
  for _, image in ipairs(helper.IMAGES) do
    it("names each signal, and is not one that looks like it: " .. image, function()
      local session = session_of(image)
      for number, name in pairs({ [1] = "HUP", [2] = "INT", [4] = "ILL",
        [6] = "ABRT", [8] = "FPE", [9] = "KILL", [10] = "USR1", [11] = "SEGV", [12] = "USR2",
        [13] = "PIPE", [14] = "ALRM", [15] = "TERM", [24] = "XCPU" }) do
        local result = assert(session:exec(sh("kill -" .. number .. " $$; sleep 9")))
        assert.are.equal("SIG" .. name, result.signal)
        assert.are.equal(128 + number, result.exit_code)
        result = assert(session:exec(sh("exit " .. 128 + number)))
        assert.is_nil(result.signal)
        assert.are.equal(128 + number, result.exit_code)
      end
    end)
  end

  it("tells what it used", function()
    local session = session_of(helper.DEBIAN)
    local result = assert(session:exec({ command = "python3", args = { "-c", [[
import os, time
x = b"x" * (64 << 20)
while time.process_time() < 0.4:
    pass
while os.times().system < 0.1:
    open("/proc/self/maps").read()
]] } }))
    assert.are.equal(0, result.exit_code)
    local usage = result.usage
    assert.is_true(usage.user_ms >= 50 and usage.system_ms >= 50)
    assert.is_true(usage.user_ms + usage.system_ms >= 390
      and usage.user_ms + usage.system_ms < 5000, usage.user_ms + usage.system_ms)
    assert.is_true(result.usage.max_rss_bytes >= 64 * MIB
      and result.usage.max_rss_bytes < 256 * MIB)
    assert.is_false(result.oom_killed)
    local info = assert(session:start_process({ command = "true" }))
    info = assert(session:wait_process(info.id))
    assert.is_true(info.usage.max_rss_bytes > 0)
  end)

  it("tells a lack of memory from an ordinary KILL", function()
    if outside.sh("docker info --format '{{.MemoryLimit}}'"):match("false") then
      pending("this engine cannot limit memory")
      return
    end
    local session = session_of(helper.DEBIAN, { limits = { memory_mb = 48 } })
    for _ = 1, 2 do
      local result = assert(session:exec(sh("kill -KILL $$")))
      assert.are.equal("SIGKILL", result.signal)
      assert.is_false(result.oom_killed)
      result = assert(session:exec({ command = "python3", args = { "-c", "b'x' * (1 << 30)" } }))
      assert.are.equal("SIGKILL", result.signal)
      assert.are.equal(137, result.exit_code)
      assert.is_true(result.oom_killed)
    end
  end)
end)

helper.describe("a terminal", { helper.DEBIAN }, function()
  local session

  before_each(function()
    session = session_of(helper.DEBIAN)
  end)

  local function said(info, text)
    helper.eventually(function()
      return assert(session:read_process_logs(info.id)).stdout:find(text, 1, true)
    end)
  end

  it("has the size it was given, and is told of a new one", function()
    local info = assert(session:start_process(sh(
      "tty; stty size; trap 'stty size' WINCH; echo ready >&2; while :; do sleep 0.05; done",
      { pty = { rows = 30, cols = 101 } })))
    said(info, "/dev/pts/")
    said(info, "30 101\r\n")
    said(info, "ready\r\n") -- one stream for both
    assert(session:resize_process(info.id, { rows = 50, cols = 132 }))
    said(info, "50 132\r\n")
    assert.are.equal("", assert(session:read_process_logs(info.id)).stderr)
    assert.are.equal("stopped", assert(session:stop_process(info.id)).status)
  end)

  it("passes on what is typed, Ctrl-C and Ctrl-D too", function()
    local info = assert(session:start_process(sh(
      "trap 'echo int' INT; echo ready; cat; echo again; cat; exit 4",
      { pty = { rows = 24, cols = 80 }, stdin = true })))
    said(info, "ready")
    assert(session:write_process(info.id, "typed\r"))
    said(info, "typed\r\ntyped\r\n") -- the echo, and cat
    assert(session:write_process(info.id, "\3"))
    said(info, "int\r\n")
    assert(session:write_process(info.id, "\4"))
    assert.are.equal(4, assert(session:wait_process(info.id)).exit_code)
  end)

  it("ends with the process, and is the end of who sits at it", function()
    local info = assert(session:start_process(sh("sleep 6401 & sleep 6401",
      { pty = { rows = 24, cols = 80 } })))
    helper.eventually(function()
      return hostile.alive(session, "sleep 6401") == 3
    end)
    assert(session:stop_process(info.id))
    hostile.gone(session, "sleep 6401")
  end)

  it("is refused for what has none", function()
    local info = assert(session:start_process({ command = "sleep", args = { "60" } }))
    local ok, err = session:resize_process(info.id, { rows = 1, cols = 1 })
    assert.is_nil(ok)
    assert.are.equal("process", err.code)
    assert.has.errors(function()
      session:resize_process(info.id, { rows = 0, cols = 1 })
    end)
    local none
    none, err = session:resize_process("p99", { rows = 1, cols = 1 })
    assert.is_nil(none)
    assert.are.equal("not_found", err.code)
  end)
end)

helper.describe("output beyond a cap", { helper.DEBIAN }, function()
  it("is counted where it is made, and not sent", function()
    local session = session_of(helper.DEBIAN)
    for _, keep in ipairs({ "head", "tail", "both" }) do
      local before = bytes_read()
      local result = assert(session:exec(sh("head -c 104857600 /dev/zero | tr '\\0' x; printf end",
        { max_output_bytes = MIB, keep = keep, timeout_ms = 60000 })))
      assert.are.equal(0, result.exit_code)
      assert.are.equal(MIB, #result.stdout)
      assert.are.equal(99 * MIB + 3, result.stdout_omitted_bytes)
      assert.are.equal(keep ~= "head", result.stdout:sub(-3) == "end")
      assert.is_true(bytes_read() - before < 4 * MIB, bytes_read() - before)
    end
  end)

  it("of a stream stays in the container while nobody reads, and holds up nobody", function()
    local session = session_of(helper.DEBIAN)
    local stream = assert(session:exec_stream({ command = "yes", timeout_ms = 60000 }))
    assert.is_truthy(stream:next().data)
    sandbox.sleep(300)
    local before = bytes_read()
    sandbox.sleep(1000)
    assert.is_true(bytes_read() - before < MIB, bytes_read() - before)
    local took, result = helper.timed(session.exec, session, { command = "true" })
    assert.are.equal(0, assert(result).exit_code)
    assert.is_true(took < 1000, took)
    local seen = 0
    while seen < 20 * MIB do
      seen = seen + #stream:next().data
    end
    stream:close()
  end)
end)

helper.describe("an image without a shell", { STATIC }, function()
  it("runs commands, keeps files and serves ports", function()
    local session = session_of(STATIC, { network = true }, {
      ports = { 8000 },
      manifest = { files = { ["a/b"] = "x" }, directories = { "c" } },
    })
    assert.are.equal("supervisor", session.runner)
    assert.are.equal("x", assert(session:read_file("a/b")))
    assert(session:write_file("c/d/e", ("y"):rep(MIB)))
    assert.are.equal(MIB, assert(session:stat("c/d/e")).size)
    assert.are.equal(2, #assert(session:list_files(".")))
    assert(session:rename("c", "a/c"))
    assert.are.equal(MIB, #assert(session:read_file("a/c/d/e")))
    assert(session:remove("a", { recursive = true }))

    local result, err = session:exec({ command = "sh" })
    assert.is_nil(result)
    assert.are.equal("process", err.code)
    assert.are.equal(127, err.result.exit_code)
    result = assert(session:exec({ command = "/server", timeout_ms = 200 }))
    assert.is_true(result.timed_out)
    local server = assert(session:start_process({ command = "/server", args = { "8000" } }))
    local port = assert(session:wait_for_port(8000))
    assert.are.equal("ok", outside.sh(string.format("curl -s --http0.9 --max-time 5 "
      .. "http://%s:%d/", port.host, port.host_port)):match("%w+"))
    assert.are.equal("stopped", assert(session:stop_process(server.id)).status)
  end)

  it("does so with a read-only root, and for any user that has a number", function()
    for _, user in ipairs({ "0", "1000:1000", "77" }) do
      local session = session_of(STATIC, { user = user, security = { readonly_rootfs = true } })
      assert(session:write_file("a/b", "x"))
      assert.are.equal("x", assert(session:read_file("a/b")))
      assert.is_true(assert(session:exec({ command = "/server", timeout_ms = 200 })).timed_out)
      assert(session:destroy())
    end
  end)

  it("has no users with names", function()
    local none, err = sandbox.docker(helper.options({ image = STATIC, runner = "supervisor",
      user = "nobody" })):create_session()
    assert.is_nil(none)
    assert.are.equal("docker_command", err.code)
    assert.is_truthy(err.message:find("nobody", 1, true), err.message)
  end)
end)

helper.describe("every kind of image", { helper.DEBIAN, "anvia-test/user:1" }, function()
  for _, readonly in ipairs({ false, true }) do
    for _, image in ipairs({ helper.BUSYBOX, helper.DEBIAN, "anvia-test/user:1" }) do
      it("works: " .. image .. (readonly and ", read-only" or ""), function()
        hostile.intact(session_of(image, { security = { readonly_rootfs = readonly } }))
      end)
    end
  end

  it("gives its user what is the user's", function()
    local session = session_of("anvia-test/user:1")
    local script = "id -u; id -g; echo $HOME; touch own; stat -c %u own . "
    assert.are.equal("1000\n1000\n/home/user\n1000\n1000\n",
      assert(session:exec(sh(script))).stdout)
    session = session_of("anvia-test/user:1", { user = "0" })
    assert.are.equal("0\n0\n/root\n0\n0\n", assert(session:exec(sh(script))).stdout)
    session = session_of("anvia-test/user:1", nil, { manifest = { env = { HOME = "/tmp" } } })
    assert.are.equal("/tmp\n", assert(session:exec(sh("echo $HOME"))).stdout)
  end)

  it("leaves no trace of PID 1 in workspace and environment", function()
    local session = session_of(helper.BUSYBOX)
    assert.are.same({}, assert(session:list_files(".")))
    assert.are.equal("", assert(session:exec(sh("env | grep -i supervisor || true"))).stdout)
  end)
end)

helper.describe("an image of another architecture", { helper.BUSYBOX }, function()
  setup(function()
    foreign_image.make(helper.BUSYBOX)
  end)
  teardown(foreign_image.remove)

  it("falls back to the portable runner, and says so", function()
    local warned
    local session = helper.session({ image = foreign_image.NAME, runner = "auto",
      hooks = { on_warning = function(event) warned = event.message end } })
    assert.are.equal("exec", session.runner)
    assert.is_truthy(warned and warned:find(foreign_image.ARCHITECTURE, 1, true), warned)
    assert.are.equal(0, assert(session:exec({ command = "true" })).exit_code)
  end)

  it("is refused when the supervisor was asked for by name", function()
    local none, err = sandbox.docker(helper.options({ image = foreign_image.NAME,
      runner = "supervisor" })):create_session()
    assert.is_nil(none)
    assert.is_truthy(err.message:find(foreign_image.ARCHITECTURE, 1, true), err.message)
  end)
end)

helper.describe("many commands", { helper.BUSYBOX }, function()
  it("one after another cost nothing that stays", function()
    local session = session_of(helper.BUSYBOX)
    for _ = 1, 50 do
      assert(session:exec({ command = "true" }))
    end
    local pid = hostile.pid1(session)
    local descriptors = hostile.descriptors(session)
    local memory = tonumber(hostile.status(pid, "VmRSS"):match("%d+"))
    for _ = 1, 1000 do
      assert(session:exec({ command = "true" }))
    end
    assert.is_true(hostile.descriptors(session) <= descriptors)
    local now = tonumber(hostile.status(pid, "VmRSS"):match("%d+"))
    assert.is_true(now <= memory + 64, memory .. " -> " .. now)
    assert.is_true(now < 1024, now)
  end)

  it("are not held up by one that waits for its directory, its program or its input", function()
    local session = session_of(helper.BUSYBOX)
    local began = core.now_ms()
    local results, errs = sandbox.all({
      function() return session:exec({ command = "cat", input = ("x"):rep(5000000) }) end,
      function() return session:exec({ command = "sleep", args = { "1" } }) end,
      function() return session:exec({ command = "true" }) end,
    })
    assert.is_nil(errs)
    assert.are.equal(5000000, #results[1].stdout + results[1].stdout_omitted_bytes)
    assert.is_true(results[3].duration_ms < 900, results[3].duration_ms)
    assert.is_true(core.now_ms() - began < 5000)
  end)
end)
