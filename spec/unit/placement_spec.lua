-- SPDX-License-Identifier: MIT
local container = require("anvia.sandbox.container")
local core = require("anvia.sandbox.core")
local errors = require("anvia.sandbox.errors")
local fake_engine = require("spec.support.fake_engine")
local owner = require("anvia.sandbox.owner")
local runner = require("anvia.sandbox.runner")
local supervisor = require("anvia.sandbox.supervisor")
local task = require("anvia.sandbox.task")

local BYTES = ("\127ELF and so on\0"):rep(500)
local DIGEST = ("0123456789abcdef"):rep(4)
local VOLUME = "anvia-sandbox-supervisor-0123456789abcdef"
local LOCK = "anvia-supervisor-0123456789abcdef"

-- Puts another program into the library while fn runs.
local real = core.supervisor

local function embed()
  core.supervisor = function(architecture)
    if architecture == "amd64" then
      return BYTES, DIGEST
    end
    return nil
  end
end

describe("the placement of the supervisor", function()
  local engine, program

  before_each(function()
    embed()
    engine = fake_engine.new()
    program = assert(supervisor.program(engine.image))
  end)

  after_each(function()
    core.supervisor = real
  end)

  local function ready(timeout_ms)
    local ok, err, removals = supervisor.ready(engine, "img", program, timeout_ms or 5000)
    for _, removal in ipairs(removals or {}) do
      removal:join()
    end
    return ok, err
  end

  local function holds(...)
    engine.volumes[VOLUME] = { name = VOLUME, labels = {}, files = { ... } }
  end

  local function file(content, mode)
    return { path = ".anvia/supervisor", type = "file", mode = mode or 365, content = content }
  end

  local function is_right()
    local files = engine.volumes[VOLUME].files
    assert.equal(1, #files)
    assert.equal(BYTES, files[1].content)
    assert.equal(365, files[1].mode % 4096)
    assert.same({}, engine.containers)
  end

  it("fills a volume that is not there, once", function()
    assert.is_true(ready())
    is_right()
    assert.equal(core._VERSION, engine.volumes[VOLUME].labels[container.LABEL_SUPERVISOR])
    local calls = #engine.calls
    assert.is_true(ready())
    assert.equal(calls, #engine.calls)
  end)

  it("reads what is there, and leaves it alone", function()
    holds(file(BYTES))
    assert.is_true(ready())
    is_right()
    assert.equal(0, engine:count("put_archive"))
  end)

  it("completes what a crash has left", function()
    for _, left in ipairs({ "", BYTES:sub(1, 700), BYTES:sub(1, 700) .. ("\0"):rep(900) }) do
      holds(file(left))
      supervisor.forget(engine, program)
      assert.is_true(ready())
      is_right()
    end
    holds(file(BYTES, 420))
    supervisor.forget(engine, program)
    assert.is_true(ready())
    is_right()
  end)

  it("refuses what is not ours, and does not touch it", function()
    local link = { path = ".anvia/supervisor", type = "symlink", target = "/bin/sh" }
    for _, files in ipairs({
      { file("something else") },
      { file(BYTES .. "x") },
      { file(BYTES:sub(1, -2) .. "?") },
      { link },
      { file(BYTES), { path = ".anvia/more", type = "file", content = "" } },
      { { path = ".anvia/more", type = "directory" } },
    }) do
      engine.volumes[VOLUME] = { name = VOLUME, labels = {}, files = files }
      local ok, err = ready()
      assert.is_nil(ok)
      assert.equal("docker_command", err.code)
      assert.equal("foreign_volume", err.reason)
      assert.is_truthy(err.message:find("docker volume rm " .. VOLUME, 1, true))
      assert.equal(0, engine:count("put_archive"))
      assert.same({}, engine.containers)
    end
  end)

  it("refuses a directory that is too large to be ours", function()
    holds(file(BYTES))
    function engine.get_archive()
      return nil, errors.new("x", "protocol", "too long")
    end
    local _, err = ready()
    assert.equal("foreign_volume", err.reason)
  end)

  it("is done once for all who come together", function()
    local fns = {}
    for i = 1, 8 do
      fns[i] = ready
    end
    local results, errs = task.all(fns)
    assert.is_nil(errs)
    assert.equal(8, results.n)
    assert.equal(1, engine:count("put_archive"))
    is_right()
  end)

  it("is left to the one who got there first, when several programs fill", function()
    -- Each has a memory of its own, as other programs would.
    local placement = require("anvia.sandbox.placement")
    local fns = {}
    for i = 1, 5 do
      fns[i] = function()
        local removals = {}
        local ok, err = placement.bring({
          removals = removals,
          engine = engine,
          patient = engine,
          image = "img",
          program = program,
          mount = supervisor.mount(program, true),
          deadline = core.now_ms() + 5000,
        })
        for _, removal in ipairs(removals) do
          removal:join()
        end
        return ok, err
      end
    end
    local results, errs = task.all(fns)
    assert.is_nil(errs)
    assert.same({ true, true, true, true, true, n = 5 }, results)
    assert.equal(1, engine:count("put_archive"))
    is_right()
  end)

  it("removes the container of one who crashed, and waits for one who lives", function()
    local function taken_by(change)
      local who = {}
      for key, value in pairs(owner.here()) do
        who[key] = change[key] or value
      end
      engine.containers.other = { id = "other", name = LOCK, volume = VOLUME,
        labels = owner.label({
          [container.LABEL_SUPERVISOR] = "1",
          [container.LABEL_EXPIRES] = change.expires,
        }, who) }
      holds()
      supervisor.forget(engine, program)
    end

    taken_by({ start = "1" })
    assert.is_true(ready())
    is_right()

    taken_by({ boot = "another", expires = "1000" })
    assert.is_true(ready())
    is_right()

    taken_by({})
    local ok, err = ready(200)
    assert.is_nil(ok)
    assert.equal("timeout", err.code)
    assert.is_table(engine.containers.other)

    taken_by({})
    local waiting = task.spawn(ready)
    task.sleep(30)
    engine.containers.other = nil
    assert.is_true(waiting:join())
    is_right()
  end)

  it("does not remove a container that only has its name", function()
    engine.containers.other = { id = "other", name = LOCK, labels = {}, volume = VOLUME }
    local ok, err = ready()
    assert.is_nil(ok)
    assert.is_truthy(err.message:find(LOCK, 1, true))
    assert.is_table(engine.containers.other)
  end)

  it("leaves no container when a step fails, nor what comes late", function()
    function engine.put_archive()
      return nil, errors.new("x", "docker_command", "no space left on device")
    end
    local ok, err = ready()
    assert.is_nil(ok)
    assert.equal("no space left on device", err.message)
    assert.same({}, engine.containers)

    engine = fake_engine.new()
    local create = engine.create_holder
    function engine.create_holder(self, holder)
      task.spawn(function()
        task.sleep(50)
        create(self, holder)
      end)
      return nil, errors.new("x", "timeout", "too slow")
    end
    ok, err = ready()
    assert.is_nil(ok)
    assert.equal("timeout", err.code)
    local deadline = core.now_ms() + 3000
    repeat
      task.sleep(20)
    until core.now_ms() > deadline
      or engine:count("remove_container") > 0 and next(engine.containers) == nil
    assert.equal(1, engine:count("remove_container"))
    assert.same({}, engine.containers)
  end)

  it("is tried again after a failure", function()
    local put = engine.put_archive
    function engine.put_archive()
      return nil, errors.new("x", "docker_command", "no space left on device")
    end
    assert.is_nil((ready()))
    engine.put_archive = put
    assert.is_true(ready())
    is_right()
  end)
end)

describe("the runner", function()
  local engine, warnings

  before_each(function()
    embed()
    engine = fake_engine.new()
    warnings = {}
  end)

  after_each(function()
    core.supervisor = real
  end)

  local function choose(which, cache, extra)
    local sandbox = { runner = which, image = "img", pull = "never",
      limits = { timeout_ms = 5000 } }
    for key, value in pairs(extra or {}) do
      sandbox[key] = value
    end
    return runner.choose({
      sandbox = sandbox,
      engine = engine,
      cache = cache or {},
      removals = {},
      warn = function(text)
        warnings[#warnings + 1] = text
      end,
    })
  end

  it("is the supervisor where it can run", function()
    for _, which in ipairs({ "auto", "supervisor" }) do
      local chosen = assert(choose(which))
      assert.equal("supervisor", chosen.name)
      assert.equal("/.anvia/supervisor", chosen.path)
      assert.equal(VOLUME, chosen.mount.name)
      assert.is_true(chosen.mount.read_only)
    end
    assert.same({}, warnings)
  end)

  it("is the other one when that was asked for, and the engine is not asked", function()
    assert.same({ name = "exec" }, choose("exec"))
    assert.same({}, engine.calls)
  end)

  it("is the other one for machines that we have no program for, with a warning", function()
    for _, image in ipairs({
      { os = "linux", architecture = "riscv64", user = "" },
      { os = "windows", architecture = "amd64", user = "" },
      { os = "", architecture = "", user = "" },
    }) do
      engine.image, warnings = image, {}
      assert.equal("exec", assert(choose("auto")).name)
      assert.equal(1, #warnings)
      assert.is_truthy(warnings[1]:find("there is no supervisor for", 1, true))

      warnings = {}
      local chosen, err = choose("supervisor")
      assert.is_nil(chosen)
      assert.equal("docker_command", err.code)
      assert.same({}, warnings)
    end
  end)

  it("is the other one where an engine cannot place the program, with a warning", function()
    function engine.put_archive()
      return nil, errors.new("x", "docker_command", "archives are not served here")
    end
    assert.equal("exec", assert(choose("auto")).name)
    assert.is_truthy(warnings[1]:find("archives are not served here", 1, true))
    local chosen, err = choose("supervisor")
    assert.is_nil(chosen)
    assert.is_truthy(err.message:find("archives are not served here", 1, true))
  end)

  it("is none when a foreign volume is in the way, or the engine does not answer", function()
    engine.volumes[VOLUME] = { name = VOLUME, labels = {}, files = {
      { path = ".anvia/supervisor", type = "file", mode = 365, content = "else" } } }
    local chosen, err = choose("auto")
    assert.is_nil(chosen)
    assert.equal("foreign_volume", err.reason)

    function engine.inspect_image()
      return nil, errors.new("x", "docker_unavailable", "no")
    end
    chosen, err = choose("auto")
    assert.is_nil(chosen)
    assert.equal("docker_unavailable", err.code)
    assert.same({}, warnings)
  end)

  it("asks for the image once, and takes its user unless one is given", function()
    engine.image.user = "app:staff"
    local cache = {}
    assert.equal("app:staff", assert(choose("auto", cache)).user)
    assert.equal("app:staff", assert(choose("auto", cache)).user)
    assert.equal(1, engine:count("inspect_image"))
    assert.equal("1000", assert(choose("auto", cache, { user = "1000" })).user)
  end)
end)
