-- SPDX-License-Identifier: MIT
-- Secrets of an environment show up in no error, no event and no argument list.

local helper = require("spec.helper")
local sandbox = require("anvia.sandbox")

local SECRET = "s3cr3t-marker-114"

local function contains(value, seen)
  seen = seen or {}
  if type(value) == "string" then
    return value:find(SECRET, 1, true) ~= nil
  elseif type(value) ~= "table" or seen[value] then
    return false
  end
  seen[value] = true
  for key, item in pairs(value) do
    if contains(key, seen) or contains(item, seen) then
      return true
    end
  end
  return false
end

describe("a secret", function()
  if not helper.engine(helper.BUSYBOX) then
    return
  end

  it("is not in the error of a create that fails", function()
    for _, image in ipairs({ "anvia-test/static:1", "anvia-test/missing:9", helper.BUSYBOX }) do
      local none, err = sandbox.docker(helper.options({ image = image }))
        :create_session({ manifest = { env = { TOKEN = SECRET }, files = { ["a/../.."] = "x" } } })
      assert.is_nil(none)
      assert.is_false(contains(err) or contains(tostring(err)))
    end
  end)

  it("is not in events and errors of commands", function()
    local told = {}
    local function tell(event)
      told[#told + 1] = event
    end
    local session = helper.session({ hooks = { on_exec_start = tell, on_exec_end = tell } },
      { manifest = { env = { TOKEN = SECRET } } })
    local env = { OTHER = SECRET }
    assert(session:exec({ command = "true", env = env }))
    local _, err = session:exec({ command = "nosuch", env = env })
    assert.is_false(contains(err))
    _, err = session:start_process({ command = "nosuch", env = env })
    assert.is_false(contains(err))
    local info = assert(session:start_process({ command = "sleep", args = { "600" }, env = env }))
    assert.is_false(contains(info))
    assert.is_false(contains(assert(session:list_processes())))
    assert.is_true(#told >= 5)
    assert.is_false(contains(told))
  end)
end)
