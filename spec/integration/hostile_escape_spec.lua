-- SPDX-License-Identifier: MIT
-- runner: supervisor
-- A workload changes directories and links under the owner's hands: the owner's files stay
-- the workspace's, whatever the moment.

local core = require("anvia.sandbox.core")
local helper = require("spec.helper")
local hostile = require("spec.support.hostile")

local CANARY = "outside, and to stay there"
local RACE_MS = (os.getenv("SBX_SANITIZE") or "") == "" and 2500 or 6000

local function sh(session, script)
  local result = assert(session:exec({ command = "sh", args = { "-c", script } }))
  assert.are.equal("", result.stderr)
  return result.stdout
end

-- What is outside: the canary, and nothing else; whoever may write there, did not.
local function untouched(session)
  assert.are.equal("dir\ndir/file\nfile\n", sh(session, "cd /tmp/out; find * | sort"))
  assert.are.equal(CANARY:rep(2), sh(session, "cat /tmp/out/file /tmp/out/dir/file"))
end

local function with_outside(session)
  sh(session, string.format("umask 0; mkdir -p /tmp/out/dir; printf %%s '%s' >/tmp/out/file; "
    .. "printf %%s '%s' >/tmp/out/dir/file; chmod -R a+rwX /tmp/out", CANARY, CANARY))
end

-- Does `work` until the time is over; counts what went well and what was refused.
local function race(work)
  local deadline, counts = core.now_ms() + RACE_MS, { ok = 0, refused = 0 }
  while core.now_ms() < deadline do
    local value, err = work()
    if value == nil then
      assert.is_true(err.code == "path" or err.code == "not_found" or err.code == "internal",
        tostring(err))
      counts.refused = counts.refused + 1
    else
      assert.is_true(value ~= CANARY, "the canary was read")
      counts.ok = counts.ok + 1
    end
  end
  return counts
end

for _, who in ipairs(hostile.USERS) do
  helper.describe("the workspace of " .. who.name, { hostile.IMAGE }, function()
    local session

    before_each(function()
      session = hostile.session({ image = hostile.IMAGE, user = who.user })
      with_outside(session)
    end)

    local function swapping(one, other)
      assert(session:start_process({ command = "hostile", args = { "swap", one, other } }))
    end

    it("is not left by any link", function()
      sh(session, [[
        ln -s /tmp/out/file file; ln -s /tmp/out dir; ln -s ../tmp/out up; ln -s / root
        ln -s /proc/self/root proc; ln -s /proc/1/root init; ln -s /proc/self/cwd/../tmp/out cwd
        ln -s dir chain; ln -s chain chain2; ln -s loop loop; ln -s /dev/zero zero
        ln -s /dev/stdin stdin; ln -s /proc/self/fd fds; mkdir real; ln -s ../../tmp/out real/up
        ln -s /.anvia/supervisor supervisor]])
      for _, path in ipairs({ "file", "dir/file", "up/file", "root/tmp/out/file",
        "proc/tmp/out/file", "init/tmp/out/file", "cwd/file", "chain/file", "chain2/dir/file",
        "loop", "loop/x", "zero", "stdin", "fds/0", "real/up/file", "supervisor" }) do
        local took, data, err = helper.timed(session.read_file, session, path)
        assert.is_nil(data, path)
        assert.is_true(err.code == "path" or err.code == "not_found", path .. ": " .. err.code)
        assert.is_true(took < 2000)
        assert.is_nil((session:write_file(path, "mine")), path)
        assert.is_nil((session:write_file(path .. "/new", "mine")), path)
        assert.is_nil((session:list_files(path)), path)
        assert.is_nil((session:mkdir(path .. "/made")), path)
      end
      for _, path in ipairs({ "dir/file", "up/dir", "root/tmp/out", "chain2/dir/file" }) do
        assert.is_nil((session:remove(path, { recursive = true })), path)
        assert.is_nil((session:rename(path, "stolen")), path)
        assert.is_nil((session:rename("real", path)), path)
        assert.is_nil((session:stat(path)), path)
      end
      assert(session:remove("dir", { recursive = true })) -- the link itself
      assert(session:remove("root", { recursive = true }))
      untouched(session)
      hostile.intact(session)
    end)

    it("is not left when a directory becomes a link meanwhile: reading", function()
      sh(session, "mkdir in; printf in >in/file; ln -s /tmp/out link")
      swapping("in", "link")
      local seen = race(function() return session:read_file("in/file") end)
      assert.is_true(seen.ok > 0 and seen.refused > 0, seen.ok .. " " .. seen.refused)
      untouched(session)
      hostile.intact(session)
    end)

    it("is not left when a file becomes a link meanwhile", function()
      sh(session, "printf in >file; ln -s /tmp/out/file link")
      swapping("file", "link")
      race(function() return session:read_file("file") end)
      race(function() return session:write_file("file", "in") end)
      untouched(session)
      hostile.intact(session)
    end)

    it("is not left when a directory becomes a link meanwhile: writing and making", function()
      sh(session, "mkdir -p in/dir; ln -s /tmp/out link")
      swapping("in", "link")
      local turn = 0
      race(function()
        turn = turn + 1
        local name = "in/new" .. turn % 4
        if turn % 3 == 0 then
          return session:write_file(name .. "/deep/file", "mine")
        elseif turn % 3 == 1 then
          return session:mkdir(name .. "/made")
        end
        return session:write_file("in/dir/file", "mine")
      end)
      untouched(session)
      hostile.intact(session)
    end)

    it("is not left when a directory becomes a link meanwhile: removing and renaming", function()
      sh(session, "mkdir in; ln -s /tmp/out link; mkdir kept")
      swapping("in", "link")
      local turn = 0
      race(function()
        turn = turn + 1
        session:write_file("in/dir/file", "mine")
        if turn % 3 == 0 then
          return session:remove("in/dir", { recursive = true })
        elseif turn % 3 == 1 then
          return session:rename("in/file", "kept/stolen")
        end
        return session:remove("in/file")
      end)
      assert.are.equal("", sh(session, "cat kept/stolen 2>/dev/null | grep outside || true"))
      untouched(session)
      hostile.intact(session)
    end)

    it("is not left when a directory becomes a link meanwhile: listing", function()
      sh(session, "mkdir -p in/dir; touch in/mine in/dir/mine; ln -s /tmp/out link")
      swapping("in", "link")
      race(function()
        local list, err = session:list_files("in")
        for _, entry in ipairs(list or {}) do
          assert.is_nil(entry.path:find("file", 1, true))
        end
        return list, err
      end)
      untouched(session)
      hostile.intact(session)
    end)

    it("does not block on what becomes a FIFO meanwhile", function()
      sh(session, "printf in >file; mkfifo pipe")
      swapping("file", "pipe")
      race(function()
        local took, data, err = helper.timed(session.read_file, session, "file")
        assert.is_true(took < 2000)
        return data, err
      end)
      race(function() return session:write_file("file", "in") end)
      hostile.intact(session)
    end)

    it("is removed wholly, however deep, and without following a link", function()
      sh(session, [[i=0; while [ $i -lt 600 ]; do mkdir d; cd d; i=$((i+1)); done
        ln -s /tmp/out out; touch file]])
      assert.is_true(session:remove("d", { recursive = true }))
      assert.are.same({}, assert(session:list_files(".")))
      untouched(session)
    end)
  end)
end
