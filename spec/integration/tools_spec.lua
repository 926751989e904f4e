-- SPDX-License-Identifier: MIT
local errors = require("anvia.sandbox.errors")
local helper = require("spec.helper")
local outside = require("spec.support.outside")
local sandbox = require("anvia.sandbox")

local ALL = {
  "exec_command", "read_file", "write_file", "list_files", "start_process", "list_processes",
  "read_process_logs", "stop_process",
}

-- The tools of a session by name.
local function tools_of(session, options)
  options = options or {}
  options.allow = options.allow or ALL
  local by_name = {}
  for _, tool in ipairs(assert(sandbox.tools(session, options))) do
    by_name[tool.name] = tool.call
  end
  return by_name
end

local function sh(script, more)
  local args = { command = "sh", args = { "-c", script } }
  for key, value in pairs(more or {}) do
    args[key] = value
  end
  return args
end

helper.describe("exec_command on an engine", { helper.BUSYBOX }, function()
  it("stops what takes longer than the maximum, also when no time-out was sent", function()
    local t = tools_of(helper.session(), { exec = { max_timeout_ms = 1000 } })
    local took, text = helper.timed(t.exec_command, { command = "sleep", args = { "5" } })
    assert.matches("^exit_code: 124\n\ntimed_out: true\n\nnote: Stopped after %d+ ms", text)
    assert.is_true(took < 4500)
    assert.is_nil((t.exec_command({ command = "sleep", args = { "5" }, timeoutMs = 1001 })))
  end)

  it("shows head and tail of long output with the exact number of bytes between", function()
    local t = tools_of(helper.session(), { exec = { max_output_bytes = 1000 } })
    local text = t.exec_command({ command = "seq", args = { "100000" } })
    local head, omitted, tail =
      text:match("stdout:\n(.-)\n%[%.%.%. (%d+) bytes left out here %.%.%.%]\n(.-)\n\n")
    assert.matches("^1\n2\n3\n", head)
    assert.matches("\n100000$", tail)
    local total = 0
    for i = 1, 100000 do
      total = total + #tostring(i) + 1
    end
    assert.equal(total - 1000, tonumber(omitted))
    assert.matches("output_truncated: true", text, 1, true)
    assert.matches("Left out: " .. omitted .. " bytes of stdout.", text, 1, true)
  end)

  it("is valid JSON for any bytes", function()
    local t = tools_of(helper.session())
    for _, text in ipairs({
      t.exec_command({ command = "printf", args = { "a\\000b\\377c" } }),
      t.exec_command({ command = "head", args = { "-c", "50000", "/dev/urandom" } }),
    }) do
      assert.equal(text, sandbox.json.decode(assert(sandbox.json.encode(text))))
      assert.matches("output_lossy: true", text, 1, true)
    end
  end)

  it("gives a program its input exactly", function()
    local t = tools_of(helper.session())
    assert.equal("exit_code: 0\n\nstdout:\n5",
      t.exec_command({ command = "wc", args = { "-c" }, input = "a\0b\255\n" }))
  end)

  it("tells the ends of a command apart", function()
    local t = tools_of(helper.session({ limits = { pids_limit = 16 } }))
    assert.equal("exit_code: 3\n\nstderr:\nbad", t.exec_command(sh("echo bad >&2; exit 3")))
    assert.matches("^exit_code: 139\n", t.exec_command(sh("kill -SEGV $$")))
    assert.matches("note: Killed (SIGKILL), but neither by a time-out nor for lack of memory.",
      t.exec_command(sh("kill -KILL $$")), 1, true)
    local many = "i=0; while [ $i -lt 40 ]; do sleep %s & i=$((i + 1)); done; wait"
    assert.matches("imit of processes in the sandbox was reached. Run fewer at once.",
      t.exec_command(sh(many:format("1"))), 1, true)
    sandbox.sleep(1500)
    -- The children have ended when the command does, so the counters can be read.
    assert.matches("note: The limit of processes in the sandbox was reached.",
      t.exec_command(sh("(" .. many:format("0.2") .. "); i=0; while [ $i -lt 1000000 ]; do "
        .. "i=$((i + 1)); done; exit 2")), 1, true)
    local _, err = t.exec_command({ command = "no-such-program" })
    assert.is_true(errors.is(err, "process"))
    assert.matches("not found", err.message)
  end)

  it("says that it was aborted", function()
    local t = tools_of(helper.session())
    local token = sandbox.cancel_token()
    sandbox.spawn(function()
      sandbox.sleep(500)
      token:cancel()
    end)
    local took, text = helper.timed(t.exec_command, { command = "sleep", args = { "20" } },
      { cancel = token })
    assert.matches("\n\naborted: true\n", text, 1, true)
    assert.is_true(took < 5000)
  end)

  it("answers also when the session is gone", function()
    local session = helper.session()
    local set = assert(sandbox.tools(session))
    assert(session:destroy())
    local result = set:call({ type = "tool_use", id = "x", name = "exec_command",
      input = { command = "ls" } })
    assert.is_true(result.is_error)
    local _, err = set[1].call({ command = "ls" })
    assert.is_true(errors.is(err, "session_destroyed"))
  end)
end)

helper.describe("the file tools on an engine", { helper.BUSYBOX }, function()
  it("write, list and read in pages", function()
    local t = tools_of(helper.session(), { read_file = { default_line_count = 2 } })
    t.write_file({ path = "src/a.txt", content = "one\ntwo\nthree\n" })
    assert.equal("directory\tsrc", t.list_files())
    assert.equal("file 14b\tsrc/a.txt", t.list_files({ path = "src" }))
    local page = t.read_file({ path = "src/a.txt" })
    assert.equal("one\ntwo\n", page.content)
    assert.equal(3, page.next_start_line)
    page = t.read_file({ path = "src/a.txt", startLine = page.next_start_line })
    assert.equal("three\n", page.content)
    assert.is_nil(page.next_start_line)
  end)

  it("refuse what leads out of the workspace", function()
    local t = tools_of(helper.session())
    for _, path in ipairs({ "../x", "/etc/passwd", "a/../../x" }) do
      assert.is_true(errors.is(select(2, t.read_file({ path = path })), "path"))
      assert.is_true(errors.is(select(2, t.write_file({ path = path, content = "" })), "path"))
      assert.is_true(errors.is(select(2, t.list_files({ path = path })), "path"))
    end
  end)

  it("show names that could break a line as JSON does", function()
    local t = tools_of(helper.session())
    t.write_file({ path = "a\nfile 1b\tb", content = "" })
    assert.equal('file 0b\t"a\\nfile 1b\\tb"', t.list_files())
  end)
end)

helper.describe("the process tools on an engine", { helper.BUSYBOX }, function()
  it("start, show, read and stop", function()
    local t = tools_of(helper.session())
    assert.equal("There are no processes.", t.list_processes())
    local started = t.start_process(sh("echo up; seq 3; exec sleep 300"))
    local id = started:match("^process_id: (%S+)\nstatus: running\ncommand: sh %-c ")
    helper.eventually(function()
      return t.read_process_logs({ processId = id }):find("3", 1, true)
    end)
    assert.equal("stdout:\nup\n1\n2\n3", t.read_process_logs({ processId = id }))
    assert.equal("stdout:\n3\n\noutput_truncated: true\n\nnote: Only the end of stdout is shown. "
      .. "Send a tailBytes of up to 65536 for more.",
      t.read_process_logs({ processId = id, tailBytes = 2 }))
    assert.matches("\nstatus: stopped\n", t.stop_process({ processId = id }))
    assert.equal("stdout:\nup\n1\n2\n3", t.read_process_logs({ processId = id }))
    local _, err = t.stop_process({ processId = "p99" })
    assert.is_true(errors.is(err, "not_found"))
    assert.matches("The process ids are " .. id .. ".", err.message, 1, true)
  end)
end)

helper.describe("a policy on an engine", { helper.BUSYBOX }, function()
  it("holds for links to a blocked program", function()
    local session = helper.session()
    assert(session:write_file("keep", ""))
    assert(session:exec(sh("ln -s /bin/rm r; ln -s r s; mkdir d; ln -s ../r d/t; ln -s d e")))
    local t = tools_of(session, { exec = { blocked_commands = { "rm" } } })
    for _, name in ipairs({ "./r", "./s", "d/t", "e/t", "/workspace/r" }) do
      local result, err = t.exec_command({ command = name, args = { "keep" } })
      assert.is_nil(result, name)
      assert.is_true(errors.is(err, "tool_policy"))
    end
    assert.is_nil((t.exec_command(sh("./e/t keep"))))
    assert.is_nil((t.exec_command({ command = "../r", args = { "../keep" }, cwd = "d" })))
    assert.equal("", session:read_file("keep"))
    assert.matches("^exit_code: 0", (t.exec_command({ command = "/bin/ls" })))
  end)

  it("holds for links to a file that may not be written", function()
    local session = helper.session()
    assert(session:exec(sh("mkdir a; ln -s ../.env a/l; ln -s a b; ln -s nowhere/.env c")))
    local t = tools_of(session, { policy = assert(sandbox.policy.load([[
      default "allow"
      deny { write = "**/.env" }
    ]], { text = true })) })
    for _, path in ipairs({ ".env", "a/l", "b/l", "./b/../a/l", "c" }) do
      local result, err = t.write_file({ path = path, content = "x" })
      assert.is_nil(result, path)
      assert.is_true(errors.is(err, "tool_policy"), tostring(err))
    end
    assert.equal("Wrote 1 byte to b/x.", t.write_file({ path = "b/x", content = "x" }))
    assert.is_nil(session:read_file(".env"))
  end)

  it("counts time across calls", function()
    local t = tools_of(helper.session(), { policy = assert(sandbox.policy.load([[
      default "allow"
      limit { exec = { total_ms = 4000 } }
    ]], { text = true })) })
    assert.matches("^exit_code: 0", (t.exec_command({ command = "sleep", args = { "1" } })))
    local took, text = helper.timed(t.exec_command, { command = "sleep", args = { "99" } })
    assert.matches("timed_out: true", text, 1, true)
    assert.is_true(took < 10000)
    local _, err = t.exec_command({ command = "true" })
    assert.matches("the session may use 4000 ms for exec", err.message, 1, true)
  end)
end)

helper.describe("a session limited in memory", { helper.BUSYBOX, helper.DEBIAN }, function()
  it("is said to be out of memory when a command was killed for it", function()
    local session = helper.session({ image = helper.DEBIAN, limits = { memory_mb = 64 } })
    if outside.sh("docker info --format '{{.MemoryLimit}}'"):match("false") then
      pending("this engine cannot limit memory")
      return
    end
    local t = tools_of(session)
    local text = t.exec_command({ command = "python3",
      args = { "-c", "x = bytearray(1 << 30)\nprint(len(x))" } })
    assert.matches("^exit_code: 137\n", text)
    assert.matches("note: Killed (SIGKILL) because the sandbox ran out of memory.", text, 1, true)
    text = t.exec_command(sh("kill -KILL $$"))
    assert.matches("note: Killed (SIGKILL), but neither by a time-out nor for lack", text, 1, true)
  end)
end)
