-- SPDX-License-Identifier: MIT
---@meta anvia.sandbox.policy
-- luacheck: globals allow ask deny default limit rule program wrapper expect container any only
-- luacheck: ignore 431

-- The policy language, and what the library takes and gives around it.

-- ---- words of a policy file ----

--- A word is a glob over one token: `*` any bytes, `?` one, `[a-z]`, `[!a-z]`, `\*` the star itself.
--- Words beginning with "-" are options and may stand anywhere in the command.
---@alias anvia.sandbox.CommandPattern
---| string                          # "git push": a prefix of words
---| (string|anvia.sandbox.Any)[]    # { "git", any { "push", "fetch" } }
---| anvia.sandbox.Any               # any { "ls", "cat", { "git", "log" } }
---| anvia.sandbox.Only              # only "git status": nothing more may follow

---@class anvia.sandbox.Any
---@field any (string|string[])[]
---@class anvia.sandbox.Only
---@field only string|string[]

--- Path globs read like a .gitignore: "*.pem", "src/**", "**/.env", "/etc/**".
---@alias anvia.sandbox.PathPattern string|string[]|anvia.sandbox.Only

---@class anvia.sandbox.PolicyRule
---@field exec anvia.sandbox.CommandPattern?   a command that runs
---@field pipe string|string[]|nil             "curl | sh": who reads from whom; "* | sh"
---@field read anvia.sandbox.PathPattern?      files that are read
---@field write anvia.sandbox.PathPattern?     files that are written, removed or renamed
---@field list anvia.sandbox.PathPattern?      directories that are listed
---@field env string|string[]|nil              variables that are set: "LD_*"
---@field port integer|string|(integer|string)[]|nil  8080, "8000-8999"
---@field tool string|string[]|nil             tools by name; beside another subject, a condition
---@field cwd anvia.sandbox.PathPattern?       condition: the directory the command starts in
---@field larger_than integer|string|nil       condition: bytes written, or input given: "64 KiB"
---@field up_to integer|string|nil             condition: at most so many bytes
---@field when (fun(call: anvia.sandbox.PolicyCallView, subject: table): boolean?)?  condition
---@field except any                           what the rule does not hold for; a list of patterns
---@field because string?                      said to the model when the rule decides
---@field instead string?                      what the model should do
---@field name string?                         how the rule is called in answers
---@field match any                            examples the rule must match
---@field not_match any                        examples the rule must not match

--- Holds if all readings of the call match (this or another allow), and everything was read.
--- In a predicate: the answer "allow".
---@param rule anvia.sandbox.PolicyRule
---@overload fun(because: string?): table
function allow(rule) end

--- Holds if any reading of the call matches. Without somebody to ask it is a deny.
---@param rule anvia.sandbox.PolicyRule
---@overload fun(because: string?, more: {instead: string?}?): table
function ask(rule) end

--- Holds if any reading of the call matches, whatever else allows it.
---@param rule anvia.sandbox.PolicyRule
---@overload fun(because: string?, more: {instead: string?}?): table
function deny(rule) end

---@alias anvia.sandbox.PolicyAnswer "allow"|"ask"|"deny"

---@class anvia.sandbox.PolicyDefaults
---@field exec anvia.sandbox.PolicyAnswer?
---@field read anvia.sandbox.PolicyAnswer?
---@field write anvia.sandbox.PolicyAnswer?
---@field list anvia.sandbox.PolicyAnswer?
---@field env anvia.sandbox.PolicyAnswer?        ordinary variables [allow]
---@field risky_env anvia.sandbox.PolicyAnswer?  PATH, LD_*, BASH_ENV and others [ask]
---@field port anvia.sandbox.PolicyAnswer?
---@field tool anvia.sandbox.PolicyAnswer?       tools that are not known
---@field unparsed anvia.sandbox.PolicyAnswer|table<string, anvia.sandbox.PolicyAnswer>|nil
---  text that was not read to the end; a table says it for syntax, dynamic, file, stdin, language,
---  bound, option and shell

--- The answer where no rule of this file matches. Nothing at all is asked about everything.
---@param answers anvia.sandbox.PolicyDefaults|anvia.sandbox.PolicyAnswer
function default(answers) end

--- Limits of one call and of the whole session.
---@param limits {exec: {timeout_ms: integer?, calls: integer?, total_ms: integer?, input_bytes: integer|string|nil}?, write: {calls: integer?, bytes: integer|string|nil, file_bytes: integer|string|nil}?, read: {calls: integer?}?, list: {calls: integer?}?, port: {calls: integer?, timeout_ms: integer?}?, process: {calls: integer?}?}
function limit(limits) end

--- A rule as a function. It gets a copy of the call and returns allow(), ask("why"), deny("why")
--- or nothing. An error, or more work than its budget, is a deny.
---@param name string
---@param predicate fun(call: anvia.sandbox.PolicyCallView): table?
function rule(name, predicate) end

---@class anvia.sandbox.ProgramDescription
---@field options string[]?             options without a value
---@field options_with_value string[]?  options that take the next word
---@field risky_options string[]?       make it run or overwrite something else: an allow must name them
---@field same_options string[][]?      { { "-f", "--force" } }
---@field same_commands string[][]?     { { "install", "i", "add" } }
---@field abbreviates boolean?          a sub-command may be shortened
---@field skip string[]?                operands before the sub-command that are not it: { "+*" }
---@field after anvia.sandbox.ProgramDescription?  the options behind the sub-command

--- program "deploy" { options_with_value = { "--stage" } }
---@param name string
---@return fun(description: anvia.sandbox.ProgramDescription)
function program(name) end

---@class anvia.sandbox.WrapperDescription
---@field options string[]?
---@field options_with_value string[]?
---@field script_options string[]?  options whose value is shell text
---@field operands integer?         words before the program it runs
---@field assignments boolean?      NAME=value words stand before the program
---@field script boolean?           the rest is shell text

--- wrapper "withsecrets" { options_with_value = { "-p" } }: what it runs is judged too.
---@param name string
---@return fun(description: anvia.sandbox.WrapperDescription)
function wrapper(name) end

--- A test: a policy whose tests fail does not load.
---@param call string|string[]|anvia.sandbox.PolicyCall
---@param answer anvia.sandbox.PolicyAnswer
function expect(call, answer) end

--- What the container should keep, because it can: policy:container_hints().
---@param hints {network: false|"none"|nil, readonly_rootfs: true|nil, no_new_privileges: true|nil, drop_capabilities: string[]?, memory_mb: number?, cpus: number?, pids_limit: integer?}
function container(hints) end

---@param list (string|string[])[]
---@return anvia.sandbox.Any
function any(list) end

---@param pattern string|string[]
---@return anvia.sandbox.Only
function only(pattern) end

--- What a predicate is given. All of it is a copy.
---@class anvia.sandbox.PolicyCallView: anvia.sandbox.PolicyCall
---@field complete boolean     everything was read
---@field problems {what: string, where: string, kind: string}[]
---@field commands {argv: any[], name: string?, path: string?, file: string?, role: string, via: string[], reading: string, cwd: string?, stdin: string?, pipes_from: string[]?, pipes_to: string[]?}[]
---@field accesses {kind: string, path: string, dynamic: boolean?}[]
---@field environment {name: string, value: string?}[]
---@field script anvia.sandbox.PolicyScriptView?  when text is given to a shell
---@field workdir string?
---@field spent table<string, {calls: integer, ms: number, bytes: integer}>
---@field limits table<string, number>
local view = {}

--- The first command that begins with these words: call:runs("git push").
---@param ... string
---@return table?
function view:runs(...) end

--- Whether one of these programs reads what another command prints.
---@param ... string
---@return boolean
function view:pipes_into(...) end

---@return boolean
function view:pipes_into_shell() end

---@param glob string
---@return boolean
function view:writes(glob) end

---@param glob string
---@return boolean
function view:reads(glob) end

--- The value that a variable is given, true when it is not known, nil when it is not set.
---@param name string
---@return string|true|nil
function view:sets(name) end

---@class anvia.sandbox.PolicyScriptView: anvia.sandbox.PolicyCallView
---@field text string

-- ---- the library's side ----

---@class anvia.sandbox.PolicyCall
---@field tool string            "exec_command", "write_file", ... or a method of a session
---@field command string?
---@field args string[]?
---@field cwd string?
---@field env table<string, string>?
---@field input string?
---@field timeout_ms number?
---@field path string?
---@field to string?             the new name of a rename
---@field content string?
---@field size integer?          when there is no content
---@field port integer?
---@field id string?             of a process
---@field signal string?

---@class anvia.sandbox.PolicyOptions
---@field name string?      what the policy is called in messages [the path]
---@field text boolean?     true: the source is text; false: it is a path
---@field limits {source_bytes: integer?, memory_bytes: integer?, load_instructions: integer?, load_cpu_ms: integer?, call_instructions: integer?, call_cpu_ms: integer?}?
---@field readings table?   another reader of calls; for tests

---@class anvia.sandbox.PolicyFacts
---@field workdir string?
---@field links (fun(path: string): string?)?  where a path leads, when it is a link
---@field env table<string, string>?           what is known of the session's environment

---@class anvia.sandbox.Verdict
---@field answer anvia.sandbox.PolicyAnswer
---@field by "rule"|"default"|"fallback"|"limit"|"call"|"inert"|"grant"
---@field rule string?      the rule that decided, by its name or its text
---@field file string?
---@field line integer?
---@field reading string    what it decided about
---@field subject string    "exec", "write", "env", "unparsed", ...
---@field because string?
---@field instead string?
---@field text string       one message for a model

---@class anvia.sandbox.PolicyRequest
---@field call anvia.sandbox.PolicyCall
---@field readings anvia.sandbox.Readings?
---@field text string
---@field because string?
---@field rule string?
---@field file string?
---@field line integer?
---@field asks {reading: string, subject: string, because: string?, instead: string?, rule: string?, file: string?, line: integer?, proposal: string?}[]
---@field proposal string?  the narrowest rules that would allow the call; what "session" grants.
---  nil: a yes is for once

---@class anvia.sandbox.PolicyState
---@field grants table<string, true>
local state = {}

---@param kind string   "exec.ms", "write.bytes", "exec.calls", ...
---@param n number
function state:charge(kind, n) end

---@param kind string
---@return number
function state:spent(kind) end

---@return table<string, {calls: integer, ms: number, bytes: integer}>
function state:counters() end

---@class anvia.sandbox.Policy
---@field error anvia.sandbox.Error?  why it refuses everything
local policy = {}

---@param call anvia.sandbox.PolicyCall
---@param state anvia.sandbox.PolicyState?
---@return anvia.sandbox.Verdict
function policy:judge(call, state) end

---@param call anvia.sandbox.PolicyCall
---@param state anvia.sandbox.PolicyState
---@param on_ask (fun(request: anvia.sandbox.PolicyRequest): "once"|"session"|boolean|nil)?
---@return true? ok
---@return anvia.sandbox.Error? err
function policy:authorize(call, state, on_ask) end

---@param call anvia.sandbox.PolicyCall|string
---@param state anvia.sandbox.PolicyState?
---@return string text
---@return anvia.sandbox.Verdict verdict
function policy:explain(call, state) end

---@param tool string
---@param state anvia.sandbox.PolicyState?
---@return table<string, number>
function policy:limits(tool, state) end

---@param facts anvia.sandbox.PolicyFacts?
---@return anvia.sandbox.PolicyState
function policy:session_state(facts) end

---@return table  options for sandbox.docker
function policy:container_hints() end
