-- SPDX-License-Identifier: MIT
local policy = require("anvia.sandbox.policy")

local function call(...)
  return { tool = "exec_command", command = (...), args = { select(2, ...) } }
end

local function script(text)
  return call("sh", "-c", text)
end

--- Whether the call may run; nobody is there to ask.
local function runs(made, given)
  local text, verdict = made:explain(given)
  return (made:authorize(given, made:session_state())) == true, text, verdict
end

describe("blocked commands", function()
  local made = policy.from_lists { blocked_commands = { "rm", "/usr/bin/nc" } }

  for _, given in ipairs {
    call("rm"), call("rm", "x"), call("/bin/rm"), call("./rm"), call("../bin/rm"), call("rm "),
    call("RM"), call("rm\194\160"), call("env", "rm", "x"), call("busybox", "rm", "x"),
    call("xargs", "rm"), call("find", ".", "-delete"), call("find", ".", "-exec", "rm", "{}", ";"),
    call("find", ".", "-execdir", "/bin/rm", "{}", "+"), call("nice", "-n", "5", "rm", "x"),
    call("nohup", "rm"), call("timeout", "5", "rm"), call("setsid", "rm"),
    call("stdbuf", "-o0", "rm"), call("sudo", "rm"), call("env", "-S", "rm x"),
    call("env", "A=1", "timeout", "1", "nice", "rm"),
    script("rm x"), script("ls; rm x"), script("ls && (rm x)"), script("echo $(rm x)"),
    script("if true; then rm x; fi"), script("r() { rm x; }; r"), script("\\rm x"),
    script("'rm' x"),
    script("r\\m x"), script("eval 'rm x'"), script("command rm x"),
    script("exec rm x"),
    script("ls | xargs rm"), script("sh -c 'bash -c \"rm x\"'"), script("sh <<E\nrm x\nE"),
    script("echo 'rm x' | sh"), script("trap 'rm x' EXIT"), script("$(echo rm) x"),
    script("$CMD x"),
    script("X=rm; $X y"), script("rm\tx"), script("true &&\nrm x"), call("bash", "-lc", "rm x"),
    call("dash", "-c", "rm x"), call("sh", "-ec", "rm x"),
    { tool = "exec_command", command = "sh", input = "rm x\n" },
    { tool = "exec_command", command = "bash", args = { "-s" }, input = "ls\nrm x\n" },
    { tool = "start_process", command = "rm", args = { "x" } },
    { tool = "start_process", command = "sh", args = { "-c", "rm x" } },
    call("nc"), call("/usr/bin/nc"),
  } do
    local words = given.command .. " " .. table.concat(given.args or {}, " ")
    it(("refuse `%s`%s"):format(words:gsub("%c", " "), given.input and " (input)" or ""), function()
      local ok, text = runs(made, given)
      assert.is_false(ok, text)
    end)
  end

  for _, given in ipairs {
    call("ls"), call("rmdir", "x"), call("echo", "rm"), script("echo rm"), script("echo 'rm x'"),
    script("cat <<E\nrm x\nE"), script("grep rm file"), call("python3", "-c", "print(1)"),
    call("python3", "x.py"), call("sh", "build.sh"), call("find", ".", "-name", "rm"),
    script("# rm x\nls"), script("ls > out.txt"), { tool = "read_file", path = "rm" },
    { tool = "write_file", path = "x", content = "rm x" }, { tool = "list_files", path = "." },
    { tool = "wait_for_port", port = 80 }, { tool = "start_process", command = "sh" },
    { tool = "exec_command", command = "ls", env = { PATH = "/x" } }, call("/opt/nc"),
  } do
    local words = (given.command or given.tool) .. " " .. table.concat(given.args or {}, " ")
    it(("let `%s` run"):format(words:gsub("%c", " ")), function()
      local ok, text = runs(made, given)
      assert.is_true(ok, text)
    end)
  end

  it("hold for a link whose target is known", function()
    local state = made:session_state { links = function(path)
      return path == "/workspace/r" and "/bin/rm" or nil
    end }
    assert.is_nil((made:authorize(call("./r", "x"), state)))
    assert.is_nil((made:authorize(script("./r x"), state)))
    assert.is_true(made:authorize(call("./s", "x"), state))
  end)

  it("say which name is blocked", function()
    local _, err = made:authorize(script("ls; rm x"), made:session_state())
    assert.equal("tool_policy", err.code)
    assert.is_truthy(err.message:find("'rm' is blocked", 1, true), err.message)
    assert.is_truthy(err.message:find("run by sh -c", 1, true), err.message)
  end)
end)

describe("allowed commands", function()
  local made = policy.from_lists { allowed_commands = { "ls", "env", "/opt/tool", "find", "git" } }

  for _, given in ipairs {
    call("ls"), call("ls", "-la", "src"), call("env", "ls"), call("/opt/tool", "x"),
    call("find", ".", "-name", "x"), call("find", ".", "-exec", "ls", "{}", ";"),
    call("git", "-c", "a=b", "log"), { tool = "start_process", command = "ls" },
    { tool = "exec_command", command = "ls", env = { LANG = "C" } },
    { tool = "write_file", path = "x", content = "" },
  } do
    local words = (given.command or given.tool) .. " " .. table.concat(given.args or {}, " ")
    it(("let `%s` run"):format(words), function()
      local ok, text = runs(made, given)
      assert.is_true(ok, text)
    end)
  end

  for _, given in ipairs {
    call("nmap"), call("env", "nmap"), call("/bin/ls"), call("/workspace/ls"), call("./ls"),
    call("LS"), call("ls "), call("tool"), call("sh", "-c", "ls"), call("timeout", "5", "ls"),
    call("find", ".", "-exec", "rm", "{}", ";"), call("env", "-i", "nmap"), call("env", "/bin/ls"),
    call("env", "PATH=/workspace/bin", "ls"), call("env", "-S", "LD_PRELOAD=x ls"),
    { tool = "exec_command", command = "ls", env = { PATH = "/workspace/bin:/bin" } },
    { tool = "exec_command", command = "ls", env = { LD_PRELOAD = "/workspace/x.so" } },
    { tool = "exec_command", command = "ls", env = { LD_LIBRARY_PATH = "." } },
    { tool = "exec_command", command = "ls", env = { BASH_ENV = "x" } },
    { tool = "exec_command", command = "ls", env = { ENV = "x" } },
    { tool = "exec_command", command = "ls", env = { IFS = "x" } },
    { tool = "start_process", command = "nmap" },
    { tool = "start_process", command = "ls", env = { PATH = "." } },
  } do
    local words = given.command .. " " .. table.concat(given.args or {}, " ")
    local name = given.env and next(given.env) or ""
    it(("refuse `%s` %s"):format(words, name), function()
      local ok, text = runs(made, given)
      assert.is_false(ok, text)
    end)
  end

  it("admit a shell only for scripts of allowed commands", function()
    local shell = policy.from_lists { allowed_commands = { "sh", "ls", "cat" } }
    for text, wanted in pairs {
      ["ls"] = true, ["ls | cat"] = true, ["cd x && ls"] = true, ["ls; nmap"] = false,
      ["ls $(nmap)"] = false, ["/bin/ls"] = false, ["PATH=. ls"] = false, ["$X"] = false,
      ["ls 'x"] = false, ["LD_PRELOAD=x ls"] = false, ["export PATH=.; ls"] = false,
    } do
      assert.equal(wanted, (runs(shell, script(text))), text)
    end
    assert.is_false((runs(shell, call("sh", "x.sh"))))
    assert.is_false((runs(shell, { tool = "exec_command", command = "sh", input = "nmap" })))
    assert.is_true((runs(shell, { tool = "exec_command", command = "sh", input = "ls" })))
  end)

  it("say what may run", function()
    local text = made:judge(call("nmap")).text
    assert.equal("Refused: `nmap`. Reason: the commands that may run are ls, env, /opt/tool, find, "
      .. "git, each by that name alone. [default, tool options]", text)
    assert.is_truthy(made:judge({ tool = "exec_command", command = "ls", env = { PATH = "." } })
      .text:find("may not change what their names find", 1, true))
  end)

  it("go together with blocked ones", function()
    local both = policy.from_lists { allowed_commands = { "git" }, blocked_commands = { "ls" } }
    assert.is_true((runs(both, call("git", "log"))))
    assert.is_false((runs(both, call("ls"))))
    assert.is_false((runs(both, call("cat"))))
  end)

  it("tighten a policy they are stacked with", function()
    local loose = policy.load("default \"allow\"")
    local stacked = policy.stack { loose, made }
    assert.is_true((runs(stacked, call("ls"))))
    assert.is_false((runs(stacked, call("cat"))))
  end)

  it("take names only", function()
    for _, options in ipairs {
      { allowed_commands = "ls" }, { allowed_commands = { 5 } }, { allowed_commands = { "" } },
      { allowed_commands = { "git status" } }, { blocked = {} }, { blocked_commands = { "a\0" } },
    } do
      assert.has_error(function() policy.from_lists(options) end)
    end
  end)

  it("stand for themselves: a star is no glob", function()
    local star = policy.from_lists { allowed_commands = { "*" } }
    assert.is_false((runs(star, call("ls"))))
  end)
end)
