-- SPDX-License-Identifier: MIT
-- What must hold for any policies and any calls, tried on random ones. The seed is fixed.
local policy = require("anvia.sandbox.policy")

local RANK = { allow = 1, ask = 2, deny = 3 }

local random
do
  local state = 20240229
  function random(n)
    state = (state * 1103515245 + 12345) % 2147483648
    return math.floor(state / 65536) % n + 1
  end
end

local function pick(list) return list[random(#list)] end

local ANSWERS = { "allow", "ask", "deny" }
local SUBJECTS = {
  "exec = \"git\"", "exec = \"git push\"", "exec = { \"git\", any { \"log\", \"push\" } }",
  "exec = \"ls\"", "exec = only \"ls\"", "exec = \"*\"", "exec = { \"rm\", \"-f\" }",
  "exec = \"sh -c\"", "exec = \"env\"", "write = \"src/**\"", "write = \"**\"", "read = \"*.env\"",
  "env = \"A*\"", "env = \"PATH\"", "pipe = \"* | sh\"",
  "exec = \"git\", except = \"git push\"", "write = \"**\", except = \"src/**\"",
  "exec = \"ls\", cwd = \"src\"",
}

local function rules(count)
  local lines = {}
  for i = 1, count do lines[i] = pick(ANSWERS) .. " { " .. pick(SUBJECTS) .. " }" end
  return lines
end

local function defaults()
  return ("default { exec = %q, read = %q, write = %q, list = %q, env = %q, risky_env = %q, "
    .. "port = %q, tool = %q, unparsed = %q }"):format(pick(ANSWERS), pick(ANSWERS), pick(ANSWERS),
    pick(ANSWERS), pick(ANSWERS), pick(ANSWERS), pick(ANSWERS), pick(ANSWERS), pick(ANSWERS))
end

local function load_lines(lines)
  local made, err = policy.load(table.concat(lines, "\n"), { text = true })
  assert.is_nil(err)
  return made
end

local PIECES = { "ls", "git push", "git log", "git -C x push", "rm -f x", "env A=1 ls",
  "echo x > src/a", "cat .env", "PATH=/x ls", "$X", "git $X", "cd src && ls", "(ls)",
  "echo $(git push)", "foo" }
local JOINTS = { "; ", " && ", " | ", " || ", "\n", " & " }

local function script()
  local parts = { pick(PIECES) }
  for _ = 1, random(3) - 1 do
    parts[#parts + 1] = pick(JOINTS)
    parts[#parts + 1] = pick(PIECES)
  end
  return { tool = "exec_command", command = "sh", args = { "-c", table.concat(parts) } }
end

local function rank(made, call)
  return RANK[made:judge(call).answer]
end

local function shuffled(list)
  local copy = {}
  for i, item in ipairs(list) do copy[i] = item end
  for i = #copy, 2, -1 do
    local j = random(i)
    copy[i], copy[j] = copy[j], copy[i]
  end
  return copy
end

describe("for random policies and calls,", function()
  it("a stack is at least as strict as each layer that has its defaults", function()
    for _ = 1, 150 do
      local a, b = rules(4), rules(4)
      a[#a + 1], b[#b + 1] = defaults(), defaults()
      local one, two = load_lines(a), load_lines(b)
      local both, other = policy.stack { one, two }, policy.stack { two, one }
      for _ = 1, 10 do
        local call = script()
        local strict = math.max(rank(one, call), rank(two, call))
        assert.is_true(rank(both, call) >= strict, table.concat(a, "\n") .. "\n--\n"
          .. table.concat(b, "\n") .. "\n--\n" .. call.args[2])
        assert.equal(rank(both, call), rank(other, call))
      end
    end
  end)

  it("a policy with itself answers the same", function()
    for _ = 1, 100 do
      local lines = rules(6)
      local made = load_lines(lines)
      local twice = policy.stack { made, load_lines(lines) }
      for _ = 1, 5 do
        local call = script()
        assert.equal(rank(made, call), rank(twice, call))
      end
    end
  end)

  it("the order of rules does not matter", function()
    for _ = 1, 100 do
      local lines = rules(6)
      local made, other = load_lines(lines), load_lines(shuffled(lines))
      for _ = 1, 10 do
        local call = script()
        assert.equal(rank(made, call), rank(other, call))
      end
    end
  end)

  it("one more deny or ask never loosens an answer a default or a rule gave", function()
    for _ = 1, 150 do
      local lines = rules(5)
      lines[#lines + 1] = defaults()
      local made = load_lines(lines)
      local more = { ("%s { %s }"):format(pick { "ask", "deny" }, pick(SUBJECTS)) }
      local stricter = policy.stack { made, load_lines(more) }
      for _ = 1, 10 do
        local call = script()
        assert.is_true(rank(stricter, call) >= rank(made, call))
      end
    end
  end)

  it("one more command never loosens the answer", function()
    for _ = 1, 150 do
      local lines = rules(6)
      lines[#lines + 1] = defaults()
      local made = load_lines(lines)
      for _ = 1, 10 do
        local call = script()
        local longer = { tool = "exec_command", command = "sh",
          args = { "-c", call.args[2] .. "\n" .. pick(PIECES) } }
        assert.is_true(rank(made, longer) >= rank(made, call), table.concat(lines, "\n") .. "\n--\n"
          .. longer.args[2])
      end
    end
  end)

  it("nothing that a model sends raises", function()
    local made = load_lines { "deny { exec = { \"git\", \"push\", \"-f\" } }",
      "deny { pipe = \"curl | sh\" }", "deny { write = \"**/.env\" }", "deny { env = \"LD_*\" }",
      "allow { exec = { \"git\", any { \"log\", \"show\" } } }",
      "rule(\"r\", function(call) call:runs(\"x\") call:writes(\"**\") end)", "default \"ask\"" }
    local BYTES = { "git", "push", " ", "-f", "--", "=", "'", "\"", "\\", "$", "`", "(", ")", "{",
      "}", "|", "&", ";", "<", ">", "\n", "\r", "\t", "*", "?", "[", "]", "~", "#", "!", "\255",
      "\194\160", "<<E", "if", "then", "fi", "$(", "${", "A=", "%", "\1", "/", "..", "sh", "-c",
      "xargs", "env" }
    for _ = 1, 1500 do
      local words = {}
      for i = 1, random(12) do words[i] = pick(BYTES) end
      local text = table.concat(words)
      local call = pick {
        { tool = "exec_command", command = "sh", args = { "-c", text } },
        { tool = "exec_command", command = text, args = words },
        { tool = "exec_command", command = "sh", input = text },
        { tool = "start_process", command = "env", args = words },
        { tool = "write_file", path = text, content = text },
        { tool = "exec_command", command = "git", args = words, cwd = text },
      }
      local verdict = made:judge(call)
      assert.is_truthy(RANK[verdict.answer])
      assert.equal("string", type(verdict.text))
      assert.equal("string", type((made:explain(call))))
    end
  end)
end)
