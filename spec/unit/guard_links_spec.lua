-- SPDX-License-Identifier: MIT
-- Where links lead, seen by each shell of this machine in a temporary directory.
local link_reader = require("anvia.sandbox.guard.links")
local shell_session = require("spec.support.shell_session")

local function capture(line)
  local pipe = assert(io.popen(line))
  local text = pipe:read("*a")
  pipe:close()
  return (text:gsub("\n$", ""))
end

local TREE = [[cd '%s' && mkdir a d 'odd
dir' && ln -s /bin/rm rm && ln -s rm again && ln -s ../a/x d/link && ln -s a to-a &&
ln -s /nonexistent/x dangling && ln -s loop loop && ln -s 'odd
dir' newline && ln -s / root && ln -s .. d/up && ln -s ../rm a/rm]]

for _, shell in ipairs({ "dash", "bash --posix", "busybox sh" }) do
  local found = capture("command -v " .. shell:match("^%S+")) ~= ""

  describe("links with " .. shell, function()
    local base, session, links

    before_each(function()
      if not found then
        pending(shell .. " is not installed")
      end
      base = capture("mktemp -d")
      assert(os.execute(TREE:format(base)))
      session = shell_session.new({ workdir = base, shell = shell })
      links = link_reader.new(session)
      links:prepare({})
    end)

    after_each(function()
      os.execute("rm -rf " .. base)
    end)

    local function leads(path)
      local real = links:of(base .. "/" .. path)
      return real and (real:gsub("^" .. base:gsub("%p", "%%%0") .. "/", "./"))
    end

    if not found then
      return
    end

    it("are followed while they are the session's", function()
      local rm = capture("cd -P /bin && pwd") .. "/rm"
      assert.equal(rm, leads("rm"))
      assert.equal(rm, leads("again"))
      assert.equal(rm, leads("a/rm"))
      assert.equal(rm, leads("to-a/rm"))
      assert.equal("./a/x", leads("d/link"))
      assert.equal("./a", leads("to-a"))
      assert.equal("./a/new/x", leads("to-a/new/x"))
      assert.equal("/nonexistent/x", leads("dangling"))
      assert.equal("./odd\ndir", leads("newline"))
      assert.equal("./odd\ndir/x", leads("newline/x"))
      assert.equal(rm, leads("root/bin/rm"))
      assert.equal("./d/..", leads("d/up"))
    end)

    it("are none where a path leads to itself", function()
      for _, path in ipairs({ "a", "a/x", "a/x/y", "loop", "nothing", "odd\ndir" }) do
        assert.is_nil(leads(path), path)
      end
      assert.is_nil(links:of("/bin/rm"))
      assert.is_nil(links:of(base))
    end)

    it("are seen in one go for all that a call names", function()
      local args = { "-c", "cat a/x >d/link; to-a/rm '" .. base .. "/newline'" }
      for i = 1, 700 do
        args[#args + 1] = "a/file" .. i
      end
      links:prepare({ command = "./again", args = args, path = "root/x", to = "dangling" })
      assert.equal(0, session.commands)
      for _, path in ipairs({ "again", "a", "a/x", "d", "d/link", "to-a", "to-a/rm", "newline",
        "root", "root/x", "dangling", "a/file1", "a/file700" }) do
        leads(path)
      end
      assert.is_true(session.commands <= 3, session.commands)
      assert.is_truthy(leads("again"))
      assert.is_nil(leads("a/file700"))
    end)

    it("are seen from the directory that the call runs in", function()
      links:prepare({ command = "../rm", args = { "x", "up" }, cwd = "d" })
      leads("rm")
      leads("d/up")
      assert.equal(1, session.commands)
    end)

    it("are looked up anew for the next call", function()
      assert.is_nil(leads("later"))
      os.execute("ln -s a " .. base .. "/later")
      assert.is_nil(leads("later"))
      links:prepare({})
      assert.equal("./a", leads("later"))
    end)

    it("are too many at some point, which is an error and no answer", function()
      assert.has_error(function()
        for i = 1, 1000 do
          leads("unnamed" .. i)
        end
      end)
    end)
  end)
end

describe("a session that runs no commands of the library", function()
  it("shows no links", function()
    assert.is_nil(link_reader.new({ workdir = "/workspace" }))
  end)
end)
