-- SPDX-License-Identifier: MIT
-- measure.lua - samples, their median and 95th percentile, and the table they end in.

local native = require("spec.bench.runner.native")

local M = {}

M.now_us = native.now_us

-- For a first look: a tenth of the rounds.
local FACTOR = os.getenv("QUICK") and 0.1 or 1

function M.rounds(count)
  return math.max(3, math.floor(count * FACTOR))
end

local function at(sorted, part)
  return sorted[math.max(1, math.ceil(#sorted * part))]
end

--- {median, p95, count} of a list of milliseconds.
function M.stats(list)
  local sorted = table.move(list, 1, #list, 1, {})
  table.sort(sorted)
  return { median = at(sorted, 0.5), p95 = at(sorted, 0.95), count = #sorted }
end

--- Milliseconds that fn takes; what it returns behind it.
function M.time(fn, ...)
  local start = native.now_us()
  local value = fn(...)
  return (native.now_us() - start) / 1000, value
end

--- Runs the functions of `by_name` in turn, `count` times, so that the machine's moods hit
--- all of them: {name = stats}. A function may return its own milliseconds.
function M.in_turn(count, by_name)
  local names, times = {}, {}
  for name in pairs(by_name) do
    names[#names + 1] = name
    times[name] = {}
  end
  table.sort(names)
  for _ = 1, 3 do -- what comes first pays for others
    for _, name in ipairs(names) do
      by_name[name]()
    end
  end
  for i = 1, M.rounds(count) do
    for _, name in ipairs(names) do
      local took, own = M.time(by_name[name], i)
      times[name][i] = type(own) == "number" and own or took
    end
  end
  local result = {}
  for _, name in ipairs(names) do
    result[name] = M.stats(times[name])
  end
  return result
end

local COLUMNS = { "figure", "supervisor", "floor", "docker exec", "runner exec", "limit", "met" }
local rows = {}
local missed = 0

local function pair(stats)
  if type(stats) == "table" then
    local format = stats.median < 10 and "%.2f / %.2f" or "%.1f / %.1f"
    return format:format(stats.median, stats.p95)
  end
  return stats and tostring(stats) or ""
end

--- One line of the table. `checks` are {text, value, limit}: the value must not be above.
--- Everything else is stats, or text.
function M.row(row)
  local limits, met = {}, true
  for _, check in ipairs(row.checks or {}) do
    limits[#limits + 1] = string.format("%s: %.2f of %.2f", check[1], check[2], check[3])
    met = met and check[2] <= check[3]
  end
  if not met then
    missed = missed + 1
  end
  rows[#rows + 1] = { row.figure, pair(row.supervisor), pair(row.floor), pair(row.docker),
    pair(row.exec), table.concat(limits, "; "), row.checks and (met and "yes" or "NO") or "" }
  io.stderr:write(table.concat(rows[#rows], " | "), "\n")
end

--- Prints the table; returns how many limits were missed.
function M.print()
  local widths = {}
  for i, title in ipairs(COLUMNS) do
    widths[i] = #title
    for _, row in ipairs(rows) do
      widths[i] = math.max(widths[i], #row[i])
    end
  end
  local function line(cells)
    local parts = {}
    for i, cell in ipairs(cells) do
      parts[i] = cell .. (" "):rep(widths[i] - #cell)
    end
    print((table.concat(parts, "  "):gsub("%s+$", "")))
  end
  line(COLUMNS)
  for _, row in ipairs(rows) do
    line(row)
  end
  return missed
end

return M
