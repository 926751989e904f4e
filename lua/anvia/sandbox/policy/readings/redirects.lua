-- SPDX-License-Identifier: MIT
--- Redirections: the files they read and write, and the standard input they give a command.

local expand = require("anvia.sandbox.policy.shell.expand")

local redirects = {}

local WRITES = { [">"] = true, [">>"] = true, [">|"] = true, ["&>"] = true, ["&>>"] = true }

--- The ways to read the target.
local function targets(scope, word)
  local out = {}
  for _, way in ipairs(expand.fields(scope.ex, word)) do
    if #way == 1 then
      out[#out + 1] = way[1]
    elseif #way > 1 then
      -- Shells that do not split the target write one file with blanks in its name.
      out[#out + 1] = expand.unknown(word.text)
    end
  end
  return out
end

--- >&word and <&word: a descriptor, or in bash a file.
local function duplicate(scope, redirect, cwds)
  local kind = "descriptor"
  for _, target in ipairs(targets(scope, redirect.word)) do
    if type(target) ~= "string" or not target:find("^%d*%-?$") then
      if redirect.op == ">&" then
        scope.reader:access("write", target, cwds, "redirect")
      end
      kind = "unknown"
    elseif target == "-" then
      kind = "none"
    end
  end
  return kind
end

--- The standard input after one redirection of it.
local function input_of(scope, redirect, cwds)
  local op = redirect.op
  if op == "<<" or op == "<<-" then
    local text, known = expand.text(scope.ex, redirect.body)
    return { kind = "text", text = text, known = known }
  elseif op == "<<<" then
    local set = expand.value(scope.ex, redirect.word)
    local value = #set == 1 and not set.dynamic and set[1]
    if value then
      return { kind = "text", text = value .. "\n" }
    end
    return { kind = "file" }
  elseif op == "<&" then
    local kind = duplicate(scope, redirect, cwds)
    return { kind = kind == "none" and "none" or "file" }
  end
  for _, target in ipairs(targets(scope, redirect.word)) do
    if target == "/dev/null" then
      return { kind = "none" }
    end
  end
  return { kind = "file" }
end

--- True for "<" and its relatives without a descriptor, or with 0.
local function is_stdin(redirect)
  if redirect.fd == "0" then
    return true
  end
  return redirect.fd == "" and redirect.op:sub(1, 1) == "<"
end

--- Notes the files, and gives the site behind the redirections.
---@param scope table
---@param list anvia.sandbox.shell.Redirect[]
---@param at anvia.sandbox.readings.Site
---@return anvia.sandbox.readings.Site
function redirects.apply(scope, list, at)
  local reader, cwds = scope.reader, scope.state:get("/cwd")
  local changes = {}
  for _, redirect in ipairs(list) do
    local op = redirect.op
    if WRITES[op] or op == "<" or op == "<>" then
      for _, target in ipairs(targets(scope, redirect.word)) do
        if op ~= "<" then
          reader:access("write", target, cwds, "redirect")
        end
        if op:sub(1, 1) == "<" then
          reader:access("read", target, cwds, "redirect")
        end
      end
    elseif op == ">&" then
      duplicate(scope, redirect, cwds)
    end
    if is_stdin(redirect) then
      changes.stdin = input_of(scope, redirect, cwds)
    elseif redirect.body then
      changes.texts = changes.texts or {}
      changes.texts[#changes.texts + 1] = expand.text(scope.ex, redirect.body)
    end
  end
  return reader.inside(at, nil, changes)
end

return redirects
