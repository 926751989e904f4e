-- SPDX-License-Identifier: MIT
-- Permission lists of Claude Code:
--   { "permissions": { "allow": ["Bash(git status:*)", "Read(src/**)"], "deny": ["Bash(rm:*)"] } }

local show = require("anvia.sandbox.policy.show")

local claude = {}

local LISTS = { "deny", "ask", "allow" }

-- Which subjects a tool of Claude Code touches.
local PATH_TOOLS = {
  Read = { "read" }, NotebookRead = { "read" }, Grep = { "read" },
  Glob = { "list" }, LS = { "list" },
  Edit = { "write" }, MultiEdit = { "write" }, Write = { "write" }, NotebookEdit = { "write" },
}

local function lists_of(value)
  return type(value.permissions) == "table" and value.permissions or value
end

--- Whether the decoded value looks like permission lists.
function claude.knows(value)
  if type(value.permissions) == "table" then return true end
  for _, name in ipairs(LISTS) do
    if type(value[name]) == "table" and type(value[name][1]) == "string" then return true end
  end
  return false
end

local function split(text)
  local words = {}
  for word in text:gmatch("%S+") do words[#words + 1] = word end
  return words
end

-- A star inside stands for any number of words there, and for one word here. A permission becomes
-- narrower by that; a refusal keeps the words before the star.
local function widen(words)
  for i, word in ipairs(words) do
    if word:find("*", 1, true) and i > 1 then
      local kept = {}
      for j = 1, i - 1 do kept[j] = words[j] end
      return kept
    end
  end
  return nil
end

-- "git status:*" is a prefix of words, "git status" is the whole command. A prefix may end inside a
-- word there; a refusal is as wide as that, a permission is not.
local function command_source(text, word)
  local prefix = text:match("^(.-):%*$")
  local body = prefix or text
  if not prefix and body:find("%s%*$") then
    prefix, body = true, body:gsub("%s+%*$", "")
  end
  local words = split(body)
  if #words == 0 or body == "*" then return "\"*\"" end
  local wider = word ~= "allow" and widen(words)
  if wider then
    return show.source(wider), "made wider: a star inside stands for any number of words there"
  end
  if prefix and word ~= "allow" and #words > 1 and not words[#words]:find("^%-") then
    words[#words] = words[#words] .. "*"
  end
  local list = show.source(words)
  return prefix and list or "only " .. list
end

-- "//x" is absolute, "/x" is from the project, "~/x" is somebody's home.
local function path_source(text)
  if text:sub(1, 2) == "//" then return text:sub(2) end
  if text:sub(1, 1) == "~" then return nil, "the home directory is not known in the sandbox" end
  if text:sub(1, 1) == "/" then return "." .. text end
  return text
end

local function entry_source(word, entry)
  local tool, argument = entry:match("^(%w+)%((.*)%)$")
  tool = tool or entry:match("^(%w+)$")
  if not tool then return nil, "not understood" end
  if argument == "" or argument == "*" then argument = nil end
  if tool == "Bash" then
    local pattern, note = "\"*\"", nil
    if argument then pattern, note = command_source(argument, word) end
    return ("%s { exec = %s }"):format(word, pattern), note
  end
  local kinds = PATH_TOOLS[tool]
  if not kinds then return nil, "there is no such tool in the sandbox" end
  local path, wrong = "**", nil
  if argument then path, wrong = path_source(argument) end
  if not path then return nil, wrong end
  local lines = {}
  for i, kind in ipairs(kinds) do
    lines[i] = ("%s { %s = %s }"):format(word, kind, show.source(path))
  end
  return table.concat(lines, "\n")
end

--- -> text, notes
function claude.text(value)
  local lists = lists_of(value)
  local lines, notes = { "-- from Claude Code permissions", "default \"ask\"" }, {}
  for _, word in ipairs(LISTS) do
    for _, entry in ipairs(lists[word] or {}) do
      if type(entry) ~= "string" then
        return nil, ("%s: an entry is text like \"Bash(git status:*)\""):format(word)
      end
      local source, wrong = entry_source(word, entry)
      if source then lines[#lines + 1] = source end
      if wrong then notes[#notes + 1] = ("%s %s: %s"):format(word, show.value(entry), wrong) end
    end
  end
  return table.concat(lines, "\n") .. "\n", notes
end

return claude
