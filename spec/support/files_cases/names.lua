-- SPDX-License-Identifier: MIT
-- Strange names in all methods. See files_cases.lua for `world`.

local assert = require("luassert")
local busted = require("busted")
local hostile_names = require("spec.support.hostile_names")

local describe, it = busted.describe, busted.it
local world = ...

local function by_path(list)
  local map = {}
  for _, entry in ipairs(list) do
    assert.is_nil(map[entry.path])
    map[entry.path] = entry
  end
  return map
end

describe("every legal name", function()
  it("is written, listed and read back (H057, H059)", function()
    local tree = {}
    for i, name in ipairs(hostile_names) do
      tree[name] = ("x"):rep(i)
    end
    assert.is_true(world.apply({ files = tree }))
    local list = assert(world.session:list_files("."))
    assert.equal(#hostile_names, #list)
    for i = 2, #list do
      assert.is_true(list[i - 1].path < list[i].path)
    end
    local map = by_path(list)
    for i, name in ipairs(hostile_names) do
      assert.same({ path = name, type = "file", size = i }, map[name])
    end
  end)

  it("is written, read, described, renamed and removed by itself", function()
    local names = world.all_names and hostile_names
      or { "\n", "ends with newline\n", "--help", "*?", "$(id)", "\255\254", "back\\slash" }
    for _, name in ipairs(names) do
      assert.is_true(world.session:write_file(name, "1" .. name))
      assert.equal("1" .. name, world.session:read_file(name))
      assert.equal(#name + 1, world.session:stat(name).size)
      assert.is_true(world.session:mkdir("dir" .. name:sub(1, 250)))
      assert.is_true(world.session:rename(name, "dir" .. name:sub(1, 250) .. "/" .. name))
      local list = assert(world.session:list_files("dir" .. name:sub(1, 250)))
      assert.equal("dir" .. name:sub(1, 250) .. "/" .. name, list[1].path)
      assert.is_true(world.session:remove(list[1].path))
      assert.is_true(world.session:remove("dir" .. name:sub(1, 250)))
    end
    assert.same({}, world.session:list_files("."))
  end)

  it("names a directory as well", function()
    local directories = {}
    for i, name in ipairs(hostile_names) do
      directories[i] = name .. "/" .. name
    end
    assert.is_true(world.apply({ directories = directories }))
    for _, entry in ipairs(world.session:list_files(".")) do
      assert.equal("directory", entry.type)
    end
    assert.equal("\n/\n", world.session:list_files("\n")[1].path)
    assert.equal(("a"):rep(255), world.session:list_files(("a"):rep(255))[1].path:sub(257))
  end)
end)
