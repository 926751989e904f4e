-- SPDX-License-Identifier: MIT
-- Reading and writing whole files: bytes and limits. See files_cases.lua for `world`.

local assert = require("luassert")
local busted = require("busted")

local describe, it = busted.describe, busted.it
local world, refused = ...

local function all_bytes()
  local bytes = {}
  for i = 0, 255 do
    bytes[i + 1] = string.char(i)
  end
  return table.concat(bytes)
end

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
