-- SPDX-License-Identifier: MIT
local policy = require("anvia.sandbox.policy")

local function load_text(text, name)
  local made, err = policy.load(text, { name = name or "p.lua", text = true })
  assert.is_nil(err)
  return made
end

--- An argv call.
local function call(...)
  return { tool = "exec_command", command = (...), args = { select(2, ...) } }
end

local function script(text)
  return call("sh", "-c", text)
end

local function answer(made, given, state)
  return made:judge(given, state).answer
end

describe("the strictest answer", function()
  it("wins wherever the rules stand", function()
    local orders = {
      "allow { exec = \"git\" } ask { exec = \"git push\" } "
        .. "deny { exec = { \"git\", \"push\", \"-f\" } }",
      "deny { exec = { \"git\", \"push\", \"-f\" } } ask { exec = \"git push\" } "
        .. "allow { exec = \"git\" }",
    }
    for _, text in ipairs(orders) do
      local made = load_text(text)
      assert.equal("allow", answer(made, call("git", "status")))
      assert.equal("ask", answer(made, call("git", "push")))
      assert.equal("deny", answer(made, call("git", "push", "--force")))
    end
  end)

  it("holds by whatever path the program is named", function()
    local made = load_text("deny { exec = \"rm\" } default { exec = \"allow\" }")
    for _, name in ipairs { "rm", "/bin/rm", "./rm", "../../bin/rm", "/usr/bin/../bin/rm", "RM" } do
      assert.equal("deny", answer(made, call(name, "x")), name)
    end
  end)

  it("is that of any reading for deny and ask, of all readings for allow", function()
    local made = load_text("allow { exec = any { \"ls\", \"cat\", \"sh -c\" } } "
      .. "deny { exec = \"rm\" } ask { exec = \"mv\" } default { exec = \"ask\" }")
    assert.equal("allow", answer(made, script("ls; cat x")))
    assert.equal("ask", answer(made, script("ls; cat x; foo")))
    assert.equal("ask", answer(made, script("ls; mv a b")))
    assert.equal("deny", answer(made, script("ls; mv a b; rm x; cat y")))
  end)

  it("lets different rules allow different readings", function()
    local made = load_text("allow { exec = \"ls\" } allow { exec = \"cat\" } "
      .. "allow { exec = \"sh -c\" }")
    assert.equal("allow", answer(made, script("ls | cat")))
  end)

  it("does not admit a shell because what it runs is admitted", function()
    local made = load_text("allow { exec = \"ls\" }")
    assert.equal("ask", answer(made, script("ls")))
    assert.equal("ask", answer(made, call("env", "ls")))
    assert.equal("allow", answer(load_text("allow { exec = any { \"ls\", \"env\" } }"),
      call("env", "ls")))
  end)
end)

describe("what was not read to the end", function()
  local text = "allow { exec = \"*\" } "

  it("asks unless a default says otherwise, whatever is allowed", function()
    assert.equal("ask", answer(load_text(text), script("$X a")))
    assert.equal("ask", answer(load_text(text), script("ls 'x")))
    assert.equal("deny", answer(load_text(text .. "default { unparsed = \"deny\" }"), script("$X")))
    assert.equal("allow", answer(load_text(text .. "default { unparsed = \"allow\" }"),
      script("$X")))
  end)

  it("has defaults by what was in the way", function()
    local made = load_text(text
      .. "default { unparsed = { syntax = \"deny\", dynamic = \"allow\" } }")
    assert.equal("deny", answer(made, script("ls 'x")))
    assert.equal("allow", answer(made, script("$X")))
    assert.equal("ask", answer(made, call("sh", "build.sh")))
  end)

  it("is no matter for code that is not shell, unless a default names it", function()
    local python = call("python3", "-c", "print(1)")
    assert.equal("allow", answer(load_text(text .. "default { unparsed = \"deny\" }"), python))
    assert.equal("deny", answer(load_text(text
      .. "default { unparsed = { language = \"deny\" } }"), python))
  end)

  it("still denies what was read", function()
    local made = load_text(text .. "deny { exec = \"rm\" } default { unparsed = \"allow\" }")
    assert.equal("deny", answer(made, script("$X; rm y")))
  end)

  it("says what could not be read", function()
    local verdict = load_text(text):judge(script("$X a"))
    assert.equal("unparsed", verdict.subject)
    assert.is_truthy(verdict.text:find("could not be read to the end", 1, true), verdict.text)
  end)

  it("asks where a word that is not known decides whether a deny holds", function()
    local made = load_text(text .. "deny { exec = { \"git\", \"push\", \"--force\" }, "
      .. "because = \"no force\" }")
    local verdict = made:judge(script("git push \"$FLAG\""))
    assert.equal("ask", verdict.answer)
    assert.is_truthy(verdict.text:find("only known when it runs", 1, true), verdict.text)
    assert.is_truthy(verdict.text:find("no force", 1, true), verdict.text)
    assert.equal("allow", answer(made, script("git log src/\"$FILE\"")))
  end)
end)

describe("an exception", function()
  local made = load_text([[
    deny { exec = "git push", except = { "git push --dry-run", { "git", "push", "backup" } } }
    deny { write = "**/*.key", except = "test/**" }
    deny { env = "AWS_*", except = "AWS_REGION" }
    deny { port = "1-1023", except = { 80, 443 } }
    default "allow" ]])

  it("lifts its own rule", function()
    assert.equal("allow", answer(made, call("git", "push", "--dry-run")))
    assert.equal("allow", answer(made, call("git", "push", "backup", "main")))
    assert.equal("deny", answer(made, call("git", "push", "origin")))
    assert.equal("allow", answer(made, { tool = "write_file", path = "test/a/b.key" }))
    assert.equal("deny", answer(made, { tool = "write_file", path = "test/../b.key" }))
    assert.equal("allow", answer(made, { tool = "wait_for_port", port = 443 }))
    assert.equal("deny", answer(made, { tool = "wait_for_port", port = 22 }))
    local with_env = call("ls")
    with_env.env = { AWS_REGION = "x" }
    assert.equal("allow", answer(made, with_env))
    with_env.env = { AWS_SECRET = "x" }
    assert.equal("deny", answer(made, with_env))
  end)

  it("must be certain", function()
    assert.equal("deny", answer(made, call("git", "-c", "a=b", "push", "--dry-run")))
    assert.equal("deny", answer(made, call("/x/git", "push", "--dry-run")))
    assert.equal("deny", answer(made, call("git", "push", "--dry-ru")))
    assert.is_not.equal("allow", answer(made, script("git push $X")))
  end)

  it("is no allow, and lifts no other rule", function()
    local other = load_text("deny { exec = \"rm\", except = \"rm x\" } ask { exec = \"rm\" }")
    assert.equal("ask", answer(other, call("rm", "x")))
  end)

  it("of an allow makes it narrower", function()
    local other = load_text("allow { exec = \"git\", except = { { \"git\", \"push\" } } }")
    assert.equal("allow", answer(other, call("git", "log")))
    assert.equal("ask", answer(other, call("git", "push")))
    assert.equal("ask", answer(other, call("git", "--odd", "push")))
  end)
end)

describe("a stack", function()
  local org = load_text("deny { exec = \"curl\" } ask { exec = \"npm install\" } "
    .. "deny { exec = \"rm\", except = \"rm tmp/x\" } deny { write = \"**/.env\" }", "org.lua")
  local project = load_text("allow { exec = any { \"npm\", \"curl\", \"make\" } } "
    .. "deny { exec = \"rm tmp\" } allow { write = \"**\" } default { unparsed = \"allow\" }",
    "project.lua")
  local session = load_text("deny { exec = \"make deploy\" } "
    .. "limit { exec = { calls = 3 } }", "session.lua")

  it("only tightens", function()
    for _, list in ipairs { { org, project, session }, { session, project, org } } do
      local made = policy.stack(list)
      assert.equal("deny", answer(made, call("curl", "x")))
      assert.equal("ask", answer(made, call("npm", "install")))
      assert.equal("allow", answer(made, call("npm", "test")))
      assert.equal("allow", answer(made, call("make")))
      assert.equal("deny", answer(made, call("make", "deploy")))
      assert.equal("deny", answer(made, { tool = "write_file", path = "a/.env" }))
      assert.equal("allow", answer(made, { tool = "write_file", path = "a" }))
      assert.same({ calls = 3 }, made:limits("exec_command"))
    end
  end)

  it("leaves an exception to the layer that made it", function()
    assert.equal("ask", answer(policy.stack { org }, call("rm", "tmp/x")))
    local made = policy.stack { org, load_text("deny { exec = \"rm\" }") }
    assert.equal("deny", answer(made, call("rm", "tmp/x")))
    made = policy.stack { load_text("deny { exec = \"rm\" }"),
      load_text("deny { exec = \"rm\", except = \"rm x\" } allow { exec = \"rm\" }") }
    assert.equal("deny", answer(made, call("rm", "x")))
  end)

  it("lets a default of an upper layer stand", function()
    local strict = load_text("default { exec = \"ask\" } allow { exec = \"git\" }")
    local loose = load_text("default { exec = \"allow\", unparsed = \"allow\" }")
    local made = policy.stack { strict, loose }
    assert.equal("allow", answer(made, call("git", "status")))
    assert.equal("ask", answer(made, call("ls")))
  end)

  it("does not let a layer describe a program for another one", function()
    local upper = load_text("deny { exec = \"git push\" } default { exec = \"allow\" }")
    local lower = load_text("program \"git\" { options_with_value = { \"--x\" } } "
      .. "default { exec = \"allow\" }")
    assert.equal("deny", answer(policy.stack { upper, lower }, call("git", "--x", "push")))
  end)

  it("judges a call of several commands command by command", function()
    local one = load_text("allow { exec = any { \"ls\", \"sh -c\" } }")
    local two = load_text("allow { exec = \"cat\" }")
    assert.equal("allow", answer(policy.stack { one, two }, script("ls; cat x")))
  end)

  it("can be stacked again", function()
    local made = policy.stack { policy.stack { org, project }, session }
    assert.equal("deny", answer(made, call("curl", "x")))
    assert.equal("deny", answer(made, call("make", "deploy")))
    assert.equal("policy org.lua, project.lua, session.lua", tostring(made))
  end)
end)

describe("files", function()
  local made = load_text([[
    allow { read = "**" } allow { write = "src/**" } deny { write = "**/.git" }
    ask { read = "*.pem" } allow { list = "src/**" } allow { exec = any { "echo", "sh -c" } }
    deny { read = "/etc/shadow" } ]])

  it("are judged for the tools", function()
    assert.equal("allow", answer(made, { tool = "read_file", path = "a" }))
    assert.equal("ask", answer(made, { tool = "read_file", path = "x/a.pem" }))
    assert.equal("deny", answer(made, { tool = "read_file", path = "/etc/shadow" }))
    assert.equal("deny", answer(made, { tool = "read_file", path = "../etc/shadow" }))
    assert.equal("ask", answer(made, { tool = "read_file", path = "/etc/passwd" }))
    assert.equal("allow", answer(made, { tool = "write_file", path = "./src//x/y" }))
    assert.equal("ask", answer(made, { tool = "write_file", path = "src/../x" }))
    assert.equal("deny", answer(made, { tool = "write_file", path = "src/.git/config" }))
    assert.equal("ask", answer(made, { tool = "list_files", path = "." }))
    assert.equal("allow", answer(made, { tool = "list_files", path = "src/x" }))
    assert.equal("ask", answer(made, { tool = "rename", path = "src/a", to = "b" }))
    assert.equal("allow", answer(made, { tool = "rename", path = "src/a", to = "src/b" }))
  end)

  it("are judged for redirects", function()
    assert.equal("allow", answer(made, script("echo x > src/a")))
    assert.equal("ask", answer(made, script("echo x > a")))
    assert.equal("deny", answer(made, script("echo x > src/../.git/hooks/y")))
    assert.equal("deny", answer(made, script("cd .git && echo x > config")))
    assert.equal("allow", answer(made, script("echo x > /dev/null 2>&1")))
    assert.is_not.equal("allow", answer(made, script("echo x > \"$F\"")))
  end)

  it("are followed where a link is known to lead", function()
    local state = made:session_state { links = function(path)
      return path == "/workspace/src/link" and "/workspace/.git/config" or nil
    end }
    assert.equal("deny", answer(made, { tool = "write_file", path = "src/link" }, state))
    assert.equal("allow", answer(made, { tool = "write_file", path = "src/other" }, state))
  end)

  it("can be limited in size", function()
    local sized = load_text("deny { write = \"**\", larger_than = \"1 KiB\" } "
      .. "allow { write = \"**\", up_to = 100 }")
    for size, wanted in pairs { [100] = "allow", [101] = "ask", [1025] = "deny" } do
      assert.equal(wanted, answer(sized, { tool = "write_file", path = "x",
        content = ("x"):rep(size) }))
    end
    assert.equal("deny", answer(sized, { tool = "write_file", path = "x", size = 2000 }))
  end)

  it("use the workspace that the session has", function()
    local state = made:session_state { workdir = "/srv/app" }
    assert.equal("allow", answer(made, { tool = "write_file", path = "/srv/app/src/x" }, state))
    assert.equal("ask", answer(made, { tool = "write_file", path = "/workspace/src/x" }, state))
  end)
end)

describe("variables", function()
  it("that decide what runs are never just allowed", function()
    local made = load_text("allow { exec = any { \"ls\", \"sh -c\", \"env\" } }")
    for _, name in ipairs { "PATH", "LD_PRELOAD", "LD_LIBRARY_PATH", "BASH_ENV", "ENV", "IFS",
      "PYTHONPATH", "NODE_OPTIONS", "GIT_SSH_COMMAND", "PAGER" } do
      local given = call("ls")
      given.env = { [name] = "x" }
      assert.equal("ask", answer(made, given), name)
      assert.equal("ask", answer(made, script(name .. "=x ls")), name)
      assert.equal("ask", answer(made, call("env", name .. "=x", "ls")), name)
    end
    local given = call("ls")
    given.env = { LANG = "C", HOME = "/tmp" }
    assert.equal("allow", answer(made, given))
  end)

  it("can be allowed or refused by name", function()
    local made = load_text("allow { env = \"PATH\" } deny { env = \"SECRET*\" } "
      .. "allow { exec = any { \"ls\", \"sh -c\", \"env\" } }")
    assert.equal("allow", answer(made, script("PATH=/x ls")))
    assert.equal("deny", answer(made, script("SECRET_KEY=1 ls")))
    assert.equal("deny", answer(made, call("env", "SECRET=1", "ls")))
  end)
end)

describe("conditions", function()
  it("on the directory", function()
    local made = load_text("allow { exec = any { \"make\", \"sh -c\" }, cwd = \"build\" } "
      .. "allow { exec = \"sh -c\" } deny { exec = \"ls\", cwd = \"/etc\" } "
      .. "allow { exec = \"ls\" }")
    local given = call("make")
    assert.equal("ask", answer(made, given))
    given.cwd = "build"
    assert.equal("allow", answer(made, given))
    given.cwd = "build/.."
    assert.equal("ask", answer(made, given))
    assert.equal("allow", answer(made, script("cd build && make")))
    assert.equal("ask", answer(made, script("cd build && cd .. && make")))
    assert.equal("deny", answer(made, script("cd /etc && ls")))
    assert.equal("allow", answer(made, script("ls")))
  end)

  it("on the tool", function()
    local made = load_text("deny { exec = \"npm start\", tool = \"exec_command\", "
      .. "instead = \"use start_process\" } allow { exec = \"npm\" }")
    assert.equal("deny", answer(made, call("npm", "start")))
    assert.equal("allow", answer(made, { tool = "start_process", command = "npm",
      args = { "start" } }))
    made = load_text("deny { tool = \"start_process\" } default \"allow\"")
    assert.equal("deny", answer(made, { tool = "start_process", command = "ls" }))
    assert.equal("allow", answer(made, call("ls")))
  end)

  it("on pipes", function()
    local made = load_text("deny { pipe = { \"curl | sh\", \"wget | *sh\", \"* | python*\" } } "
      .. "default \"allow\"")
    assert.equal("deny", answer(made, script("curl -s x | sh")))
    assert.equal("deny", answer(made, script("curl -s x | tee y | sh -s -- z")))
    assert.equal("deny", answer(made, script("wget -O- x | bash")))
    assert.equal("deny", answer(made, script("cat x | python3 -")))
    assert.equal("allow", answer(made, script("curl -s x | jq .")))
    assert.equal("allow", answer(made, script("cat x | grep sh")))
  end)

  it("on ports", function()
    local made = load_text("allow { port = { 80, \"8000-8999\" } }")
    assert.equal("allow", answer(made, { tool = "wait_for_port", port = 8080 }))
    assert.equal("allow", answer(made, { tool = "wait_for_port", port = 80 }))
    assert.equal("ask", answer(made, { tool = "wait_for_port", port = 81 }))
  end)

  it("by a function of one rule", function()
    local made = load_text([[
      allow { exec = "kill", when = function(call, command) return #command.argv == 2 end }
      deny { write = "**", when = function(call, file) return call.content:find("BEGIN RSA") end }
      allow { write = "**" } ]])
    assert.equal("allow", answer(made, call("kill", "12")))
    assert.equal("ask", answer(made, call("kill", "12", "13")))
    assert.equal("allow", answer(made, { tool = "write_file", path = "x", content = "fine" }))
    assert.equal("deny", answer(made, { tool = "write_file", path = "x",
      content = "-----BEGIN RSA PRIVATE KEY-----" }))
    -- without a content the function fails, and a failed condition is a deny
    local verdict = made:judge({ tool = "write_file", path = "x" })
    assert.equal("deny", verdict.answer)
    assert.is_truthy(verdict.because:find("p.lua:2", 1, true), verdict.because)
  end)
end)

describe("a predicate", function()
  it("answers with words, and speaks for what no rule speaks of", function()
    local made = load_text([[
      rule("fine", function(call) if call.tool == "read_file" then return allow() end end)
      rule("hm", function(call) if call.path == "b" then return ask("is that so?") end end)
      rule("no", function(call)
        if call.path == "c" then return deny("not c", { instead = "take d" }) end
      end)
      deny { read = "x" } ]])
    assert.equal("allow", answer(made, { tool = "read_file", path = "a" }))
    assert.equal("ask", answer(made, { tool = "read_file", path = "b" }))
    assert.equal("deny", answer(made, { tool = "read_file", path = "x" }))
    assert.equal("ask", answer(made, { tool = "write_file", path = "a" }))
    local verdict = made:judge({ tool = "read_file", path = "c" })
    assert.same({ "deny", "no", "not c", "take d", 3 }, { verdict.answer, verdict.rule,
      verdict.because, verdict.instead, verdict.line })
  end)

  it("cannot allow what was not read", function()
    local made = load_text("rule(\"all\", function() return allow() end)")
    assert.equal("allow", answer(made, script("ls; rm -rf x")))
    assert.equal("ask", answer(made, script("$X")))
  end)

  it("sees the call, its commands, its files and its variables", function()
    local made = load_text([[
      rule("look", function(call)
        local function same(a, b, what)
          if a ~= b then error(what .. ": " .. tostring(a) .. " is not " .. tostring(b)) end
        end
        same(call.tool, "exec_command", "tool")
        same(call.command, "sh", "command")
        same(call.args[1], "-c", "args")
        same(call.script.text, call.args[2], "script")
        same(call.env.A, "1", "env")
        same(call:sets("A"), "1", "sets")
        same(call:sets("B"), "2", "sets")
        same(call:sets("C"), nil, "sets")
        same(call:runs("git push").name, "git", "runs")
        same(call:runs("git", "pull"), nil, "runs")
        same(call.script:runs("git push").argv[2], "push", "runs")
        same(call:writes("out/**"), true, "writes")
        same(call:writes("src/**"), false, "writes")
        same(call:reads("in.txt"), true, "reads")
        same(call:pipes_into("sh"), true, "pipes_into")
        same(call.script:pipes_into("bash", "sh"), true, "pipes_into")
        same(call:pipes_into("git"), false, "pipes_into")
        same(call.complete, false, "complete")
        same(call.path, nil, "path")
        return allow()
      end)]])
    local given = script("B=2 git push < in.txt > out/x; cat y | sh")
    given.env = { A = "1" }
    local verdict = made:judge(given)
    assert.equal("ask", verdict.answer, verdict.text) -- what the shell reads was not seen
  end)

  it("is told when it misspells a field of the call", function()
    local verdict = load_text("rule(\"r\", function(call) return call.comand end)")
      :judge(call("ls"))
    assert.equal("deny", verdict.answer)
    assert.is_truthy(verdict.because:find("a call has no 'comand', did you mean 'command'?", 1,
      true), verdict.because)
  end)

  it("does not get contents that are too large", function()
    local made = load_text("rule(\"r\", function(call) if call.content == nil and call.size > 1e6 "
      .. "then return ask(\"large\") end end) default \"allow\"")
    assert.equal("allow", answer(made, { tool = "write_file", path = "x", content = "y" }))
    assert.equal("ask", answer(made, { tool = "write_file", path = "x",
      content = ("y"):rep(2 * 1024 * 1024) }))
  end)
end)

describe("a call that is none", function()
  local made = load_text("default \"allow\" default { unparsed = \"allow\" }")
  local CASES = {
    { "a NUL in the command", { command = "ls\0rm" }, "'command' contains a NUL byte" },
    { "a NUL in an argument", { command = "ls", args = { "a", "b\0c" } }, "'args[2]' contains" },
    { "a NUL in the environment", { command = "ls", env = { A = "x\0" } }, "'env.A' contains" },
    { "a NUL in a name", { command = "ls", env = { ["A\0B"] = "x" } }, "'env' has a name" },
    { "an equals sign in a name", { command = "ls", env = { ["A=B"] = "x" } }, "'env' has a name" },
    { "a NUL in the directory", { command = "ls", cwd = "a\0" }, "'cwd' contains a NUL byte" },
    { "no command", {}, "'command' is missing" },
    { "a command that is a table", { command = {} }, "'command' must be text" },
    { "arguments with holes", { command = "ls", args = { "a", nil, "c" } }, "without holes" },
    { "arguments that are no text", { command = "ls", args = { 5 } }, "'args[1]' must be text" },
    { "arguments that are text", { command = "ls", args = "a" }, "'args' must be a list" },
    { "an environment that is text", { command = "ls", env = "A=1" }, "'env' must be a table" },
    { "input that is a table", { command = "cat", input = {} }, "'input' must be text" },
  }
  for _, case in ipairs(CASES) do
    it("is refused for " .. case[1], function()
      case[2].tool = "exec_command"
      local verdict = made:judge(case[2])
      assert.equal("deny", verdict.answer)
      assert.is_truthy(verdict.because:find(case[3], 1, true), verdict.because)
    end)
  end

  it("is refused for a NUL in a path", function()
    assert.equal("deny", answer(made, { tool = "read_file", path = "ok.txt\0/../../etc/x" }))
    assert.equal("deny", answer(made, { tool = "rename", path = "a", to = "b\0" }))
  end)

  it("may carry NUL bytes as data", function()
    assert.equal("allow", answer(made, { tool = "write_file", path = "x", content = "a\0b" }))
    assert.equal("allow", answer(made, { tool = "exec_command", command = "cat", input = "a\0b" }))
  end)
end)

describe("a reader that fails", function()
  it("is a deny that says so", function()
    local made = policy.load("default \"allow\" default { unparsed = \"allow\" }", {
      readings = { of = function() error("out of order") end },
    })
    local verdict = made:judge(call("ls"))
    assert.equal("deny", verdict.answer)
    assert.is_truthy(verdict.because:find("out of order", 1, true))
    assert.is_nil((made:authorize(call("ls"), made:session_state())))
    assert.equal("string", type((made:explain(call("ls")))))
  end)

  it("is also a link that cannot be looked up", function()
    local made = load_text("default \"allow\"")
    local state = made:session_state { links = function() error("the session is gone") end }
    assert.equal("deny", answer(made, { tool = "write_file", path = "x" }, state))
  end)
end)
