-- SPDX-License-Identifier: MIT
-- files.lua - figures of files.

local measure = require("spec.bench.runner.measure")
local floors = require("spec.bench.runner.floor")
local outside = require("spec.support.outside")

local M = {}

local KIB, MIB = 1024, 1024 * 1024

local function calls(session)
  local small, large = ("s"):rep(KIB), ("l"):rep(10 * MIB)
  return {
    read = function() assert(#assert(session:read_file("small")) == KIB) end,
    write = function() assert(session:write_file("written", small)) end,
    list = function() assert(#assert(session:list_files("many")) == 1000) end,
    read_large = function() assert(#assert(session:read_file("large")) == 10 * MIB) end,
    write_large = function() assert(session:write_file("large", large)) end,
  }
end

local function furnish(session)
  assert(session:write_file("small", ("s"):rep(KIB)))
  assert(session:write_file("large", ("l"):rep(10 * MIB)))
  assert(session:exec({ command = "sh",
    args = { "-c", "mkdir many; cd many; for i in $(seq 1000); do : >file$i; done" } }))
end

local function docker(session, command)
  local name = "anvia-sandbox-" .. session.id
  return function()
    local said, ok = outside.sh(command:gsub("NAME", name))
    assert(ok, said)
  end
end

--- Measures in sessions of both runners.
function M.run(supervised, portable)
  furnish(supervised)
  furnish(portable)
  local floor = floors.open(supervised)
  local ours, theirs = calls(supervised), calls(portable)
  local input = os.tmpname()
  outside.sh("head -c 10485760 /dev/zero >" .. input)
  local fast = measure.in_turn(300, { f0 = floor.f0, read = ours.read, write = ours.write,
    list = ours.list })
  local large = measure.in_turn(30, { read = ours.read_large, write = ours.write_large })
  floor.close()
  local slow = measure.in_turn(12, theirs)
  local engine = measure.in_turn(12, {
    read = docker(supervised, "docker exec NAME cat small >/dev/null"),
    write = docker(supervised, "head -c 1024 " .. input
      .. " | docker exec -i NAME sh -c 'cat >t && mv t written'"),
    list = docker(supervised, "docker exec NAME ls -l many >/dev/null"),
    read_large = docker(supervised, "docker exec NAME cat large >/dev/null"),
    write_large = docker(supervised, "docker exec -i NAME sh -c 'cat >t && mv t other' <" .. input),
  })
  os.remove(input)

  local f0 = fast.f0.median
  for _, row in ipairs({
    { "read_file of 1 KiB", "read", 2 },
    { "write_file of 1 KiB", "write", 4 },
    { "list_files of 1,000 entries", "list", 15 },
  }) do
    local figure, name, times = row[1], row[2], row[3]
    measure.row({ figure = figure, supervisor = fast[name], floor = fast.f0,
      docker = engine[name], exec = slow[name], checks = {
        { "median / F0", fast[name].median / f0, times },
      } })
  end
  for _, name in ipairs({ "read", "write" }) do
    measure.row({ figure = name .. "_file of 10 MiB", supervisor = large[name],
      docker = engine[name .. "_large"], exec = slow[name .. "_large"], checks = {
        { "median, ms", large[name].median, 60 },
      } })
  end
end

return M
