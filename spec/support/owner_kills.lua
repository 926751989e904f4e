-- SPDX-License-Identifier: MIT
-- owner_kills.lua - kills the owner of sessions at a random moment, and looks what stays.

local helper = require("spec.helper")
local outside = require("spec.support.outside")
local sandbox = require("anvia.sandbox")

local M = {}

--- Goes through everything that a session can be doing, for ever. It prints where it is.
M.OWNER = [[
  local sandbox = require("anvia.sandbox")
  local box = sandbox.docker(require("spec.support.chosen").options({
    image = arg[1], runner = arg[2],
  }))
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

-- Containers and volumes of the owner.
local function left_of(pid)
  local label = "--filter label=anvia.sandbox.owner.pid=" .. pid
  local said = outside.sh("docker ps -a -q " .. label .. "; docker volume ls -q " .. label)
  return (said:gsub("%s+$", ""))
end

-- Most kills are for the create, whose steps leave the most; but the others get some on
-- a machine of any speed.
local FROM = { "create", "create", "exec", "write" }

--- One owner, killed soon after a moment that is chosen at random: where it was,
--- and what was left of it after `wait_ms`, or nil.
function M.once(wait_ms, runner)
  local owner = helper.script(M.OWNER, helper.BUSYBOX, runner)
  local from = FROM[math.random(#FROM)]
  helper.eventually(function()
    return owner.output():find(from, 1, true)
  end, 20000)
  sandbox.sleep(math.random(0, from == "create" and 900 or 150))
  owner.kill("KILL")
  local words = owner.output()
  local gone = pcall(helper.eventually, function()
    return left_of(owner.pid) == "" and not owner.alive()
  end, wait_ms)
  local left = not gone and left_of(owner.pid) or nil
  owner.forget()
  return words:match("(%a+)%s*$") or words, left
end

return M
