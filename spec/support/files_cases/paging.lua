-- SPDX-License-Identifier: MIT
-- Reading text page by page. See files_cases.lua for `world`.

local assert = require("luassert")
local busted = require("busted")

local describe, it = busted.describe, busted.it
local world = ...

local function pages_of(name, opts)
  local pages, content = {}, {}
  local start, skip = 1, 0
  repeat
    opts.start_line, opts.start_byte = start, skip
    local page = assert(world.session:read_text_page(name, opts))
    pages[#pages + 1], content[#content + 1] = page, page.content
    if page.next_start_byte then
      start, skip = page.end_line, page.next_start_byte
    else
      start, skip = page.next_start_line, 0
    end
    assert(#pages < 60, "the pages do not get on")
  until not start
  return pages, table.concat(content)
end

describe("a page", function()
  it("is whole lines, with their ends", function()
    world.session:write_file("f", "one\r\ntwo\n\nfour\nfive without end")
    local page = world.session:read_text_page("f", { start_line = 2, line_count = 2 })
    assert.same({ content = "two\n\n", start_line = 2, end_line = 3, next_start_line = 4,
      truncated = true, truncated_by = "lines" }, page)
    page = world.session:read_text_page("f", { start_line = 4 })
    assert.same({ content = "four\nfive without end", start_line = 4, end_line = 5,
      truncated = false }, page)
    page = world.session:read_text_page("f", { max_bytes = 8 })
    assert.same({ content = "one\r\n", start_line = 1, end_line = 1, next_start_line = 2,
      truncated = true, truncated_by = "bytes" }, page)
    assert.equal("one\r\ntwo\n", world.session:read_text_page("f", { max_bytes = 9 }).content)
  end)

  it("is empty for an empty file and behind the end", function()
    world.session:write_file("f", "")
    world.session:write_file("g", "one\n")
    assert.same({ content = "", start_line = 1, end_line = 0, truncated = false },
      world.session:read_text_page("f"))
    assert.same({ content = "", start_line = 2, end_line = 1, truncated = false },
      world.session:read_text_page("g", { start_line = 2 }))
    assert.same({ content = "", start_line = 2147483646, end_line = 2147483645,
      truncated = false }, world.session:read_text_page("g", { start_line = 2 ^ 31 - 2 }))
  end)

  it("follows on the one before until the file is read", function()
    local lines = {}
    for i = 1, 400 do
      lines[i] = i .. (" \195\188\230\151\165"):rep(i % 7) .. (i % 3 == 0 and "\r\n" or "\n")
    end
    local data = table.concat(lines) .. "last"
    world.session:write_file("f", data)
    for _, opts in ipairs({ { line_count = 40 }, { max_bytes = 700 },
      { line_count = 30, max_bytes = 900 } }) do
      local pages, content = pages_of("f", opts)
      assert.is_true(content == data)
      assert.equal(401, pages[#pages].end_line)
    end
  end)

  it("never splits a character of a line that is too long (H037)", function()
    local data = ("\230\151\165"):rep(30) .. "\nnext\n"
    world.session:write_file("f", data)
    local page = world.session:read_text_page("f", { max_bytes = 10 })
    assert.same({ content = ("\230\151\165"):rep(3), start_line = 1, end_line = 1,
      next_start_line = 2, next_start_byte = 9, truncated = true, truncated_by = "bytes" }, page)
    assert.equal("next\n", world.session:read_text_page("f", { start_line = 2 }).content)
    local _, content = pages_of("f", { max_bytes = 10 })
    assert.equal(data, content)
  end)

  it("takes a line of 1 MB, and only what it needs from a big file", function()
    local long = ("x"):rep(1000000)
    world.session:write_file("f", long .. "\n" .. long .. "\nthird\n" .. long)
    local page = world.session:read_text_page("f", { max_bytes = 1000001, line_count = 1 })
    assert.is_true(page.content == long .. "\n")
    assert.equal("lines", page.truncated_by)
    page = world.session:read_text_page("f", { start_line = 3, line_count = 1 })
    assert.equal("third\n", page.content)
    assert.equal(4, page.next_start_line)
    page = world.session:read_text_page("f", { start_line = 2 })
    assert.equal(65536, #page.content)
    if world.session.last_command_bytes then
      assert.equal(65540, world.session.last_command_bytes)
    end
  end)

  it("keeps zero bytes and what is not UTF-8", function()
    local data = "a\0b\n\255\254\n" .. ("\191"):rep(20)
    world.session:write_file("f", data)
    assert.equal(data, world.session:read_text_page("f").content)
    assert.equal(("\191"):rep(5), world.session:read_text_page("f", { start_line = 3,
      max_bytes = 5 }).content)
  end)
end)
