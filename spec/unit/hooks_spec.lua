-- SPDX-License-Identifier: MIT
local errors = require("anvia.sandbox.errors")
local hooks = require("anvia.sandbox.hooks")

describe("hooks", function()
  it("are told the common fields and those of the event", function()
    local seen
    local h = hooks.new({ on_exec_start = function(event) seen = event end }, { session_id = "s" })
    assert.is_true(h:ask("exec", "on_exec_start", { command = "ls" }))
    assert.same({ session_id = "s", command = "ls" }, seen)
  end)

  it("get copies of tables, which they may change", function()
    local args = { "a" }
    local h = hooks.new({ on_exec_start = function(event) event.args[1] = "b" end }, {})
    h:ask("exec", "on_exec_start", { args = args })
    assert.same({ "a" }, args)
  end)

  it("fail the call when they are early and raise", function()
    local h = hooks.new({ on_exec_start = function() error("no!", 0) end }, {})
    local ok, err = h:ask("exec", "on_exec_start", {})
    assert.is_nil(ok)
    assert.equal("internal", err.code)
    assert.equal("hook on_exec_start: no!", err.message)
    assert.equal("no!", err.cause)
  end)

  it("pass an error object of the library on as it is", function()
    local mine = errors.new("exec", "tool_policy", "not today")
    local h = hooks.new({ on_exec_start = function() error(mine) end }, {})
    local _, err = h:ask("exec", "on_exec_start", {})
    assert.equal(mine, err)
  end)

  it("go to on_error when they are late and raise", function()
    local seen
    local h = hooks.new({
      on_exec_end = function() error("late", 0) end,
      on_error = function(event) seen = event end,
    }, { session_id = "s" })
    h:tell("on_exec_end", { command = "ls" })
    assert.same({ session_id = "s", command = "ls", hook = "on_exec_end", error = "late" }, seen)
  end)

  it("go nowhere when on_error raises, too", function()
    local h = hooks.new({
      on_destroy = function() error("late") end,
      on_error = function() error("later") end,
    }, {})
    assert.has_no.errors(function() h:tell("on_destroy", {}) end)
    assert.has_no.errors(function() hooks.new({}, {}):tell("on_destroy", {}) end)
  end)
end)
