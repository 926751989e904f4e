-- SPDX-License-Identifier: MIT
-- Runs inside the box: the basic functions, tables and numbers that policies get.
--
-- No metatables, so tables are always raw here, and the C functions below take time in proportion
-- to what the memory budget allows. What is missing is missing on purpose: no loaders, no
-- coroutines (they would need a hook each), no randomness (the same call gets the same answer).

local env = ...

for _, name in ipairs {
  "assert", "error", "ipairs", "next", "pairs", "pcall", "select", "tonumber", "tostring", "type",
} do
  env[name] = _G[name]
end

env.table = {}
for _, name in ipairs { "concat", "insert", "pack", "remove", "unpack" } do
  env.table[name] = table[name]
end

-- Compares through a Lua function: one in C would never meet the instruction hook.
function env.table.sort(list, before)
  if before ~= nil and type(before) ~= "function" then
    error("bad argument #2 to 'sort' (function expected, got " .. type(before) .. ")", 2)
  end
  table.sort(list, before and function(a, b) return before(a, b) end
    or function(a, b) return a < b end)
end

env.math, env.utf8 = {}, {}
for name, value in pairs(math) do
  if name ~= "random" and name ~= "randomseed" then env.math[name] = value end
end
for name, value in pairs(utf8) do env.utf8[name] = value end
