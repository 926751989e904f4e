-- SPDX-License-Identifier: MIT
---@meta anvia.sandbox.core

-- The C module, for the language server. The library's own files are its users; programs
-- use `anvia.sandbox`. spec/binding/meta_spec.lua fails when this differs from the module.

--- All functions that start something return an operation at once, or nil and a plain
--- error {code, message}; `task.await(core.run{...})` takes both.
---@class anvia.sandbox.core
---@field _VERSION string
---@field null lightuserdata null of JSON
---@field scripts {run: string, control: string} shell programs of the exec runner
---@field box anvia.sandbox.core.BoxModule
local core = {}

---@class anvia.sandbox.core.Failure
---@field code string see errors.CODES
---@field message string
---@field result table? what there is of a result in spite of the failure

--- The next operation with news: it has something to read, or it is done. Blocks; nil after
--- the time, or early when a signal came, so that the hooks of the interpreter run.
---@param timeout_ms integer? nil: without end
---@return anvia.sandbox.core.Op? op
function core.next(timeout_ms) end

--- Readable while next(0) has something. The same until the process forks.
---@return integer? fd
---@return anvia.sandbox.core.Failure? err
function core.fd() end

--- An operation that is done after a while. Result: true.
---@param ms integer
---@return anvia.sandbox.core.Op? op
---@return anvia.sandbox.core.Failure? err
function core.sleep(ms) end

---@class anvia.sandbox.core.RunOptions
---@field argv string[] argv[1] is looked up in the host's PATH
---@field env table<string, string|false>? on top of the host's environment; false removes
---@field input string? [empty]
---@field timeout_ms integer? 1 to 2^53; [none]
---@field max_output_bytes integer? of each stream [1 MiB]
---@field keep "head"|"tail"|"both"|nil [both]

---@class anvia.sandbox.core.RunResult
---@field exit_code integer? nil: ended by a signal, or nobody knows
---@field signal integer?
---@field stdout string
---@field stdout_truncated boolean
---@field stdout_omitted_bytes integer
---@field stderr string
---@field stderr_truncated boolean
---@field stderr_omitted_bytes integer
---@field timed_out boolean
---@field cancelled boolean
---@field duration_ms integer

--- Runs a program of the host to its end. Result: RunResult, also after a time-out or a
--- cancel. A program that cannot be started is the error docker_unavailable.
---@param options anvia.sandbox.core.RunOptions
---@return anvia.sandbox.core.Op? op
---@return anvia.sandbox.core.Failure? err
function core.run(options) end

---@class anvia.sandbox.core.HttpOptions
---@field endpoint string "unix:///path" or "tcp://host:port"
---@field method string in upper case
---@field path string with the query, encoded
---@field headers table<string, string>?
---@field content_type string? of the body [application/json]
---@field body string?
---@field timeout_ms integer? of the whole request [none]
---@field max_body_bytes integer? a longer answer is an error [16 MiB]
---@field lines boolean? a good answer (2xx) is not kept: Op:read() gives its lines
---@field arms string? "label=value" of the container that it creates: until another request
---disarms it, the container is removed when this process dies
---@field disarms string? the same, of one that it removes and that is armed
---@field prefix string? with either: before all paths, "/v1.41"

---@class anvia.sandbox.core.HttpResult
---@field armed boolean? with `arms`
---@field status integer
---@field headers table<string, string> names in lower case
---@field body string

--- One request to an engine's socket. Result: HttpResult, whatever the status. No answer is
--- the error docker_unavailable, one that is not HTTP or too long is protocol.
---@param options anvia.sandbox.core.HttpOptions
---@return anvia.sandbox.core.Op? op
---@return anvia.sandbox.core.Failure? err
function core.http(options) end

--- Monotonic.
---@return integer
function core.now_ms() end

--- Since 1970; may jump.
---@return integer
function core.wall_ms() end

---@return integer
function core.getpid() end

---@return string
function core.uuid() end

---@param digits integer 1 to 256
---@return string
function core.random_hex(digits) end

--- The program that is PID 1 of a session's container; nil when the library was
--- built without one for this architecture.
---@param arch string as the engine calls it: "amd64", "arm64"
---@return string? bytes
---@return string? sha256 in hex
function core.supervisor(arch) end

--- See lua/anvia/sandbox/json.lua.
---@param value any
---@return string? text
---@return string? message
function core.json_encode(value) end

---@param text string
---@return any value
---@return string? message
function core.json_decode(text) end

---@param t table?
---@return table
function core.json_array(t) end

---@param value any
---@return boolean
function core.json_is_array(value) end

--- One asynchronous request. When it is collected before it is done, it is cancelled.
---@class anvia.sandbox.core.Op
local Op = {}

---@return boolean
function Op:done() end

--- Once it is done; raises before. Drops what was not read by then.
---@return any value
---@return anvia.sandbox.core.Failure? err
function Op:result() end

--- The next piece of output of a streaming operation, nil when there is none now.
---@return "stdout"|"stderr"|nil which
---@return string? data
function Op:read() end

--- Asks for the end; the operation is still completed, soon. No effect once it is done.
function Op:cancel() end

--- What starts a client of the engine.
---@class anvia.sandbox.core.Request
---@field argv string[]
---@field env table<string, string|false>?
---@field kind string? not looked at

--- The same over an engine's socket: creates something and attaches to it.
---@class anvia.sandbox.core.HttpRequest
---@field kind "http"
---@field flow "run"|"exec"|"remove"
---@field endpoint string
---@field prefix string? before all paths, "/v1.41"
---@field path string of the first request, with its query
---@field body string? of the create request
---@field label string? run: "name=value", of this container alone

---@alias anvia.sandbox.core.StreamRequest
---| anvia.sandbox.core.Request
---| anvia.sandbox.core.HttpRequest

---@class anvia.sandbox.core.SessionOptions
---@field attach anvia.sandbox.core.StreamRequest creates the container; its stdin is the lease
---@field exec anvia.sandbox.core.StreamRequest? runs the script as the session's user
---@field root_exec anvia.sandbox.core.StreamRequest? the same as uid 0
---@field agent anvia.sandbox.core.StreamRequest? runs the control script as uid 0
---@field remove anvia.sandbox.core.StreamRequest? for a container that outlives its lease
---@field workdir string
---@field ttl_ms integer? [none]
---@field idle_timeout_ms integer? [none]
---@field max_processes integer? [4]
---@field max_output_bytes integer? of each stream of a managed process [1 MiB]
---@field runner "exec"|"supervisor"|nil [exec]; a supervisor needs no exec, root_exec, agent
---@field user string? of the commands, as in an image's USER; with the supervisor, like the next two
---@field capabilities integer? that commands may have: a mask by number [0]
---@field no_new_privileges boolean? [false]

--- A session that is not open yet. Nothing is started.
---@param options anvia.sandbox.core.SessionOptions
---@return anvia.sandbox.core.Session? session
---@return anvia.sandbox.core.Failure? err
function core.session(options) end

---@class anvia.sandbox.core.Session
local Session = {}

--- Result: {uid, gid, writable}. An error's result is what the client said.
---@param timeout_ms integer
---@return anvia.sandbox.core.Op
function Session:open(timeout_ms) end

--- Done when the client of the lease has ended. Result: {exit_code}.
---@param timeout_ms integer
---@return anvia.sandbox.core.Op
function Session:wait_closed(timeout_ms) end

--- Closes the lease, soon.
function Session:close() end

--- Counts as activity for the idle time.
function Session:touch() end

---@return "new"|"opening"|"open"|"closing"|"closed" state
---@return nil|"destroy"|"ttl"|"idle"|"lost"|"failed"|"protocol" reason
---@return string? note what the engine has reported of the container, for people
function Session:state() end

---@class anvia.sandbox.core.ExecOptions
---@field command string
---@field args string[]?
---@field cwd string? absolute
---@field env table<string, string>?
---@field input string?
---@field timeout_ms integer? [30000]
---@field grace_period_ms integer? [500]
---@field max_output_bytes integer? [1 MiB]
---@field keep "head"|"tail"|"both"|nil [both]
---@field stream boolean? read() gives the output as it comes
---@field root boolean? as uid 0
---@field pty integer[]? a terminal of so many rows and columns

--- What a command used, with the children that it waited for.
---@class anvia.sandbox.core.Usage
---@field user_ms integer
---@field system_ms integer
---@field max_rss_bytes integer

---@class anvia.sandbox.core.ExecResult
---@field stdout string
---@field stdout_truncated boolean
---@field stdout_omitted_bytes integer
---@field stdout_cut_at integer? where bytes are missing
---@field stderr string
---@field stderr_truncated boolean
---@field stderr_omitted_bytes integer
---@field stderr_cut_at integer?
---@field exit_code integer?
---@field signal string? "SIGTERM"
---@field duration_ms integer
---@field timed_out boolean
---@field cancelled boolean
---@field could_not_start boolean?
---@field usage anvia.sandbox.core.Usage? with the supervisor
---@field oom_killed boolean

--- Result: ExecResult, which is also the result of an error.
---@param options anvia.sandbox.core.ExecOptions
---@return anvia.sandbox.core.Op
function Session:exec(options) end

---@class anvia.sandbox.core.StartOptions
---@field id string
---@field command string
---@field args string[]?
---@field cwd string?
---@field env table<string, string>?
---@field stdin boolean? [false]
---@field timeout_ms integer?
---@field pty integer[]? a terminal of so many rows and columns

---@class anvia.sandbox.core.ProcessInfo
---@field id string
---@field command string
---@field args string[]
---@field cwd string
---@field status "running"|"exited"|"stopped"
---@field exit_code integer?
---@field signal string?
---@field usage anvia.sandbox.core.Usage? once it has ended; with the supervisor
---@field oom_killed boolean? once it has ended
---@field started_at integer? wall clock, ms
---@field ended_at integer?

--- Starts a managed process. Result: ProcessInfo.
---@param options anvia.sandbox.core.StartOptions
---@return anvia.sandbox.core.Op
function Session:start(options) end

--- Result: an array of ProcessInfo.
---@return anvia.sandbox.core.Op
function Session:list() end

---@param id string
---@return anvia.sandbox.core.Op
function Session:info(id) end

---@class anvia.sandbox.core.LogsOptions
---@field tail_bytes integer?
---@field since string? the cursor of an earlier call

--- Result: {stdout, stdout_truncated, stdout_lost_bytes, the same for stderr, cursor}.
---@param id string
---@param options anvia.sandbox.core.LogsOptions
---@return anvia.sandbox.core.Op
function Session:logs(id, options) end

---@param id string
---@param name string "TERM", "KILL" ...
---@return anvia.sandbox.core.Op
function Session:signal(id, name) end

--- The size of its terminal.
---@param id string
---@param rows integer
---@param cols integer
---@return anvia.sandbox.core.Op
function Session:resize(id, rows, cols) end

--- Done when the client has taken it.
---@param id string
---@param data string
---@return anvia.sandbox.core.Op
function Session:write(id, data) end

---@param id string
---@return anvia.sandbox.core.Op
function Session:close_stdin(id) end

--- Result: ProcessInfo of the ended process.
---@param id string
---@param timeout_ms integer
---@return anvia.sandbox.core.Op
function Session:wait(id, timeout_ms) end

---@param id string
---@param grace_ms integer
---@return anvia.sandbox.core.Op
function Session:stop(id, grace_ms) end

--- Stops it and forgets its record.
---@param id string
---@param grace_ms integer
---@return anvia.sandbox.core.Op
function Session:drop(id, grace_ms) end

---@class anvia.sandbox.core.FileOptions
---@field verb "read"|"write"|"list"|"stat"|"mkdir"|"remove"|"rename"|"symlink"
---@field path string relative to the workspace
---@field other string? rename: the new name; symlink: what the link says
---@field data string? write
---@field mode integer? write, mkdir: permissions, also of what is there
---@field limit integer? read: the whole file, and none with more bytes than that
---@field length integer? read, without a limit: bytes; list: entries; at most so many
---@field skip_lines integer? read, without a limit: begins after so many line ends ...
---@field offset integer? ... and so many bytes more
---@field recursive boolean? list, remove
---@field parents boolean? write, symlink: makes the directories above
---@field details boolean? list: mode, mtime_ms and target too
---@field timeout_ms integer? [30000]

--- One file operation by the supervisor; fails without one. Result of read {data, size}, of
--- list {entries}, sorted, of stat {entry}. An error's result is {errno, other, size}: Linux's
--- number, whether `other` is at fault, and the size of a file that is over its limit.
---@param options anvia.sandbox.core.FileOptions
---@return anvia.sandbox.core.Op
function Session:file(options) end

---@class anvia.sandbox.core.WatchOptions
---@field path string relative to the workspace
---@field recursive boolean?
---@field cursor integer? of an earlier event [from now on]
---@field timeout_ms integer? for its beginning [30000]

--- Streams what happens to files; see core/proc/watch_op.h for the pieces. Ends when it is
--- cancelled, or with an error.
---@param options anvia.sandbox.core.WatchOptions
---@return anvia.sandbox.core.Op
function Session:watch(options) end

---@class anvia.sandbox.core.ProbeOptions
---@field timeout_ms integer? [30000]
---@field interval_ms integer? [100]
---@field addresses string[]? the container's own IPv4 addresses
---@field host_port integer? where it is published

--- Done when something listens on the port. Result: true.
---@param port integer
---@param options anvia.sandbox.core.ProbeOptions
---@return anvia.sandbox.core.Op
function Session:probe(port, options) end

---@class anvia.sandbox.core.BoxModule
local box = {}

---@class anvia.sandbox.core.BoxOptions
---@field memory_bytes integer
---@field instructions integer
---@field cpu_ms integer

--- A Lua state of its own, for policy code. See core/bind/lbox.h.
---@param options anvia.sandbox.core.BoxOptions
---@return anvia.sandbox.core.Box
function box.new(options) end

--- setup, run and call return true and values, or nil and {kind, message}.
---@class anvia.sandbox.core.Box
local Box = {}

--- Trusted code: a dumped function without upvalues.
---@param name string
---@param bytecode string
function Box:define(name, bytecode) end

---@param name string of a defined function, which gets the environment and ...
function Box:setup(name, ...) end

---@param source string
---@param chunk string
function Box:run(source, chunk) end

---@param id integer of a function that was kept
function Box:call(id, ...) end

--- Of each later run or call.
---@param instructions integer
---@param cpu_ms integer
function Box:budget(instructions, cpu_ms) end

---@return {memory_bytes: integer, peak_bytes: integer, instructions: integer}
function Box:usage() end

function Box:close() end

return core
