-- SPDX-License-Identifier: MIT
--- What the shells read differently.
---
--- The same text can run different commands in different shells: `a &> b` writes a file in bash and
--- runs `a &` in dash. A script for `sh` is therefore read once per dialect as soon as it holds
--- something that they disagree about, and the readings are the union.

---@class anvia.sandbox.Dialect
---@field name string
---@field dollar_quote boolean   $'\x41'
---@field small_escapes boolean  fewer escapes in it
---@field dollar_dquote boolean  $"text"
---@field dollar_bracket boolean $[1 + 1]
---@field brace_command boolean  ${ command; }
---@field braces boolean         {a,b} and {1..3}
---@field amp_redirect boolean   &> and &>>
---@field pipe_amp boolean       |&
---@field case_fall boolean      ;& and ;;&
---@field here_string boolean    <<<
---@field fd_name boolean        {fd}>
---@field one_digit boolean      a descriptor is one digit: 12> is the word 12 and >
---@field substitution boolean   <(command) and >(command)
---@field arrays boolean         a=(1 2), a[1]=2, a+=3
---@field keywords boolean       [[ (( time coproc select, for ((;;))
---@field function_word boolean  function f { }
---@field test_words boolean     && and || are operands after [[
---@field bare_body boolean      f() command
---@field late_here_doc boolean  a here-document may end after the substitution it began in
---@field joined_end boolean     a backslash-newline may stand in the last line of a here-document
---@field quote_in_braces boolean 'x' quotes inside "${a-...}"
---@field arrays_run boolean     subscripts in arithmetic run substitutions out of values

local dialect = {}

---@type anvia.sandbox.Dialect
dialect.posix = {
  name = "posix", bare_body = true, one_digit = true,
}

dialect.ash = {
  name = "ash", bare_body = true,
  dollar_quote = true, small_escapes = true, amp_redirect = true, substitution = true,
  function_word = true, test_words = true,
}

dialect.bash = {
  name = "bash",
  dollar_quote = true, dollar_dquote = true, dollar_bracket = true, brace_command = true,
  braces = true, amp_redirect = true, pipe_amp = true, case_fall = true, here_string = true,
  fd_name = true, substitution = true, arrays = true, keywords = true, function_word = true,
  late_here_doc = true, joined_end = true, quote_in_braces = true, arrays_run = true,
}

--- bash that was started as sh.
dialect.bash_as_sh = setmetatable({ name = "bash as sh", quote_in_braces = false },
  { __index = dialect.bash })

local ANY = { dialect.bash, dialect.posix, dialect.ash, dialect.bash_as_sh }

local BY_NAME = {
  sh = ANY,
  dash = { dialect.posix },
  bash = { dialect.bash, dialect.bash_as_sh },
  rbash = { dialect.bash, dialect.bash_as_sh },
  ash = { dialect.ash },
  hush = { dialect.ash, dialect.bash, dialect.posix },
  ksh = ANY, ksh93 = ANY, mksh = ANY, lksh = ANY, pdksh = ANY, oksh = ANY, loksh = ANY,
  zsh = ANY, rzsh = ANY, yash = ANY, posh = ANY, rsh = ANY,
}

--- Shells whose language is close to one of the dialects, but not the same.
dialect.LOOSE = {
  hush = true, ksh = true, ksh93 = true, mksh = true, lksh = true, pdksh = true, oksh = true,
  loksh = true, zsh = true, rzsh = true, yash = true, posh = true,
}

--- The dialects that a shell of this name may speak, or nil when it is no such shell.
---@param name string
---@return anvia.sandbox.Dialect[]?
function dialect.of(name)
  local found = BY_NAME[name]
  if not found then
    -- bash5.2, ksh2020, bash-static, and the "-bash" of a login shell.
    local short = name:match("^%-?(%a+)[%d.-]*$") or name:match("^%-?(%a+)%-static$")
    found = short and BY_NAME[short]
  end
  return found
end

--- For text that is given to "the" shell by some program.
dialect.ANY = ANY

return dialect
