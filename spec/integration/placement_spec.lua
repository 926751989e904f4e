-- SPDX-License-Identifier: MIT
-- runner: supervisor
-- How the supervisor gets into containers, on a real engine. Each case has a program of
-- its own, so that its volume is nobody else's: some bytes are added to its end.

local core = require("anvia.sandbox.core")
local helper = require("spec.helper")
local outside = require("spec.support.outside")
local sandbox = require("anvia.sandbox")
local tar = require("anvia.sandbox.tar")

local STATIC, USER = "anvia-test/static:1", "anvia-test/user:1"

-- Lua text, for this program and for others: a supervisor with `tail` at its end.
local EMBED = [[
  local core = require("anvia.sandbox.core")
  local real = core.supervisor
  core.supervisor = function(architecture)
    local bytes = real(architecture)
    return bytes and bytes .. tail, (tail:sub(1, 64))
  end
]]

helper.describe("the supervisor's volume", { helper.BUSYBOX, STATIC, USER }, function()
  local real = core.supervisor
  local tail, volume

  before_each(function()
    tail = core.random_hex(64)
    volume = "anvia-sandbox-supervisor-" .. tail:sub(1, 16)
    load("local tail = ...\n" .. EMBED)(tail)
  end)

  after_each(function()
    core.supervisor = real
    outside.sh("docker volume rm -f " .. volume)
  end)

  local function options(extra)
    local all = helper.options(extra)
    all.runner = all.runner or "supervisor"
    return all
  end

  local function create(extra)
    return sandbox.docker(options(extra)):create_session()
  end

  local function session(extra)
    local one = helper.session(options(extra))
    assert.equal("supervisor", one.runner)
    return one
  end

  local function out(one, script)
    local result = assert(one:exec({ command = "sh", args = { "-c", script } }))
    assert.equal("", result.stderr)
    return result.stdout
  end

  -- The bytes in the volume, and how many files there are.
  local function contents()
    local id = outside.sh("docker create -v " .. volume .. ":/v " .. helper.BUSYBOX .. " true")
      :match("%x+")
    local name = os.tmpname()
    outside.sh(string.format("docker cp %s:/v - >%s; docker rm %s", id, name, id))
    local file = assert(io.open(name, "rb"))
    local entries = assert(tar.read(file:read("a")))
    file:close()
    os.remove(name)
    local bytes, files = nil, 0
    for _, entry in ipairs(entries) do
      if entry.type == "file" then
        bytes, files = entry.content, files + 1
      end
    end
    return bytes, files
  end

  -- Puts a file into the volume, as somebody else would.
  local function put(name, bytes)
    local id = outside.sh("docker create -v " .. volume .. ":/v " .. helper.BUSYBOX .. " true")
      :match("%x+")
    local archive = os.tmpname()
    local file = assert(io.open(archive, "wb"))
    file:write(tar.write({ { path = name, type = "file", mode = 365, content = bytes } }))
    file:close()
    outside.sh(string.format("docker cp - %s:/v <%s; docker rm %s", id, archive, id))
    os.remove(archive)
  end

  local function is_right()
    local bytes, files = contents()
    assert.equal(1, files)
    assert.is_true(bytes == core.supervisor("amd64") or bytes == core.supervisor("arm64"))
    assert.equal("", (outside.sh("docker ps -a -q --filter label=anvia.sandbox.supervisor"
      .. " --filter volume=" .. volume)))
  end

  it("is filled for the first session, and not touched by the next", function()
    local first = session()
    assert.equal("true false", (outside.sh("docker inspect --format '{{range .Mounts}}"
      .. "{{if eq .Destination \"/.anvia\"}}{{eq .Name \"" .. volume .. "\"}} {{.RW}}{{end}}"
      .. "{{end}}' anvia-sandbox-" .. first.id):gsub("%s+$", "")))
    is_right()
    local at = outside.sh("docker volume inspect --format {{.CreatedAt}} " .. volume)
    local second = session()
    assert.equal("hi\n", out(second, "echo hi"))
    assert(first:destroy())
    assert(second:destroy())
    is_right()
    assert.equal(at, (outside.sh("docker volume inspect --format {{.CreatedAt}} " .. volume)))
    assert.equal(core._VERSION .. "\n", (outside.sh("docker volume inspect --format "
      .. "'{{index .Labels \"anvia.sandbox.supervisor\"}}' " .. volume)))
  end)

  it("cannot be written in a session, by whomever", function()
    local one = session({ user = "0", security = { drop_capabilities = {} } })
    for _, script in ipairs({
      "echo x >/.anvia/supervisor", "rm -f /.anvia/supervisor", "touch /.anvia/x",
      "chmod 777 /.anvia", "mount -o remount,rw /.anvia", "umount /.anvia", "mv /.anvia /x",
    }) do
      local result = assert(one:exec({ command = "sh", args = { "-c", script } }))
      assert.not_equal(0, result.exit_code, script)
    end
    assert(one:destroy())
    is_right()
  end)

  it("is filled again when it was removed between two sessions", function()
    assert(session():destroy())
    helper.eventually(function()
      local _, ok = outside.sh("docker volume rm " .. volume)
      return ok
    end)
    local one = session()
    assert.equal("hi\n", out(one, "echo hi"))
    assert(one:destroy())
    is_right()
  end)

  it("is refused with something else in it, which stays as it is", function()
    for _, name in ipairs({ "supervisor", "theirs" }) do
      put(name, "not the supervisor")
      for _, runner in ipairs({ "supervisor", "auto" }) do
        local none, err = create({ runner = runner })
        assert.is_nil(none)
        assert.equal("docker_command", err.code)
        assert.is_truthy(err.message:find("docker volume rm " .. volume, 1, true), err.message)
      end
      local bytes, files = contents()
      assert.equal("not the supervisor", bytes)
      assert.equal(1, files)
      outside.sh("docker volume rm " .. volume)
    end
    put("supervisor", core.supervisor("amd64"):sub(1, -2) .. "?")
    assert.is_nil((create()))
  end)

  it("is completed when somebody crashed while he filled it", function()
    for _, share in ipairs({ 0, 0.5 }) do
      local bytes = core.supervisor("amd64")
      put("supervisor", bytes:sub(1, math.floor(#bytes * share)))
      assert(session():destroy())
      is_right()
      outside.sh("docker volume rm " .. volume)
      tail = core.random_hex(64)
      volume = "anvia-sandbox-supervisor-" .. tail:sub(1, 16)
      core.supervisor = real
      load("local tail = ...\n" .. EMBED)(tail)
    end
  end)

  it("is not filled by an image that has something at its place", function()
    -- the holder's and the session's mounts say that nothing is copied
    local id = outside.sh("docker create " .. helper.BUSYBOX .. " true"):match("%x+")
    outside.sh(string.format("d=$(mktemp -d); mkdir $d/.anvia; echo evil >$d/.anvia/supervisor; "
      .. "docker cp $d/.anvia %s:/; docker commit %s anvia-test/evil:1; docker rm %s; rm -r $d",
      id, id, id))
    finally(function()
      outside.sh("docker rmi anvia-test/evil:1")
    end)
    local one = session({ image = "anvia-test/evil:1" })
    assert.equal("hi\n", out(one, "echo hi"))
    assert(one:destroy())
    is_right()
  end)

  it("serves a read-only root, users by name and number, and the image's user", function()
    local readonly = { readonly_rootfs = true }
    for _, case in ipairs({
      { { security = readonly }, "0 0\n" },
      { { security = readonly, user = "1000" }, "1000 1000\n" },
      { { user = "user" }, "1000 1000\n" },
      { { user = "user:root" }, "1000 0\n" },
      { { user = "77:88" }, "77 88\n" },
      { { image = USER }, "1000 1000\n" },
      { { image = USER, security = readonly }, "1000 1000\n" },
      { { image = USER, user = "0" }, "0 0\n" },
    }) do
      local one = session(case[1])
      assert.equal(case[2], out(one, "echo $(id -u) $(id -g); echo x >here; rm here"))
      assert.equal("0", (outside.sh("docker inspect --format '{{.Config.User}}' anvia-sandbox-"
        .. one.id):match("^%d+")))
      assert(one:destroy())
    end
  end)

  it("serves an image with one static program and nothing else", function()
    local one = session({ image = STATIC })
    local info = assert(one:start_process({ command = "/server" }))
    assert.equal("running", info.status)
    assert(one:write_file("a/b.txt", "x\0y"))
    assert.equal("x\0y", assert(one:read_file("a/b.txt")))
    local none, err = one:exec({ command = "sh" })
    assert.is_nil(none)
    assert.equal("process", err.code)
    assert.equal("stopped", assert(one:stop_process(info.id)).status)
    assert(one:destroy())
  end)

  it("is one for programs that come together", function()
    local text = "local tail, image, engine = arg[1], arg[2], arg[3]\n" .. EMBED .. [[
      local sandbox = require("anvia.sandbox")
      local session = assert(sandbox.docker({ image = image, pull = "never", runner = "supervisor",
        engine = engine ~= "" and engine or nil }):create_session())
      local result = assert(session:exec({ command = "echo", args = { "hi" } }))
      assert(session:destroy())
      print("said " .. result.stdout)]]
    local scripts = {}
    for i = 1, 4 do
      scripts[i] = helper.script(text, tail, helper.BUSYBOX, helper.ENGINE or "")
    end
    for _, script in ipairs(scripts) do
      helper.eventually(function()
        return not script.alive()
      end, 30000)
      assert.equal("said hi\n", (script.output():gsub("\n+", "\n")))
      script.forget()
    end
    is_right()
  end)

  it("leaves no container of a program that dies while it is filled", function()
    local text = EMBED:gsub("^", "local tail, image, engine = arg[1], arg[2], arg[3]\n", 1) .. [[
      local sandbox = require("anvia.sandbox")
      print("begins")
      assert(sandbox.docker({ image = image, pull = "never", runner = "supervisor",
        engine = engine ~= "" and engine or nil }):create_session())]]
    local hits = 0
    for _ = 1, 20 do
      local script = helper.script(text, tail, helper.BUSYBOX, helper.ENGINE or "")
      helper.eventually(function()
        return script.output() ~= ""
      end, 10000)
      sandbox.sleep(math.random(0, 300))
      script.kill("KILL")
      if outside.sh("docker ps -a -q --filter label=anvia.sandbox.supervisor --filter "
        .. "label=anvia.sandbox.owner.pid=" .. script.pid) ~= "" then
        hits = hits + 1
      end
      helper.eventually(function()
        return not script.alive() and #outside.containers() == 0
      end, 10000)
      script.forget()
      outside.sh("docker volume rm " .. volume)
      if hits == 3 then
        break
      end
    end
    assert.is_true(hits > 0, "the program always died at another moment")
  end)

  it("is not there for another architecture: the other runner, and a warning", function()
    local message
    core.supervisor = function() end
    local one = helper.session({ runner = "auto", hooks = {
      on_warning = function(event)
        message = event.message
      end,
    } })
    assert.equal("exec", one.runner)
    assert.is_truthy(message:find("there is no supervisor for linux/", 1, true))
    assert.equal("hi\n", out(one, "echo hi"))
    local none, err = create()
    assert.is_nil(none)
    assert.equal("docker_command", err.code)
  end)

  it("goes with prune when it is of another version, old, and unused", function()
    local sb = sandbox.docker(options())
    local names = {}
    local function make(name, age_days, version)
      names[name] = "anvia-sandbox-supervisor-" .. core.random_hex(16)
      outside.sh(string.format("docker volume create --label anvia.sandbox.supervisor=%s "
        .. "--label anvia.sandbox.created=%.0f %s", version or "0.0.1",
        core.wall_ms() - age_days * 24 * 3600 * 1000, names[name]))
    end
    make("old", 2)
    make("used", 2)
    make("young", 0.5)
    local user = outside.sh("docker create -v " .. names.used .. ":/x " .. helper.BUSYBOX
      .. " true"):match("%x+")
    finally(function()
      outside.sh("docker rm " .. user)
      for _, name in pairs(names) do
        outside.sh("docker volume rm " .. name)
      end
    end)
    local one = session()
    local function fate(report)
      local verdicts = {}
      for verdict, list in pairs(report) do
        for _, entry in ipairs(list) do
          if entry.kind == "supervisor" then
            verdicts[entry.volume] = verdict
          end
        end
      end
      return verdicts
    end
    local function is_there(name)
      local _, ok = outside.sh("docker volume inspect " .. name)
      return ok
    end

    local verdicts = fate(assert(sb:prune({ dry_run = true })))
    assert.equal("removed", verdicts[names.old])
    assert.is_true(is_there(names.old))
    verdicts = fate(assert(sb:prune()))
    assert.equal("removed", verdicts[names.old])
    assert.equal("kept", verdicts[names.used])
    assert.equal("kept", verdicts[names.young])
    assert.is_nil(verdicts[volume])
    assert.is_false(is_there(names.old))
    assert.is_true(is_there(names.used))
    assert.is_true(is_there(names.young))
    assert.is_true(is_there(volume))
    assert.equal("hi\n", out(one, "echo hi"))
  end)

  it("is filled by a container that is no session's, and that prune knows", function()
    local name = "anvia-supervisor-" .. tail:sub(1, 16)
    -- what a crash leaves: its owner is gone
    local id = outside.sh(string.format("docker create --name %s --label anvia.sandbox=true "
      .. "--label anvia.sandbox.supervisor=0.0.1 --label anvia.sandbox.owner.boot=%s "
      .. "--label anvia.sandbox.owner.pidns=%s --label anvia.sandbox.owner.pid=%d "
      .. "--label anvia.sandbox.owner.start=1 %s true", name,
      outside.sh("cat /proc/sys/kernel/random/boot_id"):match("%S+"),
      outside.sh("readlink /proc/self/ns/pid"):match("%d+"), core.getpid(), helper.BUSYBOX))
      :match("%x+")
    finally(function()
      outside.sh("docker rm " .. id)
    end)
    local sb = sandbox.docker(options())
    for _, row in ipairs(assert(sb:list())) do
      assert.not_equal(id, row.container_id)
    end
    -- it is in nobody's way either
    assert(session():destroy())
    is_right()
    local _, there = outside.sh("docker inspect " .. id)
    assert.is_false(there)
  end)
end)
