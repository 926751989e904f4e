-- SPDX-License-Identifier: MIT
-- Several sessions at the same time, in tasks; one is given up.
--
--     lua5.4 examples/04-concurrent-sessions.lua

local sandbox = require("anvia.sandbox")

local box = sandbox.python({ image = os.getenv("ANVIA_SANDBOX_IMAGE") })

-- Each task has a session of its own. In a task, a method that waits lets others run.
local function count_primes(limit)
  local session, err = box:create_session({ metadata = { limit = tostring(limit) } })
  if not session then
    return nil, err
  end
  local result
  result, err = session:exec({
    command = "python3",
    args = { "-c", "import sys\n"
      .. "n = int(sys.argv[1])\n"
      .. "print(sum(all(i % d for d in range(2, int(i ** .5) + 1)) for i in range(2, n)))",
      tostring(limit) },
  })
  assert(session:destroy())
  return result and tonumber(result.stdout), err
end

local began = sandbox.now_ms()
local limits, tasks = { 100, 1000, 10000 }, {}
for i, limit in ipairs(limits) do
  tasks[i] = function()
    return count_primes(limit)
  end
end
local counts, errs = sandbox.all(tasks)
for i, limit in ipairs(limits) do
  assert(counts[i], errs and errs[i])
  print(string.format("%d primes below %d", counts[i], limit))
end
io.stderr:write(string.format("in %d ms\n", sandbox.now_ms() - began))

-- A cancel token ends a call early, with everything that its command has started.
local session = assert(box:create_session())
local token = sandbox.cancel_token()
sandbox.spawn(function()
  sandbox.sleep(300)
  token:cancel("took too long")
end)
local result = assert(session:exec({ command = "sleep", args = { "60" }, cancel = token }))
print("cancelled: " .. tostring(result.cancelled) .. ", " .. token.reason)
assert(session:destroy())
