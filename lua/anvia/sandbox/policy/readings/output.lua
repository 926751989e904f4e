-- SPDX-License-Identifier: MIT
--- What simple producers print, when the text tells: `echo`, `printf` and `cat` of a here-document.
---
--- Used for what is piped into a shell and for substitutions. Where shells differ (backslashes of
--- echo, other options) the output counts as not known.

local expand = require("anvia.sandbox.policy.shell.expand")

local output = {}

local MAX_OUTPUT = 65536

--- The fields of a command, when each is known and there is one way to read it.
local function fields(ex, words)
  local out = {}
  for _, word in ipairs(words) do
    local ways = expand.fields(ex, word)
    if #ways ~= 1 then
      return nil
    end
    for _, field in ipairs(ways[1]) do
      if type(field) ~= "string" then
        return nil
      end
      out[#out + 1] = field
    end
  end
  return out
end

local function echo(argv)
  local from, newline = 2, "\n"
  if argv[2] == "-n" then
    from, newline = 3, ""
  end
  for i = from, #argv do
    if argv[i]:find("\\", 1, true) or (i == from and argv[i]:sub(1, 1) == "-") then
      return nil
    end
  end
  return table.concat(argv, " ", from) .. newline
end

local ESCAPES = { n = "\n", t = "\t", ["\\"] = "\\", ['"'] = '"', ["'"] = "'" }

--- One pass over a format. Gives the text and how many arguments it took; nil: not followed.
local function format_once(format, argv, from)
  local out, at, taken = {}, 1, 0
  while at <= #format do
    local char, following = format:sub(at, at), format:sub(at + 1, at + 1)
    if char == "\\" then
      if not ESCAPES[following] then
        return nil
      end
      out[#out + 1] = ESCAPES[following]
      at = at + 2
    elseif char == "%" then
      if following == "%" then
        out[#out + 1] = "%"
      elseif following == "s" then
        out[#out + 1] = argv[from + taken] or ""
        taken = taken + 1
      else
        return nil
      end
      at = at + 2
    else
      local stop = format:find("[\\%%]", at) or #format + 1
      out[#out + 1] = format:sub(at, stop - 1)
      at = stop
    end
  end
  return table.concat(out), taken
end

local function printf(argv)
  local at = argv[2] == "--" and 3 or 2
  local format = argv[at]
  if not format or format:sub(1, 1) == "-" then
    return nil
  end
  local out, from, size = {}, at + 1, 0
  repeat
    local text, taken = format_once(format, argv, from)
    if not text then
      return nil
    end
    out[#out + 1] = text
    size = size + #text
    from = from + taken
  until taken == 0 or from > #argv or size > MAX_OUTPUT
  return table.concat(out)
end

--- cat <<END
local function cat(ex, argv, redirects)
  if #argv > 1 or not redirects or #redirects ~= 1 then
    return nil
  end
  local only = redirects[1]
  if (only.op == "<<" or only.op == "<<-") and (only.fd == "" or only.fd == "0") then
    local text, known = expand.text(ex, only.body)
    return known and text or nil
  end
end

local function of_simple(scope, node)
  local first = node.words[1] and node.words[1].literal
  if not first or #node.assigns > 0 or scope.functions[first] or scope.aliased then
    return nil
  end
  if first ~= "echo" and first ~= "printf" and first ~= "cat" then
    return nil
  end
  local argv = fields(scope.ex, node.words)
  if not argv then
    return nil
  elseif first == "cat" then
    return cat(scope.ex, argv, node.redirects)
  elseif node.redirects then
    return nil
  end
  return first == "echo" and echo(argv) or first == "printf" and printf(argv) or nil
end

--- The output of a node, or nil when it is not known.
---@param scope table
---@param node anvia.sandbox.shell.Node
---@return string?
function output.of(scope, node)
  local text
  if node.t == "simple" then
    text = of_simple(scope, node)
  elseif (node.t == "group" or node.t == "subshell") and not node.redirects then
    return output.of(scope, node.list)
  elseif node.t == "list" then
    local out = {}
    for i, item in ipairs(node.items) do
      local each = not item.background and output.of(scope, item.node)
      if not each then
        return nil
      end
      out[i] = each
    end
    text = #out > 0 and table.concat(out) or nil
  end
  return text and #text <= MAX_OUTPUT and scope.reader:spend(#text) and text or nil
end

return output
