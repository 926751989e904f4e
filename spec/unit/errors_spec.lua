-- SPDX-License-Identifier: MIT

local errors = require("anvia.sandbox.errors")

describe("errors", function()
  it("read well", function()
    local err = errors.new("exec", "timeout", "after %d ms", 5)
    assert.equal("exec: timeout: after 5 ms", tostring(err))
    assert.same({ "exec", "timeout", "after 5 ms" }, { err.op, err.code, err.message })
    assert.equal("path: 100%", tostring(errors.new(nil, "path", "%s", "100%")))
    local ok, message = pcall(function()
      assert(nil, tostring(err))
    end)
    assert.is_false(ok)
    assert.truthy(tostring(message):find("exec: timeout: after 5 ms", 1, true))
  end)

  it("have codes of a closed list", function()
    assert.equal(13, #errors.CODES)
    for _, code in ipairs(errors.CODES) do
      assert.equal(code, errors.new("op", code, "m").code)
    end
    for _, wrong in ipairs({ "Timeout", "closed", "" }) do
      assert.has_error(function()
        errors.new("op", wrong, "m")
      end)
      assert.has_error(function()
        errors.is({}, wrong)
      end)
    end
    assert.has_error(function()
      errors.new("op", nil, "m")
    end)
  end)

  it("are told from other values", function()
    local err = errors.new("op", "port", "m")
    assert.is_true(errors.is(err))
    assert.is_true(errors.is(err, "port"))
    assert.is_false(errors.is(err, "timeout"))
    for _, other in ipairs({ { code = "port" }, "port", 5, false }) do
      assert.is_false(errors.is(other))
      assert.is_false(errors.is(other, "port"))
    end
    assert.is_false(errors.is(nil))
  end)
end)

describe("errors.wrap", function()
  it("makes an error of what the core gave, with all its facts", function()
    local raw = { code = "docker_command", message = "m", result = { exit_code = 1 }, more = 1 }
    local err = errors.wrap("create", raw)
    assert.is_true(errors.is(err, "docker_command"))
    assert.equal("create: docker_command: m", tostring(err))
    assert.equal(raw.result, err.result)
    assert.equal(1, err.more)
    assert.is_nil(err.cause)
  end)

  it("completes an error that has no method yet", function()
    local err = errors.wrap(nil, { code = "port", message = "m" })
    assert.is_nil(err.op)
    assert.equal(err, errors.wrap("wait_for_port", err))
    assert.equal("wait_for_port", err.op)
    assert.equal(err, errors.wrap("wait_for_port", err))
    assert.equal(err, errors.wrap(nil, err))
  end)

  it("keeps the inner error as the cause", function()
    local inner = errors.new("inspect", "timeout", "m")
    inner.result = { stdout = "" }
    local err = errors.wrap("create_session", inner)
    assert.equal("create_session: timeout: m", tostring(err))
    assert.equal(inner, err.cause)
    assert.equal(inner.result, err.result)
    assert.equal("inspect", inner.op)
  end)

  it("takes anything", function()
    assert.equal("op: internal: text", tostring(errors.wrap("op", "text")))
    assert.equal("op: internal: it failed, and nobody said why", tostring(errors.wrap("op", nil)))
    assert.equal("internal", errors.wrap("op", { code = "no such", message = "m" }).code)
    assert.truthy(errors.wrap("op", {}).message:find("table"))
  end)
end)
