-- SPDX-License-Identifier: MIT
local errors = require("anvia.sandbox.errors")
local fake = require("spec.support.fake_session")
local tools = require("anvia.sandbox.tools")

--- The tools of a fake session by name, and the session.
local function build(answers, options)
  local session = fake.new(answers, { published_ports = { fake.port } })
  options = options or {}
  options.allow = options.allow or tools.NAMES
  local by_name = {}
  for _, tool in ipairs(assert(tools.build(session, options))) do
    by_name[tool.name] = tool.call
  end
  return by_name, session
end

local function exec_text(fields, args, options)
  args = args or {}
  args.command = args.command or "x"
  local t = build({ exec = fake.result(fields) }, options)
  return assert(t.exec_command(args))
end

local function failing(op, code, message)
  return function()
    return nil, errors.new(op, code, "%s", message)
  end
end

describe("exec_command", function()
  it("shows the exit code and what was printed", function()
    assert.equal("exit_code: 0", exec_text())
    assert.equal("exit_code: 3\n\nstdout:\na\n\nstderr:\nb",
      exec_text({ exit_code = 3, stdout = "a \n\n", stderr = "b\n" }))
  end)

  it("passes on what the model sent, and nothing else", function()
    local t, session = build({ exec = fake.result() })
    t.exec_command({ command = "ls", args = { "-l" }, cwd = "src", env = { A = "b" },
      timeoutMs = 5, input = "\0" })
    assert.same({ "exec", {
      command = "ls",
      args = { "-l" },
      cwd = "src",
      env = { A = "b" },
      input = "\0",
      timeout_ms = 5,
      max_output_bytes = 65536,
      keep = "both",
    } }, session:last("exec"))
  end)

  it("says what is left out, where, and how to read on", function()
    assert.equal("exit_code: 0\n\nstdout:\nhead\n[... 1000 bytes left out here ...]\ntail\n\n"
      .. "stderr:\nb\n[... 1 byte left out here ...]\n\noutput_truncated: true\n\n"
      .. "note: Left out: 1000 bytes of stdout and 1 byte of stderr. To see the rest, write the "
      .. "output to a file in the workspace and read that with read_file, or print less.",
      exec_text({ stdout = "head\ntail\n", stdout_truncated = true, stdout_omitted_bytes = 1000,
        stdout_cut_at = 5, stderr = "b", stderr_truncated = true, stderr_omitted_bytes = 1,
        stderr_cut_at = 1 }))
  end)

  it("does not send a model to a tool that it does not have", function()
    assert.matches("To see the rest, print less.$", exec_text({ stdout = "a", stdout_cut_at = 1,
      stdout_truncated = true, stdout_omitted_bytes = 9 }, nil, { allow = { "exec_command" } }))
  end)

  it("tells the ways to end apart", function()
    local function ending(fields, args)
      return (exec_text(fields, args))
    end
    assert.equal("exit_code: 124\n\ntimed_out: true\n\nstdout:\na\n\nnote: Stopped after 1000 ms, "
      .. "with all that it had started. Send a timeoutMs of up to 300000 for more. Run what should "
      .. "keep running, such as a server, with start_process.",
      ending({ exit_code = 124, timed_out = true, stdout = "a", duration_ms = 1000 }))
    assert.equal("exit_code: 130\n\naborted: true\n\nnote: Stopped by the user, with all that it "
      .. "had started.", ending({ exit_code = 130, cancelled = true }))
    assert.equal("exit_code: 139\n\nsignal: SEGV", ending({ exit_code = 139, signal = "SEGV" }))
    assert.equal("exit_code: 137\n\nsignal: KILL\n\nnote: Killed (SIGKILL), and not by a time-out: "
      .. "possibly the sandbox ran out of memory. Use less memory or work on smaller pieces.",
      ending({ exit_code = 137, signal = "KILL" }))
    assert.matches("note: Killed (SIGKILL) because the sandbox ran out of memory.",
      ending({ exit_code = 137, oom_killed = true }), 1, true)
    assert.matches("note: Killed (SIGKILL), but neither by a time-out nor for lack of memory.",
      ending({ exit_code = 137, oom_killed = false }), 1, true)
    assert.matches("note: The limit of processes in the sandbox was reached.",
      ending({ exit_code = 1, pids_limited = true }), 1, true)
    assert.matches("note: Possibly the limit of processes in the sandbox was reached.",
      ending({ exit_code = 2, stderr = "sh: can't fork: Resource temporarily unavailable" }), 1,
      true)
    assert.equal("exit_code: unknown", (exec_text({ exit_code = false })))
  end)

  it("is valid UTF-8 whatever was printed, and says so", function()
    local text = exec_text({ stdout = "a\0b\255c" })
    assert.equal("exit_code: 0\n\nstdout:\na\u{FFFD}b\u{FFFD}c\n\noutput_lossy: true\n\n"
      .. "note: stdout is not text: 2 bytes are shown as U+FFFD.", text)
  end)

  it("explains a shell line in `command`", function()
    local t = build({ exec = failing("exec", "process", "ls -l: not found") })
    local result, err = t.exec_command({ command = "ls -l" })
    assert.is_nil(result)
    assert.is_true(errors.is(err, "process"))
    assert.equal("ls -l: not found. 'command' is one program: send its arguments in 'args', or run "
      .. "sh with the args [\"-c\", \"<the whole line>\"].", err.message)
  end)

  it("passes a cancel token on", function()
    local token = setmetatable({}, { __name = "token" })
    local t, session = build({ exec = fake.result() })
    t.exec_command({ command = "ls" }, { cancel = token })
    assert.equal(token, session:last("exec")[2].cancel)
  end)
end)

describe("read_file", function()
  it("asks for a page within the limits and returns it", function()
    local page = { content = "a\n", start_line = 1, end_line = 1, truncated = false }
    local t, session = build({ read_text_page = page })
    assert.same(page, t.read_file({ path = "a.txt" }))
    assert.same({ "read_text_page", "a.txt",
      { start_line = 1, line_count = 500, max_bytes = 65536 } }, session:last("read_text_page"))
    t.read_file({ path = "a.txt", startLine = 7, lineCount = 2000 })
    assert.same({ start_line = 7, line_count = 2000, max_bytes = 65536 },
      session:last("read_text_page")[3])
    local _, err = t.read_file({ path = "a.txt", lineCount = 2001 })
    assert.equal("'lineCount' must be an integer from 1 to 2000, not the number 2001", err.message)
  end)

  it("marks a page that is not text", function()
    local t = build({ read_text_page = { content = "\255", start_line = 1, end_line = 1 } })
    assert.same({ content = "\u{FFFD}", start_line = 1, end_line = 1, lossy = true,
      replaced_bytes = 1 }, t.read_file({ path = "a" }))
  end)
end)

describe("write_file", function()
  it("writes exactly what was sent", function()
    local t, session = build()
    assert.equal("Wrote 3 bytes to a.txt.", t.write_file({ path = "a.txt", content = "a\0b" }))
    assert.same({ "write_file", "a.txt", "a\0b" }, session:last("write_file"))
    assert.equal("Wrote 1 byte to a.txt.", t.write_file({ path = "a.txt", content = "a" }))
  end)

  it("refuses more than its limit before anything is written", function()
    local t, session = build(nil, { write_file = { max_bytes = 2 } })
    local result, err = t.write_file({ path = "a", content = "abc" })
    assert.is_nil(result)
    assert.is_true(errors.is(err, "file_size"))
    assert.is_nil(session:last("write_file"))
    assert.is_string(t.write_file({ path = "a", content = "ab" }))
  end)
end)

describe("list_files", function()
  it("shows one entry a line", function()
    local t, session = build({ list_files = {
      { path = "a.txt", type = "file", size = 12 },
      { path = "src", type = "directory", size = 4096 },
      { path = "l", type = "symlink", size = 5 },
      { path = "p\nq", type = "other", size = 0 },
    } })
    assert.equal("file 12b\ta.txt\ndirectory\tsrc\nsymlink\tl\nother\t\"p\\nq\"", t.list_files())
    assert.same({ "list_files", "." }, session:last("list_files"))
    t.list_files({ path = "src" })
    assert.same({ "list_files", "src" }, session:last("list_files"))
  end)

  it("has a sentence for an empty directory and an end to a long one", function()
    assert.equal("The directory is empty.", (build({ list_files = {} })).list_files())
    local entries = {}
    for i = 1, 10000 do
      entries[i] = { path = string.format("file-%05d", i), type = "file", size = 1 }
    end
    local text = build({ list_files = entries }).list_files()
    assert.is_true(#text < 65 * 1024)
    local shown = select(2, text:gsub("file 1b\t", ""))
    assert.matches(string.format("[... %d more left out; list a directory below ...]",
      10000 - shown), text, 1, true)
  end)
end)

describe("the port tools", function()
  it("list what is published", function()
    assert.equal("8000/tcp\t127.0.0.1:49152", build().list_ports())
  end)

  it("wait for a port", function()
    local t, session = build({ wait_for_port = fake.port })
    assert.equal("ready: 8000/tcp -> 127.0.0.1:49152", t.wait_for_port({ containerPort = 8000 }))
    assert.same({ "wait_for_port", 8000, { timeout_ms = 30000 } }, session:last("wait_for_port"))
  end)

  it("say at once that a port is not published", function()
    local t, session = build()
    local _, err = t.wait_for_port({ containerPort = 3000 })
    assert.is_true(errors.is(err, "port"))
    assert.equal("port 3000 is not published by this sandbox, so nothing can reach it from "
      .. "outside. Start the server on 0.0.0.0 and one of the published ports: 8000.", err.message)
    assert.is_nil(session:last("wait_for_port"))
  end)

  it("say what to do about a server that cannot be reached", function()
    local function message(text)
      local t = build({ wait_for_port = failing("wait_for_port", "timeout", text) })
      local _, err = t.wait_for_port({ containerPort = 8000 })
      assert.is_true(errors.is(err, "timeout"))
      return err.message
    end
    assert.equal("port 8000 listens on 127.0.0.1 only. Start the server on 0.0.0.0 instead of "
      .. "127.0.0.1 or localhost.", message("port 8000 listens on 127.0.0.1 only"))
    assert.equal("nothing listens on port 8000. See what the server printed with "
      .. "read_process_logs.", message("nothing listens on port 8000"))
  end)
end)

describe("the process tools", function()
  local running = { id = "p1", status = "running", command = "python3",
    args = { "-m", "http.server" } }
  local ended = { id = "p2", status = "exited", command = "sh", args = { "-c", "exit 3" },
    exit_code = 3 }

  it("show processes as lines", function()
    local t, session = build({ start_process = running, list_processes = { running, ended },
      stop_process = ended })
    assert.equal("process_id: p1\nstatus: running\ncommand: python3 -m http.server",
      t.start_process({ command = "python3", args = { "-m", "http.server" } }))
    assert.equal("process_id: p1\nstatus: running\ncommand: python3 -m http.server\n\n"
      .. "process_id: p2\nstatus: exited\ncommand: sh -c 'exit 3'\nexit_code: 3",
      t.list_processes())
    assert.equal("process_id: p2\nstatus: exited\ncommand: sh -c 'exit 3'\nexit_code: 3",
      t.stop_process({ processId = "p2" }))
    assert.same({ "stop_process", "p2", { grace_period_ms = 5000 } }, session:last("stop_process"))
    assert.equal("There are no processes.", build({ list_processes = {} }).list_processes())
  end)

  it("name the ids that exist", function()
    local t = build({ list_processes = { running, ended },
      read_process_logs = failing("read_process_logs", "not_found", "no process 'x'") })
    local _, err = t.read_process_logs({ processId = "x" })
    assert.equal("no process 'x'. The process ids are p1, p2.", err.message)
  end)

  it("show the tail of the logs and how to get more", function()
    local logs = { stdout = "a\n", stderr = "", stdout_truncated = false, stderr_truncated = false }
    local t, session = build({ read_process_logs = function() return logs end })
    assert.equal("stdout:\na", t.read_process_logs({ processId = "p1" }))
    assert.same({ "read_process_logs", "p1", { tail_bytes = 65536 } },
      session:last("read_process_logs"))
    logs.stdout_truncated = true
    assert.equal("stdout:\na\n\noutput_truncated: true\n\nnote: Only the end of stdout is shown. "
      .. "Send a tailBytes of up to 65536 for more.",
      t.read_process_logs({ processId = "p1", tailBytes = 2 }))
    assert.equal("stdout:\na\n\noutput_truncated: true\n\nnote: Only the end of stdout is shown. "
      .. "To keep everything, start the process with its output in a file.",
      t.read_process_logs({ processId = "p1" }))
    logs = { stdout = "", stderr = "" }
    assert.equal("The process has printed nothing.", t.read_process_logs({ processId = "p1" }))
  end)
end)
