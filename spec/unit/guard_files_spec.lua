-- SPDX-License-Identifier: MIT
-- A policy and the methods that touch many files at once: each file is judged.
local errors = require("anvia.sandbox.errors")
local fake = require("spec.support.fake_session")
local guard = require("anvia.sandbox.guard")
local policy = require("anvia.sandbox.policy")
local tar = require("anvia.sandbox.tar")

local POLICY = [[
  default "allow"
  deny { read = "secret/**" }
  deny { list = "hidden/**" }
  deny { write = "**/.env" }
  deny { write = { "docs/*" }, because = "docs are finished" }
]]

local TREE = {
  { path = "a", type = "directory", size = 0 },
  { path = "a/f", type = "file", size = 3 },
}

local function bind(entries)
  local session = fake.new({
    list_files = function()
      return entries or TREE
    end,
    stat = function(_, path)
      return { path = path, type = path:find("file$") and "file" or "directory" }
    end,
    read_archive = "archive",
  })
  local made = assert(policy.load(POLICY, { text = true }))
  return guard.bind(session, made), session
end

local function refused(result, err)
  assert.is_nil(result)
  assert.is_true(errors.is(err, "tool_policy"), tostring(err))
  return err.message
end

local function archive_of(...)
  local entries = {}
  for i, path in ipairs({ ... }) do
    entries[i] = { path = path, type = "file", content = "x" }
  end
  return tar.write(entries)
end

describe("a policy", function()
  it("judges each file that an archive is made of", function()
    local guarded, session = bind()
    assert.equal("archive", guarded:read_archive("."))
    assert.same({ "list_files", ".", { recursive = true } }, session:last("list_files"))
    guarded, session = bind({ { path = "secret", type = "directory" },
      { path = "secret/key", type = "file" } })
    refused(guarded:read_archive())
    refused(guarded:read_archive("secret"))
    assert.is_nil(session:last("read_archive"))
    guarded = bind()
    refused(guarded:read_archive("secret/file"))
    assert.equal("archive", guarded:read_archive("a/file"))
  end)

  it("judges each file that an archive writes", function()
    local guarded, session = bind()
    assert.is_true(guarded:write_archive("a", archive_of("x", "y/z")))
    assert.equal("write_archive", session:last("write_archive")[1])
    for _, case in ipairs({ { "a", "x", "y/.env" }, { ".", "docs/x" }, { "docs", "x" },
      { ".", "./docs//x" } }) do
      refused(guarded:write_archive(case[1], archive_of(case[2], case[3])))
    end
    refused(guarded:write_archive("docs", tar.write({
      { path = "l", type = "symlink", target = "/etc" } })))
    refused(guarded:write_archive(".", tar.write({ { path = "docs/d", type = "directory" } })))
    local _, err = guarded:write_archive(".", archive_of("../docs/x"))
    assert.equal("path", err.code)
    _, err = guarded:write_archive(".", "no archive" .. ("x"):rep(600))
    assert.equal("protocol", err.code)
  end)

  it("judges each directory that is listed or watched with another", function()
    local guarded = bind()
    assert.same(TREE, guarded:list_files(".", { recursive = true }))
    assert.is_true(guarded:watch_files(".", { recursive = true }))
    local session
    guarded, session = bind({ { path = "hidden/d", type = "directory" } })
    refused(guarded:list_files(".", { recursive = true }))
    refused(guarded:watch_files(".", { recursive = true }))
    refused(guarded:watch_files("hidden/d"))
    assert.is_nil(session:last("watch_files"))
    assert.is_truthy(guarded:list_files("."))
  end)

  it("refuses what is too much to be judged", function()
    local many = { truncated = true }
    local guarded = bind(many)
    assert.truthy(refused(guarded:read_archive(".")):find("more below", 1, true))
  end)
end)
