-- SPDX-License-Identifier: MIT
-- 10,000 random scripts whose commands are known: none may be missing from the readings, unless the
-- readings say that they are not complete. Text that only looks like code may not be read as code.

local readings = require("anvia.sandbox.policy.readings")
local shellgen = require("spec.support.shellgen")

--- Reads the scripts of many seeds.
local function survey(first, last, dialect, command, check_data)
  local result = { scripts = 0, commands = 0, incomplete = 0, missing = {}, data = {}, failed = {} }
  for seed = first, last do
    local text, runs = shellgen.new(seed, { dialect = dialect, dynamic = true }):script()
    local got = readings.of({ command = command, args = { "-c", text } })
    local seen = {}
    for _, each in ipairs(got.commands) do
      if check_data and got.complete and each.name and each.name:find("^decoy") then
        result.data[#result.data + 1] = seed .. ": " .. each.reading
      end
      for i = 2, #each.argv do
        if each.name and type(each.argv[i]) == "string" then
          seen[each.name .. " " .. each.argv[i]] = true
        end
      end
    end
    for _, problem in ipairs(got.problems) do
      if problem.kind == "internal" then
        result.failed[#result.failed + 1] = seed .. ": " .. problem.what
      end
    end
    result.scripts = result.scripts + 1
    result.commands = result.commands + #runs
    if not got.complete then
      result.incomplete = result.incomplete + 1
    else
      for _, run in ipairs(runs) do
        if not seen[run.name .. " " .. run.mark] then
          result.missing[#result.missing + 1] = ("%d: %s %s in\n%s"):format(seed, run.name,
            run.mark, text)
        end
      end
    end
  end
  return result
end

local function check(result)
  assert.are.same({}, result.failed)
  assert.are.same({}, result.missing)
  assert.are.same({}, result.data)
  assert.is_true(result.incomplete < 0.15 * result.scripts,
    ("%d of %d are not complete"):format(result.incomplete, result.scripts))
  assert.is_true(result.commands > 8 * result.scripts)
end

describe("random scripts", function()
  it("of POSIX, given to sh: 5,000", function()
    check(survey(1, 5000, "posix", "sh", true))
  end)

  it("of bash, given to bash: 4,000", function()
    check(survey(5001, 9000, "bash", "bash", true))
  end)

  it("of bash, given to sh, which may be any shell: 1,000", function()
    local result = survey(9001, 10000, "bash", "sh", false)
    assert.are.same({}, result.failed)
    assert.are.same({}, result.missing)
  end)

  it("are the same for the same seed", function()
    local first = shellgen.new(7, { dialect = "bash" }):script()
    assert.are.equal(first, (shellgen.new(7, { dialect = "bash" }):script()))
    assert.are_not.equal(first, (shellgen.new(8, { dialect = "bash" }):script()))
  end)
end)

describe("damaged scripts", function()
  local PIECES = {
    "'", '"', "\\", "`", "$", "$(", ")", "(", "{", "}", "\n", "\\\n", ";", "&", "|", "<<E1",
    "\nE1\n", ">", "#", " ", "=", "~", "*", "[", "if ", "then ", "fi", "do ", "done", "case ",
    "esac", ";;",
    "$'", "${x:-", "$((", "))", "[[ ", " ]]", "eval ", "\r", "\0", "\1", "&&", "&>", "<(", "<<<",
    "{fd}>", "alias p=q\n", "IFS=o;", "$@", "exec ", "trap ", "((", "function f ", "coproc ", "!",
  }

  local function damage(text, random)
    for _ = 1, random(4) do
      local at, way = random(#text + 1), random(4)
      if way == 1 then
        text = text:sub(1, at - 1) .. text:sub(at + random(5))
      elseif way == 2 then
        local from = random(#text + 1)
        text = text:sub(1, at - 1) .. text:sub(from, from + random(20)) .. text:sub(at)
      else
        text = text:sub(1, at - 1) .. PIECES[random(#PIECES)] .. text:sub(at)
      end
    end
    return text
  end

  it("never make the reader fail or take long: 4,000", function()
    local failed, longest = {}, 0
    for seed = 1, 4000 do
      local generator = shellgen.new(seed, { dialect = seed % 2 == 0 and "bash" or "posix" })
      local text = damage(generator:script(), function(n) return generator:int(n) end)
      local start = os.clock()
      local got = readings.of({ command = "sh", args = { "-c", text } })
      longest = math.max(longest, os.clock() - start)
      for _, problem in ipairs(got.problems) do
        if problem.kind == "internal" then
          failed[#failed + 1] = seed .. ": " .. problem.what
        end
      end
    end
    assert.are.same({}, failed)
    assert.is_true(longest < 2, "took " .. longest .. " s")
  end)
end)
