-- SPDX-License-Identifier: MIT
-- demo.lua - a Python web project in a sandbox: its tests run, its server is started,
-- reached from this machine, and stopped; nothing is left. Each step prints what it did
-- and how long it took. ANVIA_SANDBOX_IMAGE names an image with python3.

local sandbox = require("anvia.sandbox")

local IMAGE = os.getenv("ANVIA_SANDBOX_IMAGE") or "python:3.13-bookworm"
local HERE = arg[0]:match("^(.*)/") or "."
local PORT = 8000

local function read_here(name)
  local file = assert(io.open(HERE .. "/project/" .. name, "rb"))
  local data = file:read("*a")
  file:close()
  return data
end

local function say(text)
  for line in text:gmatch("[^\n]+") do
    print("            | " .. line)
  end
end

-- Runs one step, which returns a sentence about itself, and prints its time.
local function step(title, run)
  local began = sandbox.now_ms()
  local told = run()
  print(string.format("%8d ms  %s%s", sandbox.now_ms() - began, title, told and ": " .. told or ""))
end

-- From outside the sandbox, as any program on this machine would.
local function fetch(url)
  local pipe = assert(io.popen("curl -sS --max-time 10 " .. url))
  local body = pipe:read("*a")
  assert(pipe:close(), "curl failed")
  return body
end

local session, server, port

local function create()
  local box = sandbox.docker({ image = IMAGE, network = true })
  session = assert(box:create_session({
    ports = { PORT },
    manifest = {
      directories = { "logs" },
      files = {
        ["notes.py"] = read_here("notes.py"),
        ["test_notes.py"] = read_here("test_notes.py"),
        ["server.py"] = read_here("server.py"),
      },
    },
  }))
  return session.id
end

-- Output comes in pieces of any size; this shows it line by line.
local function line_printer()
  local rest = ""
  return function(data)
    rest = (rest .. data):gsub("([^\n]*)\n", function(line)
      print("            | " .. line)
      return ""
    end)
  end
end

local function run_tests()
  local result
  local show = line_printer()
  local tests = { command = "python3", args = { "-m", "unittest", "-v" } }
  for event in assert(session:exec_stream(tests)) do
    if event.type == "exit" then
      result = event.result
    else
      show(event.data)
    end
  end
  assert(result and result.exit_code == 0, "the tests of the project failed")
  return "exit code 0"
end

local function start_server()
  server = assert(session:start_process({
    command = "python3",
    args = { "server.py", tostring(PORT) },
  }))
  port = assert(session:wait_for_port(PORT, { timeout_ms = 10000 }))
  return string.format("process %s is ready on %s:%d", server.id, port.host, port.host_port)
end

local function fetch_page()
  local body = fetch(string.format("http://%s:%d/", port.host, port.host_port))
  assert(body:find("bread &amp; butter", 1, true), "not the page of the project")
  say(body)
  return #body .. " bytes"
end

local function read_log()
  local logs = assert(session:read_process_logs(server.id, { tail_bytes = 200 }))
  assert(logs.stderr:find("GET / HTTP", 1, true), "the request is not in the log")
  say(logs.stdout .. logs.stderr)
end

local function write_and_list()
  assert(session:write_file("logs/visit.txt", "one visitor\n"))
  assert(session:read_file("logs/visit.txt") == "one visitor\n")
  for _, entry in ipairs(assert(session:list_files("."))) do
    say(string.format("%-10s %6d  %s", entry.type, entry.size or 0, entry.path))
  end
end

local function stop_server()
  local info = assert(session:stop_process(server.id))
  return string.format("%s, exit code %s", info.status, tostring(info.exit_code))
end

local function destroy()
  assert(session:destroy())
  return "container and workspace are gone"
end

print("sandbox " .. sandbox._VERSION .. ", image " .. IMAGE)
local began = sandbox.now_ms()
step("create a session with the project", create)
step("run its unit tests, streamed", run_tests)
step("start its server", start_server)
step("fetch the page from this machine", fetch_page)
step("read the tail of its log", read_log)
step("write a file, read it, list", write_and_list)
step("stop the server", stop_server)
step("destroy the session", destroy)
print(string.format("%8d ms  in all", sandbox.now_ms() - began))
