-- SPDX-License-Identifier: MIT
-- Commands: their output, their exit code, a time-out, a stream.
--
--     lua5.4 examples/01-exec.lua

local sandbox = require("anvia.sandbox")

local box = sandbox.python({ image = os.getenv("ANVIA_SANDBOX_IMAGE") })
local session = assert(box:create_session())

-- A non-zero exit code is a result, not an error.
local result = assert(session:exec({
  command = "python3",
  args = { "-c", "import sys; print(6 * 7); sys.exit(3)" },
}))
print("printed " .. result.stdout:gsub("\n", "") .. ", exit code " .. result.exit_code)

-- Environment and input never show on the host's command lines.
result = assert(session:exec({
  command = "sh",
  args = { "-c", 'read line; echo "$GREETING, $line"' },
  env = { GREETING = "hello" },
  input = "world\n",
}))
io.write(result.stdout)

-- At a time-out everything that the command has started is dead, and what was printed
-- so far is there.
result = assert(session:exec({
  command = "sh",
  args = { "-c", "echo started; sleep 60" },
  timeout_ms = 2000,
}))
print("timed out: " .. tostring(result.timed_out) .. ", after " .. result.stdout:gsub("\n", ""))

-- Output as it comes. Leaving the loop early would end the command.
for event in assert(session:exec_stream({
  command = "sh",
  args = { "-c", "for i in 1 2 3; do echo line $i; sleep 0.2; done; exit 4" },
})) do
  if event.type == "exit" then
    print("exit code " .. event.result.exit_code)
  else
    io.write(event.type, ": ", event.data)
  end
end

-- What cannot run is an error.
local none, err = session:exec({ command = "no-such-program" })
print(none, err.code, err.message)

assert(session:destroy())
