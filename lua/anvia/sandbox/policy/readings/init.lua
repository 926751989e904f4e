-- SPDX-License-Identifier: MIT
--- What a tool call will run and touch, as far as its text says.
---
--- A call is turned into a set of readings: the argv as given, the same without each wrapper,
--- every command in a script that it hands to a shell, and the files it names. The evaluator
--- judges all of them: deny and ask hold when any reading matches, allow only when all match and
--- `complete` is true.
---
--- Nothing here raises on what a model sent. What cannot be read makes `complete` false and
--- leaves a problem that says what and where.

--- One word of a command. A string is what the program gets. A table is a word whose value is not
--- known before it runs.
--- One word of a command. A string is what the program gets. A table is a word whose value is
--- not known before it runs.
---@class anvia.sandbox.DynamicWord
---@field dynamic true
---@field text string      the source of the word, e.g. "$HOME/x" or "*.txt"
---@field pattern string   a glob that covers it: unknown parts are "*", known ones escaped with "\"
---@field prefix string    the part before the first unknown byte ("--file=" in --file=$x)
---@field single boolean   true: exactly one word; false: none, one or several (an unquoted $x)
---@field glob boolean     true: only unknown because of *, ? or [ in it
---@field numeric boolean? true: the unknown parts are digits only ($$, $((x)))
---@field process boolean? true: holds a <(...) or >(...)
---@alias anvia.sandbox.Word string|anvia.sandbox.DynamicWord

--- Why the readings are not complete.
---   syntax    not understood, or read differently by different shells
---   dynamic   a program or a script is computed
---   file      a script file that was not seen
---   stdin     a script from a pipe or stream that was not seen
---   language  code that is not shell; all shell text was read
---   bound     too long, too deep or too many
---   nul       a NUL byte: refuse the call
---   option    an option of a wrapper that is not known
---   shell     a shell whose language is not, or not quite, known
---   internal  a mistake in the reader itself
---@alias anvia.sandbox.ProblemKind
---| "syntax"|"dynamic"|"file"|"stdin"|"language"|"bound"|"nul"|"option"|"shell"|"internal"

---@class anvia.sandbox.Problem
---@field what string      a sentence
---@field where string     the text it stands at, shortened, or the name of a field of the call
---@field kind anvia.sandbox.ProblemKind

---@class anvia.sandbox.Command
---@field argv anvia.sandbox.Word[]
---@field name string?       basename of the program; nil when not known
---@field path string?       the program as written, when it was written with a "/"
---@field file string?       the same path made absolute, when the directory is known
---@field dynamic boolean    the program word is not known (its basename may be: "$DIR/bin/ls")
---@field role "program"|"wrapper"|"shell"|"interpreter"|"builtin"
---  wrapper and shell: what they run stands in other readings (or in a problem);
---  builtin: in a script, a command that the shell carries out itself
---@field inert boolean      a builtin that only acts on the shell itself (cd, export, test, echo;
---  the files of its redirections are accesses of their own)
---@field script boolean     stands in a script
---@field via string[]       how it was reached: {"argv"}, {"argv", "env"}, {"argv", "sh -c"} ...
---@field reading string     one line of text for people
---@field assignments table<string, string|true>  variables that are set for it: the env input,
---  env A=1, A=1 cmd, export, and plain assignments in its script (those reach it when the name
---  is exported already); true: value not known
---@field unset table<string, true>?  names removed from the environment (env -u); "*" for env -i
---@field cwd string?        absolute directory it starts in, nil when not known
---@field cwds string[]      all directories it may start in; empty when not known
---@field stdin "none"|"inherit"|"input"|"pipe"|"file"|"text"|"script"  its standard input; text: a
---  here-document; script: the script itself came that way
---@field stdin_text string? that text when it is known (input, here-document, static echo)
---@field pipes_to string[]?   names of the commands that read its output through a pipe
---@field pipes_from string[]? names of the commands whose output it reads through a pipe
---@field fed boolean?       a shell whose script file is a <(...)
---@field position integer   order in the call, starting at 1
---@field actions string[]?  what find does itself: "-delete", "-fprint" ...

---@class anvia.sandbox.Access
---@field kind "read"|"write"
---@field path string        relative to the workspace ("src/a", "." for itself), absolute when
---  outside; ".." is resolved. For a dynamic one a glob, "**" when nothing is known
---@field outside boolean    not under the workspace, or not known to be
---@field via string         "redirect", "tool", "script", "find -delete", "link" ...
---@field dynamic boolean    the path is not known; `path` is a glob that covers it
---@field text string        as written

---@class anvia.sandbox.Readings
---@field complete boolean
---@field problems anvia.sandbox.Problem[]
---@field commands anvia.sandbox.Command[]   commands[1] is the argv as given
---@field accesses anvia.sandbox.Access[]
---@field script anvia.sandbox.Script?       nil when the call hands no script to a shell

--- For predicates.
---@class anvia.sandbox.Script
---@field text string          the outermost script
---@field pipes_into fun(self, ...: string): boolean  a command of one of these names reads a pipe
---  (or, being a shell, runs a `<(...)`)
---@field pipes_into_shell fun(self): boolean         the same for any shell
---@field commands fun(self): anvia.sandbox.Command[] those found in scripts
---@field redirects fun(self): anvia.sandbox.Access[] those of redirections

---@class anvia.sandbox.ReadingsContext
---@field workdir string?     ["/workspace"]
---@field wrappers table<string, anvia.sandbox.Wrapper|false>?  more; see wrappers.lua
---@field programs table?     descriptions of programs; not used here
---@field links (fun(path: string): string?)?  target of a link, for an absolute path
---@field env table<string, string>?  what is known to be in the environment of the session

local reader = require("anvia.sandbox.policy.readings.reader")
local openers = require("anvia.sandbox.policy.readings.openers")
local script = require("anvia.sandbox.policy.readings.call_script")
local variables = require("anvia.sandbox.policy.readings.variables")
local paths = require("anvia.sandbox.policy.readings.paths")

for name, method in pairs(require("anvia.sandbox.policy.readings.scripts")) do
  reader[name] = method
end

local readings = {}

--- What tools do with the path they are given.
local PATH_TOOLS = {
  read_file = { "read" }, read_text_page = { "read" }, list_files = { "read" }, stat = { "read" },
  write_file = { "write" }, mkdir = { "write" }, remove = { "write" }, rename = { "write" },
}

--- Checks that text is free of NUL bytes, which end a C string.
local function refuse_nul(r, where, value)
  if type(value) == "string" and value:find("%z") then
    r:problem("nul", "a NUL byte", where)
  end
end

--- Files that the call names itself.
local function tool_paths(r, call, cwds)
  for _, field in ipairs({ "path", "to", "new_path", "target" }) do
    local path = call[field]
    if type(path) == "string" then
      refuse_nul(r, field, path)
      for _, kind in ipairs(PATH_TOOLS[call.tool] or { "read", "write" }) do
        r:access(kind, path, cwds, "tool")
      end
    end
  end
end

local function environment(r, call, at)
  local env, names = {}, {}
  for name, value in pairs(type(call.env) == "table" and call.env or {}) do
    if type(name) == "string" then
      refuse_nul(r, "env", name)
      refuse_nul(r, "env", value)
      env[name] = type(value) == "string" and value or true
      names[#names + 1] = name
    end
  end
  at.env = env
  table.sort(names)
  return names
end

local function standard_input(call)
  if type(call.input) == "string" then
    return { kind = "input", text = call.input }
  elseif call.input or call.stdin then
    return { kind = "inherit" }
  end
  return { kind = "none" }
end

local function run(r, call, cwds)
  local argv = { call.command }
  refuse_nul(r, "command", call.command)
  for i, word in ipairs(type(call.args) == "table" and call.args or {}) do
    if type(word) ~= "string" then
      r:problem("syntax", "an argument that is not text", "args")
      word = tostring(word)
    end
    refuse_nul(r, "args", word)
    argv[i + 1] = word
  end
  local at = { via = { "argv" }, cwds = cwds, stdin = standard_input(call), vars = {}, depth = 0 }
  local names = environment(r, call, at)
  r:run(argv, at)
  for _, name in ipairs(names) do
    variables.run(r, name, at.env[name], at)
  end
end

--- Reads a call.
---@param call table     {tool, command, args, cwd, env, input, path, content, ...}
---@param context anvia.sandbox.ReadingsContext?
---@return anvia.sandbox.Readings
function readings.of(call, context)
  context = context or {}
  local r = reader.new(context, openers.new(context.wrappers))
  local cwds = { r.workdir }
  if type(call.cwd) == "string" then
    refuse_nul(r, "cwd", call.cwd)
    cwds = { paths.absolute(call.cwd, r.workdir) }
  end
  local ok, err = pcall(function()
    if type(call.command) == "string" then
      run(r, call, cwds)
    end
    tool_paths(r, call, cwds)
  end)
  if not ok then
    -- A mistake in here must not read as "nothing found".
    r:problem("internal", "the reader failed: " .. tostring(err), call.command)
  end
  return {
    complete = r.complete,
    problems = r.problems,
    commands = r.commands,
    accesses = r.accesses,
    script = script.new(r),
  }
end

return readings
