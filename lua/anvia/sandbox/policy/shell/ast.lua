-- SPDX-License-Identifier: MIT
--- The tree that the shell parser builds. This file is its description; there is no code in it but
--- the tests for what a word is made of.

---@class anvia.sandbox.shell.Part   a piece of a word
---@field t "lit"|"quo"|"var"|"sub"|"proc"|"arith"|"bad"
---@field q boolean?      inside double quotes (quo is always quoted)
---@field s string?       lit, quo: the text
---@field name string?    var: the parameter
---@field op string?      var: ":-", "#", "@" ...
---@field word anvia.sandbox.shell.Part[]?   var: what follows the operator
---@field index anvia.sandbox.shell.Part[]?  var: the subscript
---@field length boolean? var: ${#name}
---@field indirect boolean? var: ${!name}
---@field list anvia.sandbox.shell.List?     sub, proc: the commands
---@field here boolean?   sub: runs in the same shell, as ${ command; } does
---@field dir string?     proc: "<" or ">"
---@field parts anvia.sandbox.shell.Part[]?  arith: the expression

---@class anvia.sandbox.shell.Word
---@field literal string? the whole word, when nothing in it is quoted or expanded
---@field parts anvia.sandbox.shell.Part[]?  otherwise
---@field dynamic boolean? some part is an expansion
---@field text string     the source

---@class anvia.sandbox.shell.Redirect
---@field op string
---@field fd string       "" when none was written; a name for {name}>
---@field word anvia.sandbox.shell.Word?   the target
---@field body anvia.sandbox.shell.Part[]? a here-document: its text

---@class anvia.sandbox.shell.Assignment
---@field name string
---@field append boolean
---@field index anvia.sandbox.shell.Part[]?
---@field word anvia.sandbox.shell.Word?    the value
---@field array anvia.sandbox.shell.Word[]? or the elements of (...)

---@class anvia.sandbox.shell.Node
---@field t "simple"|"pipeline"|"and_or"|"list"|"subshell"|"group"|"if"|"loop"|"for"|"case"|"function"|"test"|"arithmetic"|"coproc"
---@field redirects anvia.sandbox.shell.Redirect[]?
---  simple:     assigns, words
---  pipeline:   stages (nodes)
---  and_or:     items {op, node}; op is nil for the first
---  list:       items {node, background}
---  subshell, group: list
---  if:         arms {condition, list}; a last arm without a condition is the else
---  loop:       condition, list, assigned
---  for:        name, words (nil: "$@"), list, assigned, select; header parts for ((;;))
---  case:       word, arms {patterns, list}; falls: some arm goes on into the next
---  function:   name, body
---  test:       words of [[ ]]
---  arithmetic: parts of (( ))
---  coproc:     body
--- `assigned` maps the names that a loop sets to true, or to the list of literal values it gives them.

local ast = {}

--- The text of a word that holds quoting but no expansion, or nil. Says if any of it was quoted.
---@param word anvia.sandbox.shell.Word
---@return string?, boolean
function ast.constant(word)
  if word.literal then
    return word.literal, false
  end
  if word.dynamic then
    return nil, true
  end
  local out, quoted = {}, false
  for i, part in ipairs(word.parts) do
    out[i] = part.s
    quoted = quoted or part.t == "quo"
  end
  return table.concat(out), quoted
end

return ast
