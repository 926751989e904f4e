-- SPDX-License-Identifier: MIT
-- Reading and writing whole files: bytes, owners, limits.
--
-- The files in this directory hold the cases that every session must pass, whatever
-- shell and tools are behind it. `world` has `session` (open, with an empty
-- workspace before each case), `sh(script)` -> stdout of a script run there,
-- `outside()` -> an empty directory that is not in the workspace, `apply(manifest)`,
-- and `written()` -> what on_file_write was told since the last call. It may say that
-- it is a `local_shell`, has no stat command (`without_stat`), and wants each name
-- tried one by one (`all_names`).

local assert = require("luassert")
local busted = require("busted")

local function refused(code, text, value, err)
  assert.is_nil(value)
  assert.equal(code, err.code)
  assert.truthy(err.message:find(text, 1, true), err.message)
end

local function all_bytes()
  local bytes = {}
  for i = 0, 255 do
    bytes[i + 1] = string.char(i)
  end
  return table.concat(bytes)
end

local function stat(world, name)
  return world.sh("stat -c '%u %a' " .. name):gsub("\n$", "")
end

local describe, it = busted.describe, busted.it

return function(world)
  describe("content", function()
    it("comes back byte for byte (H040)", function()
      local block = all_bytes()
      local cases = { "", "\0", "\n", "x", "no newline", "a\0b\255c", "\r\n\r\n", block,
        block:rep(255) .. "x", block:rep(256), block:rep(256) .. "y", block:rep(3000),
        "\30ANVIA_EXIT:x:0\30", "\nanvia-files size 1 3\n" }
      for _, data in ipairs(cases) do
        assert.is_true(world.session:write_file("f", data))
        local back = assert(world.session:read_file("f"))
        assert.equal(#data, #back)
        assert.is_true(data == back)
      end
    end)

    it("of 10 MiB comes back too", function()
      local data = (all_bytes():rep(16) .. "\n"):rep(2500)
      data = data .. ("\0"):rep(10 * 1024 * 1024 - #data)
      assert.is_true(world.session:write_file("big", data))
      assert.is_true(world.session:read_file("big") == data)
      assert.equal(10 * 1024 * 1024, world.session:stat("big").size)
    end)

    it("is written into directories that are made for it", function()
      assert.is_true(world.session:write_file("a/b c/d\n/e", "deep"))
      assert.equal("deep", world.session:read_file("a/b c/d\n/e"))
      assert.equal("deep", world.session:read_file("./a//x/../b c/./d\n/e"))
      assert.equal("deep", world.session:read_file(world.session.workdir .. "/a/b c/d\n/e"))
    end)

    it("is reported to the hook once it is there", function()
      world.written()
      world.session:write_file("d/../w", "four")
      world.session:write_file("w/x", "refused")
      assert.same({ { path = "w", size = 4 } }, world.written())
    end)
  end)

  describe("a written file", function()
    it("has 0644 and the session's user, and keeps a mode that it had (H051)", function()
      local user = world.sh("id -u"):gsub("\n$", "")
      world.session:write_file("n/a", "x")
      assert.equal(user .. " 644", stat(world, "n/a"))
      assert.equal(user .. " 755", stat(world, "n"))
      for _, mode in ipairs({ "755", "600", "640", "400", "777" }) do
        world.sh("chmod " .. mode .. " n/a")
        assert.is_true(world.session:write_file("n/a", mode))
        assert.equal(user .. " " .. mode, stat(world, "n/a"))
      end
      world.sh("chmod 4755 n/a")
      world.session:write_file("n/a", "no longer set-uid")
      assert.equal(user .. " 755", stat(world, "n/a"))
      world.sh("echo y >>n/a")
      assert.equal("no longer set-uidy\n", world.session:read_file("n/a"))
    end)

    it("is a new file that takes the old one's place, and leaves no other", function()
      world.sh("echo old >f; ln f other")
      world.session:write_file("f", "new")
      assert.equal("old\n", world.sh("cat other"))
      assert.equal("f\nother\n", world.sh("ls -A"))
    end)

    it("never lands in a directory of its name (H050)", function()
      world.sh("mkdir adir; echo x >plain")
      refused("path", "'adir' is a directory", world.session:write_file("adir", "content"))
      refused("path", "is a directory", world.session:read_file("adir"))
      refused("path", "names a directory", world.session:write_file("new/", "content"))
      refused("path", "names a directory", world.session:read_file("plain/."))
      refused("path", "workspace itself", world.session:write_file(".", "content"))
      refused("path", "needs a directory", world.session:write_file("plain/x", "content"))
      refused("path", "needs a directory", world.session:read_file("plain/x"))
      assert.equal("adir\nplain\n", world.sh("ls -A . adir | grep -v :| grep ."))
    end)

    it("leaves nothing behind when it cannot be written", function()
      if world.sh("id -u") == "0\n" and world.local_shell then
        return -- root may write anywhere
      end
      world.sh("mkdir locked; echo old >locked/f; chmod 555 locked")
      local ok, err = world.session:write_file("locked/f", "new")
      assert.is_nil(ok)
      assert.equal("path", err.code)
      assert.truthy(err.message:find("denied", 1, true), err.message)
      assert.equal("f\nold\n", world.sh("ls -A locked; cat locked/f; chmod 755 locked"))
    end)
  end)

  describe("a missing file", function()
    it("is not_found, with its path in the message", function()
      for _, method in ipairs({ "read_file", "read_text_page", "stat", "remove", "list_files" }) do
        refused("not_found", "'no/such\\nfile'", world.session[method](world.session,
          "no/such\nfile"))
      end
      refused("not_found", "'none'", world.session:rename("none", "x"))
      world.sh("echo x >x")
      refused("not_found", "'no/x'", world.session:rename("x", "no/x"))
    end)
  end)

  describe("the size limit", function()
    local function limited(bytes, body)
      local old = world.session._limits.max_file_bytes
      world.session._limits.max_file_bytes = bytes
      local ok, message = pcall(body)
      world.session._limits.max_file_bytes = old
      assert(ok, message)
    end

    it("is looked at before the bytes cross (H062)", function()
      limited(1000000, function()
        world.sh("truncate -s 300M sp; truncate -s 1000G huge; truncate -s 1000001 one-more;"
          .. "truncate -s 1000000 just")
        for _, name in ipairs({ "sp", "huge", "one-more" }) do
          refused("file_size", "more than max_file_bytes", world.session:read_file(name))
          if world.session.last_command_bytes then
            assert.equal(0, world.session.last_command_bytes)
          end
        end
        assert.equal(1000000, #assert(world.session:read_file("just")))
        local page = world.session:read_text_page("huge", { max_bytes = 10 })
        assert.equal(("\0"):rep(10), page.content)
        world.sh("rm sp huge")
      end)
    end)

    it("refuses to send more", function()
      limited(10, function()
        local before = world.session.commands
        refused("file_size", "'f': 11 bytes", world.session:write_file("f", ("x"):rep(11)))
        assert.equal(before, world.session.commands)
        assert.is_true(world.session:write_file("f", ("x"):rep(10)))
      end)
    end)

    it("holds for a file that grows while it is read (H062)", function()
      world.sh("printf start >log; (n=0; while [ $n -lt 300 ]; do n=$((n+1)); "
        .. "printf '%01000d' 0 >>log; done; >over) >/dev/null 2>&1 &")
      limited(100000, function()
        for _ = 1, 3 do
          local data, err = world.session:read_file("log")
          assert.truthy(data and #data <= 100000 or err.code == "file_size")
        end
      end)
      world.sh("while ! [ -e over ]; do sleep 0.1; done")
    end)
  end)
end
