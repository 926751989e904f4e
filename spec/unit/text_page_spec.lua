-- SPDX-License-Identifier: MIT

local text_page = require("anvia.sandbox.text_page")

-- What the container sends for a page of `file`.
local function fetched(file, opts)
  local at = 1
  for _ = 2, opts.start_line do
    local stop = file:find("\n", at, true)
    at = stop and stop + 1 or #file + 1
  end
  local rest = file:sub(at + opts.start_byte)
  local stop = 0
  for _ = 1, opts.line_count + 1 do
    stop = rest:find("\n", stop + 1, true) or #rest
  end
  return rest:sub(1, math.min(stop, opts.max_bytes + text_page.LOOK_AHEAD))
end

local function cut(file, opts)
  opts = assert(text_page.OPTIONS(opts, ""))
  return text_page.cut(fetched(file, opts), opts)
end

describe("a text page", function()
  it("ends after the lines that were asked for", function()
    local file = "1\n2\n3\n"
    assert.equal("1\n2\n", cut(file, { line_count = 2 }).content)
    assert.equal(3, cut(file, { line_count = 2 }).next_start_line)
    assert.is_false(cut(file, { line_count = 3 }).truncated)
    assert.is_nil(cut(file, { line_count = 3 }).next_start_line)
    assert.equal("lines", cut("1\n2", { line_count = 1 }).truncated_by)
  end)

  it("ends before the line that is too much", function()
    local page = cut("12\n45\n78\n", { max_bytes = 8 })
    assert.equal("12\n45\n", page.content)
    assert.equal("bytes", page.truncated_by)
    assert.equal(3, page.next_start_line)
    assert.is_nil(page.next_start_byte)
    assert.is_false(cut("12\n45\n78\n", { max_bytes = 9 }).truncated)
    assert.is_false(cut("12\n45\n789", { max_bytes = 9 }).truncated)
    assert.equal(2, cut("12\n45\n7890", { max_bytes = 9 }).end_line)
  end)

  it("cuts a long line in front of a character, wherever the limit is (H037)", function()
    local characters = { "a", "\195\188", "\230\151\165", "\240\159\152\128" }
    for _, character in ipairs(characters) do
      for limit = 4, 40 do
        local page = cut(character:rep(50), { max_bytes = limit })
        assert.equal(character:rep(math.floor(limit / #character)), page.content)
        assert.equal("bytes", page.truncated_by)
        assert.equal(#page.content, page.next_start_byte)
        assert.equal(2, page.next_start_line)
        assert.equal(1, page.end_line)
      end
    end
    assert.equal("", cut("\230\151\165\n", { max_bytes = 2 }).content)
  end)

  it("leaves alone what is not UTF-8", function()
    for _, file in ipairs({ ("\255"):rep(20), ("\191"):rep(20), ("\230x"):rep(10),
      ("\230\151x"):rep(7), ("\240\159\152x"):rep(5), ("\192\128"):rep(10), ("\0"):rep(20) }) do
      for limit = 4, 12 do
        assert.equal(file:sub(1, limit), cut(file, { max_bytes = limit }).content)
      end
    end
  end)

  it("loses and repeats nothing, page after page", function()
    local file = ("\195\188x\n"):rep(9) .. ("\230\151\165"):rep(20) .. "\r\n\n\n\255\254\nend"
    for lines = 1, 5 do
      for bytes = 4, 30 do
        local found, line, byte = {}, 1, 0
        repeat
          local page = cut(file, { start_line = line, start_byte = byte, line_count = lines,
            max_bytes = bytes })
          assert.is_true(#page.content <= bytes)
          found[#found + 1] = page.content
          byte = page.next_start_byte or 0
          line = page.next_start_byte and page.end_line or page.next_start_line
        until not line
        assert.equal(file, table.concat(found))
      end
    end
  end)

  it("refuses senseless limits", function()
    for _, opts in ipairs({ { start_line = 0 }, { start_line = 1.5 }, { line_count = 0 },
      { max_bytes = 0 }, { start_byte = -1 }, { start_line = "1" }, { start = 1 },
      { line_count = 2 ^ 31 } }) do
      assert.is_nil((text_page.OPTIONS(opts, "")))
    end
  end)
end)
