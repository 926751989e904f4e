-- SPDX-License-Identifier: MIT
local policy = require("anvia.sandbox.policy")

local function load_text(text)
  local made, err = policy.load(text, { name = "p.lua", text = true })
  assert.is_nil(err)
  return made
end

local function call(...)
  return { tool = "exec_command", command = (...), args = { select(2, ...) } }
end

describe("asking", function()
  local asking = load_text("ask { exec = any { \"npm\", \"git push\" }, "
    .. "because = \"it is public\" } allow { exec = any { \"ls\", \"sh -c\", \"cat\" } } "
    .. "deny { exec = \"rm\" } "
    .. "ask { write = \"**\" } ask { env = \"TOKEN\" }")
  local requests

  local function on_ask(reply)
    requests = {}
    return function(request)
      requests[#requests + 1] = request
      return reply
    end
  end

  it("is a deny without somebody to ask", function()
    local ok, err = asking:authorize(call("npm", "install"), asking:session_state())
    assert.is_nil(ok)
    assert.equal("tool_policy", err.code)
    assert.equal("ask", err.verdict.answer)
    assert.is_truthy(err.message:find("Needs approval", 1, true))
    assert.is_truthy(err.message:find("nobody to ask", 1, true))
  end)

  it("does not happen for what is allowed or denied", function()
    local state = asking:session_state()
    assert.is_true(asking:authorize(call("ls"), state, on_ask("once")))
    assert.is_nil((asking:authorize(call("rm", "x"), state, on_ask("session"))))
    assert.equal(0, #requests)
  end)

  it("tells what is asked, and proposes the narrowest rule", function()
    local state = asking:session_state()
    assert.is_true(asking:authorize(call("npm", "install", "left*pad"), state, on_ask("once")))
    local request = requests[1]
    assert.equal("npm", request.call.command)
    assert.equal("npm", request.readings.commands[1].name)
    assert.equal("it is public", request.because)
    assert.equal("p.lua", request.file)
    assert.equal("allow { exec = only { \"npm\", \"install\", \"left\\\\*pad\" }, cwd = "
      .. "only \"/workspace\" }", request.proposal)
    -- the proposal is a policy that allows this and nothing else
    local narrow = load_text(request.proposal)
    assert.equal("allow", narrow:judge(call("npm", "install", "left*pad")).answer)
    assert.equal("ask", narrow:judge(call("npm", "install", "leftXpad")).answer)
    assert.equal("ask", narrow:judge(call("npm", "install", "left*pad", "x")).answer)
    assert.equal("ask", narrow:judge({ tool = "exec_command", command = "npm", cwd = "other",
      args = { "install", "left*pad" } }).answer)
  end)

  it("once is once", function()
    local state = asking:session_state()
    assert.is_true(asking:authorize(call("npm", "test"), state, on_ask("once")))
    assert.is_true(asking:authorize(call("npm", "test"), state, on_ask(true)))
    assert.equal(1, #requests)
  end)

  it("for the session covers exactly the same again", function()
    local state = asking:session_state()
    assert.is_true(asking:authorize(call("npm", "test"), state, on_ask("session")))
    assert.is_true(asking:authorize(call("npm", "test"), state, on_ask(false)))
    assert.equal(0, #requests)
    assert.is_nil((asking:authorize(call("npm", "test", "x"), state, on_ask(false))))
    assert.is_true(asking:authorize(call("sh", "-c", "ls && npm test"), state, on_ask(false)))
    -- another session knows nothing of it
    assert.is_nil((asking:authorize(call("npm", "test"), asking:session_state(), on_ask(false))))
  end)

  it("for the session covers a file", function()
    local state = asking:session_state()
    local write = { tool = "write_file", path = "src/a", content = "x" }
    assert.is_true(asking:authorize(write, state, on_ask("session")))
    assert.equal("allow { write = only \"/workspace/src/a\" }", requests[1].proposal)
    assert.is_true(asking:authorize(write, state, on_ask(false)))
    assert.is_nil((asking:authorize({ tool = "write_file", path = "src/b" }, state, on_ask(false))))
  end)

  it("never lifts a deny", function()
    local stacked = policy.stack { asking, load_text("deny { exec = \"npm publish\" }") }
    local state = stacked:session_state()
    assert.is_nil((stacked:authorize(call("npm", "publish"), state, on_ask("session"))))
    assert.equal(0, #requests)
  end)

  for _, reply in ipairs { false, "no", "deny", "always", 1, {} } do
    it("takes " .. tostring(reply):gsub("0x%x+", "") .. " for a no", function()
      local ok, err = asking:authorize(call("npm"), asking:session_state(), on_ask(reply))
      assert.is_nil(ok)
      assert.is_truthy(err.message:find("not approved", 1, true))
    end)
  end

  it("takes an error for a no", function()
    local ok, err = asking:authorize(call("npm"), asking:session_state(), function()
      error("the terminal is gone")
    end)
    assert.is_nil(ok)
    assert.is_truthy(err.message:find("the terminal is gone", 1, true))
  end)

  it("works inside a coroutine", function()
    local state = asking:session_state()
    local co = coroutine.wrap(function()
      return asking:authorize(call("npm"), state, function() return coroutine.yield("asked") end)
    end)
    assert.equal("asked", co())
    assert.is_true(co("once"))
  end)

  describe("never proposes", function()
    local all = load_text("ask { exec = \"*\" }")
    for _, words in ipairs {
      { "sh", "-c", "ls" }, { "bash", "-lc", "npm test" }, { "python3", "x.py" },
      { "python3.11", "-c", "1" }, { "node", "x.js" }, { "perl", "-e", "1" }, { "git" },
      { "env", "ls" }, { "xargs", "ls" }, { "find", ".", "-name", "x" }, { "busybox", "ls" },
      { "sudo", "ls" }, { "timeout", "5", "ls" }, { "./script" }, { "/workspace/bin/x" },
      { "lua5.4", "x.lua" }, { "ssh", "host", "ls" }, { "awk", "1" }, { "npx", "x" },
    } do
      it(table.concat(words, " "), function()
        assert.is_true(all:authorize(call(table.unpack(words)), all:session_state(),
          on_ask("session")))
        assert.is_nil(requests[1].proposal)
      end)
    end

    it("and a yes for the session is then for once", function()
      local state = all:session_state()
      assert.is_true(all:authorize(call("python3", "x.py"), state, on_ask("session")))
      assert.is_nil((all:authorize(call("python3", "x.py"), state, on_ask(false))))
    end)

    it("a program that is given something to read", function()
      local given = call("dbtool", "-h", "db")
      given.input = "select 1"
      all:authorize(given, all:session_state(), on_ask("session"))
      assert.is_nil(requests[1].proposal)
      local made = load_text("ask { exec = \"dbtool\" } default { exec = \"allow\" }")
      local state = made:session_state()
      made:authorize(call("dbtool"), state, on_ask("session"))
      assert.is_truthy(requests[1].proposal)
      assert.is_nil((made:authorize(call("sh", "-c", "echo 'drop x' | dbtool"), state,
        on_ask(false))))
    end)

    it("a word that is not known", function()
      local made = load_text("ask { exec = \"npm\" } allow { exec = \"sh -c\" }")
      made:authorize(call("sh", "-c", "npm $X"), made:session_state(), on_ask("session"))
      assert.is_nil(requests[1].proposal)
    end)

    it("a variable that decides what runs", function()
      local made = load_text("ask { env = any { \"PATH\", \"TOKEN\" } } "
        .. "default { exec = \"allow\" }")
      local given = call("ls")
      given.env = { PATH = "x" }
      made:authorize(given, made:session_state(), on_ask("session"))
      assert.is_nil(requests[1].proposal)
      given.env = { TOKEN = "x" }
      made:authorize(given, made:session_state(), on_ask("session"))
      assert.equal("allow { env = \"TOKEN\" }", requests[1].proposal)
    end)
  end)

  it("lists every subject that asks", function()
    local state = asking:session_state()
    asking:authorize(call("sh", "-c", "npm test; git push > log"), state, on_ask("once"))
    local readings = {}
    for i, one in ipairs(requests[1].asks) do readings[i] = one.reading end
    assert.same({ "npm test", "git push", "write log" }, readings)
    assert.is_truthy(requests[1].proposal:find("allow { write = only \"/workspace/log\" }", 1,
      true))
  end)
end)

describe("budgets", function()
  local made = load_text([[
    default "allow"
    limit { exec = { calls = 2, total_ms = 1000, timeout_ms = 600, input_bytes = 10 },
      write = { bytes = 100, file_bytes = 60, calls = 5 }, process = { calls = 1 } }
  ]])

  it("count calls that may run", function()
    local state = made:session_state()
    assert.is_true(made:authorize(call("ls"), state))
    assert.equal("allow", made:judge(call("ls"), state).answer) -- judging counts nothing
    assert.is_true(made:authorize({ tool = "start_process", command = "ls" }, state))
    local ok, err = made:authorize(call("ls"), state)
    assert.is_nil(ok)
    assert.is_truthy(err.message:find("the session may use 2 calls for exec, and 2 are used", 1,
      true), err.message)
    assert.is_truthy(err.message:find("p.lua:2", 1, true), err.message)
    assert.equal(2, state:spent("exec.calls"))
    assert.is_true(made:authorize(call("ls"), made:session_state()))
  end)

  it("count no call that was refused", function()
    local other = load_text("deny { exec = \"rm\" } ask { exec = \"mv\" } default \"allow\" "
      .. "limit { exec = { calls = 1 } }")
    local state = other:session_state()
    other:authorize(call("rm"), state)
    other:authorize(call("mv"), state, function() return false end)
    assert.equal(0, state:spent("exec.calls"))
    assert.is_true(other:authorize(call("ls"), state))
  end)

  it("count time that was charged", function()
    local state = made:session_state()
    assert.same({ calls = 2, total_ms = 1000, timeout_ms = 600, input_bytes = 10 },
      made:limits("exec_command", state))
    state:charge("exec.ms", 700)
    assert.equal(300, made:limits("exec_command", state).timeout_ms)
    assert.equal("allow", made:judge(call("ls"), state).answer)
    state:charge("exec.ms", 300)
    assert.equal("deny", made:judge(call("ls"), state).answer)
    assert.equal(1, made:limits("exec_command", state).timeout_ms)
  end)

  it("count bytes that are written", function()
    local state = made:session_state()
    local function write(n) return { tool = "write_file", path = "x", content = ("x"):rep(n) } end
    assert.is_true(made:authorize(write(60), state))
    assert.is_nil((made:authorize(write(61), state)))
    assert.is_nil((made:authorize(write(41), state)))
    assert.is_true(made:authorize(write(40), state))
    assert.is_nil((made:authorize(write(1), state)))
    assert.equal(100, state:spent("write.bytes"))
  end)

  it("hold for one call", function()
    local function with(fields)
      local given = call("cat")
      for key, value in pairs(fields) do given[key] = value end
      return made:judge(given).answer
    end
    assert.equal("allow", with { timeout_ms = 600 })
    for _, wrong in ipairs { 601, 0, -1, 1e9, "600", 0 / 0 } do
      assert.equal("deny", with { timeout_ms = wrong }, tostring(wrong))
    end
    assert.equal("allow", with { input = ("x"):rep(10) })
    assert.equal("deny", with { input = ("x"):rep(11) })
    assert.equal("allow", with {})
    assert.equal(600, made:limits("exec_command").timeout_ms)
  end)

  it("are checked again after somebody was asked", function()
    local asking = load_text("ask { exec = \"*\" } limit { exec = { calls = 1 } }")
    local state = asking:session_state()
    local ok, err = asking:authorize(call("ls"), state, function()
      state:charge("exec.calls", 1)
      return "once"
    end)
    assert.is_nil(ok)
    assert.is_truthy(err.message:find("1 calls", 1, true), err.message)
  end)

  it("are seen by predicates", function()
    local seen = load_text([[
      rule("slow down", function(call)
        if call.spent.exec.calls >= 2 then return ask("that is enough for now") end
        if call.limits.calls ~= 10 then return deny("no limits") end
      end)
      default "allow" limit { exec = { calls = 10 } } ]])
    local state = seen:session_state()
    assert.is_true(seen:authorize(call("ls"), state))
    assert.is_true(seen:authorize(call("ls"), state))
    assert.is_nil((seen:authorize(call("ls"), state)))
  end)

  it("are the smallest of a stack", function()
    local other = load_text("limit { exec = { calls = 1, timeout_ms = 9000 } } default \"allow\"")
    local stacked = policy.stack { made, other }
    assert.equal(1, stacked:limits("exec_command").calls)
    assert.equal(600, stacked:limits("start_process").timeout_ms)
    assert.same({ calls = 1 }, stacked:limits("list_processes"))
  end)

  it("refuse to count nonsense", function()
    local state = made:session_state()
    assert.has_error(function() state:charge("exec.cals", 1) end)
    assert.has_error(function() state:charge("nothing.calls", 1) end)
    assert.has_error(function() state:charge("exec.calls", -1) end)
    assert.has_error(function() state:charge("exec.calls", 0 / 0) end)
    assert.has_error(function() state:charge("exec", 1) end)
  end)
end)
