-- SPDX-License-Identifier: MIT
-- A server in the sandbox, reached from this machine through a published port.
--
--     lua5.4 examples/03-server-and-port.lua

local sandbox = require("anvia.sandbox")

local box = sandbox.python({ image = os.getenv("ANVIA_SANDBOX_IMAGE"), network = true })
local session = assert(box:create_session({
  ports = { 8000 },
  manifest = { files = { ["site/index.html"] = "<h1>hello from the sandbox</h1>\n" } },
}))

local server = assert(session:start_process({
  command = "python3",
  args = { "-u", "-m", "http.server", "8000", "--directory", "site" },
}))
print("process " .. server.id .. " is " .. server.status)

-- Ready means that the published port really reaches a listener, not only that the
-- engine's proxy accepts connections.
local port = assert(session:wait_for_port(8000, { timeout_ms = 15000 }))
local url = string.format("http://%s:%d/", port.host, port.host_port)
local pipe = assert(io.popen("curl -sS --max-time 10 " .. url))
io.write("fetched: ", pipe:read("*a"))
pipe:close()

local logs = assert(session:read_process_logs(server.id, { tail_bytes = 4096 }))
local line = (logs.stdout .. logs.stderr):match('"GET[^\n]*')
print("its log: " .. (line or "nothing yet"))

local stopped = assert(session:stop_process(server.id))
print("process " .. stopped.id .. " is " .. stopped.status)

assert(session:destroy())
