-- SPDX-License-Identifier: MIT
local api_create = require("anvia.sandbox.engine.api_create")
local cli_run = require("anvia.sandbox.engine.cli_run")
local container = require("anvia.sandbox.container")

local function sandbox(extra)
  local options = {
    image = "img",
    workdir = "/workspace",
    network = false,
    labels = {},
    lifecycle = {},
    limits = { pids_limit = 512 },
    security = { readonly_rootfs = false, no_new_privileges = true, drop_capabilities = { "ALL" } },
  }
  for key, value in pairs(extra or {}) do
    options[key] = value
  end
  return options
end

local function session(extra)
  local options = { ports = {}, metadata = {}, workspace = { mode = "ephemeral" } }
  for key, value in pairs(extra or {}) do
    options[key] = value
  end
  return options
end

local FACTS = { id = "gen", create_id = "c1", now_ms = 1000, owner_labels = { ["o.pid"] = "7" } }

local EXEC = { name = "exec" }

local SUPERVISOR = {
  name = "supervisor",
  path = "/.anvia/supervisor",
  user = "someone:staff",
  mount = {
    name = "anvia-sandbox-supervisor-0123",
    target = "/.anvia",
    read_only = true,
    labels = { ["anvia.sandbox.supervisor"] = "1" },
  },
}

local function plan_of(extra, session_extra, runner)
  return container.plan(sandbox(extra), session(session_extra), FACTS, runner or EXEC)
end

local function argv(plan, env)
  return cli_run.argv(plan, "CONTROL", function(name)
    return (env or {})[name]
  end)
end

-- The values that follow `flag`.
local function values(list, flag)
  local found = {}
  for i, word in ipairs(list) do
    if word == flag then
      found[#found + 1] = list[i + 1]
    end
  end
  return found
end

local function has(list, wanted)
  for _, word in ipairs(list) do
    if word == wanted then
      return true
    end
  end
  return false
end

describe("the plan of a container", function()
  it("takes the session's id, or the one that was made for it", function()
    assert.equal("anvia-sandbox-gen", container.plan(sandbox(), session(), FACTS, EXEC).name)
    assert.equal("anvia-sandbox-my.id",
      container.plan(sandbox(), session({ id = "my.id" }), FACTS, EXEC).name)
  end)

  it("labels what it makes with its purpose, its owner and its end", function()
    local facts = { id = "g", create_id = "c", now_ms = 1000, ttl_ms = 500,
      owner_labels = { ["anvia.sandbox.owner.pid"] = "7" } }
    local plan = container.plan(sandbox({ labels = { mine = "x" } }),
      session({ metadata = { task = "t1" } }), facts, EXEC)
    assert.same({
      mine = "x",
      ["anvia.sandbox"] = "true",
      ["anvia.sandbox.id"] = "g",
      ["anvia.sandbox.create"] = "c",
      ["anvia.sandbox.created"] = "1000",
      ["anvia.sandbox.expires"] = "1500",
      ["anvia.sandbox.metadata.task"] = "t1",
      ["anvia.sandbox.owner.pid"] = "7",
      ["anvia.sandbox.workspace.mode"] = "ephemeral",
    }, plan.labels)
    assert.equal("c", plan.volume.labels["anvia.sandbox.create"])
    assert.equal("7", plan.volume.labels["anvia.sandbox.owner.pid"])
  end)

  it("keeps the volumes of ephemeral and persistent workspaces apart", function()
    assert.is_nil(container.plan(sandbox(), session({ id = "shared" }), FACTS, EXEC).volume.name)
    local plan = container.plan(sandbox(),
      session({ workspace = { mode = "persistent", id = "shared" } }), FACTS, EXEC)
    assert.equal("anvia-sandbox-workspace-shared", plan.volume.name)
    assert.equal(plan.volume.name, plan.labels["anvia.sandbox.workspace.volume"])
  end)

  it("knows the networks that cannot publish ports", function()
    for _, network in ipairs({ "none", "host", "container:x" }) do
      assert.is_string(container.refuses_ports(network))
    end
    assert.is_nil(container.refuses_ports(container.network(true)))
    assert.is_nil(container.refuses_ports("mine"))
    assert.is_string(container.refuses_ports(container.network(false)))
  end)
end)

describe("docker run", function()
  it("is closed by default", function()
    local list = argv(container.plan(sandbox(), session(), FACTS, EXEC))
    assert.same({ "none" }, values(list, "--network"))
    assert.same({ "none" }, values(list, "--log-driver"))
    assert.same({ "ALL" }, values(list, "--cap-drop"))
    assert.same({ "no-new-privileges" }, values(list, "--security-opt"))
    assert.same({ "512" }, values(list, "--pids-limit"))
    assert.same({ "never" }, values(list, "--pull"))
    assert.is_true(has(list, "--rm"))
    assert.is_false(has(list, "--read-only"))
  end)

  it("ends with the image and the shell text of PID 1", function()
    local list = argv(container.plan(sandbox(), session(), FACTS, EXEC))
    local tail = table.move(list, #list - 6, #list, 1, {})
    assert.same({ "--entrypoint", "/bin/sh", "img", "-c", "CONTROL", "sh", "init" }, tail)
  end)

  it("names every proxy variable, so that the client adds none", function()
    local plan = container.plan(sandbox(), session(), FACTS, EXEC)
    local list = values(argv(plan, { HTTPS_PROXY = "http://secret" }), "-e")
    assert.equal(10, #list)
    assert.is_true(has(list, "HTTPS_PROXY="))
    assert.is_true(has(list, "https_proxy"))
  end)

  it("publishes on the loopback address with a port that the engine picks", function()
    local list = argv(container.plan(sandbox({ network = true }), session({ ports = { 80, 8000 } }),
      FACTS, EXEC))
    assert.same({ "127.0.0.1::80/tcp", "127.0.0.1::8000/tcp" }, values(list, "-p"))
    assert.same({}, values(list, "--network"))
  end)

  it("passes limits, user, runtime and a small /tmp on", function()
    local list = argv(container.plan(sandbox({
      user = "1000:1000",
      runtime = "runsc",
      limits = { pids_limit = 9, memory_mb = 64, cpus = 0.5 },
      security = { readonly_rootfs = true, no_new_privileges = false, drop_capabilities = {} },
    }), session(), FACTS, EXEC))
    assert.same({ "67108864" }, values(list, "--memory"))
    assert.same({ "67108864" }, values(list, "--memory-swap"))
    assert.same({ "0.5" }, values(list, "--cpus"))
    assert.same({ "9" }, values(list, "--pids-limit"))
    assert.same({ "1000:1000" }, values(list, "--user"))
    assert.same({ "runsc" }, values(list, "--runtime"))
    assert.is_true(has(list, "--read-only"))
    assert.is_truthy(values(list, "--tmpfs")[1]:find("size=64m", 1, true))
    assert.same({}, values(list, "--cap-drop"))
    assert.same({}, values(list, "--security-opt"))
  end)

  it("writes the mount as a line of CSV", function()
    local facts = { id = "g", create_id = "c", now_ms = 1, owner_labels = { host = 'a,"b"' } }
    local plan = container.plan(sandbox({ workdir = "/a,b" }), session(), facts, EXEC)
    local mount = values(argv(plan), "--mount")[1]
    assert.is_truthy(mount:find('type=volume,"dst=/a,b",', 1, true))
    assert.is_truthy(mount:find('"volume-label=host=a,""b"""', 1, true))
  end)
end)

describe("the container of a supervisor", function()
  it("has root as PID 1, which has the rights that it needs and no others", function()
    local plan = plan_of({ user = "1000" }, nil, SUPERVISOR)
    assert.equal("0:0", plan.user)
    assert.same({ "ALL" }, plan.drop_capabilities)
    assert.same({ "CHOWN", "DAC_OVERRIDE", "FOWNER", "KILL", "SETGID", "SETPCAP", "SETUID" },
      plan.add_capabilities)
    assert.equal(0, plan.supervisor.capabilities)
    assert.equal("someone:staff", plan.supervisor.user)
    assert.is_true(plan.no_new_privileges)
  end)

  it("leaves commands what the engine would have left them", function()
    local function mask(drop)
      return plan_of({ security = { drop_capabilities = drop } }, nil, SUPERVISOR)
        .supervisor.capabilities
    end
    assert.equal(0xa80425fb, mask({}))
    assert.equal(0xa80425fb - 2 ^ 13, mask({ "NET_RAW" }))
    assert.equal(0xa80425fb - 2 ^ 0 - 2 ^ 27, mask({ "cap_chown", "CAP_MKNOD", "SYS_ADMIN" }))
    assert.equal(0, mask({ "NET_RAW", "all" }))
    local plan = plan_of({ security = { drop_capabilities = { "KILL" } } }, nil, SUPERVISOR)
    assert.is_true(has(plan.add_capabilities, "KILL")) -- PID 1's
    assert.is_true(has(plan.add_capabilities, "NET_RAW"))
    -- the engine sees the names, to refuse what is none
    assert.same({ "ALL", "KILL" }, plan.drop_capabilities)
  end)

  it("runs the program itself, without arguments and whatever the image runs", function()
    local list = argv(plan_of(nil, nil, SUPERVISOR))
    local tail = table.move(list, #list - 2, #list, 1, {})
    assert.same({ "--entrypoint", "/.anvia/supervisor", "img" }, tail)
    assert.is_true(has(list, "--init=false"))
    assert.is_true(has(list, "--no-healthcheck"))

    local body = api_create.body(plan_of(nil, nil, SUPERVISOR), "CONTROL", 41)
    assert.same({ "/.anvia/supervisor" }, body.Entrypoint)
    assert.is_nil(body.Cmd)
    assert.same({ Test = { "NONE" } }, body.Healthcheck)
    assert.is_false(body.HostConfig.Init)
    assert.equal("0:0", body.User)
  end)

  it("sees the program in a volume that nobody inside can write, nor the image fill", function()
    local mounts = values(argv(plan_of(nil, nil, SUPERVISOR)), "--mount")
    assert.equal("type=volume,dst=/.anvia,volume-nocopy,readonly,"
      .. "src=anvia-sandbox-supervisor-0123,volume-label=anvia.sandbox.supervisor=1", mounts[2])

    local body = api_create.body(plan_of(nil, nil, SUPERVISOR), "CONTROL", 41)
    assert.same({
      Type = "volume",
      Source = "anvia-sandbox-supervisor-0123",
      Target = "/.anvia",
      ReadOnly = true,
      VolumeOptions = { NoCopy = true, Labels = { ["anvia.sandbox.supervisor"] = "1" } },
    }, body.HostConfig.Mounts[2])

    body = api_create.body(plan_of(nil, nil, SUPERVISOR), "CONTROL", 24)
    assert.same({ "anvia-sandbox-supervisor-0123:/.anvia:ro,nocopy" }, body.HostConfig.Binds)
  end)

  it("is what it was for the other runner", function()
    local plan = plan_of({ user = "1000" })
    assert.equal("1000", plan.user)
    assert.same({ "ALL" }, plan.drop_capabilities)
    assert.same({}, plan.add_capabilities)
    local body = api_create.body(plan, "CONTROL", 41)
    assert.equal(1, #body.HostConfig.Mounts)
    assert.is_nil(body.HostConfig.CapAdd)
    assert.is_nil(body.HostConfig.Init)
    assert.is_nil(body.Healthcheck)
  end)
end)
