-- SPDX-License-Identifier: MIT
---@meta anvia.sandbox

-- What callers pass in and get back, for the language server. The methods are annotated
-- where they are: sandbox.lua, session.lua, exec.lua, process.lua, ports.lua, files.lua,
-- archive.lua, watch.lua.

--- For sandbox.docker(), node(), python() and deno(). Unknown keys raise.
---@class anvia.sandbox.Options
---@field image string?                       [the preset's]
---@field pull "missing"|"always"|"never"|nil [missing]
---@field workdir string?                     [/workspace]
---@field workspace anvia.sandbox.Workspace?  [{mode = "ephemeral"}]
---@field network boolean|string|nil          [false] true, "none", "host", or a name
---@field user string?                        [the image's] name or uid, with :group if wanted
---@field engine "auto"|"api"|"cli"|nil       [auto]
---@field runner "auto"|"supervisor"|"exec"|nil [auto] the supervisor where it can run
---@field docker_path string?                 [docker]
---@field host string?  endpoint, as in DOCKER_HOST; ports need one behind a local socket
---@field runtime string?                     the engine's word for it, such as "runsc"
---@field labels table<string, string>?       for the container
---@field lifecycle anvia.sandbox.Lifecycle?
---@field limits anvia.sandbox.Limits?
---@field security anvia.sandbox.Security?
---@field hooks anvia.sandbox.Hooks?

--- A persistent workspace is a volume that outlives its sessions.
---@class anvia.sandbox.Workspace
---@field mode "ephemeral"|"persistent"
---@field id string?                          of a persistent one
---@field destroy_on_session_destroy boolean? [false]

---@class anvia.sandbox.Lifecycle
---@field ttl_ms integer?          the session ends after this time, whatever happens
---@field idle_timeout_ms integer? after this time without operations and running processes
---@field auto_destroy boolean?    [true] false: the collector never ends a session

---@class anvia.sandbox.Limits
---@field timeout_ms integer?       [30000] for commands, and for each request to the engine
---@field max_output_bytes integer? [1 MiB] of each stream of a command or process
---@field max_file_bytes integer?   [64 MiB]
---@field memory_mb integer?        swap included
---@field cpus number?
---@field pids_limit integer?       [512]
---@field max_processes integer?    [4] managed processes that are tracked

---@class anvia.sandbox.Security
---@field readonly_rootfs boolean?     [false] true: /tmp is a small tmpfs
---@field no_new_privileges boolean?   [true]
---@field drop_capabilities string[]?  [{"ALL"}]

--- on_session_create and on_exec_start may raise: that fails the call. What the others
--- raise goes to on_error.
---@class anvia.sandbox.Hooks
---@field on_session_create fun(event: anvia.sandbox.Event)?
---@field on_exec_start fun(event: anvia.sandbox.ExecEvent)?  also before a managed process
---@field on_exec_end fun(event: anvia.sandbox.ExecEvent)?    also after one
---@field on_file_write fun(event: anvia.sandbox.FileEvent)?
---@field on_destroy fun(event: anvia.sandbox.DestroyEvent)?  once, however it ended
---@field on_error fun(event: anvia.sandbox.ErrorEvent)?
---@field on_warning fun(event: anvia.sandbox.WarningEvent)? the supervisor cannot run

---@class anvia.sandbox.Event
---@field session_id string
---@field provider "docker"
---@field workdir string

---@class anvia.sandbox.ExecEvent: anvia.sandbox.Event
---@field command string
---@field args string[]
---@field cwd string          absolute
---@field process_id string?  of a managed process
---@field result anvia.sandbox.ExecResult|anvia.sandbox.ProcessInfo|nil at the end
---@field error anvia.sandbox.Error? at the end, instead of a result

---@class anvia.sandbox.FileEvent: anvia.sandbox.Event
---@field path string relative to the workspace
---@field size integer

---@class anvia.sandbox.DestroyEvent: anvia.sandbox.Event
---@field reason "destroy"|"ttl"|"idle"|"lost"

--- The event of the hook that raised, with two more fields.
---@class anvia.sandbox.ErrorEvent: anvia.sandbox.Event
---@field hook string
---@field error any

---@class anvia.sandbox.WarningEvent: anvia.sandbox.Event
---@field message string

---@class anvia.sandbox.PullOptions
---@field on_progress (fun(event: table))?
---@field cancel anvia.sandbox.CancelToken?
---@field timeout_ms integer?                [600000]

---@class anvia.sandbox.SessionOptions
---@field id string?                         [random] 1 to 64 of A-Z a-z 0-9 _ . -
---@field ports integer[]?                   to publish on 127.0.0.1
---@field workspace anvia.sandbox.Workspace? [the sandbox's]
---@field metadata table<string, string>?    kept as labels
---@field manifest anvia.sandbox.Manifest?
---@field policy anvia.sandbox.Policy?      every method asks it first; there is no way around
---@field on_ask (fun(request: anvia.sandbox.PolicyRequest): "once"|"session"|boolean|nil)?

---@class anvia.sandbox.Manifest
---@field files table<string, string|{content: string, mode: string?}>?
---@field directories string[]?
---@field env table<string, string>? for every command of the session

---@class anvia.sandbox.PublishedPort
---@field container_port integer
---@field host string
---@field host_port integer
---@field protocol "tcp"

---@class anvia.sandbox.Session
---@field id string
---@field provider "docker"
---@field workdir string
---@field runner "supervisor"|"exec"
---@field metadata table<string, string>
---@field published_ports anvia.sandbox.PublishedPort[]

--- What to run. Nothing of it shows on the host's command lines.
---@class anvia.sandbox.CommandOptions
---@field command string             a program, looked for in PATH; not a line for a shell
---@field args string[]?
---@field cwd string?                inside the workspace
---@field env table<string, string>? on top of the session's

---@class anvia.sandbox.ExecOptions: anvia.sandbox.CommandOptions
---@field input string?              [empty]
---@field timeout_ms integer?        [limits.timeout_ms]
---@field grace_period_ms integer?   [2000] between TERM and KILL
---@field max_output_bytes integer?  [limits.max_output_bytes]
---@field keep "head"|"tail"|"both"|nil [both] what survives the cap
---@field cancel anvia.sandbox.CancelToken?
---@field on_stdout fun(data: string)? exec only
---@field on_stderr fun(data: string)? exec only

---@class anvia.sandbox.ExecResult
---@field stdout string
---@field stderr string
---@field exit_code integer?          124 after a time-out; nil when cancelled before the start
---@field signal string?              such as "SIGKILL"
---@field duration_ms integer
---@field timed_out boolean
---@field cancelled boolean
---@field stdout_truncated boolean
---@field stderr_truncated boolean
---@field stdout_omitted_bytes integer
---@field stderr_omitted_bytes integer
---@field stdout_cut_at integer?      where the bytes are missing, if some are
---@field stderr_cut_at integer?
---@field usage anvia.sandbox.Usage?  with the supervisor
---@field oom_killed boolean          the kernel killed it for want of memory, as far as can be told

--- What a command used, with the children that it waited for.
---@class anvia.sandbox.Usage
---@field user_ms integer
---@field system_ms integer
---@field max_rss_bytes integer

---@class anvia.sandbox.ExecStreamEvent
---@field type "stdout"|"stderr"|"exit"|"error"
---@field data string?
---@field result anvia.sandbox.ExecResult?
---@field error anvia.sandbox.Error?

---@class anvia.sandbox.ProcessOptions: anvia.sandbox.CommandOptions
---@field stdin boolean? [false] true: write_process() can write to it
---@field pty anvia.sandbox.TerminalSize? a terminal; with the supervisor

---@class anvia.sandbox.TerminalSize
---@field rows integer
---@field cols integer

---@class anvia.sandbox.ProcessInfo
---@field id string
---@field command string
---@field args string[]
---@field cwd string
---@field status "running"|"exited"|"stopped"
---@field exit_code integer?
---@field signal string?
---@field usage anvia.sandbox.Usage? once it has ended; with the supervisor
---@field oom_killed boolean? once it has ended
---@field started_at integer   wall clock, ms
---@field ended_at integer?

---@alias anvia.sandbox.LogCursor string

---@class anvia.sandbox.ProcessLogs
---@field stdout string
---@field stderr string
---@field stdout_truncated boolean
---@field stderr_truncated boolean
---@field stdout_lost_bytes integer after `since`, but not kept any more
---@field stderr_lost_bytes integer
---@field cursor anvia.sandbox.LogCursor

--- A session on the engine, whoever made it.
---@class anvia.sandbox.SessionRow
---@field id string
---@field container_id string
---@field container_name string
---@field image string
---@field status string           the engine's word: running, created, exited ...
---@field labels table<string, string>
---@field metadata table<string, string>
---@field workspace {mode: string?, volume: string?}
---@field published_ports anvia.sandbox.PublishedPort[]
---@field created_at integer?     wall clock, ms
---@field expires_at integer?
---@field owner {state: "alive"|"dead"|"unknown", host: string?, pid: integer?}
