-- SPDX-License-Identifier: MIT
-- text_page.lua - cuts one page of whole lines out of the bytes that begin there.
--
-- A page is bytes as they are in the file: line ends are kept, "\r\n" too, and
-- the pages of a file put together are the file. It ends after `line_count` lines,
-- or before the line that would make it longer than `max_bytes`.
--
-- Only when a single line is longer than that is it cut, in front of a UTF-8
-- character. Then `next_start_byte` tells how to get on in that line: ask for
-- {start_line = page.end_line, start_byte = page.next_start_byte}.
-- `next_start_line` is the line after it, so who only looks at that skips the rest
-- of a long line and never loops. A max_bytes of 4 or more always gets on; with
-- less a page may be empty, because a character does not fit.

local options = require("anvia.sandbox.options")

local M = {}

---@class anvia.sandbox.TextPageOptions
---@field start_line integer?  [1]
---@field start_byte integer?  bytes of that line to skip [0]
---@field line_count integer?  [500]
---@field max_bytes integer?   [65536]

---@class anvia.sandbox.TextPage
---@field content string
---@field start_line integer
---@field end_line integer         start_line - 1 when the page is empty
---@field next_start_line integer? where the next page begins, if there may be one
---@field next_start_byte integer? where the cut line goes on
---@field truncated boolean        is there a next page?
---@field truncated_by "lines" | "bytes" | nil

-- The limits are those of 32-bit counters in the tools.
local MAX_INTEGER = 2 ^ 31 - 2

M.OPTIONS = options.record({
  start_line = { options.integer(1, MAX_INTEGER), default = 1 },
  start_byte = { options.integer(0, MAX_INTEGER), default = 0 },
  line_count = { options.integer(1, MAX_INTEGER), default = 500 },
  max_bytes = { options.integer(1, 2 ^ 30), default = 65536 },
})

-- So many bytes beyond the page are fetched, to see whether there is more and
-- what the character is that the cut would go through.
M.LOOK_AHEAD = 4

-- The length of the UTF-8 sequence that a byte leads, or nil.
local function sequence_length(byte)
  if byte >= 0xC2 and byte <= 0xDF then
    return 2
  elseif byte >= 0xE0 and byte <= 0xEF then
    return 3
  elseif byte >= 0xF0 and byte <= 0xF4 then
    return 4
  end
end

-- How many of the first `size` bytes to keep so that no character is split. What
-- is not UTF-8 is cut anywhere.
local function cut_size(data, size)
  for back = 0, math.min(2, size - 1) do
    local first = size - back
    local length = sequence_length(data:byte(first))
    if length then
      local whole = data:sub(first + 1, first + length - 1)
      if first + length - 1 > size and #whole == length - 1 and not whole:find("[^\128-\191]") then
        return first - 1
      end
      return size
    elseif data:byte(first) < 0x80 or data:byte(first) > 0xBF then
      return size
    end
  end
  return size
end

--- Cuts a page out of `data`, which begins at opts.start_line and start_byte and
--- has at most max_bytes + LOOK_AHEAD bytes, or at most line_count + 1 lines, or
--- ends where the file ends.
---@param data string
---@param opts {start_line: integer, start_byte: integer, line_count: integer, max_bytes: integer}
---@return anvia.sandbox.TextPage
function M.cut(data, opts)
  local taken, lines, why, next_byte = 0, 0, nil, nil
  while taken < #data do
    if lines == opts.line_count then
      why = "lines"
      break
    end
    local stop = data:find("\n", taken + 1, true) or #data
    if stop > opts.max_bytes then
      why = "bytes"
      if lines == 0 then
        taken, lines = cut_size(data, opts.max_bytes), 1
        next_byte = opts.start_byte + taken
      end
      break
    end
    taken, lines = stop, lines + 1
  end
  return {
    content = data:sub(1, taken),
    start_line = opts.start_line,
    end_line = opts.start_line + lines - 1,
    next_start_line = why and opts.start_line + lines or nil,
    next_start_byte = next_byte,
    truncated = why ~= nil,
    truncated_by = why,
  }
end

return M
