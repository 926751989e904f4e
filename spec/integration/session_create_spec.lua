-- SPDX-License-Identifier: MIT
local helper = require("spec.helper")
local outside = require("spec.support.outside")
local sandbox = require("anvia.sandbox")

local function inspect(session, format)
  return (outside.sh("docker inspect --format '" .. format .. "' anvia-sandbox-" .. session.id)
    :gsub("\n$", ""))
end

local function out(session, script)
  local result = assert(session:exec({ command = "sh", args = { "-c", script } }))
  assert.equal("", result.stderr)
  return result.stdout
end

describe("a container", function()
  if not helper.engine(helper.BUSYBOX) then
    return
  end

  it("is closed by default", function()
    local session = helper.session()
    assert.equal("none [ALL] 512 none true",
      inspect(session, "{{.HostConfig.NetworkMode}} {{.HostConfig.CapDrop}} "
        .. "{{.HostConfig.PidsLimit}} {{.HostConfig.LogConfig.Type}} "
        .. "{{.HostConfig.AutoRemove}}"))
    if session.runner == "exec" then -- the supervisor needs some to do its work
      assert.equal("[] [no-new-privileges]",
        inspect(session, "{{.HostConfig.CapAdd}} {{.HostConfig.SecurityOpt}}"))
    end
    assert.equal("false [] false", inspect(session,
      "{{.HostConfig.Privileged}} {{.HostConfig.Devices}} {{.HostConfig.PublishAllPorts}}"))
  end)

  it("gives its commands no capability, also those of root", function()
    for _, user in ipairs({ "0", "1000" }) do
      local session = helper.session({ user = user })
      local status = out(session, "cat /proc/self/status")
      for _, set in ipairs({ "CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb" }) do
        assert.equal("0000000000000000", status:match(set .. ":%s*(%x+)"), set)
      end
      assert.equal("1", status:match("NoNewPrivs:%s*(%d)"))
      assert(session:destroy())
    end
  end)

  it("gives its commands the privileges that security leaves them", function()
    local function status_of(security)
      local session = helper.session({ user = "0", security = security })
      local status = out(session, "cat /proc/self/status")
      assert(session:destroy())
      return tonumber(status:match("CapBnd:%s*(%x+)"), 16), status:match("NoNewPrivs:%s*(%d)")
    end
    local CHOWN, KILL, NET_RAW = 1 << 0, 1 << 5, 1 << 13
    local bounding, nnp = status_of({ drop_capabilities = { "KILL" }, no_new_privileges = false })
    assert.equal("0", nnp)
    assert.equal(CHOWN, bounding & (CHOWN | KILL))
    assert.equal(NET_RAW, bounding & NET_RAW)
    bounding, nnp = status_of({ drop_capabilities = { "CHOWN", "NET_RAW" } })
    assert.equal("1", nnp)
    assert.equal(KILL, bounding & (CHOWN | KILL | NET_RAW))
  end)

  it("has the limits that were asked for", function()
    local session = helper.session({
      limits = { memory_mb = 64, cpus = 0.5, pids_limit = 99 },
      labels = { mine = "a,b=c" },
      network = true,
    }, { metadata = { task = "t,1" } })
    assert.equal("67108864 67108864 500000000 99",
      inspect(session, "{{.HostConfig.Memory}} {{.HostConfig.MemorySwap}} {{.HostConfig.NanoCpus}} "
        .. "{{.HostConfig.PidsLimit}}"))
    assert.equal("a,b=c t,1", inspect(session,
      [[{{index .Config.Labels "mine"}} {{index .Config.Labels "anvia.sandbox.metadata.task"}}]]))
  end)

  it("has no proxy of the client's configuration", function()
    local dir = os.tmpname()
    os.remove(dir)
    outside.sh("mkdir " .. dir)
    finally(function()
      outside.sh("rm -rf " .. dir)
    end)
    local file = assert(io.open(dir .. "/docker", "w"))
    file:write('#!/bin/sh\nexec docker --config ' .. dir .. ' "$@"\n')
    file:close()
    file = assert(io.open(dir .. "/config.json", "w"))
    file:write('{"proxies":{"default":{"httpProxy":"http://secret","allProxy":"http://secret"}}}')
    file:close()
    outside.sh("chmod 755 " .. dir .. "/docker")
    local session = helper.session({ docker_path = dir .. "/docker" })
    assert.equal("", out(session, "env | grep -i proxy || true"))
    assert(session:destroy())
  end)

  it("runs whatever entrypoint its image has", function()
    for _, name in ipairs({ "entrypoint-echo", "entrypoint-sh", "entrypoint-exec", "cmd" }) do
      local session = helper.session({ image = "anvia-test/" .. name .. ":1" })
      assert.equal(0, assert(session:exec({ command = "true" })).exit_code)
      assert(session:start_process({ command = "sleep", args = { "600" } }))
      assert(session:destroy())
    end
  end)

  it("that cannot run is refused with the reason", function()
    local took, none, err = helper.timed(function()
      return sandbox.docker(helper.options({ image = "anvia-test/static:1", runner = "exec" }))
        :create_session()
    end)
    assert.is_nil(none)
    assert.equal("docker_command", err.code)
    assert.is_truthy(err.message:find("anvia-test/static:1 has no usable shell", 1, true))
    assert.is_true(took < 3000, took .. " ms")

    for _, case in ipairs({
      { { image = "anvia-test/missing:9" }, "is not there" },
      { { user = "nosuchuser" }, "nosuchuser" },
      { { runtime = "nosuch" }, "nosuch" },
      { { network = "nosuch" }, "nosuch" },
    }) do
      none, err = sandbox.docker(helper.options(case[1])):create_session()
      assert.is_nil(none)
      assert.equal("docker_command", err.code)
      assert.is_truthy(err.message:find(case[2], 1, true), err.message)
    end
  end)
end)

describe("the user of a session", function()
  if not helper.engine(helper.BUSYBOX, helper.DEBIAN, "anvia-test/user:1") then
    return
  end

  local function check(session, uid)
    assert.equal(uid .. "\n", out(session, "id -u"))
    assert.equal("", out(session, "touch a; mkdir d; echo y >>d/w.txt"))
    assert(session:write_file("d/w.txt", "x"))
    assert.equal("", out(session, "echo y >>d/w.txt"))
    assert.equal("xy\n", assert(session:read_file("d/w.txt")))
    assert.equal(uid .. "\n", out(session, "stat -c %u d/w.txt"))
  end

  for _, readonly in ipairs({ false, true }) do
    local name = readonly and " with a read-only root" or ""
    for _, image in ipairs(helper.IMAGES) do
      it("can write its workspace: " .. image .. name, function()
        for user, uid in pairs({ ["0"] = 0, ["1000"] = 1000, ["user"] = 1000, ["77:88"] = 77 }) do
          local session = helper.session({ image = image, user = user,
            security = { readonly_rootfs = readonly } })
          check(session, uid)
          assert.equal("", out(session, "echo x >/tmp/y"))
          local result = assert(session:exec({ command = "sh", args = { "-c", "echo x >/y" } }))
          assert.equal(uid ~= 0 or readonly, result.exit_code ~= 0)
          assert(session:destroy())
        end
      end)
    end

    it("can be the image's" .. name, function()
      check(helper.session({ image = "anvia-test/user:1",
        security = { readonly_rootfs = readonly } }), 1000)
    end)
  end

  it("can write a workspace whose directory the image gives to another", function()
    -- /home/user belongs to 1000 in the image, and so does a volume made there.
    check(helper.session({ user = "77", workdir = "/home/user" }), 77)
    check(helper.session({ image = helper.DEBIAN, workdir = "/home/user" }), 0)
  end)

  it("may work below a link of the image", function()
    -- /bin is a link in Debian.
    local session = helper.session({ image = helper.DEBIAN, workdir = "/bin/work" })
    check(session, 0)
  end)
end)

describe("a persistent workspace", function()
  if not helper.engine(helper.BUSYBOX) then
    return
  end

  local sb = sandbox.docker(helper.options())
  local WORKSPACE = { mode = "persistent", id = "anvia-test.A" }

  -- In a test: removes the volumes when it is over.
  local function passing()
    finally(function()
      outside.sh("docker volume rm -f anvia-sandbox-workspace-anvia-test.A "
        .. "anvia-sandbox-workspace-anvia-test.a")
    end)
  end

  local function session_with(workspace, extra)
    return assert(sandbox.docker(helper.options(extra)):create_session({ workspace = workspace }))
  end

  it("outlives its sessions, and nobody else sees it", function()
    passing()
    local first = session_with(WORKSPACE)
    assert(first:write_file("keep", "mine"))
    assert(first:destroy())
    local other = session_with({ mode = "persistent", id = "anvia-test.a" })
    assert.same({}, assert(other:list_files(".")))
    assert(other:destroy())
    local ephemeral = assert(sb:create_session({ id = "anvia-test.A" }))
    assert.same({}, assert(ephemeral:list_files(".")))
    assert(ephemeral:destroy())
    local again = session_with(WORKSPACE)
    assert.equal("mine", assert(again:read_file("keep")))
    assert(again:destroy())
  end)

  it("goes with the session that was told so", function()
    local session = session_with({ mode = "persistent", id = "anvia-test.A",
      destroy_on_session_destroy = true })
    assert(session:write_file("keep", "mine"))
    assert(session:destroy())
    assert.same({}, outside.volumes(true))
  end)

  -- Creates that fail when the container is there already.
  local function failing_creates()
    local refusal = { on_session_create = function() error("no", 0) end }
    local creates = {}
    for i, extra in ipairs({
      { image = "anvia-test/static:1", runner = "exec" }, -- no shell
      { user = "nosuchuser" },
      { hooks = refusal },
    }) do
      creates[i] = function()
        return sandbox.docker(helper.options(extra)):create_session({ workspace = WORKSPACE })
      end
    end
    return ipairs(creates)
  end

  it("is not left behind by the create that made it and failed", function()
    for _, create in failing_creates() do
      assert.is_nil((create()))
      assert.same({}, outside.volumes(true))
    end
  end)

  it("survives a failed create that did not make it", function()
    passing()
    assert(session_with(WORKSPACE):destroy())
    for _, create in failing_creates() do
      assert.is_nil((create()))
      assert.equal(1, #outside.volumes(true))
    end
  end)

  it("of another user is refused, if files in it cannot be written", function()
    passing()
    local first = session_with(WORKSPACE, { user = "1000" })
    assert(first:write_file("theirs", "x"))
    assert(first:destroy())
    for _, user in ipairs({ "77", "0" }) do
      local none, err = sandbox.docker(helper.options({ user = user }))
        :create_session({ workspace = WORKSPACE })
      assert.is_falsy(none and none.id)
      assert.equal("docker_command", err.code)
      assert.is_truthy(err.message:find("uid 1000", 1, true), err.message)
    end
    local again = session_with(WORKSPACE, { user = "1000" })
    assert(again:write_file("theirs", "y"))
    assert(again:destroy())
  end)
end)

describe("a manifest", function()
  if not helper.engine(helper.BUSYBOX, helper.DEBIAN) then
    return
  end

  for _, image in ipairs(helper.IMAGES) do
    it("is there when the session is: " .. image, function()
      local started = 0
      local session = helper.session({ image = image, user = "1000",
        hooks = { on_exec_start = function() started = started + 1 end } }, {
        manifest = {
          files = {
            ["a/b.txt"] = "hello",
            ["run.sh"] = { content = "#!/bin/sh\necho $X", mode = "755" },
          },
          directories = { "empty/dir" },
          env = { X = "from the manifest" },
        },
      })
      assert.equal(0, started)
      assert.equal("hello", assert(session:read_file("a/b.txt")))
      assert.equal("from the manifest\n", out(session, "./run.sh"))
      assert.equal("directory", assert(session:stat("empty/dir")).type)
      assert.equal(1, started)
    end)
  end

  it("that is wrong leaves no session", function()
    local none, err = sandbox.docker(helper.options()):create_session({
      manifest = { files = { ["../x"] = "y" } },
    })
    assert.is_nil(none)
    assert.equal("path", err.code)
  end)
end)
