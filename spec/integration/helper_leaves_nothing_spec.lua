-- SPDX-License-Identifier: MIT
-- engine: any
-- runner: any
-- The look from outside, which judges all other specs, sees what is left.

local core = require("anvia.sandbox.core")
local helper = require("spec.helper")
local outside = require("spec.support.outside")
local sandbox = require("anvia.sandbox")
local task = require("anvia.sandbox.task")

describe("the look from outside", function()
  if not helper.engine(helper.BUSYBOX) then
    return
  end

  local before

  before_each(function()
    before = outside.baseline()
  end)

  it("sees a session with its container, volume and client", function()
    local session = assert(sandbox.docker(helper.options({ engine = "cli" })):create_session())
    local left = outside.left_behind(before, 0)
    for _, what in ipairs({ "containers:", "volumes:", "children:", "descriptors:" }) do
      assert.is_truthy(left and left:find(what, 1, true), what)
    end
    assert(session:destroy())
    assert.is_nil(outside.left_behind(before))
  end)

  it("sees a volume whose container is gone", function()
    outside.sh(string.format("docker volume create --label anvia.sandbox.owner.pid=%d "
      .. "--label anvia.sandbox.workspace.mode=ephemeral", core.getpid()))
    assert.is_truthy(outside.left_behind(before, 0):find("^volumes:"))
    outside.clean()
    assert.is_nil(outside.left_behind(before))
  end)

  it("sees a persistent volume", function()
    outside.sh(string.format("docker volume create --label anvia.sandbox.owner.pid=%d "
      .. "--label anvia.sandbox.workspace.mode=persistent", core.getpid()))
    assert.is_truthy(outside.left_behind(before, 0):find("^persistent volumes:"))
    outside.clean()
  end)

  it("sees a child process, an operation and a descriptor", function()
    local operation = core.run({ argv = { "sleep", "30" } })
    local waiter = task.spawn(function()
      return task.await(operation)
    end)
    local file = io.open("/dev/null")
    local left = outside.left_behind(before, 0)
    assert.is_truthy(left:find("children:", 1, true))
    assert.is_truthy(left:find("operations:", 1, true))
    assert.is_truthy(left:find("descriptors:", 1, true))
    file:close()
    operation:cancel()
    waiter:join()
    operation, waiter = nil, nil -- luacheck: ignore
    assert.is_nil(outside.left_behind(before))
  end)
end)
