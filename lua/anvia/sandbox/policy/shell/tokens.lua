-- SPDX-License-Identifier: MIT
--- The lexical patterns: what a shell sees as one piece.
---
--- A backslash before a newline vanishes before a shell looks for tokens, so it may stand inside an
--- operator, a name or a reserved word: `&\<newline>&` is `&&`. The patterns allow for it.
--- Bytes are bytes: blanks are the space and the tab, and nothing else. A carriage return, a no-break
--- space or any other UTF-8 blank is an ordinary character of a word.

local lpeg = require("lpeg")

local P, S, R, C, Cc, Cp = lpeg.P, lpeg.S, lpeg.R, lpeg.C, lpeg.Cc, lpeg.Cp

local tokens = {}

local joint = P("\\\n")
local joints = joint ^ 0

--- `text`, also with line continuations between its bytes.
local function joined(text)
  local pattern = P(text:sub(1, 1))
  for i = 2, #text do
    pattern = pattern * joints * P(text:sub(i, i))
  end
  return pattern
end

--- The first of `list` that matches; captures its plain form.
local function one_of(list)
  local pattern = P(false)
  for _, text in ipairs(list) do
    pattern = pattern + joined(text) * Cc(text)
  end
  return pattern
end

local name_start = R("az", "AZ") + P("_")
local name_char = name_start + R("09")
local metachar = S(" \t\n|&;<>()")

tokens.METACHARS = " \t\n|&;<>()"

--- Each matches at a position and gives the position after it.
tokens.blanks = (S(" \t") + joint) ^ 0 * Cp()
tokens.joints = joints * Cp()
tokens.comment = P("#") * (1 - P("\n")) ^ 0 * Cp()
tokens.line = C((1 - P("\n")) ^ 0) * Cp()

--- Each captures text and gives the position after it.
tokens.name = C(name_start * (joints * name_char) ^ 0) * Cp()
tokens.digits = C(R("09") * (joints * R("09")) ^ 0) * Cp()
tokens.special = C(S("@*#?-$!")) * Cp()

--- Runs of characters with no meaning of their own, by where they stand.
tokens.plain = {
  word = C((1 - S(" \t\n|&;<>()$`\\\"'")) ^ 1) * Cp(),
  quoted = C((1 - S("$`\\\"")) ^ 1) * Cp(),
  here = C((1 - S("$`\\")) ^ 1) * Cp(),
  braces = C((1 - S("$`\\\"'}<>")) ^ 1) * Cp(),
  subscript = C((1 - S("$`\\\"'[]")) ^ 1) * Cp(),
  arithmetic = C((1 - S("$`\\\"'()[]")) ^ 1) * Cp(),
}
tokens.single = P("'") * C((1 - P("'")) ^ 0) * P("'") * Cp()
tokens.ansi = P("'") * C((P("\\") * 1 + (1 - S("\\'"))) ^ 0) * P("'") * Cp()
tokens.backtick = P("`") * C((P("\\") * 1 + (1 - S("\\`"))) ^ 0) * P("`") * Cp()

--- A whole word without any quoting or expansion: what may be a reserved word.
tokens.keyword = C(((1 - S(" \t\n|&;<>()$`\\\"'")) + joint) ^ 1) * (#metachar + -P(1)) * Cp()

--- NAME= or NAME+= or NAME[ at the start of a word.
tokens.assignment = C(name_start * (joints * name_char) ^ 0) * joints
  * C(P("=") + P("+") * joints * P("=") + P("[")) * Cp()

tokens.parameter_op = C(P(":") * joints * S("-=?+")) * Cp()
  + C(P("##") + P("%%") + P("//") + P("/#") + P("/%") + P("^^") + P(",,")
    + S("-=?+#%/^,:@")) * Cp()

local CONTROL = { "&&", "||", ";;", ";", "|", "&", "(", ")" }
local CONTROL_FALL = { "&&", "||", ";;&", ";;", ";&", ";", "|", "&", "(", ")" }
local CONTROL_FULL = { "&&", "||", ";;&", ";;", ";&", ";", "|&", "|", "&", "(", ")" }
local REDIRECT = { "<<-", "<<", "<&", "<>", "<", ">>", ">&", ">|", ">" }

--- The operators of one dialect: `control` captures the operator and the position after it,
--- `redirect` the descriptor (or ""), the operator and the position.
---@param dialect anvia.sandbox.Dialect
function tokens.operators(dialect)
  local control = CONTROL
  if dialect.pipe_amp then
    control = CONTROL_FULL
  elseif dialect.case_fall then
    control = CONTROL_FALL
  end

  local list = {}
  if dialect.here_string then
    list[1] = "<<<"
  end
  for _, text in ipairs(REDIRECT) do
    list[#list + 1] = text
  end
  local op = one_of(list)
  if dialect.substitution then
    op = op - (S("<>") * joints * P("("))
  end

  local fd
  if dialect.one_digit then
    fd = C(R("09"))
  else
    fd = C(R("09") * (joints * R("09")) ^ 0)
  end
  if dialect.fd_name then
    fd = fd + P("{") * C(name_start * name_char ^ 0) * P("}")
  end
  local redirect = (fd * joints + Cc("")) * op * Cp()
  if dialect.amp_redirect then
    redirect = Cc("") * one_of({ "&>>", "&>" }) * Cp() + redirect
  end
  return { control = one_of(control) * Cp(), redirect = redirect }
end

--- Removes line continuations from a captured token.
function tokens.unjoin(text)
  if text:find("\\\n", 1, true) then
    text = text:gsub("\\\n", "")
  end
  return text
end

return tokens
