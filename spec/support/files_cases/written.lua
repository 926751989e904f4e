-- SPDX-License-Identifier: MIT
-- What a written file is: whose, with which mode, and where. See files_cases.lua for
-- `world`.

local assert = require("luassert")
local busted = require("busted")

local describe, it = busted.describe, busted.it
local world, refused = ...

local function owner_and_mode(name)
  return world.sh("stat -c '%u %a' " .. name):gsub("\n$", "")
end

describe("a written file", function()
  it("has 0644 and the session's user, and keeps a mode that it had (H051)", function()
    local user = world.sh("id -u"):gsub("\n$", "")
    world.session:write_file("n/a", "x")
    assert.equal(user .. " 644", owner_and_mode("n/a"))
    assert.equal(user .. " 755", owner_and_mode("n"))
    for _, mode in ipairs({ "755", "600", "640", "400", "777" }) do
      world.sh("chmod " .. mode .. " n/a")
      assert.is_true(world.session:write_file("n/a", mode))
      assert.equal(user .. " " .. mode, owner_and_mode("n/a"))
    end
    world.sh("chmod 4755 n/a")
    world.session:write_file("n/a", "no longer set-uid")
    assert.equal(user .. " 755", owner_and_mode("n/a"))
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
