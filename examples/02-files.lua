-- SPDX-License-Identifier: MIT
-- Files: what a session starts with, writing, reading, pages, listings, refusals.
--
-- ANVIA_SANDBOX_IMAGE names another image than the preset's.

local sandbox = require("anvia.sandbox")

local box = sandbox.python({
  image = os.getenv("ANVIA_SANDBOX_IMAGE"),
  limits = { max_file_bytes = 1024 * 1024 },
  hooks = {
    on_file_write = function(event)
      print(string.format("wrote %s, %d bytes", event.path, event.size))
    end,
  },
})

local session = assert(box:create_session({
  manifest = {
    files = {
      ["bin/hello"] = { content = "#!/bin/sh\necho \"hello $1\"\n", mode = "755" },
      ["notes.txt"] = "one\ntwo\nthree\n",
    },
    directories = { "out" },
  },
}))

-- Bytes stay as they are, directories are made, and the file is there at once or
-- not at all.
assert(session:write_file("out/raw/data.bin", "a\0b\255"))
assert(#assert(session:read_file("out/raw/data.bin")) == 4)

-- Page by page: only the lines that were asked for leave the container.
local line = 1
while line do
  local page = assert(session:read_text_page("notes.txt", { start_line = line, line_count = 2 }))
  io.write(string.format("lines %d to %d: %q\n", page.start_line, page.end_line, page.content))
  line = page.next_start_line
end

-- What commands make can be listed and read, whatever it is called.
assert(session:exec({ command = "sh", args = { "-c", "bin/hello you >'odd\nname'; ln -s / all" } }))
for _, entry in ipairs(assert(session:list_files("."))) do
  print(string.format("%-9s %5d %q", entry.type, entry.size, entry.path))
end
io.write(assert(session:read_file("odd\nname")))

-- Links and dots do not lead out of the workspace.
for _, path in ipairs({ "../etc/passwd", "all/etc/passwd", "nothing", "out" }) do
  local data, err = session:read_file(path)
  assert(not data)
  print(err.code, err.message)
end

assert(session:rename("out/raw", "raw"))
assert(session:remove("raw", { recursive = true }))
assert(session:destroy())
