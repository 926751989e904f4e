-- SPDX-License-Identifier: MIT
-- The file scripts, run by each shell of this machine in a temporary directory.

local files_cases = require("spec.support.files_cases")
local shell_session = require("spec.support.shell_session")

local function capture(line)
  local pipe = assert(io.popen(line))
  local text = pipe:read("*a")
  pipe:close()
  return text
end

local SHELLS = {
  { name = "dash", shell = "dash", all_names = true },
  { name = "dash and no stat", shell = "dash", without_stat = true },
  { name = "bash in a UTF-8 locale", shell = "env LC_ALL=C.UTF-8 bash --posix" },
  { name = "busybox", shell = "busybox sh", busybox = true },
}

-- All but the archives, which have no script of their own.
local GROUPS = { "content", "written", "names", "listing", "trees", "links", "paging" }

local BUSYBOX_TOOLS = "cat mv mkdir rm rmdir chmod stat ls readlink head tail dd"

local LINKS = [[mkdir %s; cd %s; for t in %s; do ln -s "$(command -v busybox)" $t; done]]
local BROKEN = [[mkdir %s; cd %s; printf '#!/bin/sh\nexit 127\n' >stat; chmod +x stat]]

-- The scripts append to PATH, so a tool is hidden by a broken one in front.
local function path_for(case, base)
  local bin = base .. "/bin"
  if case.busybox then
    os.execute(string.format(LINKS, bin, bin, BUSYBOX_TOOLS))
  elseif case.without_stat then
    os.execute(string.format(BROKEN, bin, bin))
  else
    return ""
  end
  return "env PATH=" .. bin .. ":$PATH "
end

for _, case in ipairs(SHELLS) do
  local program = case.shell:match("busybox") or case.shell:match("%f[%w]%w*ash")
  local found = capture("command -v " .. program) ~= ""

  describe("files with " .. case.name, function()
    local base
    local world = {
      local_shell = true,
      all_names = case.all_names,
      without_stat = case.without_stat,
    }

    function world.sh(script)
      local result = world.session:exec({ command = "sh", args = { "-c", script } })
      return result.stdout
    end

    function world.outside()
      os.execute("mkdir -p " .. base .. "/outside")
      return base .. "/outside"
    end

    function world.written()
      local list = world.session.written
      world.session.written = {}
      return list
    end

    function world.apply(tree)
      return world.session:apply(tree)
    end

    before_each(function()
      if not found then
        pending(program .. " is not installed")
      end
      base = capture("mktemp -d"):gsub("\n$", "")
      os.execute("mkdir " .. base .. "/work")
      world.session = shell_session.new({
        workdir = base .. "/work",
        shell = path_for(case, base) .. case.shell,
      })
    end)

    after_each(function()
      os.execute("rm -rf " .. base)
    end)

    if found then
      files_cases.run(world, GROUPS)
    end
  end)
end

describe("a disk that is full", function()
  -- As near as one gets without one: a limit on the size of files.
  local LIMITED = [[sh -c 'ulimit -f 8; trap "" XFSZ; exec sh "$@"' sh]]
  local base, session

  before_each(function()
    base = capture("mktemp -d"):gsub("\n$", "")
    session = shell_session.new({ workdir = base, shell = LIMITED })
  end)

  after_each(function()
    os.execute("rm -rf " .. base)
  end)

  it("leaves the old file and no other", function()
    local data = ("x"):rep(100000)
    assert.is_true(session:write_file("f", "old"))
    for _, write in ipairs({
      function()
        return session:write_file("f", data)
      end,
      function()
        return session:apply({ files = { f = data } })
      end,
    }) do
      local ok, err = write()
      assert.is_nil(ok)
      assert.equal("path", err.code)
      assert.truthy(err.message:find("File too large", 1, true), err.message)
      assert.equal("f\n", capture("ls -A " .. base))
      assert.equal("old", session:read_file("f"))
    end
  end)
end)
