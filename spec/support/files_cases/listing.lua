-- SPDX-License-Identifier: MIT
-- Listings and what is done to entries. See files_cases.lua for `world`.

local assert = require("luassert")
local busted = require("busted")

local describe, it = busted.describe, busted.it
local world, refused = ...

local function by_path(list)
  local map = {}
  for _, entry in ipairs(list) do
    assert.is_nil(map[entry.path])
    map[entry.path] = entry
  end
  return map
end

describe("a listing", function()
  it("tells types and sizes, without find (H056)", function()
    world.sh("printf 12345 >f; mkdir d e; echo x >e/x; ln -s f l; mkfifo p; >.h; >..two; >...")
    local list = assert(world.session:list_files())
    local names = {}
    for i, entry in ipairs(list) do
      names[i] = entry.path .. " " .. entry.type
    end
    assert.same({ "... file", "..two file", ".h file", "d directory", "e directory", "f file",
      "l symlink", "p other" }, names)
    assert.equal(5, list[6].size)
    assert.equal(1, list[7].size)
    assert.equal("e/x", world.session:list_files("e/")[1].path)
    assert.same({}, world.session:list_files("d"))
    refused("path", "needs a directory", world.session:list_files("f"))
  end)

  it("of 1,000 entries is complete", function()
    world.sh("n=0; while [ $n -lt 1000 ]; do n=$((n+1)); printf x >file-$n; done")
    local list = assert(world.session:list_files("."))
    assert.equal(1000, #list)
    assert.equal("file-1", list[1].path)
    assert.equal(1, list[1000].size)
  end)

  it("survives entries that come and go", function()
    world.sh("n=0; while [ $n -lt 60 ]; do n=$((n+1)); >keep-$n; done; "
      .. "(n=0; while [ $n -lt 300 ]; do n=$((n+1)); >gone-$n; rm gone-$n; done; >over) "
      .. ">/dev/null 2>&1 &")
    for _ = 1, 5 do
      local map = by_path(assert(world.session:list_files(".")))
      for i = 1, 60 do
        assert.truthy(map["keep-" .. i])
      end
    end
    world.sh("while ! [ -e over ]; do sleep 0.1; done")
  end)
end)

describe("stat", function()
  it("describes the entry itself", function()
    world.sh("printf abc >f; chmod 640 f; touch -d '2001-02-03 04:05:06' f; ln -s f l; mkdir d")
    local found = assert(world.session:stat("f"))
    assert.same({ path = "f", type = "file", size = 3, mode = "0640",
      mtime_ms = found.mtime_ms }, found)
    if not world.without_stat then
      assert.is_true(math.abs(found.mtime_ms - 981173106000) <= 14 * 3600 * 1000)
    end
    assert.equal("symlink", world.session:stat("l").type)
    assert.equal("directory", world.session:stat("d").type)
    assert.equal("directory", world.session:stat(".").type)
    assert.equal(".", world.session:stat(".").path)
  end)
end)

describe("mkdir, remove and rename", function()
  it("do what they say", function()
    assert.is_true(world.session:mkdir("a/b/c"))
    assert.is_true(world.session:mkdir("a/b"))
    assert.is_true(world.session:mkdir("."))
    assert.is_true(world.session:write_file("a/f", "x"))
    refused("path", "needs a directory", world.session:mkdir("a/f"))
    refused("path", "not empty", world.session:remove("a"))
    assert.is_true(world.session:remove("a/b/c"))
    assert.is_true(world.session:rename("a", "z"))
    refused("path", "is a directory", world.session:rename("z/f", "z"))
    assert.is_true(world.session:write_file("g", "y"))
    refused("path", "needs a directory", world.session:rename("z", "g"))
    assert.is_true(world.session:rename("g", "g"))
    assert.is_true(world.session:rename("g", "z/f"))
    assert.equal("y", world.session:read_file("z/f"))
    local ok, err = world.session:rename("z", "z/b/z")
    assert.is_nil(ok)
    assert.equal("path", err.code)
    assert.is_true(world.session:remove("z", { recursive = true }))
    assert.equal("", world.sh("ls -A"))
    refused("path", "workspace itself", world.session:remove(".", { recursive = true }))
    refused("path", "workspace itself", world.session:rename(".", "x"))
  end)
end)
