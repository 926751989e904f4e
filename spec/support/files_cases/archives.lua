-- SPDX-License-Identifier: MIT
-- Archives in and out. See files_cases.lua for `world`.

local assert = require("luassert")
local busted = require("busted")
local hostile_names = require("spec.support.hostile_names")
local tar = require("anvia.sandbox.tar")

local describe, it = busted.describe, busted.it
local world, refused = ...

-- What is below a directory: types, modes, sizes, links.
local LOOK = [[find . | LC_ALL=C sort | while IFS= read -r f; do
  printf '%s ' "$f"
  if [ -L "$f" ]; then readlink "$f"
  elif [ -d "$f" ]; then stat -c '%a' "$f"
  else stat -c '%a %s' "$f"; cat "$f"
  fi
done]]

local function look(directory)
  return world.sh("cd " .. directory .. " && " .. LOOK)
end

describe("an archive", function()
  it("brings a directory somewhere else as it was", function()
    world.sh("mkdir -p a/b/c a/empty; echo one >a/f; printf 'a\\0b' >a/b/g; chmod 640 a/f;"
      .. "echo run >a/b/c/run; chmod 755 a/b/c/run; ln -s ../f a/b/l; ln -s /etc/passwd a/out;"
      .. ">a/b/nothing; chmod 700 a/b")
    local data = assert(world.session:read_archive("a"))
    assert.equal(0, #data % 512)
    assert.is_true(world.session:write_archive("z/y", data))
    assert.equal(look("a"), look("z/y"))
  end)

  it("is what the system's tar reads and makes", function()
    world.sh("mkdir -p d/e; echo x >d/e/f; ln -s e/f d/l")
    local made = assert(world.session:read_archive("d"))
    assert.is_true(world.session:write_file("made.tar", made))
    if world.sh("command -v tar") == "" then
      return
    end
    world.sh("mkdir there; cd there; tar xf ../made.tar; cd ../d; tar cf ../theirs.tar .")
    assert.equal(look("d"), look("there"))
    local theirs = assert(world.session:read_file("theirs.tar"))
    assert.is_true(world.session:write_archive("again", theirs))
    assert.equal(look("d"), look("again"))
  end)

  it("of one file has that file, of an empty directory nothing", function()
    world.sh("mkdir -p d/empty; echo x >d/f; mkfifo d/empty/p")
    local entries = tar.read(assert(world.session:read_archive("d/f")))
    assert.equal(1, #entries)
    assert.equal("f", entries[1].path)
    assert.equal("x\n", entries[1].content)
    assert.same({}, tar.read(assert(world.session:read_archive("d/empty"))))
    refused("not_found", "'no'", world.session:read_archive("no"))
    refused("path", "directory", world.session:read_archive("d/empty/p"))
  end)

  it("carries every legal name", function()
    local tree = {}
    local step = world.few_names and 5 or 1
    for i = 1, #hostile_names, step do
      local name = hostile_names[i]
      tree["from/" .. name .. "/" .. name] = tostring(i)
    end
    assert.is_true(world.apply({ files = tree }))
    local data = assert(world.session:read_archive("from"))
    assert.is_true(world.session:write_archive("to", data))
    assert.is_true(data == world.session:read_archive("to")
      or #data == #world.session:read_archive("to"))
    for i = 1, #hostile_names, 5 do
      local name = hostile_names[i]
      assert.equal(tostring(i), world.session:read_file("to/" .. name .. "/" .. name))
    end
  end)

  it("tells the hook of each file that was written", function()
    world.written()
    assert.is_true(world.session:write_archive("d", tar.write({
      { path = "e", type = "directory" },
      { path = "e/f", type = "file", content = "abc" },
      { path = "l", type = "symlink", target = "e" },
    })))
    assert.same({ { path = "d/e/f", size = 3 } }, world.written())
  end)

  it("is refused as a whole when something in it is", function()
    local outside = world.outside()
    for _, bad in ipairs({
      { path = "../x", type = "file", content = "" },
      { path = "a/../../x", type = "file", content = "" },
      { path = "a/..", type = "directory" },
      { path = "/etc/x", type = "file", content = "" },
      { path = outside .. "/x", type = "file", content = "" },
      { path = world.session.workdir .. "/x", type = "file", content = "" },
      { path = "h", type = "hardlink", target = "/etc/passwd" },
      { path = "h", type = "hardlink", target = "../x" },
      { path = "h", type = "hardlink", target = "not-in-it" },
      { path = ".", type = "symlink", target = "/etc" },
      { path = "s", type = "symlink", target = "" },
    }) do
      refused("path", "entry", world.session:write_archive("d", tar.write({
        { path = "first", type = "file", content = "x" }, bad })))
    end
    local device = tar.write({ { path = "d", type = "file", content = "" } })
    for _, kind in ipairs({ "3", "4", "6" }) do
      local block = device:sub(1, 156) .. kind .. device:sub(158, 512)
      local sum = 0
      for i = 1, 512 do
        sum = sum + (i > 148 and i <= 156 and 32 or block:byte(i))
      end
      block = block:sub(1, 148) .. string.format("%06o\0 ", sum) .. block:sub(157)
      refused("path", "is a ", world.session:write_archive("d", block .. device:sub(513)))
    end
    refused("protocol", "no tar header", world.session:write_archive("d", ("x"):rep(1024)))
    refused("protocol", "cut off", world.session:write_archive("d", device:sub(1, 700) .. "x"))
    assert.equal("", world.sh("ls -A; ls -A " .. outside))
  end)

  it("leads nowhere by its own links, nor by those that are there", function()
    local outside = world.outside()
    world.sh("mkdir d; ln -s " .. outside .. " d/out")
    refused("path", "leads out", world.session:write_archive("d", tar.write({
      { path = "out/x", type = "file", content = "p" } })))
    local ok = world.session:write_archive("e", tar.write({
      { path = "l", type = "symlink", target = outside },
      { path = "l/x", type = "file", content = "p" } }))
    assert.is_nil(ok)
    assert.equal("", world.sh("ls -A " .. outside))
  end)

  it("replaces files and links, and keeps what it does not name", function()
    world.sh("mkdir d; echo old >d/f; chmod 600 d/f; ln -s f d/l; echo kept >d/k")
    assert.is_true(world.session:write_archive("d", tar.write({
      { path = "./f", type = "file", content = "1", mode = 420 },
      { path = "./f", type = "file", content = "new", mode = 2541 },
      { path = "l", type = "symlink", target = "k" },
      { path = "h", type = "hardlink", target = "./f" },
    })))
    assert.equal("new 755 k kept\nnew", world.sh(
      "cat d/f; echo \" $(stat -c %a d/f) $(readlink d/l) $(cat d/k)\"; cat d/h"))
  end)

  it("has at most max_file_bytes", function()
    local old = world.session._limits.max_file_bytes
    world.sh("mkdir d; truncate -s 30000 d/a d/b")
    world.session._limits.max_file_bytes = 50000
    local many, why = world.session:read_archive("d")
    world.session._limits.max_file_bytes = 100000
    local all = world.session:read_archive("d")
    world.session._limits.max_file_bytes = old
    refused("file_size", "max_file_bytes", many, why)
    assert.equal(2, #tar.read(all))
    world.session._limits.max_file_bytes = 10000
    local ok, err = world.session:write_archive("e", all)
    world.session._limits.max_file_bytes = old
    refused("file_size", "max_file_bytes", ok, err)
  end)
end)
