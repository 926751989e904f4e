-- SPDX-License-Identifier: MIT
local container = require("anvia.sandbox.container")
local core = require("anvia.sandbox.core")
local owner = require("anvia.sandbox.owner")
local prune = require("anvia.sandbox.prune")

-- An engine of tables: containers and volumes by id, with labels.
local function engine_with(containers, volumes)
  local engine = { gone = {} }
  function engine.find_containers()
    local ids = {}
    for id in pairs(containers) do
      ids[#ids + 1] = id
    end
    table.sort(ids)
    return ids
  end
  function engine.describe_containers(_, ids)
    local rows = {}
    for i, id in ipairs(ids) do
      rows[i] = { id = id, name = id, image = "img", status = "running", labels = containers[id],
        bindings = {}, volumes = { "vol-" .. id } }
    end
    return rows
  end
  function engine.find_volumes(_, wanted)
    local names = {}
    for name, labels in pairs(volumes or {}) do
      local fits = true
      for label, value in pairs(wanted) do
        fits = fits and (labels[label] == value or (value == true and labels[label] ~= nil))
      end
      names[#names + 1] = fits and name or nil
    end
    table.sort(names)
    return names
  end
  function engine.describe_volumes(_, names)
    local rows = {}
    for i, name in ipairs(names) do
      rows[i] = { name = name, labels = volumes[name] }
    end
    return rows
  end
  function engine.volume_users(_, name)
    return name:find("used") and { "someone" } or {}
  end
  function engine.remove_container(_, id)
    engine.gone[#engine.gone + 1] = id
    return true
  end
  engine.remove_volume = engine.remove_container
  return engine
end

local function labels(change, extra)
  local who = {}
  for key, value in pairs(owner.here()) do
    who[key] = value
  end
  for key, value in pairs(change or {}) do
    who[key] = value
  end
  local map = owner.label({ [container.LABEL] = "true", [container.LABEL_ID] = "s" }, who)
  map[container.LABEL_MODE] = "ephemeral"
  for key, value in pairs(extra or {}) do
    map[key] = value
  end
  return map
end

local DEAD = { start = "1" }

describe("prune", function()
  it("removes what belongs to a dead owner, and nothing else", function()
    local engine = engine_with({
      alive = labels(),
      dead = labels(DEAD),
      elsewhere = labels({ boot = "another" }),
      namespace = labels({ pidns = "1" }),
      nobody = { [container.LABEL] = "true" },
      malformed = labels(nil, { ["anvia.sandbox.owner.pid"] = "x" }),
    })
    local report = assert(prune.prune(engine, false))
    assert.same({ "dead" }, engine.gone)
    assert.equal(1, #report.removed)
    assert.equal("dead", report.removed[1].container_id)
    assert.equal(5, #report.kept)
    for _, entry in ipairs(report.kept) do
      assert.is_string(entry.reason)
    end
  end)

  it("removes nothing in a dry run, but says what it would", function()
    local engine = engine_with({ dead = labels(DEAD) }, { v = labels(DEAD) })
    local report = assert(prune.prune(engine, true))
    assert.same({}, engine.gone)
    assert.equal(2, #report.removed)
  end)

  it("removes what nobody can vouch for when its time is over", function()
    local now = core.wall_ms()
    local function expires(at)
      return { [container.LABEL_EXPIRES] = string.format("%.0f", at) }
    end
    local engine = engine_with({
      over = labels({ boot = "another" }, expires(now - 3600000)),
      barely = labels({ boot = "another" }, expires(now - 1000)),
      later = labels({ boot = "another" }, expires(now + 3600000)),
      mine = labels(nil, expires(now - 3600000)),
      odd = labels({ boot = "another" }, { [container.LABEL_EXPIRES] = "soon" }),
    })
    assert(prune.prune(engine, false))
    assert.same({ "over" }, engine.gone)
  end)

  it("removes volumes that have lost their container and their owner", function()
    local engine = engine_with({ a = labels() }, {
      ["vol-a"] = labels(DEAD), -- its container is there
      left = labels(DEAD),
      coming = labels(), -- its container is being created
      kept = labels(DEAD, { [container.LABEL_MODE] = "persistent" }),
    })
    local report = assert(prune.prune(engine, false))
    assert.same({ "left" }, engine.gone)
    assert.equal("volume", report.removed[1].kind)
  end)

  it("removes supervisors of other versions that nobody uses, when they are old", function()
    local DAY = 24 * 3600 * 1000
    local now = core.wall_ms()
    local function made(at)
      return { [container.LABEL_SUPERVISOR] = "0.0.1",
        [container.LABEL_CREATED] = at and string.format("%.0f", at) }
    end
    local real = core.supervisor
    finally(function()
      core.supervisor = real
    end)
    core.supervisor = function(architecture)
      return architecture == "arm64" and "program" or nil, ("c"):rep(64)
    end
    local volumes = {
      ["anvia-sandbox-supervisor-old"] = made(now - DAY - 1000),
      ["anvia-sandbox-supervisor-used"] = made(now - 9 * DAY),
      ["anvia-sandbox-supervisor-young"] = made(now - DAY / 2),
      ["anvia-sandbox-supervisor-odd"] = made(nil),
      ["anvia-sandbox-supervisor-cccccccccccccccc"] = made(now - 9 * DAY), -- ours
    }
    local report = assert(prune.prune(engine_with({}, volumes), true))
    assert.equal(1, #report.removed)
    local engine = engine_with({}, volumes)
    report = assert(prune.prune(engine, false))
    assert.same({ "anvia-sandbox-supervisor-old" }, engine.gone)
    assert.equal("supervisor", report.removed[1].kind)
    assert.equal(3, #report.kept)
    for _, entry in ipairs(report.kept) do
      assert.is_string(entry.reason)
    end
  end)

  it("removes a container that was to fill a supervisor's volume, when its owner died", function()
    local fills = { [container.LABEL_SUPERVISOR] = "0.0.1" }
    local engine = engine_with({ dead = labels(DEAD, fills), alive = labels(nil, fills) })
    assert(prune.prune(engine, false))
    assert.same({ "dead" }, engine.gone)
  end)

  it("keeps and reports what cannot be removed", function()
    local engine = engine_with({ dead = labels(DEAD) })
    function engine.remove_container()
      return nil, { message = "busy" }
    end
    local report = assert(prune.prune(engine, false))
    assert.same({}, report.removed)
    assert.equal("it could not be removed: busy", report.kept[1].reason)
  end)
end)

describe("list", function()
  it("describes sessions, oldest first", function()
    local rows = assert(prune.list(engine_with({
      b = labels(nil, { [container.LABEL_CREATED] = "2", ["anvia.sandbox.metadata.k"] = "v" }),
      a = labels(DEAD, { [container.LABEL_CREATED] = "5" }),
      c = { [container.LABEL] = "true" },
      no_session = labels(nil, { [container.LABEL_SUPERVISOR] = "0.0.1" }),
    })))
    assert.equal(3, #rows)
    assert.same({ "c", "b", "a" }, { rows[1].container_id, rows[2].container_id,
      rows[3].container_id })
    assert.equal("unknown", rows[1].owner.state)
    assert.equal("alive", rows[2].owner.state)
    assert.same({ k = "v" }, rows[2].metadata)
    assert.equal("s", rows[2].id)
    assert.equal("ephemeral", rows[2].workspace.mode)
    assert.equal("dead", rows[3].owner.state)
  end)
end)
