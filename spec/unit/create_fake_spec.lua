-- SPDX-License-Identifier: MIT
-- Creating sessions on engines that answer badly, late, or not at all.
local core = require("anvia.sandbox.core")
local fake_docker = require("spec.support.fake_docker")
local sandbox = require("anvia.sandbox")

local RUN = "Run 'docker run --help' for more information"

-- Shell text: the image is there after the first try.
local MISSING_ONCE = [[
  count run
  if [ "$n" = 1 ]; then
    echo 'docker: Error response from daemon: No such image: x' >&2
    exit 125
  fi
  real_run "$@"]]

-- Shell text: the client fails as docker does.
local function fails(message, status)
  return string.format("echo 'docker: Error response from daemon: %s' >&2; echo >&2; "
    .. 'echo "%s" >&2; exit %d', message, RUN, status or 125)
end

describe("create_session", function()
  local fake

  before_each(function()
    fake = fake_docker.new()
  end)

  after_each(function()
    fake:remove()
  end)

  local function create(extra, session_options)
    return sandbox.docker(fake:options(extra)):create_session(session_options)
  end

  it("says that an id is in use, and removes nothing by name", function()
    fake:answer({ run = fails('Conflict. The container name "/anvia-sandbox-dup" is already in '
      .. 'use by container "41bd". You have to remove it.') })
    local session, err = create(nil, { id = "dup" })
    assert.is_nil(session)
    assert.equal("docker_command", err.code)
    assert.equal("the session id 'dup' is in use", err.message)
    assert.is_false(fake:called("^rm"))
    for _, call in ipairs(fake:calls()) do
      if call:find("^ps") or call:find("^volume ls") then
        assert.is_truthy(call:find("label=anvia.sandbox.create=", 1, true))
      end
    end
  end)

  it("says that the image has no shell", function()
    fake:answer({ run = fails('failed to create shim task: OCI runtime create failed: runc create '
      .. 'failed: unable to start container process: exec: "/bin/sh": stat /bin/sh: no such file '
      .. "or directory: unknown", 127) })
    local session, err = create({ image = "scratchy" })
    assert.is_nil(session)
    assert.equal("docker_command", err.code)
    assert.is_truthy(err.message:find("the image scratchy has no usable shell", 1, true))
  end)

  it("says that the container ended at once", function()
    fake:answer({ run = "exit 3" })
    local _, err = create()
    assert.equal("docker_command", err.code)
    assert.equal("the container of image fake ended at once with status 3", err.message)
  end)

  it("says that there is no engine", function()
    fake:answer({
      run = "echo 'docker: Cannot connect to the Docker daemon at x.' >&2; exit 125",
      ps = "echo 'Cannot connect to the Docker daemon at x.' >&2; exit 1",
      version = "exit 1",
    })
    local start = core.now_ms()
    local _, err = create()
    assert.equal("docker_unavailable", err.code)
    assert.is_true(core.now_ms() - start < 1500)
  end)

  it("says that there is no client", function()
    local _, err = sandbox.docker({ image = "x", docker_path = "/nonexistent/docker" })
      :create_session()
    assert.equal("docker_unavailable", err.code)
    assert.equal("create_session", err.op)
  end)

  it("fetches an image that is missing, and tries again", function()
    fake:answer({ run = MISSING_ONCE })
    local session = assert(create({ pull = "missing", image = "far/x:1" }))
    assert.is_true(fake:called("^pull %-%-quiet far/x:1$"))
    assert(session:destroy())
  end)

  it("fetches the image first with pull = always, and never with never", function()
    assert(assert(create({ pull = "always" })):destroy())
    assert.is_truthy(fake:calls()[1]:find("^pull"))
    fake:answer({ run = fails("No such image: x") })
    local _, err = create({ pull = "never", image = "far/x:1" })
    assert.equal("the image far/x:1 is not there", err.message)
  end)

  it("returns the failure of the pull", function()
    fake:answer({
      run = fails("No such image: x"),
      pull = "echo 'Error response from daemon: pull access denied for x' >&2; exit 1",
    })
    local _, err = create({ image = "x" })
    assert.equal("docker_command", err.code)
    assert.equal("image x could not be pulled: pull access denied for x", err.message)
  end)

  it("gives a pull more time than a command", function()
    fake:answer({ run = MISSING_ONCE, pull = "sleep 1" })
    assert(assert(create({ limits = { timeout_ms = 800 } })):destroy())
  end)

  it("gives up at its time, and removes what comes late", function()
    -- The client is busy for 3 s; its container appears after that, and goes when
    -- it is removed.
    fake:answer({
      run = [[(sleep 3; : >"$here/container") & cat >/dev/null; wait; exit 1]],
      ps = [[[ ! -e "$here/container" ] || echo cafe]],
      rm = [[rm -f "$here/container"; : >"$here/removed"]],
    })
    local start = core.now_ms()
    local session, err = create({ limits = { timeout_ms = 1000 } })
    assert.is_nil(session)
    assert.equal("timeout", err.code)
    assert.is_true(core.now_ms() - start < 4500)
    sandbox.sleep(5000)
    assert.is_nil(io.open(fake.dir .. "/container"))
    assert.is_truthy(io.open(fake.dir .. "/removed"))
  end)

  it("ends the container when something after its start fails", function()
    local session, err = create({ hooks = { on_session_create = function() error("no", 0) end } })
    assert.is_nil(session)
    assert.equal("hook on_session_create: no", err.message)
    assert.equal("create_session", err.op)
    local pipe = io.popen("ps -eo args | grep -c '[i]nit$.*" .. fake.dir .. "' || true")
    assert.equal("0\n", pipe:read("a"))
    pipe:close()
  end)

  describe("with ports", function()
    local INSPECT = '[{"NetworkSettings":{"Ports":%s,"Networks":{"b":{"IPAddress":"172.17.0.5"}}}}]'
    local RIGHT = '{"8000/tcp":[{"HostIp":"127.0.0.1","HostPort":"49154"}]}'

    local function inspects(...)
      local parts = { "count inspect\ncase $n in" }
      local answers = { ... }
      for i, answer in ipairs(answers) do
        parts[#parts + 1] = string.format("%s) echo '%s' ;;", i < #answers and i or "*",
          INSPECT:format(answer))
      end
      return table.concat(parts, "\n") .. "\nesac"
    end

    it("reads the mapping until it is there", function()
      fake:answer({ container = inspects("null", "{}", '{"8000/tcp":null}', '{"8000/tcp":[]}',
        '{"8000/tcp":[{"HostIp":"","HostPort":""}]}',
        '{"8000/tcp":[{"HostIp":"127.0.0.1","HostPort":"0"}]}',
        '{"8000/tcp":[{"HostIp":"127.0.0.1","HostPort":8000}]}', RIGHT) })
      local session = assert(create({ network = true }, { ports = { 8000 } }))
      assert.same({ {
        container_port = 8000,
        host = "127.0.0.1",
        host_port = 49154,
        protocol = "tcp",
      } }, session.published_ports)
      assert(session:destroy())
    end)

    it("fails when the mapping never gets right", function()
      fake:answer({ container = inspects("{}") })
      local session, err = create({ network = true }, { ports = { 8000 } })
      assert.is_nil(session)
      assert.equal("port", err.code)
    end)

    it("refuses networks that cannot publish any", function()
      for _, network in ipairs({ false, "none", "host", "container:x" }) do
        local session, err = create({ network = network }, { ports = { 8000 } })
        assert.is_nil(session)
        assert.equal("port", err.code)
      end
      assert.same({}, fake:calls())
    end)

    it("refuses engines that are not on this machine", function()
      for _, host in ipairs({ "tcp://far:2376", "ssh://me@far" }) do
        local session, err = create({ network = true, host = host }, { ports = { 8000 } })
        assert.is_nil(session)
        assert.equal("port", err.code)
        assert.is_truthy(err.message:find(host, 1, true))
      end
      assert.is_false(fake:called("^run"))
    end)

    it("refuses a context that leads elsewhere", function()
      fake:answer({ context = "echo ssh://me@far" })
      local script = string.format([[
        local sandbox = require("anvia.sandbox")
        local sb = sandbox.docker({ image = "x", network = true, docker_path = %q })
        local session, err = sb:create_session({ ports = { 8000 } })
        print(session, err.code)]], fake.path)
      local name = os.tmpname()
      local file = assert(io.open(name, "w"))
      file:write(script)
      file:close()
      local lua = os.getenv("SBX_LUA") or "lua5.4"
      local pipe = io.popen("env -u DOCKER_HOST " .. lua .. " " .. name)
      assert.equal("nil\tport\n", pipe:read("a"))
      pipe:close()
      os.remove(name)
    end)

    for _, bad in ipairs({ { 0 }, { 65536 }, { 1.5 }, { "80" }, { 80, 80 }, { [2] = 80 }, "80" }) do
      it("raises for lists that are none: " .. tostring(bad[1] or bad), function()
        assert.has.errors(function() create({ network = true }, { ports = bad }) end)
      end)
    end
  end)
end)
