-- SPDX-License-Identifier: MIT

local core = require("anvia.sandbox.core")
local errors = require("anvia.sandbox.errors")
local sweep = require("anvia.sandbox.sweep")

local function list_of(map)
  local list = {}
  for name in pairs(map) do
    list[#list + 1] = name
  end
  table.sort(list)
  return list
end

-- An engine with one container and one volume; `change` replaces methods.
local function engine_with(change)
  local engine = { containers = { c = true }, volumes = { v = true }, removals = 0 }
  function engine.find_containers(self)
    return list_of(self.containers)
  end
  function engine.find_volumes(self)
    return list_of(self.volumes)
  end
  function engine.describe_containers(self, ids)
    return self.containers[ids[1]] and { { id = ids[1] } } or {}
  end
  function engine.remove_container(self, id)
    self.containers[id] = nil
    self.removals = self.removals + 1
    return true
  end
  function engine.remove_volume(self, name)
    self.volumes[name] = nil
    return true
  end
  for name, method in pairs(change or {}) do
    engine[name] = method
  end
  return engine
end

local function all(engine, limit_ms)
  return sweep.all(engine, "id", "ephemeral", core.now_ms() + limit_ms)
end

describe("sweep.all", function()
  it("removes what it finds, and looks again", function()
    local engine = engine_with()
    assert.is_true(all(engine, 5000))
    assert.same({ {}, {} }, { engine.containers, engine.volumes })
  end)

  it("names a reason when a removal goes on for too long", function()
    local engine = engine_with({
      remove_container = function()
        return true -- "removal of container c is already in progress"
      end,
    })
    local ok, err = all(engine, 120)
    assert.is_nil(ok)
    assert.is_true(errors.is(err, "timeout"))
    assert.matches("has not finished the removal of 1 ", err.message)
    assert.equal("timeout", errors.wrap("destroy", err).code)
  end)

  it("gives the engine's own reason when it has one", function()
    local engine = engine_with({
      remove_container = function()
        return nil, errors.new("remove", "docker_command", "device or resource busy")
      end,
    })
    local ok, err = all(engine, 120)
    assert.is_nil(ok)
    assert.equal("remove: docker_command: device or resource busy", tostring(err))
  end)

  it("takes a container for gone that is listed, but that the engine does not know", function()
    local ghost = engine_with({
      find_containers = function()
        return { "ghost" }
      end,
    })
    assert.is_true(all(ghost, 5000))
    assert.equal(1, ghost.removals)
    assert.same({}, ghost.volumes)
  end)

  it("does not take a container for gone that cannot be described", function()
    local engine = engine_with({
      remove_container = function()
        return true
      end,
      describe_containers = function()
        return nil, errors.new("list", "protocol", "unreadable")
      end,
    })
    local ok, err = all(engine, 120)
    assert.is_nil(ok)
    assert.equal("list: protocol: unreadable", tostring(err))
  end)

  it("ends at once when there is no engine", function()
    local engine = engine_with({
      find_containers = function()
        return nil, errors.new("list", "docker_unavailable", "gone")
      end,
    })
    local before = core.now_ms()
    local ok, err = all(engine, 5000)
    assert.is_nil(ok)
    assert.equal("docker_unavailable", err.code)
    assert.is_true(core.now_ms() - before < 2000)
  end)
end)
