-- SPDX-License-Identifier: MIT
-- runner: supervisor
-- A workload wants to outlive its lease: the owner's death, its own time to live, and an
-- owner that is frozen.

local helper = require("spec.helper")
local hostile = require("spec.support.hostile")
local outside = require("spec.support.outside")
local sandbox = require("anvia.sandbox")

-- What it does meanwhile, as root: nothing of it may keep the container.
local ATTACKS = {
  ["holding every pipe and descriptor"] = [[
    setsid sleep 5001 & setsid sh -c 'trap "" 1 2 3 13 15; while :; do sleep 1; done' &
    for fd in 0 1 2 3 4 5 6 7 8 9; do (exec 9<>/proc/1/fd/$fd && sleep 5001) 2>/dev/null & done
    sleep 5001]],
  ["signals to PID 1"] = [[
    while :; do for s in STOP TSTP KILL TERM HUP CONT USR1; do kill -$s 1; done; done]],
  ["stopping everybody"] = "setsid sleep 5001 & kill -STOP -1; sleep 5001",
  ["a fork bomb"] = "f() { f | f & }; f; sleep 5001",
  ["floods"] = "yes & yes >&2 & sleep 5001",
  ["a busy processor"] = "for i in 1 2 3 4 5 6 7 8; do while :; do :; done & done; wait",
}

local OWNER = [[
  local sandbox = require("anvia.sandbox")
  local options = require("spec.support.chosen").options({
    image = arg[1],
    runner = "supervisor",
    user = "0",
    limits = { pids_limit = 200 },
    lifecycle = { ttl_ms = tonumber(arg[3]), idle_timeout_ms = tonumber(arg[4]) },
  })
  local session = assert(sandbox.docker(options):create_session())
  print("id " .. session.id)
  if arg[2] ~= "" then
    assert(session:start_process({ command = "sh", args = { "-c", arg[2] } }))
  end
  print("started")
  sandbox.sleep(600000)
]]

local function containers_of(pid)
  return outside.sh("docker ps -a -q --filter label=anvia.sandbox.owner.pid=" .. pid
    .. "; docker volume ls -q --filter label=anvia.sandbox.owner.pid=" .. pid)
end

local function owner_with(attack, ttl_ms, idle_ms)
  local owner = helper.script(OWNER, helper.BUSYBOX, attack, ttl_ms or "", idle_ms or "")
  helper.eventually(function()
    return owner.output():find("started", 1, true)
  end, 20000)
  sandbox.sleep(300)
  assert.are_not.equal("", containers_of(owner.pid))
  return owner
end

helper.describe("the end of a lease", { helper.BUSYBOX }, function()
  for name, attack in pairs(ATTACKS) do
    it("is the end of the container, when the owner is killed: " .. name, function()
      local owner = owner_with(attack)
      owner.kill("KILL")
      helper.eventually(function()
        return containers_of(owner.pid) == ""
      end, 5000)
      owner.forget()
    end)

    it("is the end of the container, when its time is over: " .. name, function()
      local session = hostile.session({ image = helper.BUSYBOX, user = "0",
        limits = { pids_limit = 200 }, lifecycle = { ttl_ms = 1500 } })
      assert(session:start_process({ command = "sh", args = { "-c", attack } }))
      helper.eventually(function()
        return #outside.containers() == 0
      end, 8000)
      local result, err = session:exec({ command = "true" })
      assert.is_nil(result)
      assert.are.equal("session_destroyed", err.code)
    end)

    it("is the end of the container, when it is destroyed: " .. name, function()
      local session = hostile.session({ image = helper.BUSYBOX, user = "0",
        limits = { pids_limit = 200 } })
      assert(session:start_process({ command = "sh", args = { "-c", attack } }))
      sandbox.sleep(300)
      local took, ok, err = helper.timed(session.destroy, session)
      assert.is_true(ok, tostring(err))
      assert.is_true(took < 5000, took)
      assert.are.equal(0, #outside.containers())
    end)
  end

  it("comes from inside when the owner is frozen beyond the time to live", function()
    local owner = owner_with("trap '' TERM; while :; do sleep 1; done", 1000)
    owner.kill("STOP")
    helper.eventually(function() -- 5 s is what the owner gets
      return containers_of(owner.pid) == ""
    end, 12000)
    owner.kill("KILL")
    owner.forget()
  end)

  it("comes from inside when the owner is frozen and nothing runs", function()
    local owner = owner_with("", nil, 1000)
    owner.kill("STOP")
    helper.eventually(function()
      return containers_of(owner.pid) == ""
    end, 12000)
    owner.kill("KILL")
    owner.forget()
  end)

  it("does not come from inside before the owner's own", function()
    local session = hostile.session({ image = helper.BUSYBOX,
      lifecycle = { idle_timeout_ms = 1000 } })
    assert.are.equal(0, assert(session:exec({ command = "sleep", args = { "8" } })).exit_code)
    hostile.intact(session)
  end)
end)
