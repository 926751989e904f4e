-- SPDX-License-Identifier: MIT

local path = require("anvia.sandbox.path")

local ROOT = "/workspace"

describe("path.resolve", function()
  it("refuses what leads out of the workspace (H112)", function()
    for _, text in ipairs({ "../x", "a/../../x", "/etc/passwd", "..", "a/..", "", "a\0b", "./../x",
      "..\\x", "a\\..\\..\\x", "a/..\\b", "\\..", "../workspace/x", "/", "/workspac",
      "/workspace2/x", "/workspace/../etc", "/workspace/..", "../", ".//..", "a/b/../../..",
      "ok.txt\0/../../etc/x" }) do
      local relative, err = path.resolve(ROOT, text)
      assert.is_nil(relative, text)
      assert.equal("path", err.code)
      assert.truthy(err.message:find("^path "))
    end
  end)

  it("accepts everything else, in one normal form", function()
    for text, expected in pairs({
      ["..a"] = "..a",
      ["a/../b"] = "b",
      ["..."] = "...",
      ["."] = ".",
      ["./"] = ".",
      ["./a//b/./c/"] = "a/b/c",
      ["/workspace"] = ".",
      ["/workspace/"] = ".",
      ["/workspace//a/../b"] = "b",
      ["a/b/.."] = "a",
      ["a\\b"] = "a\\b",
      ["\\"] = "\\",
      ["a..\\x"] = "a..\\x",
      ["-rf"] = "-rf",
      [" "] = " ",
      ["\n"] = "\n",
      ["\255\254/\1"] = "\255\254/\1",
      ["~"] = "~",
    }) do
      assert.equal(expected, path.resolve(ROOT, text))
    end
  end)

  it("takes absolute paths of any workspace", function()
    assert.equal("a", path.resolve("/", "/a"))
    assert.equal(".", path.resolve("/", "/"))
    assert.equal("a", path.resolve("/w+k.*", "/w+k.*/a"))
    assert.is_nil(path.resolve("/w+k.*", "/wwk.x/a"))
  end)

  it("says when a name or a path is too long", function()
    assert.equal(("a"):rep(255), path.resolve(ROOT, ("a"):rep(255)))
    local _, err = path.resolve(ROOT, "d/" .. ("a"):rep(256), "path", "read_file")
    assert.truthy(err.message:find("name of 256 bytes; at most 255", 1, true))
    assert.equal("read_file", err.op)
    local deep = ("abc/"):rep(1024)
    assert.truthy(path.resolve(ROOT, deep:sub(1, 4095)))
    _, err = path.resolve(ROOT, deep, "cwd")
    assert.truthy(err.message:find("^cwd .*has 4096 bytes; at most 4095"))
    assert.is_true(#err.message < 400)
  end)
end)

describe("path.show", function()
  it("is one short line for any path", function()
    assert.equal([['a\n\t\'\\\x00\x1b']], path.show("a\n\t'\\\0\27"))
    assert.equal("'\195\188'", path.show("\195\188"))
    assert.is_true(#path.show(("x"):rep(4000)) < 230)
  end)
end)

describe("path.less", function()
  it("orders by bytes", function()
    local names = { "b", "a\255", "a", "", "a\0", "B", "\195\188", "aa" }
    table.sort(names, path.less)
    assert.same({ "", "B", "a", "a\0", "aa", "a\255", "b", "\195\188" }, names)
  end)
end)
