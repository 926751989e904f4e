-- SPDX-License-Identifier: MIT
local api_create = require("anvia.sandbox.engine.api_create")
local api_http = require("anvia.sandbox.engine.api_http")
local api_pull = require("anvia.sandbox.engine.api_pull")
local endpoint = require("anvia.sandbox.engine.endpoint")

describe("the endpoint", function()
  local function find(host, env)
    env.HOME = env.HOME or "/nonexistent"
    return endpoint.find(host, function(name)
      return env[name]
    end)
  end

  it("is the option, then DOCKER_HOST", function()
    assert.equal("unix:///a", (find("unix:///a", { DOCKER_HOST = "unix:///b" })))
    assert.equal("unix:///b", (find(nil, { DOCKER_HOST = "unix:///b", DOCKER_CONTEXT = "c" })))
    assert.equal("tcp://h:2375", (find(nil, { DOCKER_HOST = "tcp://h:2375" })))
  end)

  it("needs the client when it is encrypted or far away", function()
    local direct, other = find("ssh://h", {})
    assert.is_nil(direct)
    assert.equal("ssh://h", other)
    assert.is_nil((find("tcp://h:2376", { DOCKER_TLS_VERIFY = "1" })))
    assert.is_nil((find("npipe:////./pipe/docker_engine", {})))
  end)

  it("is a socket that is there", function()
    local dir = os.tmpname()
    os.remove(dir)
    os.execute("mkdir -p " .. dir .. "/podman && touch " .. dir .. "/podman/podman.sock")
    local found = find(nil, { XDG_RUNTIME_DIR = dir })
    os.execute("rm -r " .. dir)
    assert.is_truthy(found == "unix:///var/run/docker.sock"
      or found == "unix://" .. dir .. "/podman/podman.sock", found)
  end)
end)

describe("requests", function()
  it("escape what they carry", function()
    assert.equal("?a=1&b=x%20%26%2F%C3%A9", api_http.query({ b = "x &/\195\169", a = 1 }))
    assert.equal("", api_http.query({}))
  end)

  it("name an image and its tag", function()
    local cases = {
      ["busybox"] = { "busybox", "latest" },
      ["busybox:1"] = { "busybox", "1" },
      ["h:5000/a/b"] = { "h:5000/a/b", "latest" },
      ["h:5000/a/b:c"] = { "h:5000/a/b", "c" },
      ["a@sha256:0f"] = { "a", "sha256:0f" },
      ["h:1/a:b@sha256:0f"] = { "h:1/a", "sha256:0f" },
    }
    for image, want in pairs(cases) do
      assert.same(want, { api_pull.split(image) })
    end
  end)
end)

describe("the body of a create request", function()
  local function plan(extra)
    local p = {
      image = "i", workdir = "/w", labels = { a = "b" }, ports = {}, network = "none",
      volume = { labels = { l = "m" } }, pids_limit = 512, no_new_privileges = true,
      drop_capabilities = { "ALL" }, add_capabilities = {},
    }
    for key, value in pairs(extra or {}) do
      p[key] = value
    end
    return p
  end

  it("holds the lease, the workspace and the limits", function()
    local body = api_create.body(plan({ memory_mb = 32, cpus = 0.5 }), "script", 41)
    assert.is_true(body.OpenStdin and body.StdinOnce and body.HostConfig.AutoRemove)
    assert.same({ "-c", "script", "sh", "init" }, body.Cmd)
    assert.same({ "ALL" }, body.HostConfig.CapDrop)
    assert.equal(500000000, body.HostConfig.NanoCpus)
    assert.equal(33554432, body.HostConfig.MemorySwap)
    assert.equal(512, body.HostConfig.PidsLimit)
    assert.same({ { Type = "volume", Target = "/w", VolumeOptions = { Labels = { l = "m" } } } },
      body.HostConfig.Mounts)
    assert.is_nil(body.HostConfig.PortBindings)
  end)

  it("publishes ports on the loopback only", function()
    local body = api_create.body(plan({ ports = { 80 } }), "", 41)
    assert.same({ ["80/tcp"] = { { HostIp = "127.0.0.1", HostPort = "" } } },
      body.HostConfig.PortBindings)
    assert.same({ ["80/tcp"] = {} }, body.ExposedPorts)
  end)

  it("speaks to old engines in their words", function()
    local body = api_create.body(plan({ cpus = 2 }), "", 24)
    assert.is_nil(body.HostConfig.Mounts)
    assert.same({ ["/w"] = {} }, body.Volumes)
    assert.equal(200000, body.HostConfig.CpuQuota)
    body = api_create.body(plan({ volume = { name = "v", labels = {} } }), "", 24)
    assert.same({ "v:/w" }, body.HostConfig.Binds)
  end)
end)
