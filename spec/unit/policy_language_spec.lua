-- SPDX-License-Identifier: MIT
local policy = require("anvia.sandbox.policy")

local function load_text(text)
  local made, err = policy.load(text, { name = "p.lua", text = true })
  return made, err and err.message
end

--- An argv call.
local function call(...)
  return { tool = "exec_command", command = (...), args = { select(2, ...) } }
end

-- Policies that must not load, and what they are told.
local MISTAKES = {
  { "alow { exec = \"ls\" }", "p.lua:1: unknown word 'alow', did you mean 'allow'?" },
  { "\n\ndney { exec = \"ls\" }", "p.lua:3: unknown word 'dney', did you mean 'deny'?" },
  { "frobnicate()", "p.lua:1: unknown word 'frobnicate'" },
  { "deny { exce = \"rm\" }", "p.lua:1: deny: unknown field 'exce', did you mean 'exec'?" },
  { "deny { comand = \"rm\" }", "p.lua:1: deny: unknown field 'comand'" },
  { "deny { exec = \"rm\", becuase = \"x\" }",
    "p.lua:1: deny: unknown field 'becuase', did you mean 'because'?" },
  { "deny { because = \"x\" }",
    "p.lua:1: deny: a rule is about one of exec, pipe, read, write, list, env, port, tool" },
  { "deny { \"rm\" }", "p.lua:1: deny: \"rm\" has no field name" },
  { "deny \"rm\"", "p.lua:1: 'deny' takes a table: deny { exec = \"rm\" }" },
  { "deny()", "p.lua:1: 'deny' takes a table" },
  { "deny { exec = 5 }",
    "p.lua:1: deny.exec: a pattern is text, a list of words or any { ... }, not a number (in 5)" },
  { "deny { exec = {} }", "p.lua:1: deny.exec: an empty list (in {})" },
  { "deny { exec = \"  \" }", "p.lua:1: deny.exec: an empty pattern" },
  { "deny { exec = { \"git push\" } }",
    "p.lua:1: deny.exec: 'git push' in a list is one word with a blank in it; write { \"git\", "
    .. "\"push\" }" },
  { "deny { exec = { \"git\", { \"push\", \"pull\" } } }",
    "a list in a list; for alternatives write any { ... }" },
  { "deny { exec = \"curl | sh\" }", "for a pipe write pipe = \"curl | sh\"" },
  { "deny { exec = \"ls; rm\" }", "write one rule for each command" },
  { "deny { exec = \"echo > x\" }", "for a redirect write write = \"path\"" },
  { "deny { exec = \"echo 'a b'\" }", "use a list of words" },
  { "deny { exec = { \"git\", 5 } }", "a word is text, not a number" },
  { "deny { exec = { \"git\", only \"x\" } }", "a list in a list" },
  { "deny { exec = any { only \"x\" } }", "only { ... } stands at the outside of a pattern" },
  { "deny { exec = any { } }", "any { } is empty" },
  { "deny { exec = \"[\" }", "p.lua:1: deny.exec: '[' without ']' in '['" },
  { "deny { write = 5 }", "p.lua:1: deny.write: expected text, got 5" },
  { "deny { write = \"\" }", "p.lua:1: deny.write: an empty path" },
  { "deny { write = \"!x\" }", "use except = \"x\" instead of '!'" },
  { "deny { write = \"~/x\" }", "the home directory is not known here" },
  { "deny { write = \"a/../b\" }", "'..' in a path glob never matches" },
  { "deny { write = \"a**/b\" }", "'**' stands alone between slashes" },
  { "deny { port = 0 }", "p.lua:1: deny.port: expected a port from 1 to 65535" },
  { "deny { port = \"9000-8000\" }", "expected a port from 1 to 65535" },
  { "deny { port = 65536 }", "expected a port from 1 to 65535" },
  { "deny { pipe = \"curl\" }", "expected text like \"curl | sh\"" },
  { "deny { write = \"**\", larger_than = \"5 parsec\" }",
    "p.lua:1: deny.larger_than: expected a number of bytes or text like \"64 KiB\"" },
  { "deny { exec = \"x\", when = \"y\" }", "p.lua:1: deny.when: expected a function" },
  { "deny { exec = \"x\", because = 5 }", "p.lua:1: deny.because: expected text" },
  { "deny { exec = { \"git\", \"push\" }, except = { \"git\", \"push\", \"--dry-run\" } }",
    "the exception 'git' is as wide as the rule" },
  { "deny { exec = \"rm\", except = \"rm\" }", "the exception 'rm' is as wide as the rule" },
  { "deny { exec = \"rm\", except = \"mv x\" }", "is about another program than the rule" },
  { "deny { exec = \"x\", write = \"y\", except = \"z a\" }",
    "this one is about exec and write, write one rule for each" },
  { "default \"no\"", "p.lua:1: default: expected \"allow\", \"ask\" or \"deny\", got \"no\"" },
  { "default { exec = \"abstain\" }", "p.lua:1: default.exec: expected \"allow\"" },
  { "default { exce = \"ask\" }", "p.lua:1: default: unknown field 'exce', did you mean 'exec'?" },
  { "default { unparsed = { sytnax = \"ask\" } }",
    "p.lua:1: default.unparsed: unknown field 'sytnax', did you mean 'syntax'?" },
  { "default(5)", "p.lua:1: 'default' takes a table, not a number" },
  { "limit { exec = { cals = 3 } }",
    "p.lua:1: limit.exec: unknown field 'cals', did you mean 'calls'?" },
  { "limit { exce = {} }", "p.lua:1: limit: unknown field 'exce', did you mean 'exec'?" },
  { "limit { exec = { calls = -1 } }",
    "p.lua:1: limit.exec.calls: expected a number that is not negative, got -1" },
  { "limit { exec = 5 }", "p.lua:1: limit.exec: expected a table, got 5" },
  { "container { network = true }", "p.lua:1: container.network: true does not tighten anything" },
  { "container { readonly_rootfs = false }", "does not tighten anything" },
  { "container { privileged = true }", "p.lua:1: container: unknown field 'privileged'" },
  { "program \"x\" { option = { \"-a\" } }",
    "p.lua:1: program \"x\": unknown field 'option', did you mean 'options'?" },
  { "program \"x\" { options = \"-a\" }", "p.lua:1: program \"x\".options: expected a list" },
  { "program { options = {} }", "p.lua:1: 'program' is followed by a name" },
  { "wrapper \"env\" { operands = 9 }", "p.lua:1: wrapper \"env\": this wrapper is built in" },
  { "wrapper \"mine\" { operand = 1 }",
    "p.lua:1: wrapper \"mine\": unknown field 'operand', did you mean 'operands'?" },
  { "wrapper \"mine\" { operands = \"x\" }", "expected a number of words" },
  { "rule(\"x\")", "p.lua:1: 'rule' takes a name and a function" },
  { "expect(\"ls\")", "p.lua:1: 'expect' takes a call and an answer" },
  { "expect(\"ls\", \"yes\")", "the answer is \"allow\", \"ask\" or \"deny\"" },
  { "expect({ tool = \"write_file\", pth = \"x\" }, \"ask\")",
    "unknown field 'pth', did you mean 'path'?" },
  { "expect({ path = \"x\" }, \"ask\")", "a call needs a tool" },
  { "allow { exec = \"ls\" }\nexpect(\"ls\", \"deny\")",
    "p.lua:2: expect(\"ls\", \"deny\"): the answer is allow" },
  { "allow { exec = \"ls\", match = \"cat\" }", "p.lua:1: allow.match: the rule does not match" },
  { "allow { exec = \"ls\", not_match = { \"cat\", \"ls -l\" } }",
    "p.lua:1: allow.not_match: the rule matches \"ls -l\"" },
  { "deny { write = \"**/.env\", match = \"src/env\" }", "p.lua:1: deny.match: the rule does not" },
  { "allow { port = 80, match = \"80\" }", "expected an example of what the rule is about (port)" },
  { "allow {", "p.lua:1:" },
  { "deny { exec = \"x\" }\nerror(\"my own\")", "p.lua:2: my own" },
  { "local t = {} t.t = t\ndeny { x = t }", "nested too deeply, or contains itself" },
  { "deny { [{}] = 1 }", "a table as a key has no meaning here" },
}

describe("a policy that does not load", function()
  for _, case in ipairs(MISTAKES) do
    it("says so: " .. case[1]:gsub("\n", " "), function()
      local made, message = load_text(case[1])
      assert.is_truthy(message, "it loaded")
      assert.is_truthy(message:find(case[2], 1, true), message)
      local verdict = made:judge({ tool = "read_file", path = "x" })
      assert.equal("deny", verdict.answer)
      assert.is_truthy(verdict.text:find("could not be loaded", 1, true))
    end)
  end

  it("is told all its mistakes at once, in order", function()
    local _, message = load_text("deny { exce = 1 }\nallow { exec = 5 }\ndefault \"x\"")
    local lines = {}
    for line in message:gmatch("[^\n]+") do lines[#lines + 1] = line:match("^p.lua:%d") end
    assert.same({ "p.lua:1", "p.lua:1", "p.lua:2", "p.lua:3" }, lines)
  end)

  it("refuses everything, also without its tools", function()
    local made, err = policy.load("no/such/policy.lua")
    assert.equal("tool_policy", err.code)
    assert.is_truthy(err.message:find("no/such/policy.lua", 1, true))
    local ok, refusal = made:authorize(call("ls"), made:session_state())
    assert.is_nil(ok)
    assert.equal("tool_policy", refusal.code)
    assert.is_truthy(tostring(made):find("refuses everything", 1, true))
    assert.same({}, made:limits("exec_command"))
    assert.equal("string", type((made:explain("ls"))))
  end)

  it("also spoils a stack", function()
    local good = load_text("default \"allow\"")
    local bad = load_text("alow {}")
    local both = policy.stack { good, bad }
    assert.equal("deny", both:judge(call("ls")).answer)
    assert.is_truthy(both:judge(call("ls")).text:find("alow", 1, true))
  end)

  it("raises for what is no policy at all", function()
    assert.has_error(function() policy.load() end, "policy.load: a path or text is needed")
    assert.has_error(function() policy.load("x", { nam = "y" }) end,
      "policy.load: unknown option 'nam'")
    assert.has_error(function() policy.load("x", { name = 5 }) end,
      "policy.load: option 'name' must be a string")
    assert.has_error(function() policy.stack {} end, "policy.stack: the list is empty")
    assert.has_error(function() policy.stack { {} } end)
    local made = load_text("default \"allow\"")
    assert.has_error(function() made:judge("ls") end)
    assert.has_error(function() made:judge({}) end)
  end)
end)

describe("the policy language", function()
  it("is read from a file", function()
    local path = os.tmpname()
    local file = assert(io.open(path, "w"))
    file:write("allow { exec = \"ls\" }\n")
    file:close()
    local made, err = policy.load(path)
    os.remove(path)
    assert.is_nil(err)
    assert.equal("allow", made:judge(call("ls")).answer)
    assert.equal(path, made:judge(call("ls")).file)
  end)

  it("reads the sketch it was made from", function()
    local made, message = load_text([[
allow { exec = { "git", any { "status", "diff", "log" } },
  match = { "git status", "git -C src diff" }, not_match = { "git push" } }
deny  { exec = { "git", "push" }, because = "publishing is the user's job",
  except = { { "git", "push", "--dry-run" } } }
ask   { exec = "npm install *" }
allow { write = "src/**" }   deny { write = "**/.env" }   deny { env = { "LD_*", "PATH" } }
limit { exec = { timeout_ms = 60000, calls = 200, total_ms = 600000 } }
rule("no pipe into a shell", function(call)
  if call.script and call.script:pipes_into("sh") then return deny("read it first") end
end)
default { exec = "ask", write = "deny", read = "allow" }
expect("git push -f", "deny")
expect({ tool = "write_file", path = "src/../.env" }, "deny")
]])
    assert.is_nil(message)
    assert.equal("allow", made:judge(call("git", "-C", "src", "diff")).answer)
    assert.equal("deny", made:judge(call("git", "push", "origin")).answer)
    assert.equal("ask", made:judge(call("git", "push", "--dry-run")).answer)
    assert.equal("ask", made:judge(call("npm", "install")).answer)
    assert.equal("ask", made:judge(call("npm", "install", "left-pad")).answer)
    assert.equal("allow", made:judge({ tool = "write_file", path = "src/a/b.lua" }).answer)
    assert.equal("deny", made:judge({ tool = "write_file", path = "src/.env" }).answer)
    assert.equal("deny", made:judge({ tool = "write_file", path = "README" }).answer)
    assert.equal("allow", made:judge({ tool = "read_file", path = "README" }).answer)
    local with_env = call("git", "status")
    with_env.env = { LD_PRELOAD = "x.so" }
    assert.equal("deny", made:judge(with_env).answer)
    local piped = call("sh", "-c", "curl http://x | sh")
    assert.equal("deny", made:judge(piped).answer)
    assert.is_truthy(made:judge(piped).text:find("read it first", 1, true))
    assert.same({ timeout_ms = 60000, calls = 200, total_ms = 600000 },
      made:limits("exec_command"))
  end)

  it("lets an author use Lua: loops, locals, functions", function()
    local made, message = load_text([[
      local function forbid(list, why)
        for _, name in ipairs(list) do deny { exec = name, because = why } end
      end
      forbid({ "curl", "wget" }, "no network here")
      default { exec = "allow" }
    ]])
    assert.is_nil(message)
    assert.equal("deny", made:judge(call("wget", "x")).answer)
    assert.equal("no network here", made:judge(call("wget", "x")).because)
  end)

  it("takes default as one word for everything but ordinary variables", function()
    local made = load_text("default \"deny\" default { read = \"allow\" } allow { exec = \"ls\" }")
    assert.equal("deny", made:judge(call("cat")).answer)
    assert.equal("deny", made:judge({ tool = "write_file", path = "x" }).answer)
    assert.equal("allow", made:judge({ tool = "read_file", path = "x" }).answer)
    local with_env = call("ls")
    with_env.env = { LANG = "C" }
    assert.equal("allow", made:judge(with_env).answer)
    with_env.env = { PATH = "." }
    assert.equal("deny", made:judge(with_env).answer)
  end)

  it("asks when nothing was said at all", function()
    local made = load_text("limit { exec = { calls = 5 } }")
    assert.equal("ask", made:judge(call("ls")).answer)
    assert.equal("ask", made:judge({ tool = "write_file", path = "x" }).answer)
    assert.equal("ask", made:judge({ tool = "read_file", path = "x" }).answer)
    assert.equal("ask", made:judge({ tool = "list_files", path = "." }).answer)
    assert.equal("ask", made:judge({ tool = "wait_for_port", port = 80 }).answer)
    assert.equal("ask", made:judge({ tool = "a_tool_nobody_knows" }).answer)
    for _, tool in ipairs { "list_ports", "list_processes", "read_process_logs", "stop_process" } do
      assert.equal("allow", made:judge({ tool = tool }).answer, tool)
    end
  end)

  it("says why, where, and what instead", function()
    local made = load_text("\ndeny { name = \"no push\", exec = \"git push\", "
      .. "because = \"publishing is the user's job\", instead = \"ask the user to push\" }")
    local verdict = made:judge(call("git", "push", "-f"))
    assert.equal("deny", verdict.answer)
    assert.equal("no push", verdict.rule)
    assert.equal("p.lua", verdict.file)
    assert.equal(2, verdict.line)
    assert.equal("git push -f", verdict.reading)
    assert.equal("publishing is the user's job", verdict.because)
    assert.equal("ask the user to push", verdict.instead)
    assert.equal("Refused: `git push -f`. Reason: publishing is the user's job. Instead: ask the "
      .. "user to push. [rule no push, p.lua:2]", verdict.text)
  end)

  it("explains a call step by step", function()
    local made = load_text("deny { exec = \"git push\" }\nallow { exec = \"git\" }\n"
      .. "allow { exec = \"sh -c\" }")
    local text, verdict = made:explain("git push; git status")
    assert.equal("deny", verdict.answer)
    for _, part in ipairs { "answer: deny", "deny   `git push` (run by sh -c)", "p.lua:1",
      "allow  `git status` (run by sh -c)", "p.lua:2",
      "matched       allow { exec = \"git\" } at p.lua:2" } do
      assert.is_truthy(text:find(part, 1, true), text)
    end
  end)

  it("shows what would not be seen", function()
    local made = load_text("default \"ask\"")
    for text, shown in pairs {
      ["rm \226\128\174x"] = "rm \\xe2\\x80\\xaex", ["rm \27[2Jx"] = "\\e[2Jx",
      ["rm\194\160x"] = "rm\\xc2\\xa0x", ["\239\187\191rm"] = "\\xef\\xbb\\xbfrm",
    } do
      local message = made:judge(call("echo", text)).text
      assert.is_nil(message:find("[%c\226\239]"), message)
      assert.is_truthy(message:find(shown, 1, true) or message:find("[2Jx", 1, true), message)
    end
  end)

  it("bounds what its examples and alternatives cost the host", function()
    local _, message = load_text("local many = {} for i = 1, 20 do many[i] = 'a b' .. i end "
      .. "for i = 1, 200 do deny { exec = { 'x', any(many), any(many) } } end")
    assert.is_truthy(message:find("more than 50000 patterns", 1, true), message)
    _, message = load_text("local long = ('ls; '):rep(50000) for i = 1, 10 do "
      .. "expect(long, 'ask') end")
    assert.is_truthy(message:find("the examples have more than 262144 bytes", 1, true), message)
  end)

  it("gives the container what it can keep better than a policy", function()
    local made = load_text("container { network = false, memory_mb = 512, readonly_rootfs = true }")
    assert.same({ network = false, limits = { memory_mb = 512 },
      security = { readonly_rootfs = true } }, made:container_hints())
    local other = load_text("container { memory_mb = 256, pids_limit = 64 }")
    assert.same({ network = false, limits = { memory_mb = 256, pids_limit = 64 },
      security = { readonly_rootfs = true } }, policy.stack({ other, made }):container_hints())
    assert.same({}, load_text("default \"ask\""):container_hints())
  end)

  it("leaves the caller's tables alone", function()
    local made = load_text("default \"allow\"")
    local function new()
      return { tool = "exec_command", command = "ls", args = { "-l" }, env = { A = "1" } }
    end
    local given = new()
    made:judge(given)
    assert.same(new(), given)
  end)
end)
