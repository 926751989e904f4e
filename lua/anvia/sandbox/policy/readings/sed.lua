-- SPDX-License-Identifier: MIT
--- Looks at a sed script for what can run a command: `e`, and the flag `e` of `s`.
---
--- A small grammar of sed; a script that it does not match counts as one that may.

local lpeg = require("lpeg")

local P, S, R, C, Cb, Cg, Cmt = lpeg.P, lpeg.S, lpeg.R, lpeg.C, lpeg.Cb, lpeg.Cg, lpeg.Cmt

local sed = {}

local blank = S(" \t") ^ 0
local space = S(" \t\n;") ^ 0

--- Text up to the delimiter that was named "d".
local same = Cmt(Cb("d") * C(1), function(_, pos, delimiter, char)
  return delimiter == char and pos
end)
local piece = ((P("\\") * 1) + (1 - same - P("\n"))) ^ 0 * same

--- A delimiter inside [...] does not count in a regular expression.
local class = P("[") * P("^") ^ -1 * P("]") ^ -1
  * (P("[:") * R("az") ^ 1 * P(":]") + (1 - S("]\n"))) ^ 0 * P("]")
local pattern = ((P("\\") * 1) + class + (1 - same - S("\n["))) ^ 0 * same

local number = R("09") ^ 1
local regex = Cg(P("/"), "d") * pattern + P("\\") * Cg(C(1), "d") * pattern
local address = number * (P("~") * number) ^ -1 + P("$") + regex * S("IM") ^ 0
local addresses = (address * (blank * P(",") * blank * (S("+~") * number + address)) ^ -1) ^ -1
  * blank * P("!") ^ 0 * blank

local line = (P("\\") * 1 + (1 - P("\n"))) ^ 0
local label = (1 - S("\n;")) ^ 0
local command = P("s") * Cg(C(1 - S("\n\\")), "d") * pattern * piece
    * (S("gpiIMm") + R("09")) ^ 0 * (P("w") * line) ^ -1
  + P("y") * Cg(C(1), "d") * piece * piece
  + S("aic") * line
  + S("btT:") * label
  + S("rRwW") * line
  + S("lLqQ") * blank * number ^ 0
  + S("=dDgGhHnNpPxzF{}")

local script = space * (P("#") * (1 - P("\n")) ^ 0 * space
  + addresses * blank * command * blank * (space + #P("}"))) ^ 0 * space * -1

--- True unless the arguments are surely free of commands.
---@param argv anvia.sandbox.Word[]
function sed.may_run(argv)
  local given, i, first = false, 2, nil
  while i <= #argv do
    local word = argv[i]
    if type(word) ~= "string" then
      if not given and not first then
        return true
      elseif not word.single or word.prefix == "" then
        -- It may be an option with a script in it.
        return not given and first == nil
      end
    elseif word:find("^%-[nrEszui]*e$") or word == "--expression" then
      given = true
      local text = argv[i + 1]
      if type(text) ~= "string" or not script:match(text) then
        return true
      end
      i = i + 1
    elseif word:find("^%-%-expression=") or word:find("^%-[nrEszu]*e.") then
      given = true
      local text = word:match("^%-%-expression=(.*)$") or word:match("^%-[nrEszu]*e(.*)$")
      if not script:match(text) then
        return true
      end
    elseif word:find("^%-[nrEszui]*f$") or word == "--file" then
      given, i = true, i + 1
    elseif not word:find("^%-.") and not first then
      first = word
    end
    i = i + 1
  end
  return not given and first ~= nil and not script:match(first)
end

return sed
