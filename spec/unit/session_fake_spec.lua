-- SPDX-License-Identifier: MIT
-- Sessions on a host that has no engine: what Lua decides, without Docker.
local core = require("anvia.sandbox.core")
local errors = require("anvia.sandbox.errors")
local fake_docker = require("spec.support.fake_docker")
local sandbox = require("anvia.sandbox")

local fake

local function create(extra, session_options)
  return sandbox.docker(fake:options(extra)):create_session(session_options)
end

local function raised(fn, ...)
  local ok, message = pcall(fn, ...)
  assert.is_false(ok)
  return tostring(message)
end

describe("options of a sandbox", function()
  local bad = {
    { { imgae = "x" }, "unknown option 'imgae' (did you mean 'image'?)" },
    { { image = "-x" }, "'image'" },
    { { limits = { timeout_ms = 0 } }, "'limits.timeout_ms' must be a positive integer" },
    { { limits = { timeout = 1 } }, "did you mean 'timeout_ms'?" },
    { { lifecycle = { ttl_ms = 1.5 } }, "'lifecycle.ttl_ms'" },
    { { lifecycle = { ttl_ms = -1 } }, "'lifecycle.ttl_ms'" },
    { { lifecycle = { ttl_ms = 0 } }, "'lifecycle.ttl_ms'" },
    { { workdir = "relative" }, "'workdir' must be an absolute path" },
    { { workdir = "/" }, "'workdir'" },
    { { workdir = "/a/../b" }, "'workdir'" },
    { { workspace = { mode = "persistent" } }, "'workspace.id' is required" },
    { { workspace = { mode = "ephemeral", id = "x" } }, "only a persistent workspace" },
    { { workspace = { mode = "persistent", id = "A/B" } }, "'workspace.id'" },
    { { runner = "ssh" }, "'runner' must be one of \"auto\", \"supervisor\", \"exec\"" },
    { { workdir = "/.anvia" }, "'workdir' must not be in /.anvia" },
    { { workdir = "/.anvia/x" }, "'workdir' must not be in /.anvia" },
    { { pull = "sometimes" }, "'pull' must be one of" },
    { { labels = { ["anvia.sandbox"] = "x" } }, "are taken" },
    { { user = "a\0b" }, "NUL" },
    { { network = 5 }, "'network'" },
    { { hooks = { on_exec = print } }, "unknown option 'hooks.on_exec'" },
  }
  for _, case in ipairs(bad) do
    it("refuse what has no sense: " .. case[2], function()
      local message = raised(sandbox.docker, case[1])
      assert.is_truthy(message:find(case[2], 1, true), message)
    end)
  end

  it("raise at the line that called", function()
    local line = debug.getinfo(1, "l").currentline + 1
    local message = raised(function() local sb = sandbox.python({ nope = 1 }) return sb end)
    assert.is_truthy(message:find("session_fake_spec.lua:" .. line .. ": sandbox.python", 1, true))
  end)

  it("differ in the presets only by the image", function()
    assert.equal("node:22-bookworm", sandbox.docker().image)
    assert.equal("node:22-bookworm", sandbox.node({}).image)
    assert.equal("python:3.13-bookworm", sandbox.python().image)
    assert.equal("denoland/deno:debian", sandbox.deno().image)
    assert.equal("mine", sandbox.deno({ image = "mine" }).image)
  end)
end)

describe("a session", function()
  before_each(function()
    fake = fake_docker.new()
  end)

  after_each(function()
    fake:remove()
  end)

  for _, id in ipairs({ "", ".x", "-", "日本", "a/b", "a b", ("a"):rep(65), "a\0b", "../x" }) do
    it("refuses the id " .. id:sub(1, 10):gsub("%z", "\\0"), function()
      local message = raised(create, nil, { id = id })
      assert.is_truthy(message:find("'id'", 1, true), message)
      assert.same({}, fake:calls())
    end)
  end

  it("has the fields that the contract names", function()
    local session = assert(create(nil, { id = "Abc-1", metadata = { k = "v" } }))
    assert.equal("Abc-1", session.id)
    assert.equal("docker", session.provider)
    assert.equal("exec", session.runner)
    assert.equal(fake.dir .. "/workspace", session.workdir)
    assert.same({}, session.published_ports)
    assert.is_true(sandbox.is_port_session(session))
    assert.is_true(sandbox.is_process_session(session))
    assert.is_false(sandbox.is_port_session({}))
    assert.is_false(sandbox.is_process_session("x"))
    assert(session:destroy())
  end)

  it("runs commands and returns their output", function()
    local session = assert(create())
    local result = assert(session:exec({
      command = "sh",
      args = { "-c", "echo o; echo e >&2; exit 3" },
    }))
    assert.equal("o\n", result.stdout)
    assert.equal("e\n", result.stderr)
    assert.equal(3, result.exit_code)
    assert.is_false(result.timed_out)
    assert.is_false(result.cancelled)
    assert(session:destroy())
  end)

  it("refuses bad options of exec before anything is spawned", function()
    local session = assert(create())
    local before = #fake:calls()
    for _, bad in ipairs({ 0, -5, 0 / 0, 0.5, "10", math.huge }) do
      raised(session.exec, session, { command = "echo", timeout_ms = bad })
    end
    raised(session.exec, session, { command = "echo", agrs = {} })
    raised(session.exec, session, { command = "echo\0" })
    raised(session.exec, session, { command = "" })
    raised(session.exec, session, { command = "echo", env = { ["A=B"] = "x" } })
    raised(session.exec, session, { command = "echo", cancel = {} })
    raised(session.exec, session)
    raised(session.exec_stream, session, { command = "echo", on_stdout = print })
    assert.equal(before, #fake:calls())
    local result = assert(session:exec({ command = "echo", args = { "x" }, timeout_ms = 1e12 }))
    assert.equal("x\n", result.stdout)
    assert(session:destroy())
  end)

  it("refuses directories outside the workspace without asking anybody", function()
    local session = assert(create())
    local before = #fake:calls()
    for _, cwd in ipairs({ "../x", "a/../../x", "/etc", "..", "", "a\0b" }) do
      local result, err = session:exec({ command = "pwd", cwd = cwd })
      assert.is_nil(result)
      assert.equal("path", err.code)
      assert.equal("exec", err.op)
    end
    assert.equal(before, #fake:calls())
    assert(session:destroy())
  end)

  it("starts nothing for a token that is cancelled already", function()
    local session = assert(create())
    local before = #fake:calls()
    local token = sandbox.cancel_token()
    token:cancel()
    local result = assert(session:exec({ command = "echo", cancel = token }))
    assert.is_true(result.cancelled)
    assert.is_nil(result.exit_code)
    local events = {}
    for event in assert(session:exec_stream({ command = "echo", cancel = token })) do
      events[#events + 1] = event.type
    end
    assert.same({ "exit" }, events)
    assert.equal(before, #fake:calls())
    assert(session:destroy())
  end)

  it("keeps secrets off the client's command line, and DOCKER_* out of its environment", function()
    fake:answer({ exec = 'env >"$here/env"; real_exec "$@"' })
    local session = assert(create(nil, { manifest = { env = { MANIFEST_SECRET = "s3cr3t-m" } } }))
    local result = assert(session:exec({
      command = "sh",
      args = { "-c", "echo $DOCKER_HOST $TOKEN $MANIFEST_SECRET" },
      env = { DOCKER_HOST = "inside", TOKEN = "s3cr3t-t" },
    }))
    assert.equal("inside s3cr3t-t s3cr3t-m\n", result.stdout)
    local file = assert(io.open(fake.dir .. "/env"))
    local env = file:read("a")
    file:close()
    assert.is_nil(env:find("inside", 1, true))
    assert.is_nil(env:find("s3cr3t", 1, true))
    assert.is_false(fake:called("s3cr3t"))
    assert(session:destroy())
  end)

  it("never reports an unknown exit status as 0", function()
    local session = assert(create())
    fake:answer({ exec = "printf partial; kill -9 $$" })
    local result, err = session:exec({ command = "true" })
    assert.is_nil(result)
    assert.equal("docker_command", err.code)
    fake:answer({ exec = [[
      printf '\036'
      IFS= read -r header
      eval "$header"
      printf '\036ANVIA_PROCESS:%s:%s:%s:%s\036partial' "$anvia_uuid" $$ $$ $$
      kill -9 $$]] })
    result, err = session:exec({ command = "true" })
    assert.is_nil(result)
    assert.is_truthy(errors.is(err))
    assert.equal("partial", err.result.stdout)
    assert.is_nil(err.result.exit_code)
    fake:answer({})
    assert(session:destroy())
  end)

  it("is destroyed once for all callers", function()
    local told = 0
    local session = assert(create({ hooks = { on_destroy = function() told = told + 1 end } }))
    local results = sandbox.all({
      function() return session:destroy() end,
      function() return session:destroy() end,
      function() return session:destroy() end,
    })
    assert.same({ true, true, true, n = 3 }, results)
    assert.is_true(session:destroy())
    assert.equal(1, told)
    for _, method in ipairs({ "exec", "exec_stream", "start_process" }) do
      local value, err = session[method](session, { command = "true" })
      assert.is_nil(value)
      assert.equal("session_destroyed", err.code)
    end
    local value, err = session:touch()
    assert.is_nil(value)
    assert.equal("session_destroyed", err.code)
  end)

  it("reports a removal that failed, and can try again", function()
    local told = 0
    local session = assert(create({ hooks = { on_destroy = function() told = told + 1 end } }))
    fake:answer({ ps = "echo no >&2; exit 1", version = "exit 1" })
    local ok, err = session:destroy()
    assert.is_nil(ok)
    assert.equal("docker_unavailable", err.code)
    local result, why = session:exec({ command = "true" })
    assert.is_nil(result)
    assert.equal("session_destroyed", why.code)
    fake:answer({})
    assert.is_true(session:destroy())
    assert.equal(1, told)
  end)

  it("removes by force what does not go by itself", function()
    local session = assert(create())
    fake:answer({ ps = 'count ps; [ "$n" -gt 1 ] || echo deadbeef' })
    assert.is_true(session:destroy())
    assert.is_true(fake:called("^rm %-f %-v deadbeef"))
  end)

  it("removes a persistent volume only when that was asked for", function()
    local volume = [[
      case "$2" in inspect) echo '[{"Name":"v","Labels":{"anvia.sandbox":"true"}}]' ;; esac]]
    fake:answer({ volume = volume })
    local session = assert(create(nil, { workspace = { mode = "persistent", id = "w" } }))
    assert(session:destroy())
    assert.is_false(fake:called("^volume rm"))
    session = assert(create(nil, {
      workspace = { mode = "persistent", id = "w", destroy_on_session_destroy = true },
    }))
    assert(session:destroy())
    assert.is_true(fake:called("^volume rm anvia%-sandbox%-workspace%-w"))
  end)

  it("is closed at the end of its block", function()
    local session
    do
      local s <close> = assert(create())
      session = s
    end
    local _, err = session:exec({ command = "true" })
    assert.equal("session_destroyed", err.code)
  end)

  it("is removed when the collector finds it", function()
    local told
    do
      local session = assert(create({ hooks = { on_destroy = function(event) told = event end } }))
      told = session.id and nil
    end
    local deadline = core.now_ms() + 5000
    while not told and core.now_ms() < deadline do
      collectgarbage()
      sandbox.sleep(10)
    end
    assert.equal("docker", told.provider)
  end)
end)
