-- SPDX-License-Identifier: MIT
-- What real shells start is among the readings.
--
-- Scripts run with dash, the shell of busybox, and bash, each in a directory of stub programs that
-- only note that they were started. Random scripts come from the generator; the list of evasions
-- (spec/support/evasions.list) holds every trick to hide a command that we know of.

local readings = require("anvia.sandbox.policy.readings")
local shellgen = require("spec.support.shellgen")
local stubpath = require("spec.support.stubpath")

local SHELLS = {
  { name = "dash", program = "dash", read_as = { "dash", "sh" }, dialect = "posix" },
  { name = "busybox", program = "busybox", applet = "sh", read_as = { "ash", "sh" },
    dialect = "posix" },
  { name = "bash", program = "bash", read_as = { "bash", "sh" }, dialect = "bash" },
}

local function names()
  local list = {}
  for i = 0, 9 do
    list[#list + 1] = "prog" .. i
    list[#list + 1] = "decoy" .. i
  end
  return list
end

--- Runs all scripts, or nil when the shell is not on this machine.
local function run(shell, scripts)
  local path = stubpath.find(shell.program)
  if not path then
    return nil
  end
  local place = stubpath.new({ path, shell.applet }, names())
  local started = place:run(scripts)
  place:remove()
  return started
end

--- What the readings say may be started: "name mark", and "name" when words are not known.
local function expected(got)
  local seen = {}
  for _, command in ipairs(got.commands) do
    local argv, name = command.argv, command.name
    if name and #argv == 1 then
      seen[name .. " "] = true
    end
    for i = 2, name and #argv or 0 do
      if type(argv[i]) == "string" then
        seen[name .. " " .. argv[i]:match("^[^\n]*")] = true
      else
        seen[name] = true
      end
    end
  end
  return seen
end

--- Compares. Gives what is missing, how many starts were compared, and how many scripts were not
--- complete.
local function compare(shell, scripts, started)
  local missing, compared, incomplete = {}, 0, 0
  for i, text in ipairs(scripts) do
    for _, command in ipairs(shell.read_as) do
      local got = readings.of({ command = command, args = { "-c", text } })
      if not got.complete then
        incomplete = incomplete + 1
      else
        local seen = expected(got)
        for _, start in ipairs(started[i]) do
          compared = compared + 1
          if not seen[start.name] and not seen[start.name .. " " .. start.mark] then
            missing[#missing + 1] = ("%s: %s %s in\n%s"):format(command, start.name,
              start.mark, text)
          end
        end
      end
    end
  end
  return missing, compared, incomplete
end

local function evasions()
  local file = assert(io.open("spec/support/evasions.list", "rb"))
  local text = file:read("*a") .. "\n---\n"
  file:close()
  local list = {}
  for each in text:gmatch("(.-)\n%-%-%-\n") do
    list[#list + 1] = each
  end
  return list
end

for _, shell in ipairs(SHELLS) do
  describe("programs that " .. shell.name .. " starts", function()
    it("in 150 random scripts are all read", function()
      local scripts, runs = {}, 0
      for seed = 1, 150 do
        local text, known = shellgen.new(seed, { dialect = shell.dialect, dynamic = true }):script()
        scripts[seed], runs = text, runs + #known
      end
      local started = run(shell, scripts)
      if not started then
        return pending(shell.name .. " is not on this machine")
      end
      local missing, compared, incomplete = compare(shell, scripts, started)
      assert.are.same({}, missing)
      assert.is_true(compared > runs)
      assert.is_true(incomplete < 0.2 * #scripts * #shell.read_as)
    end)

    it("in the evasions are all read", function()
      local scripts = evasions()
      local started = run(shell, scripts)
      if not started then
        return pending(shell.name .. " is not on this machine")
      end
      local missing, compared = compare(shell, scripts, started)
      assert.are.same({}, missing)
      assert.is_true(compared > 200)
    end)
  end)
end
