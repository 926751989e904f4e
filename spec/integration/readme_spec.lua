-- SPDX-License-Identifier: MIT
-- engine: any
-- runner: any
-- The Lua in README.md runs, in its order, and does what the text around it says.

local helper = require("spec.helper")
local sandbox = require("anvia.sandbox")

local function read(name)
  local file = assert(io.open(name, "rb"))
  local text = file:read("a")
  file:close()
  return text
end

-- Fenced blocks with this word behind the fence: {text, line}.
local function blocks(text, word)
  local found, current, number = {}, nil, 0
  for line in (text .. "\n"):gmatch("(.-)\n") do
    number = number + 1
    if current and line == "```" then
      current = nil
    elseif current then
      current.lines[#current.lines + 1] = line
    elseif line == "```" .. word then
      current = { lines = {}, line = number }
      found[#found + 1] = current
    end
  end
  for _, block in ipairs(found) do
    block.text = table.concat(block.lines, "\n") .. "\n"
  end
  return found
end

-- The library with images that this machine has, whatever a preset would take.
local function local_library(made)
  local library = setmetatable({}, { __index = sandbox })
  for _, preset in ipairs({ "docker", "python" }) do
    library[preset] = function(options)
      local copy = { image = helper.DEBIAN, pull = "never" }
      for key, value in pairs(options or {}) do
        copy[key] = value
      end
      local box = sandbox[preset](copy)
      return {
        create_session = function(_, session_options)
          local session, err = box:create_session(session_options)
          made[#made + 1] = session
          return session, err
        end,
      }
    end
  end
  return library
end

helper.describe("README.md", { helper.DEBIAN }, function()
  local text = read("README.md")

  it("shows code that works", function()
    local made, printed = {}, {}
    local library = local_library(made)
    local world = setmetatable({
      sandbox = library,
      require = function(name)
        return name == "anvia.sandbox" and library or require(name)
      end,
      print = function(...)
        for i = 1, select("#", ...) do
          printed[#printed + 1] = tostring((select(i, ...)))
        end
      end,
      io = { write = function(part) printed[#printed + 1] = part end },
    }, { __index = _G })

    local list = blocks(text, "lua")
    assert.is_true(#list >= 7)
    for i, block in ipairs(list) do
      local chunk = assert(load(block.text, "=README.md:" .. block.line, "t", world))
      chunk()
      if i == 1 then -- the later ones go on with a session of their own
        world.session = assert(library.docker():create_session({}))
      end
    end
    for _, session in ipairs(made) do
      assert(session:destroy())
    end

    local said = table.concat(printed, "\n")
    for _, expected in ipairs({
      "hello from /workspace/hello.py", "exit code\n0", "src/config.json",
      "http://127.0.0.1:", "exit_code: 0", "publishing is the user's job",
      "commit, and say that it can be pushed", "project.lua:",
    }) do
      assert.is_truthy(said:find(expected, 1, true), expected .. " was not printed:\n" .. said)
    end
  end)

  it("shows the policy that is in the examples", function()
    local list = blocks(text, "lua policy")
    assert.are.equal(1, #list)
    local file = read("examples/policy/project.lua")
    assert.are.equal("-- SPDX-License-Identifier: MIT\n" .. list[1].text, file)
  end)

  it("names only commands that exist", function()
    local run = read("run")
    local count = 0
    for command in text:gmatch("%./run (%l+)") do
      count = count + 1
      assert.is_truthy(run:find("cmd_" .. command .. "()", 1, true), command)
    end
    assert.is_true(count >= 2)
  end)

  it("links only to files that exist", function()
    local count = 0
    for target in text:gmatch("%]%(([%w%./_-]+)%)") do
      count = count + 1
      assert.is_true(os.rename(target, target) ~= nil, target)
    end
    assert.is_true(count >= 4)
  end)
end)
