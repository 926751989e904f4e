-- SPDX-License-Identifier: MIT
-- An agent: a model asks for tools, the sandbox runs them, until the model is done.
--
-- The model here is a recording (examples/agent/site.json) that makes the slips real ones make: a
-- shell line for a command, a wrong input name, a server on 127.0.0.1, and an `rm` that its policy
-- does not allow. Each answer tells it what to do instead.
--
--     lua5.4 examples/06-agent-loop.lua
--
-- examples/agent/transcript.txt is what it prints.
local sandbox = require("anvia.sandbox")

local here = arg and arg[0]:match("^(.*/)") or "./"
local model = dofile(here .. "agent/model.lua")

local function read(path)
  local file = assert(io.open(path, "rb"))
  local data = file:read("*a")
  file:close()
  return data
end

-- One line a call, and its result below it, moved in.
local function show(call, result)
  local input = sandbox.json.encode(call.input)
  if #input > 160 then
    input = input:sub(1, 160) .. " ..."
  end
  print("> " .. call.name .. " " .. input)
  local mark = result.is_error and "  ! " or "  "
  for line in (result.content:gsub("\n+$", "") .. "\n"):gmatch("(.-)\n") do
    print(line == "" and "" or mark .. line)
  end
end

local function run(ask, tools, task)
  local messages = { { role = "user", content = task } }
  print("user: " .. task)
  while true do
    local message = ask(messages, tools:anthropic())
    messages[#messages + 1] = { role = "assistant", content = message.content }
    local results = {}
    for _, block in ipairs(message.content) do
      if block.type == "text" then
        print("\nmodel: " .. block.text)
      else
        results[#results + 1] = tools:call(block)
        show(block, results[#results])
      end
    end
    if message.stop_reason ~= "tool_use" then
      return messages
    end
    messages[#messages + 1] = { role = "user", content = results }
  end
end

local python = sandbox.python({
  image = os.getenv("ANVIA_SANDBOX_IMAGE"),
  network = true,
})

local session = assert(python:create_session({
  ports = { 8000 },
  manifest = {
    files = {
      ["pages/index.txt"] = "Welcome\nA site that an agent has built.\n",
      ["pages/about.txt"] = "About\nNothing here is real, but all of it ran.\n",
    },
  },
}))

local tools = assert(sandbox.tools(session, {
  allow = {
    "exec_command", "read_file", "write_file", "list_files", "list_ports", "start_process",
    "list_processes", "read_process_logs", "stop_process", "wait_for_port",
  },
  exec = { blocked_commands = { "rm" }, max_timeout_ms = 60000 },
}))

local recording = sandbox.json.decode(read(here .. "agent/site.json"))
local done, err = pcall(run, model.play(recording), tools, recording.task)
assert(session:destroy())
assert(done, err)
