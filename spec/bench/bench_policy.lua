-- SPDX-License-Identifier: MIT
-- How long a policy takes to answer. Run from the top of the tree:
--
--   LUA_PATH="lua/?.lua;lua/?/init.lua;;" LUA_CPATH="build/release/lua/?.so;;" \
--     lua5.4 spec/bench/bench_policy.lua
--
-- The targets: an ordinary call against 200 rules in under 200 microseconds, and a cost that grows
-- in proportion to the length of a script up to 64 KiB.

local sandbox_policy = require("anvia.sandbox.policy")

local function rules_text(count)
  local lines = { "default { exec = \"ask\", read = \"allow\", write = \"ask\" }" }
  local words = { "allow", "ask", "deny" }
  local programs = { "git", "npm", "cargo", "kubectl", "docker", "make", "rm", "curl" }
  local i = 0
  while #lines < count do
    i = i + 1
    local word = words[i % 3 + 1]
    local kind = i % 10
    if kind < 6 then
      lines[#lines + 1] = ("%s { exec = { %q, any { \"sub%d\", \"other%d\" } } }"):format(word,
        programs[i % #programs + 1], i, i)
    elseif kind < 8 then
      lines[#lines + 1] = ("%s { exec = \"tool%d --flag%d x*\" }"):format(word, i, i)
    elseif kind == 8 then
      lines[#lines + 1] = ("%s { write = \"dir%d/**/*.gen%d\" }"):format(word, i, i)
    else
      lines[#lines + 1] = ("%s { env = \"VAR%d_*\" }"):format(word, i)
    end
  end
  lines[#lines + 1] = "allow { exec = { \"git\", any { \"status\", \"diff\", \"log\" } } }"
  lines[#lines + 1] = "allow { exec = \"sh -c\" }"
  return table.concat(lines, "\n")
end

local function median(values)
  table.sort(values)
  return values[math.floor(#values / 2) + 1]
end

local function measure(f, rounds)
  local values = {}
  for _ = 1, 15 do
    local start = os.clock()
    for _ = 1, rounds do f() end
    values[#values + 1] = (os.clock() - start) / rounds * 1e6
  end
  return median(values)
end

local function judge(policy, state, call)
  return function() return policy:judge(call, state) end
end

local policy = assert(select(1, sandbox_policy.load(rules_text(200), { name = "bench.lua" })))
assert(not policy.error, tostring(policy.error))
local state = policy:session_state { workdir = "/workspace" }

local CALLS = {
  { "git status -s (argv)", { tool = "exec_command", command = "git",
    args = { "status", "-s" } } },
  { "cargo test --all (argv)", { tool = "exec_command", command = "cargo",
    args = { "test", "--all" } } },
  { "sh -c 'cd x && git diff | head'", { tool = "exec_command", command = "sh",
    args = { "-c", "cd src && git diff --stat | head -20 2>/dev/null" } } },
  { "write_file src/a.lua", { tool = "write_file", path = "src/a.lua", content = "x" } },
}

print("against 200 rules, microseconds a call")
for _, case in ipairs(CALLS) do
  print(("  %-34s %8.1f"):format(case[1], measure(judge(policy, state, case[2]), 200)))
end

print("by length of a script")
local line = "git log --oneline -- src/file.lua > out.txt && echo done\n"
for _, kib in ipairs { 1, 4, 16, 64 } do
  local script = line:rep(math.floor(kib * 1024 / #line))
  local call = { tool = "exec_command", command = "sh", args = { "-c", script } }
  local rounds = math.max(1, math.floor(32 / kib))
  local us = measure(judge(policy, state, call), rounds)
  print(("  %3d KiB %12.1f us %10.1f us/KiB"):format(kib, us, us / kib))
end

local watched = sandbox_policy.load("rule(\"r\", function(call) return nil end)\n"
  .. rules_text(200), { name = "bench.lua" })
print("with one predicate")
print(("  %-34s %8.1f"):format(CALLS[1][1], measure(judge(watched, state, CALLS[1][2]), 200)))

local start = os.clock()
for _ = 1, 20 do sandbox_policy.load(rules_text(200), { name = "bench.lua" }) end
print(("loading 200 rules: %.1f ms"):format((os.clock() - start) / 20 * 1e3))
