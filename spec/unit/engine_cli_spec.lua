-- SPDX-License-Identifier: MIT
local cli = require("anvia.sandbox.engine.cli")
local core = require("anvia.sandbox.core")
local fake_docker = require("spec.support.fake_docker")

describe("the command line engine", function()
  local fake, engine

  before_each(function()
    fake = fake_docker.new()
    engine = cli.new({ path = fake.path })
  end)

  after_each(function()
    fake:remove()
  end)

  it("tells a missing client from everything else", function()
    local ids, err = cli.new({ path = "/nonexistent/docker" }):find_containers({ a = "b" })
    assert.is_nil(ids)
    assert.equal("docker_unavailable", err.code)
    assert.is_truthy(err.message:find("/nonexistent/docker", 1, true))
  end)

  it("asks whether the engine answers before it blames the request", function()
    fake:answer({ ps = "echo 'something odd' >&2; exit 1" })
    local _, err = engine:find_containers({ a = "b" })
    assert.equal("docker_command", err.code)
    assert.equal("something odd", err.message)
    assert.same({ stdout = "", stderr = "something odd\n", exit_code = 1 }, err.result)

    fake:answer({ ps = "echo 'something odd' >&2; exit 1", version = "exit 1" })
    _, err = engine:find_containers({ a = "b" })
    assert.equal("docker_unavailable", err.code)
  end)

  it("says no engine when the client's words say so", function()
    fake:answer({ ps = "echo 'Cannot connect to the Docker daemon at x.' >&2; exit 1" })
    local _, err = engine:find_containers({ a = "b" })
    assert.equal("docker_unavailable", err.code)
  end)

  it("ends a request at the deadline it is given", function()
    fake:answer({ ps = "sleep 20" })
    local start = core.now_ms()
    local _, err = engine:within(start + 200):find_containers({ a = "b" })
    assert.equal("timeout", err.code)
    assert.is_true(core.now_ms() - start < 1500)
  end)

  it("ends the description of many at the deadline, too", function()
    fake:answer({ volume = "sleep 20" })
    local _, err = engine:within(core.now_ms() + 200):describe_volumes({ "a" })
    assert.equal("timeout", err.code)
  end)

  it("puts an archive into a container that it creates, and gets one", function()
    fake:answer({
      create = [[echo 'WARNING: odd' >&2; echo cafe]],
      cp = [[case $2 in -) cat >"$here/in.tar"; echo 'Successfully copied' >&2 ;;
        *) printf 'a\0b'; esac]],
    })
    local holder = {
      name = "n",
      image = "img",
      labels = { ["anvia.sandbox.create"] = "1" },
      mount = { name = "vol", target = "/.anvia", labels = { v = "2" } },
    }
    local id = assert(engine:create_holder(holder))
    assert.equal("cafe", id)
    assert.equal("create --pull never --network none --name n --label anvia.sandbox.create=1 "
      .. "--mount type=volume,dst=/.anvia,volume-nocopy,src=vol,volume-label=v=2 "
      .. "--entrypoint /.anvia img", fake:calls()[1])
    local bytes = ("x\0\1"):rep(100000)
    assert.is_true(engine:put_archive(id, "/.anvia", bytes))
    assert.equal("cp - cafe:/.anvia", fake:calls()[2])
    local file = assert(io.open(fake.dir .. "/in.tar", "rb"))
    assert.is_true(file:read("a") == bytes)
    file:close()
    assert.equal("a\0b", engine:get_archive(id, "/.anvia", 100))
    assert.is_true(engine:remove_holder(holder, id))
    assert.is_true(fake:called("^rm %-f %-v cafe"))

    fake:answer({ cp = "head -c 200 /dev/zero", create = "echo 'not an id'" })
    local none, err = engine:get_archive(id, "/.anvia", 100)
    assert.is_nil(none)
    assert.equal("protocol", err.code)
    none, err = engine:create_holder(holder)
    assert.is_nil(none)
    assert.equal("protocol", err.code)
  end)

  it("describes what counts of an image", function()
    fake:answer({ image = [[echo '[{"Id":"sha256:1","Architecture":"arm64","Os":"linux",
      "Config":{"User":"app"}}]' ]] })
    assert.same({ id = "sha256:1", architecture = "arm64", os = "linux", user = "app" },
      engine:inspect_image("img"))
    fake:answer({ image = [[echo '[{"Id":"sha256:1","Config":null}]' ]] })
    assert.same({ id = "sha256:1", architecture = "", os = "", user = "" },
      engine:inspect_image("img"))
    fake:answer({ image = "echo 'Error: No such image: img' >&2; exit 1" })
    local _, err = engine:inspect_image("img")
    assert.equal("image_missing", err.reason)
  end)

  it("counts a container or volume that is not there as removed", function()
    fake:answer({
      rm = "echo 'Error response from daemon: No such container: x' >&2; exit 1",
      volume = "echo 'Error response from daemon: get x: no such volume' >&2; exit 1",
    })
    assert.is_true(engine:remove_container("x"))
    assert.is_true(engine:remove_volume("x"))
  end)

  it("does not count a volume in use as removed", function()
    fake:answer({ volume = "echo 'Error: remove x: volume is in use - [y]' >&2; exit 1" })
    local ok, err = engine:remove_volume("x")
    assert.is_nil(ok)
    assert.equal("volume_in_use", err.reason)
  end)

  it("describes those of several containers that still exist", function()
    fake:answer({ container = [[
      echo '[{"Id":"a","Name":"/n","Config":{"Labels":{"k":"v,w"}},"State":{"Status":"running"}}]'
      echo 'Error: No such container: b' >&2
      exit 1]] })
    local rows = assert(engine:describe_containers({ "a", "b" }))
    assert.equal(1, #rows)
    assert.equal("n", rows[1].name)
    assert.equal("v,w", rows[1].labels.k)

    fake:answer({ container = "echo '[]'; echo 'Error: No such container: b' >&2; exit 1" })
    assert.same({}, assert(engine:describe_containers({ "b" })))
  end)

  it("does not take an engine that fails for an empty one", function()
    fake:answer({ container = "echo oops >&2; exit 1" })
    local rows, err = engine:describe_containers({ "a" })
    assert.is_nil(rows)
    assert.equal("docker_command", err.code)
  end)

  it("names the endpoint to the client by its environment", function()
    fake:answer({ ps = 'echo "$DOCKER_HOST"' })
    local remote = cli.new({ path = fake.path, host = "tcp://far:1" })
    assert.same({ "tcp://far:1" }, remote:find_containers({ a = "b" }))
  end)

  describe("is local", function()
    local function judge(host, context)
      fake:answer({ context = context or "echo unix:///run/x.sock" })
      return cli.new({ path = fake.path, host = host }):is_local()
    end

    it("behind a local socket only", function()
      assert.is_true(judge("unix:///x.sock"))
      for _, host in ipairs({ "tcp://far:2375", "ssh://me@far", "tcp://127.0.0.1:1" }) do
        local is_local, where = judge(host)
        assert.is_false(is_local)
        assert.equal(host, where)
      end
    end)
  end)

  it("prefixes the failure of a pull with the image", function()
    fake:answer({ pull = "echo 'Error response from daemon: manifest unknown' >&2; exit 1" })
    local ok, err = engine:pull("img:9", 5000)
    assert.is_nil(ok)
    assert.equal("image img:9 could not be pulled: manifest unknown", err.message)
  end)
end)
