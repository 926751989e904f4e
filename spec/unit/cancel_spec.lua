-- SPDX-License-Identifier: MIT

local cancel = require("anvia.sandbox.cancel")

describe("a cancel token", function()
  it("is cancelled once, with the first reason", function()
    local token = cancel.token()
    assert.is_false(token.cancelled)
    assert.is_true(token:cancel("first"))
    assert.is_false(token:cancel("second"))
    assert.is_true(token.cancelled)
    assert.equal("first", token.reason)
    assert.is_true(cancel.is_token(token))
    for _, other in ipairs({ {}, "x", false }) do
      assert.is_false(cancel.is_token(other))
    end
  end)

  it("calls everybody who asked, in order", function()
    local token = cancel.token()
    local seen = {}
    for i = 1, 3 do
      token:on_cancel(function(reason)
        seen[#seen + 1] = i .. reason
      end)
    end
    token:cancel("!")
    assert.equal("1! 2! 3!", table.concat(seen, " "))
    token:on_cancel(function(reason) -- too late: at once
      seen[#seen + 1] = "4" .. reason
    end)
    assert.equal("4!", seen[4])
  end)

  it("forgets who unsubscribed, also while it calls the others", function()
    local token = cancel.token()
    local seen = {}
    local unsubscribe_c
    local unsubscribe_a = token:on_cancel(function()
      seen[#seen + 1] = "a"
    end)
    token:on_cancel(function()
      seen[#seen + 1] = "b"
      unsubscribe_c()
    end)
    unsubscribe_c = token:on_cancel(function()
      seen[#seen + 1] = "c"
    end)
    token:on_cancel(function()
      seen[#seen + 1] = "d"
    end)
    unsubscribe_a()
    unsubscribe_a()
    token:cancel()
    assert.equal("b d", table.concat(seen, " "))
    unsubscribe_a()
  end)

  it("calls all, also when one of them raises", function()
    local token = cancel.token()
    local called = 0
    for i = 1, 3 do
      token:on_cancel(function()
        called = called + 1
        error("callback " .. i, 0)
      end)
    end
    local ok, message = pcall(token.cancel, token)
    assert.is_false(ok)
    assert.equal("callback 1", message)
    assert.equal(3, called)
    assert.is_true(token.cancelled)
  end)

  it("does not keep what has unsubscribed", function()
    local token = cancel.token()
    for _ = 1, 1000 do
      token:on_cancel(function() end)()
    end
    assert.equal(0, #token._callbacks)
  end)
end)
