-- SPDX-License-Identifier: MIT
-- Recursive listings. See files_cases.lua for `world`.

local assert = require("luassert")
local busted = require("busted")
local hostile_names = require("spec.support.hostile_names")

local describe, it = busted.describe, busted.it
local world, refused = ...

local function paths_of(list)
  local paths = {}
  for i, entry in ipairs(list) do
    paths[i] = entry.path
  end
  return paths
end

describe("a recursive listing", function()
  it("has everything below, sorted by the bytes of the paths", function()
    world.sh("mkdir -p a/b/c a.d .h/i; echo 1 >a/f; echo 22 >a/b/c/g; >a.d/x; ln -s .. a/b/up;"
      .. "mkfifo .h/i/p; mkdir a/empty")
    local list = assert(world.session:list_files(".", { recursive = true }))
    assert.same({ ".h", ".h/i", ".h/i/p", "a", "a.d", "a.d/x", "a/b", "a/b/c", "a/b/c/g", "a/b/up",
      "a/empty", "a/f" }, paths_of(list))
    assert.same({ path = "a/b/c/g", type = "file", size = 3 }, list[9])
    assert.same({ path = "a/b/up", type = "symlink", size = 2 }, list[10])
    assert.equal("other", list[3].type)
    assert.is_nil(list.truncated)
    assert.same({ "a/b/c", "a/b/c/g", "a/b/up" },
      paths_of(world.session:list_files("a/b", { recursive = true })))
    assert.same({}, world.session:list_files("a/empty", { recursive = true }))
  end)

  it("goes into no link, but may begin at one", function()
    local outside = world.outside()
    world.sh("mkdir -p d/e; >d/e/f; ln -s d l; ln -s " .. outside .. " out; ln -s . d/self")
    assert.same({ "d", "d/e", "d/e/f", "d/self", "l", "out" },
      paths_of(world.session:list_files(".", { recursive = true })))
    assert.same({ "l/e", "l/e/f", "l/self" },
      paths_of(world.session:list_files("l", { recursive = true })))
    refused("path", "leads out", world.session:list_files("out", { recursive = true }))
    refused("path", "needs a directory", world.session:list_files("d/e/f", { recursive = true }))
  end)

  it("stops at a limit and says so", function()
    world.sh("mkdir d; n=0; while [ $n -lt 30 ]; do n=$((n+1)); >d/$n; done")
    local list = assert(world.session:list_files(".", { recursive = true, max_entries = 10 }))
    assert.equal(10, #list)
    assert.is_true(list.truncated)
    list = assert(world.session:list_files(".", { recursive = true, max_entries = 31 }))
    assert.equal(31, #list)
    assert.is_nil(list.truncated)
    list = assert(world.session:list_files("d", { max_entries = 29 }))
    assert.equal(29, #list)
    assert.is_true(list.truncated)
  end)

  it("has any legal name in it, and deep directories", function()
    local tree = {}
    for _, name in ipairs(hostile_names) do
      tree["d/" .. name .. "/" .. name] = "x"
    end
    tree[("e/"):rep(40) .. "f"] = "deep"
    assert.is_true(world.apply({ files = tree }))
    local seen = {}
    for _, entry in ipairs(assert(world.session:list_files(".", { recursive = true }))) do
      seen[entry.path] = entry.type
    end
    for name in pairs(tree) do
      assert.equal("file", seen[name])
    end
  end)
end)
