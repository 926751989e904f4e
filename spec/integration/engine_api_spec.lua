-- SPDX-License-Identifier: MIT
-- engine: any
-- tsan: yes
-- The engine's socket on a real engine: what only this way of talking to it can do.

local api = require("anvia.sandbox.engine.api")
local cancel = require("anvia.sandbox.cancel")
local core = require("anvia.sandbox.core")
local endpoint = require("anvia.sandbox.engine.endpoint")
local errors = require("anvia.sandbox.errors")
local helper = require("spec.helper")
local outside = require("spec.support.outside")
local sandbox = require("anvia.sandbox")

helper.describe("the engine's socket", { helper.BUSYBOX }, function()
  local function engine()
    return api.new({ host = assert(endpoint.find()) })
  end

  local function session(extra)
    extra = extra or {}
    extra.engine = "api"
    return helper.session(extra)
  end

  -- Runs a command for long, does `what` to the container, and returns how the
  -- command failed and after how many milliseconds.
  local function fails_when(one, what)
    local task = sandbox.spawn(function()
      local result, err = one:exec({ command = "sleep", args = { "30" }, timeout_ms = 10000 })
      return result, err, core.now_ms()
    end)
    sandbox.sleep(300)
    local start = core.now_ms()
    outside.sh("docker " .. what .. " anvia-sandbox-" .. one.id)
    local result, err, at = task:join()
    assert.is_nil(result)
    return err, at - start
  end

  it("tells at once that the container ended, and how", function()
    local one = session()
    local err, ms = fails_when(one, "kill")
    assert.equal("session_destroyed", err.code)
    assert.is_truthy(err.message:find("the container ended with status 137", 1, true))
    assert.is_true(ms < 2000)
  end)

  it("says of a command that cannot end that the container is paused", function()
    local one = session()
    outside.sh("docker pause anvia-sandbox-" .. one.id)
    local result, err = one:exec({ command = "true", timeout_ms = 300, grace_period_ms = 100 })
    outside.sh("docker unpause anvia-sandbox-" .. one.id)
    assert.is_nil(result)
    assert.is_truthy(err.message:find("the container is paused", 1, true), err.message)
    -- the report that it runs again comes on another connection
    helper.eventually(function()
      local again = one:exec({ command = "true" })
      return again and again.exit_code == 0
    end)
  end)

  it("keeps no child process while sessions are open", function()
    local one, two = session(), session()
    helper.eventually(function()
      return #outside.children() == 0
    end)
    assert.is_true(one:destroy())
    assert.is_true(two:destroy())
  end)

  it("speaks of what is not there like the client does", function()
    local e = engine()
    local _, err = e:inspect("anvia-no-such-container")
    assert.equal("docker_command", err.code)
    assert.equal("no_container", err.reason)
    assert.equal(404, err.status)
    assert.is_true(e:remove_container("anvia-no-such-container"))
    assert.is_true(e:remove_volume("anvia-no-such-volume"))
    assert.same({}, e:describe_containers({ "anvia-no-such-container" }))
    assert.same({}, e:describe_volumes({ "anvia-no-such-volume" }))
    assert.same({}, e:find_containers({ ["anvia.sandbox.create"] = "none" }))
    assert.same({}, e:find_volumes({ ["anvia.sandbox.create"] = "none" }))
  end)

  it("runs a command as another user, and says what it complained of", function()
    local one = session()
    local e = engine()
    local name = "anvia-sandbox-" .. one.id
    assert.is_true(e:run_as(name, "0", { "true" }))
    local ok, err = e:run_as(name, "0", { "sh", "-c", "echo no way >&2; exit 3" })
    assert.is_nil(ok)
    assert.equal("no way", err.message)
    assert.equal(3, err.result.exit_code)
  end)

  it("says why an image cannot be pulled, and stops a pull when asked", function()
    local e = engine()
    local ok, err = e:pull("localhost:1/anvia/none:1", 20000)
    assert.is_nil(ok)
    assert.is_truthy(err.message:find("^image localhost:1/anvia/none:1 could not be pulled: "))
    local token = cancel.token()
    local task = sandbox.spawn(function()
      -- nobody answers there, and nobody refuses
      return e:pull("192.0.2.1:5000/anvia/none:1", 30000, { cancel = token })
    end)
    sandbox.sleep(200)
    token:cancel()
    ok, err = task:join()
    assert.is_nil(ok)
    assert.is_true(errors.is(err), tostring(err))
  end)

  it("fails within its time when nobody is there", function()
    local sb = sandbox.docker(helper.options({ engine = "api", host = "unix:///nonexistent.sock" }))
    local none, err = sb:create_session()
    assert.is_nil(none)
    assert.equal("docker_unavailable", err.code)
    assert.is_truthy(err.message:find("cannot connect to the Docker daemon", 1, true))
    none, err = sb:list()
    assert.is_nil(none)
    assert.equal("docker_unavailable", err.code)
  end)
end)
