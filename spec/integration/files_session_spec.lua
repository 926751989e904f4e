-- SPDX-License-Identifier: MIT
-- Files and the rest of a session: manifests, odd workspaces, many tasks, limits,
-- the end of the session.

local helper = require("spec.helper")
local hostile_names = require("spec.support.hostile_names")
local manifest = require("anvia.sandbox.manifest")
local outside = require("spec.support.outside")
local sandbox = require("anvia.sandbox")

local function sh(session, script)
  return assert(session:exec({ command = "sh", args = { "-c", script } })).stdout
end

helper.describe("files of a session", { helper.DEBIAN }, function()
  it("start with the manifest, and no hook hears of it", function()
    local heard = 0
    local function hear()
      heard = heard + 1
    end
    local tree = { ["bin/run"] = { content = "#!/bin/sh\necho ran\n", mode = "755" },
      ["data/\n"] = "a\0b", secret = { content = "s", mode = 384 } }
    for i = 1, 300 do
      tree["many/" .. i] = ("line " .. i .. "\n"):rep(i)
    end
    for _, image in ipairs(helper.IMAGES) do
      for _, user in ipairs({ "0:0", "1000:1000" }) do
        local session = helper.session({ image = image, user = user,
          hooks = { on_exec_start = hear, on_exec_end = hear, on_file_write = hear } },
          { manifest = { files = tree, directories = { "empty/deep", "many" },
            env = { GREETING = "hello" } } })
        assert.equal(0, heard)
        assert.equal("a\0b", session:read_file("data/\n"))
        assert.equal(tree["many/300"], session:read_file("many/300"))
        assert.equal(300, #session:list_files("many"))
        assert.equal("0600", session:stat("secret").mode)
        assert.equal("0644", session:stat("many/1").mode)
        assert.equal("directory", session:stat("empty/deep").type)
        assert.equal("ran\nhello\n", sh(session, "bin/run; echo $GREETING"))
        assert.equal("bin\ndata\nempty\nmany\nsecret\n", sh(session, "ls -A"))
        assert.equal(user:match("%d+") .. "\n", sh(session, "stat -c %u many | sort -u"))
        assert(session:destroy())
        heard = 0
      end
    end
  end)

  it("that cannot be written fail the create", function()
    local made, err = sandbox.docker(helper.options()):create_session({
      manifest = { files = { a = "file", ["a/b"] = "below a file" } },
    })
    assert.is_nil(made)
    assert.equal("path", err.code)
    assert.equal("create_session", err.op)
    assert.truthy(err.message:find("'a/b'", 1, true))
  end)

  it("are found in a workspace below a link, with a read-only root (H054)", function()
    local session = helper.session({ image = helper.DEBIAN, workdir = "/var/run/work",
      user = "1000:1000", security = { readonly_rootfs = true } })
    assert.is_true(session:write_file("a/b.txt", "x"))
    assert.equal("x", session:read_file("a/b.txt"))
    assert.equal("x", session:read_file("/var/run/work/a/b.txt"))
    assert.equal("/run/work", sh(session, "printf %s \"$(pwd -P)\""))
    sh(session, "ln -s /run/work/a/b.txt l; ln -s /var/run/work/a m")
    assert.equal("x", session:read_file("l"))
    assert.equal("m/b.txt", session:list_files("m")[1].path)
    assert.is_true(session:write_file("l", "y"))
    assert.equal("y", session:read_file("a/b.txt"))
  end)

  it("do not depend on the host's umask (H051)", function()
    local name = os.tmpname()
    local file = assert(io.open(name, "w"))
    file:write([[
      local sandbox = require("anvia.sandbox")
      local options = require("spec.support.chosen").options({ image = arg[1] })
      local session = assert(sandbox.docker(options):create_session())
      assert(session:write_file("a/b", "x"))
      print(session:stat("a").mode, session:stat("a/b").mode)
      assert(session:destroy())
    ]])
    file:close()
    local said = outside.sh(string.format("umask 077; %s %s %s", os.getenv("SBX_LUA") or "lua5.4",
      name, helper.BUSYBOX))
    os.remove(name)
    assert.equal("0755\t0644\n", said)
  end)

  it("are whole for readers, whoever writes at the same time", function()
    local session = helper.session()
    local versions = {}
    for i = 1, 4 do
      versions[i] = tostring(i):rep(200000)
    end
    assert.is_true(session:write_file("f", versions[1]))
    local tasks = {}
    for i = 1, 4 do
      tasks[#tasks + 1] = function()
        for _ = 1, 3 do
          assert(session:write_file("f", versions[i]))
        end
      end
      tasks[#tasks + 1] = function()
        for _ = 1, 3 do
          local data = assert(session:read_file("f"))
          assert.is_true(data == versions[tonumber(data:sub(1, 1))])
        end
      end
    end
    local _, errs = sandbox.all(tasks)
    assert.is_nil(errs)
    assert.equal("f\n", sh(session, "ls -A"))
  end)

  it("leave no piece behind when time runs out", function()
    local session = helper.session({ limits = { timeout_ms = 3000 } })
    assert.is_true(session:write_file("f", "old"))
    -- too little for the session itself, and enough to begin
    session._limits.timeout_ms = session.runner == "supervisor" and 40 or 150
    local ok, err = session:write_file("f", ("x"):rep(64 * 1024 * 1024))
    session._limits.timeout_ms = 10000
    assert.is_nil(ok)
    assert.equal("timeout", err.code)
    assert.equal("old", session:read_file("f"))
    assert.equal("f\n", sh(session, "ls -A"))
  end)

  it("are refused when the session is destroyed", function()
    local session = helper.session()
    assert(session:destroy())
    for _, method in ipairs({ "read_file", "read_text_page", "list_files", "stat", "mkdir",
      "remove" }) do
      local value, err = session[method](session, "f")
      assert.is_nil(value)
      assert.equal("session_destroyed", err.code)
      assert.equal(method, err.op)
    end
    assert.equal("session_destroyed", select(2, session:write_file("f", "x")).code)
  end)

  it("of a persistent workspace keep their links to themselves", function()
    local id = "files-" .. outside.sh("printf %s $$")
    local workspace = { mode = "persistent", id = id, destroy_on_session_destroy = true }
    local session = helper.session({ workspace = workspace })
    sh(session, "ln -s /tmp out")
    local ok, err = manifest.apply(session, { files = { ["out/x"] = "" } })
    assert.is_nil(ok)
    assert.truthy(err.message:find("leads out of the workspace", 1, true))
    assert.equal(1, #session:list_files("."))
  end)

  it("have any legal name in a manifest", function()
    local tree = {}
    for _, name in ipairs(hostile_names) do
      tree[name .. "/" .. name] = name
    end
    local session = helper.session({ image = helper.DEBIAN }, { manifest = { files = tree } })
    for i = 1, #hostile_names, 7 do
      local name = hostile_names[i]
      assert.equal(name, session:read_file(name .. "/" .. name))
    end
    assert.equal(#hostile_names, #session:list_files("."))
  end)
end)
