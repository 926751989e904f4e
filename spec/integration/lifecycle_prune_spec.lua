-- SPDX-License-Identifier: MIT
local core = require("anvia.sandbox.core")
local helper = require("spec.helper")
local outside = require("spec.support.outside")
local owner = require("anvia.sandbox.owner")
local sandbox = require("anvia.sandbox")

local sb = sandbox.docker(helper.options())

local function row_of(rows, id)
  for _, row in ipairs(rows) do
    if row.id == id then
      return row
    end
  end
  return nil
end

-- What prune says about one container or volume: "removed" or "kept", and the entry.
local function verdict(report, field, value)
  for _, list in ipairs({ "removed", "kept" }) do
    for _, entry in ipairs(report[list]) do
      if entry[field] == value then
        return list, entry
      end
    end
  end
  return nil
end

-- A container or volume made by hand, with the labels of an owner.
local function labels_of(change)
  local who = {}
  for key, value in pairs(owner.here()) do
    who[key] = value
  end
  for key, value in pairs(change) do
    who[key] = value
  end
  local words = {}
  for name, value in pairs(owner.label({
    ["anvia.sandbox"] = "true",
    ["anvia.sandbox.workspace.mode"] = "ephemeral",
  }, who)) do
    words[#words + 1] = "--label " .. outside.quote(name .. "=" .. value)
  end
  return table.concat(words, " ")
end

local function container_by_hand(change)
  return (outside.sh("docker create --network none " .. labels_of(change) .. " " .. helper.BUSYBOX)
    :match("%x+"))
end

local function volume_by_hand(change)
  return (outside.sh("docker volume create " .. labels_of(change)):match("%x+"))
end

describe("list", function()
  if not helper.engine(helper.BUSYBOX) then
    return
  end

  it("describes each session on the engine", function()
    local session = helper.session({ lifecycle = { ttl_ms = 60000 }, network = true },
      { metadata = { task = "t,1=2" }, ports = { 8000, 81 } })
    local row = assert(row_of(assert(sb:list()), session.id))
    assert.equal("anvia-sandbox-" .. session.id, row.container_name)
    assert.equal("running", row.status)
    assert.equal(helper.BUSYBOX, row.image)
    assert.same({ task = "t,1=2" }, row.metadata)
    assert.same({ mode = "ephemeral" }, row.workspace)
    assert.equal("alive", row.owner.state)
    assert.equal(core.getpid(), row.owner.pid)
    assert.equal(60000, row.expires_at - row.created_at)
    table.sort(session.published_ports, function(a, b)
      return a.container_port < b.container_port
    end)
    assert.same(session.published_ports, row.published_ports)
  end)

  it("does not show what is gone", function()
    local session = helper.session()
    assert(session:destroy())
    assert.is_nil(row_of(assert(sb:list()), session.id))
  end)
end)

describe("prune", function()
  if not helper.engine(helper.BUSYBOX) then
    return
  end

  it("keeps the sessions of living owners, here and in other programs", function()
    local mine = helper.session()
    local other = helper.script([[
      local sandbox = require("anvia.sandbox")
      local options = require("spec.support.chosen").options({ image = arg[1] })
      local session = assert(sandbox.docker(options):create_session())
      print("id " .. session.id)
      sandbox.sleep(60000)]], helper.BUSYBOX)
    helper.eventually(function() return other.output():find("id %x+\n") end)
    local id = other.output():match("id (%x+)\n")
    local report = assert(sb:prune())
    for _, one in ipairs({ mine.id, id }) do
      local list, entry = verdict(report, "id", one)
      assert.equal("kept", list)
      assert.equal("its owner is alive", entry.reason)
    end
    assert.equal(0, assert(mine:exec({ command = "true" })).exit_code)
    other.kill()
    helper.eventually(function() return row_of(sb:list(), id) == nil end)
    other.forget()
  end)

  it("removes what a dead owner has left, and nothing whose owner it cannot judge", function()
    -- A stopped container stands for one whose lease did not end it.
    local dead = container_by_hand({ start = "1" })
    local volume = volume_by_hand({ start = "1" })
    local elsewhere = container_by_hand({ boot = "another" })
    local live_volume = volume_by_hand({})
    local persistent = (outside.sh("docker volume create " .. labels_of({ start = "1" })
      :gsub("mode=ephemeral", "mode=persistent")):match("%x+"))
    finally(function() outside.clean() end)

    local report = assert(sb:prune({ dry_run = true }))
    assert.equal("removed", (verdict(report, "container_id", dead)))
    assert.equal("removed", (verdict(report, "volume", volume)))
    assert.equal(2, #outside.containers())

    report = assert(sb:prune())
    assert.equal("removed", (verdict(report, "container_id", dead)))
    assert.equal("removed", (verdict(report, "volume", volume)))
    local list, entry = verdict(report, "container_id", elsewhere)
    assert.equal("kept", list)
    assert.equal("its owner belongs to another machine or another boot", entry.reason)
    assert.equal("kept", (verdict(report, "volume", live_volume)))
    assert.is_nil(verdict(report, "volume", persistent))
    assert.equal(1, #outside.containers())
    assert.equal(2, #outside.volumes(true))
    assert.is_nil(verdict(assert(sb:prune()), "container_id", dead))
  end)

  it("keeps what is being created", function()
    local created
    local creator = sandbox.spawn(function()
      created = assert(sb:create_session())
    end)
    for _ = 1, 8 do
      local report = assert(sb:prune())
      for _, entry in ipairs(report.removed) do
        assert.not_equal(core.getpid(), entry.pid)
      end
    end
    creator:join()
    assert.equal(0, assert(created:exec({ command = "true" })).exit_code)
    assert(created:destroy())
  end)
end)
