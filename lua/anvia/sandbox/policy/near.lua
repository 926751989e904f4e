-- SPDX-License-Identifier: MIT
-- Which known word somebody meant. Runs outside and inside the box, so it requires nothing.

local near = {}

local MAX_WORD = 40

-- The number of letters to change, with two neighbours in the wrong order as one change.
function near.distance(a, b)
  local before, previous = nil, {}
  for j = 0, #b do previous[j] = j end
  for i = 1, #a do
    local current = { [0] = i }
    for j = 1, #b do
      local same = a:byte(i) == b:byte(j)
      local changed = previous[j - 1] + (same and 0 or 1)
      local best = math.min(previous[j] + 1, current[j - 1] + 1, changed)
      if before and j > 1 and a:byte(i) == b:byte(j - 1) and a:byte(i - 1) == b:byte(j) then
        best = math.min(best, before[j - 2] + 1)
      end
      current[j] = best
    end
    before, previous = previous, current
  end
  return previous[#b]
end

--- ", did you mean 'command'?", or "" when nothing is close.
function near.suggest(word, words)
  if #word > MAX_WORD then return "" end
  local best, least = nil, nil
  for _, candidate in ipairs(words) do
    local distance = near.distance(word:lower(), candidate)
    local close = distance <= math.max(1, math.floor(#candidate / 3))
    if close and (not least or distance < least or (distance == least and candidate < best)) then
      best, least = candidate, distance
    end
  end
  return best and ", did you mean '" .. best .. "'?" or ""
end

return near
