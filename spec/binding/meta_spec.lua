-- SPDX-License-Identifier: MIT
-- lua/types/core.lua and the C module must not drift apart.

local core = require("anvia.sandbox.core")

local ROOT = os.getenv("SBX_SOURCE") or "."

local function read(path)
  local file = assert(io.open(ROOT .. "/" .. path))
  local text = file:read("a")
  file:close()
  return text
end

local TYPES = read("lua/types/core.lua")

local function sorted(names)
  table.sort(names)
  return names
end

local function keys(t)
  local names = {}
  for name in pairs(t) do
    names[#names + 1] = name
  end
  return sorted(names)
end

-- Names of the functions that the types declare for a variable.
local function declared(variable, separator)
  local names = {}
  for name in TYPES:gmatch("\nfunction " .. variable .. separator .. "([%w_]+)%(") do
    names[#names + 1] = name
  end
  return names
end

-- Names of the fields of a class.
local function fields(class)
  local names = {}
  local block = TYPES:match("%-%-%-@class anvia%.sandbox%.core" .. class .. "\n(.-)\n[^-]")
    or TYPES:match("%-%-%-@class anvia%.sandbox%.core" .. class .. "\n(.-)\n\n")
  for name in ("\n" .. block):gmatch("\n%-%-%-@field ([%w_]+)") do
    names[#names + 1] = name
  end
  return names
end

local function methods_of(class)
  local metatable = debug.getregistry()[class]
  return metatable and keys(metatable.__index)
end

-- The option names that a C function knows.
local function known(path, fn)
  local body = read(path):match("static int " .. fn .. "%(lua_State %*L%) {\n(.-)\n}")
  local list = body:match("known%[%]%s*=%s*{(.-)}")
  local names = {}
  for name in list:gmatch('"([%w_]+)"') do
    names[#names + 1] = name
  end
  return sorted(names)
end

describe("lua/types/core.lua", function()
  it("declares what the module has", function()
    local names = declared("core", "%.")
    for _, name in ipairs(fields("")) do
      names[#names + 1] = name
    end
    assert.same(keys(core), sorted(names))
  end)

  it("declares the methods of every class", function()
    for class, variable in pairs({
      ["anvia.sandbox.core.Op"] = "Op",
      ["anvia.sandbox.core.Session"] = "Session",
      ["anvia.sandbox.Box"] = "Box",
    }) do
      assert.same(methods_of(class), sorted(declared(variable, ":")))
    end
    assert.same(keys(core.box), sorted(declared("box", "%.")))
  end)

  it("declares every option", function()
    assert.same(known("core/bind/lrun.c", "l_core_run"), sorted(fields(".RunOptions")))
    assert.same(known("core/bind/lsession.c", "l_core_session"), sorted(fields(".SessionOptions")))
    assert.same(known("core/bind/lsession.c", "l_session_probe"), sorted(fields(".ProbeOptions")))
    assert.same(known("core/bind/lsession_exec.c", "l_session_exec"),
      sorted(fields(".ExecOptions")))
    assert.same(known("core/bind/lprocess.c", "l_session_start"), sorted(fields(".StartOptions")))
    assert.same(known("core/bind/lprocess.c", "l_session_logs"), sorted(fields(".LogsOptions")))
  end)

  it("declares the fields of results", function()
    local task = require("anvia.sandbox.task")
    local result = task.await(core.run({ argv = { "sh", "-c", "exit 1" } }))
    result.signal = 0
    assert.same(keys(result), sorted(fields(".RunResult")))
  end)
end)
