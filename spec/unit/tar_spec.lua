-- SPDX-License-Identifier: MIT
-- Tar archives as strings: alone, and against the system's tar.

local tar = require("anvia.sandbox.tar")

local function sh(line)
  local pipe = assert(io.popen(line .. " 2>&1"))
  local text = pipe:read("*a")
  pipe:close()
  return text
end

local function write(name, data)
  local file = assert(io.open(name, "wb"))
  file:write(data)
  file:close()
end

local function read(name)
  local file = assert(io.open(name, "rb"))
  local data = file:read("*a")
  file:close()
  return data
end

local SAMPLES = {
  { path = "a", type = "directory", mode = 493 },
  { path = "a/f", type = "file", mode = 420, mtime_ms = 1700000000000, content = "hello\n" },
  { path = "a/empty", type = "file", mode = 384, content = "" },
  { path = "a/\n \255", type = "file", mode = 420, content = "\0\255\n" },
  { path = ("b"):rep(100), type = "file", mode = 420, content = ("x"):rep(512) },
  { path = ("c"):rep(101), type = "file", mode = 420, content = ("y"):rep(513) },
  { path = ("d/"):rep(70) .. "e", type = "file", mode = 420, content = "split" },
  { path = ("f"):rep(200) .. "/" .. ("g"):rep(90), type = "file", mode = 420, content = "pax" },
  { path = ("h/"):rep(900) .. "i", type = "directory", mode = 448 },
  { path = ("j"):rep(99), type = "directory", mode = 493 },
  { path = ("k"):rep(100), type = "directory", mode = 493 },
  { path = "l", type = "symlink", mode = 511, target = "a/f" },
  { path = "m", type = "symlink", mode = 511, target = ("n/"):rep(100) },
  { path = "o", type = "hardlink", mode = 420, target = "a/f" },
}

describe("tar", function()
  it("gives back what was put in", function()
    local archive = tar.write(SAMPLES)
    assert.equal(0, #archive % 512)
    local back = assert(tar.read(archive))
    assert.equal(#SAMPLES, #back)
    for i, entry in ipairs(SAMPLES) do
      local expected = { mtime_ms = 0 }
      for key, value in pairs(entry) do
        expected[key] = value
      end
      assert.same(expected, back[i])
    end
    assert.same({}, tar.read(tar.write({})))
    assert.same({}, tar.read(""))
  end)

  it("takes no more than it says beforehand", function()
    for _, entry in ipairs(SAMPLES) do
      assert.is_true(#tar.write({ entry }) - 1024
        <= tar.size_of(entry.path, #(entry.content or ""), entry.target), entry.path)
    end
  end)

  it("refuses what is damaged, wherever it is cut", function()
    local archive = tar.write(SAMPLES)
    for size = 1, #archive - 1024, 97 do
      local entries, message = tar.read(archive:sub(1, size))
      if entries then
        assert.is_true(size % 512 == 0, size)
      else
        assert.truthy(message:find("cut off", 1, true))
      end
    end
    for at = 1, 154 do -- what is behind the digits of the sum is not looked at
      local byte = archive:byte(at)
      local bad = archive:sub(1, at - 1) .. string.char((byte + 1) % 256) .. archive:sub(at + 1)
      assert.is_nil((tar.read(bad)), at)
    end
  end)

  it("never raises, whatever the bytes are", function()
    local archive = tar.write(SAMPLES)
    local seed = 1
    local function random(n)
      seed = (seed * 16807) % 2147483647
      return seed % n + 1
    end
    local function repaired(data, from)
      local block, sum = data:sub(from, from + 511), 0
      if #block < 512 then
        return data
      end
      for i = 1, 512 do
        sum = sum + (i > 148 and i <= 156 and 32 or block:byte(i))
      end
      return data:sub(1, from + 147) .. string.format("%06o\0 ", sum) .. data:sub(from + 156)
    end
    for _ = 1, 3000 do
      local data = archive
      local block = (random(#archive / 512) - 1) * 512
      for _ = 1, random(4) do
        local at = block + random(512)
        data = data:sub(1, at - 1) .. string.char(random(256) - 1) .. data:sub(at + 1)
      end
      local entries, message = tar.read(repaired(data, block + 1))
      assert.is_true(type(entries) == "table" or type(message) == "string")
    end
  end)

  it("names what it does not know", function()
    local archive = tar.write({ { path = "f", type = "file", content = "" } })
    local _, message = tar.read("\31\139" .. ("x"):rep(600))
    assert.truthy(message:find("no tar header", 1, true))
    _, message = tar.read(archive:sub(1, 100))
    assert.truthy(message:find("cut off", 1, true))
  end)
end)

describe("the system's tar", function()
  local base

  before_each(function()
    base = sh("mktemp -d"):gsub("\n$", "")
  end)

  after_each(function()
    sh("chmod -R u+rwx " .. base .. "; rm -rf " .. base)
  end)

  local LOOK = "cd %s/%s && find . -printf '%%P %%y %%m %%s %%l\\n' | grep -v '^ ' | sed "
    .. "'/ d /s/[0-9]* *$//' | LC_ALL=C sort"

  it("unpacks what was made here", function()
    write(base .. "/a.tar", tar.write({
      { path = "d", type = "directory", mode = 488 },
      { path = "d/f", type = "file", mode = 384, content = "content" },
      { path = "d/" .. ("n"):rep(200), type = "file", mode = 420, content = ("x"):rep(1000) },
      { path = ("p/"):rep(60) .. "q", type = "file", mode = 420, content = "deep" },
      { path = "l", type = "symlink", target = ("t"):rep(300) },
      { path = "h", type = "hardlink", target = "d/f" },
    }))
    local said = sh(string.format("mkdir %s/out && tar xf %s/a.tar -C %s/out", base, base, base))
    assert.equal("", said)
    local seen = sh(string.format(LOOK, base, "out"))
    assert.truthy(seen:find("\nd/f f 600 7", 1, true), seen)
    assert.truthy(seen:find("d/" .. ("n"):rep(200) .. " f 644 1000", 1, true))
    assert.truthy(seen:find(("p/"):rep(60) .. "q f 644 4", 1, true))
    assert.truthy(seen:find("l l 777 300 " .. ("t"):rep(300), 1, true))
    assert.truthy(seen:find("\nh f 600 7", 1, true), seen)
  end)

  it("makes what is read here, in each of its formats", function()
    sh(string.format([[cd %s && mkdir -p in/d && cd in && echo x >d/f && chmod 640 d/f &&
      ln -s d/f l && ln d/f h && head -c 3000 /dev/urandom >r &&
      mkdir -p "$(printf 'long%%050d' 1)/$(printf 'name%%090d' 2)" &&
      cp r "$(printf 'long%%050d' 1)/$(printf 'name%%090d' 2)/$(printf '%%0120d' 3)" &&
      ln -s "$(printf '%%0150d' 4)" m]], base))
    for _, format in ipairs({ "gnu", "pax", "oldgnu" }) do
      sh(string.format("cd %s && tar cf %s.tar --format=%s -C in .", base, format, format))
      local entries = assert(tar.read(read(base .. "/" .. format .. ".tar")))
      local by_path = {}
      for _, entry in ipairs(entries) do
        by_path[entry.path] = entry
      end
      assert.equal("x\n", (by_path["./d/f"].content or by_path["./h"].content))
      assert.equal(416, by_path["./d/f"].mode)
      assert.equal("d/f", by_path["./l"].target)
      assert.equal(("0"):rep(149) .. "4", by_path["./m"].target)
      assert.is_true(by_path["./r"].content == read(base .. "/in/r"))
      local long = string.format("./long%050d/name%090d/%s3", 1, 2, ("0"):rep(119))
      assert.is_true(by_path[long].content == read(base .. "/in/r"))
      assert.equal("directory", by_path["./d"].type)
      -- and all of it once more, made here and unpacked there
      write(base .. "/again.tar", tar.write(entries))
      sh(string.format("cd %s && rm -rf out && mkdir out && tar xf again.tar -C out", base))
      assert.equal(sh(string.format(LOOK, base, "in")), sh(string.format(LOOK, base, "out")))
    end
  end)
end)
