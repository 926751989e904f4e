-- SPDX-License-Identifier: MIT
local errors = require("anvia.sandbox.errors")
local fake = require("spec.support.fake_session")
local policies = require("anvia.sandbox.policy")
local tools = require("anvia.sandbox.tools")

local PROCESS = { id = "p1", status = "running", command = "x", args = {} }

local function build(options, answers)
  local session = fake.new(answers or {
    exec = fake.result({ duration_ms = 5 }),
    start_process = PROCESS,
    read_text_page = { content = "a", start_line = 1, end_line = 1 },
    list_files = {},
  })
  options.allow = options.allow
    or { "exec_command", "read_file", "write_file", "list_files", "start_process" }
  local by_name = {}
  for _, tool in ipairs(assert(tools.build(session, options))) do
    by_name[tool.name] = tool.call
  end
  return by_name, session
end

local function try(call, args)
  local result, err = call(args)
  if result then
    return true
  end
  assert.is_true(errors.is(err, "tool_policy"), tostring(err))
  return false, err.message
end

local function sh(script)
  return { command = "sh", args = { "-c", script } }
end

describe("exec.blocked_commands", function()
  local refused = {
    { command = "rm", args = { "x" } },
    { command = "/bin/rm", args = { "x" } },
    { command = "./rm" },
    { command = "../bin/rm" },
    { command = "env", args = { "rm", "x" } },
    { command = "nice", args = { "-n", "5", "rm", "x" } },
    { command = "nohup", args = { "rm", "x" } },
    { command = "timeout", args = { "5", "rm", "x" } },
    { command = "setsid", args = { "rm", "x" } },
    { command = "busybox", args = { "rm", "x" } },
    { command = "xargs", args = { "rm" } },
    { command = "find", args = { ".", "-exec", "rm", "{}", ";" } },
    { command = "find", args = { ".", "-delete" } },
    sh("rm x"),
    sh("ls; rm x"),
    sh("echo $(rm x)"),
    sh("env sh -c 'rm x'"),
    { command = "sh", input = "rm x\n" },
    { command = "rm " },
    { command = "RM" },
  }

  it("holds whatever the program is named by, in both tools that run one", function()
    local t, session = build({ exec = { blocked_commands = { "rm" } } })
    for _, args in ipairs(refused) do
      local allowed = try(t.exec_command, args)
      local shown = args.command .. " " .. table.concat(args.args or {}, " ")
      assert.is_false(allowed, shown .. " must be refused")
      if not args.input then
        assert.is_false(try(t.start_process, args), shown .. " must not be started")
      end
    end
    assert.is_nil(session:last("exec"))
    assert.is_nil(session:last("start_process"))
  end)

  it("lets everything else run", function()
    local t = build({ exec = { blocked_commands = { "rm" } } })
    for _, args in ipairs({ { command = "ls" }, sh("ls | sort > out.txt"), sh("echo 'rm x'"),
      { command = "git", args = { "rm" } }, { command = "echo", args = { "rm" } } }) do
      assert.is_true(try(t.exec_command, args))
    end
  end)

  it("tells the model which rule refused it", function()
    local t = build({ exec = { blocked_commands = { "rm" } } })
    local _, message = try(t.exec_command, sh("rm x"))
    assert.matches("^Refused: .*rm x", message)
    assert.matches("'rm' is blocked", message, 1, true)
  end)
end)

describe("exec.allowed_commands", function()
  it("admits the names on it and nothing that only looks like them", function()
    local t = build({ exec = { allowed_commands = { "ls", "env" } } })
    assert.is_true(try(t.exec_command, { command = "ls", args = { "-l" } }))
    for _, args in ipairs({
      { command = "env", args = { "nmap" } },
      { command = "/bin/ls" },
      { command = "/workspace/ls" },
      { command = "./ls" },
      { command = "cat" },
      sh("ls"),
      { command = "ls", env = { PATH = "/workspace/bin:/bin" } },
      { command = "ls", env = { LD_PRELOAD = "/workspace/x.so" } },
      { command = "ls", env = { BASH_ENV = "x" } },
      { command = "ls", env = { IFS = "x" } },
    }) do
      assert.is_false(try(t.exec_command, args))
      assert.is_false(try(t.start_process, args))
    end
  end)
end)

describe("a policy given to the tools", function()
  local function load(text)
    return assert(policies.load(text, { text = true }))
  end

  it("judges every tool", function()
    local t, session = build({ policy = load([[
      default "allow"
      deny { write = "**/.env", because = "secrets are not the model's", instead = "use env" }
      deny { exec = { "git", "push" }, because = "publishing is the user's job" }
      deny { read = "secret/**" }
    ]]) })
    assert.is_true(try(t.write_file, { path = "src/a.txt", content = "x" }))
    local _, message = try(t.write_file, { path = "src/../.env", content = "x" })
    assert.matches("secrets are not the model's", message, 1, true)
    assert.matches("Instead: use env", message, 1, true)
    assert.is_false(try(t.read_file, { path = "secret/key" }))
    assert.is_false(try(t.exec_command, { command = "git", args = { "-C", "x", "push" } }))
    assert.is_false(try(t.exec_command, sh("echo x > .env")))
    assert.is_nil(session:last("exec"))
    assert.is_true(try(t.exec_command, { command = "git", args = { "status" } }))
  end)

  it("can refuse each tool by its name", function()
    local session = fake.new(nil, { published_ports = { fake.port } })
    local args = {
      exec_command = { command = "ls" },
      read_file = { path = "a" },
      write_file = { path = "a", content = "" },
      start_process = { command = "ls" },
      read_process_logs = { processId = "p1" },
      stop_process = { processId = "p1" },
      wait_for_port = { containerPort = 8000 },
    }
    for _, tool in ipairs(assert(tools.build(session, {
      allow = tools.NAMES,
      policy = load([[ default "allow"  deny { tool = "*" } ]]),
    }))) do
      assert.is_false(try(tool.call, args[tool.name] or {}), tool.name)
    end
    assert.same({}, session.calls)
  end)

  it("can only be tightened by the lists", function()
    local t = build({
      policy = load([[ default "allow"  deny { exec = "ls" } ]]),
      exec = { allowed_commands = { "ls", "cat" } },
    })
    assert.is_false(try(t.exec_command, { command = "ls" }))
    assert.is_true(try(t.exec_command, { command = "cat" }))
    assert.is_false(try(t.exec_command, { command = "rm" }))
  end)

  it("asks, and without somebody to ask refuses", function()
    local policy = load([[ default "allow"  ask { exec = "npm install *" } ]])
    local npm = { command = "npm", args = { "install", "x" } }
    local t = build({ policy = policy })
    local _, message = try(t.exec_command, npm)
    assert.matches("There is nobody to ask here.", message, 1, true)
    local asked = {}
    t = build({
      policy = policy,
      on_ask = function(request)
        asked[#asked + 1] = request
        return "once"
      end,
    })
    assert.is_true(try(t.exec_command, npm))
    assert.equal("npm", asked[1].call.command)
    t = build({ policy = policy, on_ask = function() return false end })
    assert.is_false(try(t.exec_command, npm))
    t = build({ policy = policy, on_ask = function() error("broken") end })
    assert.is_false(try(t.exec_command, npm))
  end)

  it("limits calls, time and bytes of the session", function()
    local t, session = build({ policy = load([[
      default "allow"
      limit { exec = { calls = 2, timeout_ms = 700 }, write = { bytes = 10 } }
    ]]) })
    assert.is_true(try(t.exec_command, { command = "ls" }))
    assert.equal(700, session:last("exec")[2].timeout_ms)
    local _, message = try(t.exec_command, { command = "ls", timeoutMs = 701 })
    assert.matches("'timeoutMs' must be an integer from 1 to 700", message, 1, true)
    assert.is_true(try(t.exec_command, { command = "ls" }))
    assert.is_false(try(t.exec_command, { command = "ls" }))
    assert.is_true(try(t.write_file, { path = "a", content = "12345" }))
    assert.is_false(try(t.write_file, { path = "a", content = "123456" }))
    assert.is_true(try(t.write_file, { path = "a", content = "12345" }))
  end)

  it("refuses everything when it did not load", function()
    local broken, err = policies.load("allow { exce = 1 }", { text = true })
    assert.is_true(errors.is(err, "tool_policy"))
    local t, session = build({ policy = broken })
    assert.is_false(try(t.exec_command, { command = "ls" }))
    assert.is_false(try(t.read_file, { path = "a" }))
    assert.is_false(try(t.list_files, {}))
    assert.same({}, session.calls)
  end)
end)
