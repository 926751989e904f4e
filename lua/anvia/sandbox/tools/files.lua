-- SPDX-License-Identifier: MIT
--- read_file, write_file and list_files.
local limits = require("anvia.sandbox.tools.limits")
local text = require("anvia.sandbox.tools.text")

local files = {}

-- A listing longer than this is of no use to a model.
local MAX_LISTING_BYTES = 64 * 1024

local function path_property(description)
  return { type = "string", minLength = 1, description = description }
end

local function read_schema(lim)
  return {
    type = "object",
    properties = {
      path = path_property("The file, relative to the workspace."),
      startLine = {
        type = "integer",
        minimum = 1,
        description = "The first line to read. Default: 1.",
      },
      lineCount = {
        type = "integer",
        minimum = 1,
        maximum = lim.lines.max,
        description = string.format("How many lines to read. Default: %d.", lim.lines.default),
      },
    },
    required = { "path" },
    additionalProperties = false,
  }
end

--- A page as a table, its content made valid UTF-8. `lossy` is true when bytes were replaced.
local function read(session, input, context)
  local page, err = session:read_text_page(input.path, {
    start_line = input.startLine or 1,
    line_count = input.lineCount or context.limits.lines.default,
    max_bytes = context.limits.read_bytes,
  })
  if not page then
    return nil, err
  end
  local content, replaced = text.clean(page.content)
  local copy = {}
  for key, value in pairs(page) do
    copy[key] = value
  end
  copy.content = content
  if replaced > 0 then
    copy.lossy, copy.replaced_bytes = true, replaced
  end
  return copy
end

--- What is shown of a file, and how to read on.
local function page_header(page, path)
  local first, last, next_line = page.start_line, page.end_line, page.next_start_line
  local header = string.format("%s, %s", path,
    first == last and "line " .. first or string.format("lines %d to %d", first, last))
  if page.next_start_byte then
    header = header .. string.format("; this line is longer than the limit and cut after %s",
      text.plural(page.next_start_byte, "byte"))
  end
  if next_line then
    header = string.format("%s; more %s: read on with startLine %d", header,
      page.next_start_byte and "may follow" or "follows", next_line)
  end
  if page.lossy then
    header = header .. ". " .. text.lossy_note("The file", page.replaced_bytes)
  end
  return header
end

--- The text of a page: one line that says what is shown and how to read on, then the content.
function files.page_text(page, path)
  local name = text.name(path)
  if page.content == "" and not page.next_start_line then
    return page.start_line > 1 and string.format("%s has no line %d.", name, page.start_line)
      or name .. " is empty."
  end
  return page_header(page, name) .. "\n" .. page.content
end

local function write_schema(lim)
  local content = { type = "string", description = "The whole new content of the file." }
  if lim.write_bytes then
    content.description = string.format("The whole new content of the file, at most %d bytes.",
      lim.write_bytes)
  end
  return {
    type = "object",
    properties = {
      path = path_property("The file, relative to the workspace. Missing directories are made."),
      content = content,
    },
    required = { "path", "content" },
    additionalProperties = false,
  }
end

local function write(session, input)
  local ok, err = session:write_file(input.path, input.content)
  if not ok then
    return nil, err
  end
  return string.format("Wrote %s to %s.", text.plural(#input.content, "byte"),
    text.name(input.path))
end

local function list_schema()
  return {
    type = "object",
    properties = {
      path = path_property("The directory, relative to the workspace. Default: the workspace."),
    },
    additionalProperties = false,
  }
end

local function line_of(entry)
  if entry.type == "file" and entry.size then
    return string.format("file %db\t%s", entry.size, text.name(entry.path))
  end
  return entry.type .. "\t" .. text.name(entry.path)
end

--- The text of a listing.
function files.listing_text(entries)
  if #entries == 0 then
    return "The directory is empty."
  end
  local lines, bytes = {}, 0
  for i, entry in ipairs(entries) do
    local line = line_of(entry)
    bytes = bytes + #line + 1
    if bytes > MAX_LISTING_BYTES then
      lines[#lines + 1] = string.format("[... %d more left out; list a directory below ...]",
        #entries - i + 1)
      break
    end
    lines[i] = line
  end
  return table.concat(lines, "\n")
end

local function list(session, input)
  local entries, err = session:list_files(input.path or ".")
  if not entries then
    return nil, err
  end
  return files.listing_text(entries)
end

files.tools = {
  {
    name = "read_file",
    read_only = true,
    description = function(lim)
      return string.format("Read a text file of the sandbox in pages of up to %d lines and %d "
        .. "bytes.", lim.lines.default, lim.read_bytes)
    end,
    input_schema = read_schema,
    run = read,
    text = function(page, input)
      return files.page_text(page, input.path)
    end,
  },
  {
    name = "write_file",
    description = function()
      return "Write a file in the sandbox: a new one, or one whose whole content is replaced."
    end,
    input_schema = write_schema,
    bytes = { content = limits.MAX_INPUT_BYTES },
    run = write,
  },
  {
    name = "list_files",
    read_only = true,
    description = function()
      return "List a directory of the sandbox: the type, size and path of each entry."
    end,
    input_schema = list_schema,
    run = list,
  },
}

return files
