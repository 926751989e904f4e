-- SPDX-License-Identifier: MIT
-- What links, pipes and devices may do to the file methods. See files_cases.lua for
-- `world`.

local assert = require("luassert")
local busted = require("busted")

local describe, it = busted.describe, busted.it
local world, refused = ...

local sandbox_errors = {
  outside = "leads out of the workspace",
  special = "is not a regular file",
}

describe("links", function()
  it("reads through a link inside the workspace (H048)", function()
    world.sh("echo real >real.txt; ln -s real.txt l2; mkdir -p d/e; ln -s ../../real.txt d/e/up;"
      .. 'ln -s l2 l3; ln -s "$PWD/real.txt" absolute; ln -s d/e dir')
    for _, name in ipairs({ "l2", "l3", "d/e/up", "absolute", "dir/up" }) do
      assert.equal("real\n", world.session:read_file(name))
      assert.equal("real\n", world.session:read_text_page(name).content)
    end
  end)

  it("gives the same refusal everywhere for a link that leads out (H048, H109)", function()
    world.sh("ln -s /etc/hostname h; ln -s a b; ln -s /etc/passwd a; ln -s ../../../../etc c;"
      .. "ln -s / root; mkdir d; ln -s ../../../../etc/passwd d/x; ln -s .. up")
    local names = { "h", "a", "b", "c/passwd", "root/etc/passwd", "d/x", "up/etc/passwd", "up" }
    for _, name in ipairs(names) do
      refused("path", sandbox_errors.outside, world.session:read_file(name))
      refused("path", sandbox_errors.outside, world.session:read_text_page(name))
      refused("path", sandbox_errors.outside, world.session:write_file(name, "p"))
    end
    refused("path", sandbox_errors.outside, world.session:list_files("c"))
    refused("path", sandbox_errors.outside, world.session:list_files("root"))
    refused("path", sandbox_errors.outside, world.session:stat("c/passwd"))
    refused("path", sandbox_errors.outside, world.session:remove("c/passwd"))
    refused("path", sandbox_errors.outside, world.session:rename("c/passwd", "p"))
    world.sh("echo mine >mine")
    refused("path", sandbox_errors.outside, world.session:rename("mine", "c/mine"))
  end)

  it("never reads what the host has under a link's target (H109)", function()
    local secret = os.tmpname()
    local file = assert(io.open(secret, "w"))
    file:write("host secret")
    file:close()
    world.sh("ln -s " .. secret .. " leak; ln -s leak again; ln -s /tmp there")
    for _, name in ipairs({ "leak", "again", "there" .. secret:sub(5) }) do
      local data, err = world.session:read_file(name)
      assert.is_nil(data)
      assert.truthy(err.code == "path" or err.code == "not_found")
    end
    os.remove(secret)
  end)

  it("creates nothing outside the workspace (H110)", function()
    local outside = world.outside()
    world.sh(string.format("ln -s %s d1; ln -s %s/leaf w1; ln -s %s/no/such w2", outside, outside,
      outside))
    refused("path", sandbox_errors.outside, world.session:write_file("d1/x", "p"))
    refused("path", sandbox_errors.outside, world.session:write_file("d1/new/deep/y", "p"))
    refused("path", sandbox_errors.outside, world.session:write_file("w1", "p"))
    assert.is_nil(world.session:write_file("w2", "p"))
    refused("path", sandbox_errors.outside, world.session:mkdir("d1/new"))
    refused("path", sandbox_errors.outside, world.session:list_files("d1"))
    assert.equal("", world.sh("ls -A " .. outside))
  end)

  it("writes through a link inside the workspace and keeps the link", function()
    world.sh("echo old >real; ln -s real l; ln -s fresh dangling")
    assert.is_true(world.session:write_file("l", "new"))
    assert.is_true(world.session:write_file("dangling", "made"))
    assert.equal("new", world.sh("cat real"))
    assert.equal("made", world.sh("cat fresh"))
    assert.equal("symlink", world.session:stat("l").type)
  end)

  it("follows link targets with newlines at their end", function()
    world.sh("printf one >'n\n\n'; ln -s 'n\n\n' l; printf two >n; mkdir 'd\n'; ln -s 'd\n' m;"
      .. "printf three >'d\n/f\n'; ln -s 'd\n/f\n' k")
    assert.equal("one", world.session:read_file("l"))
    assert.equal("three", world.session:read_file("k"))
    assert.equal("m/f\n", world.session:list_files("m")[1].path)
  end)

  it("gives up on a circle and on a link to nothing", function()
    world.sh("ln -s a b; ln -s b a; ln -s nothing c; ln -s no/such d; ln -s e e")
    refused("path", "too many links", world.session:read_file("a"))
    refused("path", "too many links", world.session:write_file("e", "x"))
    refused("not_found", "does not exist", world.session:read_file("c"))
    refused("not_found", "does not exist", world.session:read_file("d"))
  end)

  it("treats a link to a directory as a directory", function()
    world.sh("mkdir d; ln -s d l; ln -s d/ s; ln -s . dot; ln -s d/.. back")
    for _, name in ipairs({ "l", "s", "dot", "back" }) do
      refused("path", "is a directory", world.session:read_file(name))
      refused("path", "is a directory", world.session:write_file(name, "x"))
    end
    assert.equal(5, #world.session:list_files("."))
    assert.equal(0, #world.session:list_files("l"))
    assert.equal(5, #world.session:list_files("back"))
  end)

  it("removes and renames a link itself", function()
    world.sh("mkdir d; echo x >d/f; ln -s d l; ln -s d/f m; ln -s d n; echo y >y")
    assert.is_true(world.session:remove("l", { recursive = true }))
    assert.is_true(world.session:rename("m", "o"))
    assert.equal("d/f", world.sh("readlink o | tr -d '\\n'"))
    assert.is_true(world.session:rename("y", "n"))
    assert.equal("y\n", world.sh("cat n"))
    assert.equal("f\n", world.sh("ls d"))
  end)
end)

describe("special files", function()
  it("are refused at once (H049)", function()
    world.sh("mkfifo ff; ln -s ff to-fifo; ln -s /dev/zero zero; ln -s /dev/tty tty")
    local started = os.time()
    for _, name in ipairs({ "ff", "to-fifo" }) do
      refused("path", sandbox_errors.special, world.session:read_file(name))
      refused("path", sandbox_errors.special, world.session:read_text_page(name))
      refused("path", sandbox_errors.special, world.session:write_file(name, "z"))
    end
    for _, name in ipairs({ "zero", "tty" }) do
      refused("path", sandbox_errors.outside, world.session:read_file(name))
      refused("path", sandbox_errors.outside, world.session:read_text_page(name))
      refused("path", sandbox_errors.outside, world.session:write_file(name, "z"))
    end
    refused("path", "needs a directory", world.session:list_files("ff"))
    assert.is_true(os.time() - started <= 6)
    assert.equal("other", world.session:stat("ff").type)
    assert.is_true(world.session:remove("ff"))
  end)

  it("are refused when they are sockets (H049)", function()
    local made = world.sh("command -v python3 >/dev/null && python3 -c '\nimport socket\n"
      .. 'socket.socket(socket.AF_UNIX).bind("sock")\' && echo made')
    if made ~= "made\n" then
      return -- nothing in this image makes a socket
    end
    refused("path", sandbox_errors.special, world.session:read_file("sock"))
    refused("path", sandbox_errors.special, world.session:write_file("sock", "z"))
    assert.equal("other", world.session:list_files(".")[1].type)
  end)
end)
