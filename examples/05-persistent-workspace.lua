-- SPDX-License-Identifier: MIT
-- A workspace that outlives its sessions.
--
--     lua5.4 examples/05-persistent-workspace.lua

local sandbox = require("anvia.sandbox")

local box = sandbox.docker({ image = os.getenv("ANVIA_SANDBOX_IMAGE") })
local id = "example-" .. string.format("%d", sandbox.now_ms())

-- The first session leaves a file behind.
local first = assert(box:create_session({ workspace = { mode = "persistent", id = id } }))
assert(first:write_file("notes/today.txt", "remember the milk\n"))
assert(first:destroy())
print("the first session is gone")

-- Another one, maybe of another program, finds it. This one takes the workspace along
-- when it ends.
local second = assert(box:create_session({
  workspace = { mode = "persistent", id = id, destroy_on_session_destroy = true },
}))
io.write("the second one reads: ", assert(second:read_file("notes/today.txt")))

for _, row in ipairs(assert(box:list())) do
  if row.id == second.id then
    print("listed with a " .. row.workspace.mode .. " workspace, its owner is " .. row.owner.state)
  end
end

assert(second:destroy())

-- A new session with the same workspace id starts empty.
local third = assert(box:create_session({
  workspace = { mode = "persistent", id = id, destroy_on_session_destroy = true },
}))
print("files in the third one: " .. #assert(third:list_files(".")))
assert(third:destroy())
