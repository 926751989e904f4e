-- SPDX-License-Identifier: MIT
local errors = require("anvia.sandbox.errors")
local fake = require("spec.support.fake_session")
local policy_session = require("anvia.sandbox.policy_session")
local sessions = require("anvia.sandbox.session")

-- The methods that a policy has no say in.
local FREE = { destroy = true, touch = true }

-- Arguments that each method takes.
local ARGUMENTS = {
  exec = { { command = "ls" } },
  exec_stream = { { command = "ls" } },
  start_process = { { command = "ls" } },
  read_file = { "a" },
  read_text_page = { "a" },
  list_files = { "a" },
  stat = { "a" },
  write_file = { "a", "data" },
  mkdir = { "a" },
  remove = { "a" },
  rename = { "a", "b" },
  list_processes = {},
  process_info = { "p1" },
  read_process_logs = { "p1" },
  signal_process = { "p1", "TERM" },
  write_process = { "p1", "data" },
  close_process_stdin = { "p1" },
  wait_process = { "p1" },
  stop_process = { "p1" },
  wait_for_port = { 8000 },
  destroy = {},
  touch = {},
}

local INFO = { id = "p1", command = "sh", args = {}, cwd = "/workspace", status = "running" }

--- A policy that answers what `answer(call)` says, and records what it was asked.
local function stub_policy(answer, limits)
  local policy = { asked = {}, charged = {} }
  function policy.session_state()
    return {
      grants = {},
      charge = function(_, kind, amount)
        policy.charged[kind] = (policy.charged[kind] or 0) + amount
      end,
    }
  end
  function policy.limits()
    return limits or {}
  end
  function policy.authorize(_, call, state, on_ask)
    policy.asked[#policy.asked + 1] = call
    local verdict = answer and answer(call, on_ask, state)
    if verdict == nil then
      return true
    end
    return nil, errors.new(call.tool, "tool_policy", "%s", verdict)
  end
  return policy
end

local function bind(answer, answers, limits)
  local session = fake.new(answers or {
    exec = fake.result(),
    read_file = "",
    read_text_page = { content = "" },
    process_info = INFO,
  }, { published_ports = { fake.port } })
  local policy = stub_policy(answer, limits)
  return policy_session.bind(session, policy), session, policy
end

local function public_methods()
  local session = setmetatable({}, { __index = getmetatable(sessions.new({
    plan = { id = "x", workdir = "/workspace" },
    life = { forget = function() end },
  })).__index })
  local names = {}
  for name in pairs(getmetatable(session).__index) do
    if not name:find("^_") then
      names[#names + 1] = name
    end
  end
  return names
end

describe("a session with a policy", function()
  it("knows every public method of a session", function()
    local names = public_methods()
    assert.is_true(#names >= 20)
    for _, name in ipairs(names) do
      assert.is_true(policy_session.is_classified(name), name .. " is not classified")
      assert.is_table(ARGUMENTS[name], name .. " is not tried in this spec")
    end
    assert.equal(#names, #fake.METHODS)
  end)

  for method, args in pairs(ARGUMENTS) do
    it("asks before " .. method, function()
      local guarded, session = bind(function() return "Refused: no." end)
      local result, err = guarded[method](guarded, table.unpack(args))
      if FREE[method] then
        assert.is_true(result)
        return
      end
      assert.is_nil(result)
      assert.is_true(errors.is(err, "tool_policy"))
      assert.equal("Refused: no.", err.message)
      for _, call in ipairs(session.calls) do
        assert.equal("process_info", call[1])
      end
    end)

    it("passes on " .. method .. " when the policy allows it", function()
      local guarded, session = bind()
      guarded[method](guarded, table.unpack(args))
      assert.same({ method, table.unpack(args) }, session:last(method))
    end)
  end

  it("refuses methods that are not classified", function()
    local guarded, session = bind()
    function session.export_everything() return "secret" end
    session._internal_exec = nil
    session._hidden = function() return "secret" end
    session.engine = { remove = function() end }
    local result, err = guarded:export_everything()
    assert.is_nil(result)
    assert.is_true(errors.is(err, "tool_policy"))
    assert.is_nil(guarded._hidden)
    assert.is_nil(guarded.engine)
    assert.is_nil(guarded.calls)
  end)

  it("shows the public fields as copies and cannot be changed", function()
    local guarded, session = bind()
    assert.equal("fake-1", guarded.id)
    assert.same(session.published_ports, guarded.published_ports)
    assert.are_not.equal(session.published_ports, guarded.published_ports)
    assert.has_error(function() guarded.exec = print end)
    assert.equal("anvia.sandbox.GuardedSession", getmetatable(guarded))
    assert.is_nil(next(guarded))
  end)

  it("runs the copy that was judged", function()
    local env = { A = "b" }
    local options = { command = "ls", args = { "-l" }, env = env }
    local guarded, session = bind(function()
      options.command, options.args[1], env.LD_PRELOAD = "rm", "-rf", "x"
    end)
    guarded:exec(options)
    assert.same({ command = "ls", args = { "-l" }, env = { A = "b" } }, session:last("exec")[2])
  end)

  it("judges a method under the name of the tool that could do the same", function()
    for method, tool in pairs({ signal_process = "stop_process", wait_process = "list_processes",
      mkdir = "write_file", remove = "write_file", rename = "write_file",
      write_process = "start_process", close_process_stdin = "stop_process",
      exec_stream = "exec_command", read_text_page = "read_file" }) do
      local guarded = bind(function(call)
        return call.tool == tool and "no" or nil
      end)
      local result = guarded[method](guarded, table.unpack(ARGUMENTS[method]))
      assert.is_nil(result, method)
    end
  end)

  it("judges what is written to a process with all that was written before", function()
    local guarded, session, policy = bind(function(call)
      return call.input and call.input:find("rm x", 1, true) and "no" or nil
    end)
    assert.is_true(guarded:write_process("p1", "echo hi\nr"))
    assert.is_nil((guarded:write_process("p1", "m x\n")))
    assert.equal("sh", policy.asked[1].command)
    assert.same({ "write_process", "p1", "echo hi\nr" }, session:last("write_process"))
  end)

  it("asks a person once for one act", function()
    local session = fake.new({ process_info = INFO })
    local policy = stub_policy(function(call, on_ask)
      return not on_ask({ text = "write " .. call.path }) and "no" or nil
    end)
    local asked = 0
    local guarded = policy_session.bind(session, policy, {
      on_ask = function()
        asked = asked + 1
        return "once"
      end,
    })
    assert.is_true(guarded:mkdir("a"))
    assert.equal(1, asked)
    assert.is_true(guarded:mkdir("a"))
    assert.equal(2, asked)
  end)

  it("counts an act once, and what is known when it is over", function()
    local states = {}
    local guarded, _, policy = bind(function(_, _, state)
      states[#states + 1] = state
    end, {
      exec = fake.result({ duration_ms = 40 }),
      read_file = "12345",
      read_text_page = { content = "123" },
    })
    guarded:remove("a")
    assert.equal(2, #states)
    assert.are_not.equal(states[1], states[2])
    guarded:exec({ command = "ls" })
    assert.equal(states[1], states[3])
    guarded:read_file("a")
    guarded:read_text_page("a")
    assert.same({ ["exec.ms"] = 40, ["read.bytes"] = 8 }, policy.charged)
  end)

  it("lowers a time-out that was left out to what the policy allows", function()
    local guarded, session = bind(nil, nil, { timeout_ms = 700 })
    guarded:exec({ command = "ls" })
    assert.equal(700, session:last("exec")[2].timeout_ms)
    guarded:wait_for_port(8000)
    assert.equal(700, session:last("wait_for_port")[3].timeout_ms)
    guarded:exec({ command = "ls", timeout_ms = 5 })
    assert.equal(5, session:last("exec")[2].timeout_ms)
    session.limits = { timeout_ms = 300 }
    guarded:exec({ command = "ls" })
    assert.equal(300, session:last("exec")[2].timeout_ms)
  end)

  it("refuses when the policy itself breaks", function()
    local guarded, session = bind(function() error("broken") end)
    local result, err = guarded:exec({ command = "ls" })
    assert.is_nil(result)
    assert.matches("^Refused: the policy failed: .*broken$", err.message)
    assert.is_nil(session:last("exec"))
  end)

  it("raises for arguments that cannot be judged", function()
    local guarded = bind()
    local line = debug.getinfo(1, "l").currentline + 1
    for i, wrong in ipairs({
      function() guarded:exec("ls") end,
      function() guarded:exec({ args = {} }) end,
      function() guarded:read_file() end,
      function() guarded.exec({}, { command = "ls" }) end,
    }) do
      local ok, message = pcall(wrong)
      assert.is_false(ok)
      assert.matches("policy_session_spec.lua:" .. line + i .. ": ", message, 1, true)
    end
  end)

  it("can be bound again, and then both policies hold", function()
    local guarded = bind(function(call)
      return call.command == "a" and "no a" or nil
    end)
    local twice = policy_session.bind(guarded, stub_policy(function(call)
      return call.command == "b" and "no b" or nil
    end))
    assert.equal("no a", select(2, twice:exec({ command = "a" })).message)
    assert.equal("no b", select(2, twice:exec({ command = "b" })).message)
    assert.is_table(twice:exec({ command = "c" }))
  end)
end)
