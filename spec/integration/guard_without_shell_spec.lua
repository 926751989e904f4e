-- SPDX-License-Identifier: MIT
-- runner: supervisor
-- A policy for a session in an image that has no shell to look up links with.

local by_stat = require("anvia.sandbox.guard.links_by_stat")
local errors = require("anvia.sandbox.errors")
local helper = require("spec.helper")
local link_reader = require("anvia.sandbox.guard.links")
local sandbox = require("anvia.sandbox")
local tar = require("anvia.sandbox.tar")

local STATIC = "anvia-test/static:1"

local TREE = [[mkdir a d 'odd
dir' && ln -s /bin/rm rm && ln -s rm again && ln -s ../a/x d/link && ln -s a to-a &&
ln -s /nonexistent/x dangling && ln -s loop loop && ln -s 'odd
dir' newline && ln -s / root && ln -s .. d/up && ln -s ../rm a/rm && ln -s /workspace/a abs &&
ln -s ../../etc/x d/out && ln -s d/../a odd]]

local PATHS = { "rm", "again", "a/rm", "to-a/rm", "d/link", "to-a", "to-a/new/x", "dangling",
  "newline", "newline/x", "root/bin/rm", "loop", "loop/x", "d/up/a", "abs/rm", "abs/q", "d/out",
  "odd/rm", "none/x", "a", "d/up/d/up/rm", "abs" }

helper.describe("links, looked up entry by entry", { helper.BUSYBOX }, function()
  it("lead where a shell says that they lead", function()
    local session = helper.session({ runner = "supervisor" })
    local made = assert(session:exec({ command = "sh", args = { "-c", TREE } }))
    assert.equal(0, made.exit_code, made.stderr)
    local links = link_reader.new(session)
    links:prepare({})
    for _, path in ipairs(PATHS) do
      path = "/workspace/" .. path
      assert.equal(links:of(path) or path, by_stat.real(session, "/workspace/", path))
    end
  end)
end)

helper.describe("a policy without a shell", { STATIC }, function()
  it("holds for files, also behind links", function()
    local policy = assert(sandbox.policy.load('default "allow" deny { read = "secret/*" }',
      { text = true }))
    local session = helper.session({ image = STATIC, runner = "supervisor" }, {
      policy = policy,
      manifest = { files = { ["secret/key"] = "k", open = "o" } },
    })
    local function refused(value, err)
      assert.is_nil(value)
      assert.is_true(errors.is(err, "tool_policy"), tostring(err))
    end
    assert.is_true(session:write_archive(".", tar.write({
      { path = "way", type = "symlink", target = "secret" },
      { path = "out", type = "symlink", target = "/tmp" },
    })))
    assert.equal("o", session:read_file("open"))
    refused(session:read_file("secret/key"))
    refused(session:read_file("way/key"))
    refused(session:read_file("out/x")) -- nobody can tell where that leads
    refused(session:read_archive("."))
  end)
end)
