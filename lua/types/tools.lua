-- SPDX-License-Identifier: MIT
---@meta anvia.sandbox.tools

--- What a model may use. Unknown keys raise.
---@class anvia.sandbox.ToolOptions
---@field allow anvia.sandbox.ToolName[]?    [exec_command, read_file, write_file, list_files]
---@field include anvia.sandbox.ToolName[]?  another name for `allow`
---@field exec anvia.sandbox.ToolExecOptions?
---@field read_file anvia.sandbox.ToolReadOptions?
---@field write_file {max_bytes: integer?}?  [the session's max_file_bytes]
---@field process anvia.sandbox.ToolProcessOptions?
---@field policy anvia.sandbox.Policy?       a loaded policy
---@field on_ask (fun(request: table): any)? answers what the policy asks; without it ask is deny

---@alias anvia.sandbox.ToolName
---| "exec_command"
---| "read_file"
---| "write_file"
---| "list_files"
---| "list_ports"
---| "start_process"
---| "list_processes"
---| "read_process_logs"
---| "stop_process"
---| "wait_for_port"

--- The lists are judged on what will run, as a policy is. A block list is not a boundary: the
--- container is.
---@class anvia.sandbox.ToolExecOptions
---@field allowed_commands string[]?   nothing else may run
---@field blocked_commands string[]?   these may not run, under no path and through no wrapper
---@field default_timeout_ms integer?  [the session's timeout_ms, at most max_timeout_ms]
---@field max_timeout_ms integer?      [300000, which is also the most]
---@field max_output_bytes integer?    [64 KiB, at most 1 MiB] of each stream, head and tail

---@class anvia.sandbox.ToolReadOptions
---@field max_bytes integer?           [64 KiB, at most 1 MiB] of a page
---@field default_line_count integer?  [500]
---@field max_line_count integer?      [2000, at most 10000]

---@class anvia.sandbox.ToolProcessOptions
---@field max_log_bytes integer?            [64 KiB, at most 1 MiB] of each stream
---@field default_wait_timeout_ms integer?  [30000]
---@field max_wait_timeout_ms integer?      [300000, which is also the most]
---@field stop_grace_period_ms integer?     [5000]

--- A plain table. `call` takes a Lua table or a JSON string.
---@class anvia.sandbox.Tool
---@field name anvia.sandbox.ToolName
---@field description string
---@field input_schema table           JSON Schema
---@field call fun(args: table|string|nil, options: anvia.sandbox.ToolCallOptions?): (string|anvia.sandbox.ToolPage)?, anvia.sandbox.Error?

---@class anvia.sandbox.ToolCallOptions
---@field cancel table?                a token of sandbox.cancel_token()

--- What read_file returns: a page of the file, its content valid UTF-8.
---@class anvia.sandbox.ToolPage
---@field content string
---@field start_line integer
---@field end_line integer
---@field next_start_line integer?
---@field next_start_byte integer?
---@field truncated boolean
---@field truncated_by "lines"|"bytes"|nil
---@field lossy true?                  bytes that are not text were replaced
---@field replaced_bytes integer?      how many

--- An array of tools in their fixed order.
---@class anvia.sandbox.ToolSet
---@field [integer] anvia.sandbox.Tool
local tools = {}

--- The array `tools` of OpenAI's chat completions.
---@return table[]
function tools:openai() end

--- The array `tools` of OpenAI's responses.
---@return table[]
function tools:openai_responses() end

--- The array `tools` of Anthropic's messages.
---@return table[]
function tools:anthropic() end

--- The array `tools` of MCP's tools/list.
---@return table[]
function tools:mcp() end

--- Runs a provider's call and returns that provider's result; see tools/set.lua.
---@param call table
---@param options anvia.sandbox.ToolCallOptions?
---@return table? result
---@return anvia.sandbox.Error? err
function tools:call(call, options) end

return tools
