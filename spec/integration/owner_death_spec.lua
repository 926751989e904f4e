-- SPDX-License-Identifier: MIT
-- The owner is killed at random moments; what is left is judged by the engine and the
-- host's process table.

local helper = require("spec.helper")
local outside = require("spec.support.outside")

local TRIES = 30

-- Goes through everything that a session can be doing, for ever. It prints where it is.
local OWNER = [[
  local sandbox = require("anvia.sandbox")
  local box = sandbox.docker(require("spec.support.chosen").options({ image = arg[1] }))
  while true do
    print("create")
    local session = assert(box:create_session({ manifest = { files = { a = "x" } } }))
    print("exec")
    assert(session:exec({ command = "sh", args = { "-c", "sleep 0.05; echo done" } }))
    print("start")
    local server = { command = "sh", args = { "-c", "setsid sleep 4711 & sleep 4711" } }
    assert(session:start_process(server))
    print("write")
    assert(session:write_file("dir/file", ("x"):rep(300000)))
    print("destroy")
    assert(session:destroy())
  end
]]

-- Containers and volumes of the owner, and clients that name one of its containers.
local function left_of(pid)
  local label = "--filter label=anvia.sandbox.owner.pid=" .. pid
  local said = outside.sh("docker ps -a -q " .. label .. "; docker volume ls -q " .. label)
  return said:gsub("%s+$", "")
end

helper.describe("a killed owner", { helper.BUSYBOX }, function()
  it("leaves nothing, whatever it was doing", function()
    math.randomseed(20)
    local seen = {}
    for _ = 1, TRIES do
      local owner = helper.script(OWNER, helper.BUSYBOX)
      helper.eventually(function()
        return owner.output():find("create", 1, true)
      end)
      require("anvia.sandbox").sleep(math.random(0, 900))
      owner.kill("KILL")
      local words = owner.output()
      seen[words:match("(%a+)%s*$") or words] = true
      helper.eventually(function()
        return left_of(owner.pid) == "" and not owner.alive()
      end, 5000)
      assert.are.equal("", left_of(owner.pid))
      owner.forget()
    end
    -- the kills hit more than one kind of moment
    local kinds = 0
    for _ in pairs(seen) do
      kinds = kinds + 1
    end
    assert.is_true(kinds >= 3, "the kills came always at the same point")
  end)

  it("leaves no client of the engine", function()
    local owner = helper.script(OWNER, helper.BUSYBOX)
    helper.eventually(function()
      return owner.output():find("write", 1, true)
    end)
    owner.kill("KILL")
    helper.eventually(function()
      local said = outside.sh("pgrep -a docker | grep anvia-sandbox- || true")
      return said == ""
    end, 5000)
    owner.forget()
  end)
end)
