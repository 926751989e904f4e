-- SPDX-License-Identifier: MIT
--- What each method of a session is to a policy.
---
--- A method that a model could reach becomes one or more calls in the words of the policy
--- language: {tool, method, ...}. The first is counted. The others are the same act under the name
--- of the tool that could do it too: what a rule refuses to a tool no other method does either.
local archive = require("anvia.sandbox.archive")
local errors = require("anvia.sandbox.errors")

local calls = {}

-- What is remembered of the input of one process, to judge it as a whole.
local MAX_WRITTEN_BYTES = 64 * 1024

-- Where the method was called, seen from `bad` in a function of METHODS: that one, the guard's two,
-- and the caller.
local CALLER = 5

local function bad(method, what, level)
  error(method .. ": " .. what, level or CALLER)
end

local function path_argument(method, path)
  if type(path) ~= "string" then
    bad(method, "a path must be a string", CALLER + 1)
  end
  return path
end

local function command(tool)
  return function(_, method, args)
    local options = args[1]
    if type(options) ~= "table" or type(options.command) ~= "string" then
      bad(method, "options must be a table with a command")
    end
    return { {
      tool = tool,
      method = method,
      command = options.command,
      args = options.args or {},
      cwd = options.cwd,
      env = options.env,
      input = options.input,
      stdin = options.stdin or options.pty ~= nil, -- a terminal can be typed at
      timeout_ms = options.timeout_ms,
    } }
  end
end

--- Input of a process that is a shell or an interpreter is a script: it is judged with all that was
--- written before, as the input of the command that was started.
local function writes_process(guard, method, args)
  local id, data = args[1], args[2]
  if type(id) ~= "string" or type(data) ~= "string" then
    bad(method, "an id and a string are needed")
  end
  local info, err = guard.session:process_info(id)
  if not info then
    return nil, err
  end
  local written = ((guard.written[id] or "") .. data):sub(-MAX_WRITTEN_BYTES)
  guard.written[id] = written
  local function as(tool)
    return { tool = tool, method = method, id = id, command = info.command, args = info.args or {},
      cwd = info.cwd, input = written }
  end
  return { as("write_process"), as("start_process") }
end

local function on_path(tool)
  return function(_, method, args)
    return { { tool = tool, method = method, path = path_argument(method, args[1]) } }
  end
end

local function as(tool, method, path)
  return { tool = tool, method = method, path = path }
end

--- What is below a directory is judged path by path, as it is now: the directories as listed, with
--- `reads` the files as read. `under` is where the paths come from, for whoever looks at links.
local function below(guard, method, path, reads)
  local entries, err = guard.session:list_files(path, { recursive = true })
  if not entries then
    return nil, err
  elseif entries.truncated then
    return nil, errors.new(method, "tool_policy", "Refused: there is more below %s than can be "
      .. "judged", path)
  end
  local list = { as("list_files", method, path), under = path, paths = {} }
  for _, entry in ipairs(entries) do
    if entry.type == "directory" or reads and entry.type == "file" then
      list[#list + 1] = as(entry.type == "file" and "read_file" or "list_files", method, entry.path)
      list.paths[#list.paths + 1] = entry.path
    end
  end
  return list
end

local function lists(guard, method, args)
  local path, options = path_argument(method, args[1] or "."), args[2]
  if type(options) == "table" and options.recursive then
    return below(guard, method, path)
  end
  return { as("list_files", method, path) }
end

local function reads_archive(guard, method, args)
  local path = path_argument(method, args[1] or ".")
  local entry, err = guard.session:stat(path)
  if not entry then
    return nil, err
  elseif entry.type == "file" then
    return { as("read_file", method, path) }
  end
  return below(guard, method, path, true)
end

--- Each file in it is a write of its own.
local function writes_archive(guard, method, args)
  local path = path_argument(method, args[1])
  if type(args[2]) ~= "string" then
    bad(method, "an archive must be a string")
  end
  local steps, links = archive.plan(guard.session, path, args[2])
  if not steps then
    return nil, links
  end
  local list = {}
  for _, step in ipairs(steps) do
    list[#list + 1] = { tool = step.content and "write_file" or "mkdir", method = method,
      path = step.path, content = step.content, size = #(step.content or "") }
  end
  for _, link in ipairs(links) do
    list[#list + 1] = { tool = "write_file", method = method, path = link.path, size = 0 }
  end
  if #list == 0 then
    list[1] = { tool = "mkdir", method = method, path = path, size = 0 }
  end
  return list
end

local function writes(_, method, args)
  local path = path_argument(method, args[1])
  if type(args[2]) ~= "string" then
    bad(method, "data must be a string")
  end
  return { { tool = "write_file", method = method, path = path, content = args[2],
    size = #args[2] } }
end

local function changes(_, method, args)
  local path = path_argument(method, args[1])
  return {
    { tool = method, method = method, path = path, size = 0 },
    { tool = "write_file", method = method, path = path, size = 0 },
  }
end

--- The old name goes and the new one comes, and what could not be read may be readable then.
local function renames(_, method, args)
  local from, to = path_argument(method, args[1]), path_argument(method, args[2])
  return {
    { tool = "rename", method = method, path = from, to = to, size = 0 },
    { tool = "write_file", method = method, path = from, to = to, size = 0 },
    { tool = "read_file", method = method, path = from },
  }
end

local function on_process(tool)
  return function(_, method, args)
    local list = { { tool = method, method = method, id = args[1] } }
    if method == "signal_process" then
      list[1].signal = args[2]
    end
    if tool ~= method then
      list[2] = { tool = tool, method = method, id = args[1] }
    end
    return list
  end
end

local function on_port(_, method, args)
  local options = type(args[2]) == "table" and args[2] or {}
  return { { tool = "wait_for_port", method = method, port = args[1],
    timeout_ms = options.timeout_ms } }
end

local function free()
  return {}
end

--- method -> function(guard, method, args) -> calls | nil, err. Raises for arguments that are none.
calls.METHODS = {
  exec = command("exec_command"),
  exec_stream = command("exec_command"),
  start_process = command("start_process"),
  write_process = writes_process,
  read_file = on_path("read_file"),
  read_text_page = on_path("read_file"),
  stat = on_path("stat"),
  list_files = lists,
  watch_files = lists,
  read_archive = reads_archive,
  write_file = writes,
  write_archive = writes_archive,
  mkdir = changes,
  remove = changes,
  rename = renames,
  list_processes = on_process("list_processes"),
  process_info = on_process("list_processes"),
  wait_process = on_process("list_processes"),
  read_process_logs = on_process("read_process_logs"),
  stop_process = on_process("stop_process"),
  signal_process = on_process("stop_process"),
  close_process_stdin = on_process("stop_process"),
  resize_process = on_process("resize_process"),
  wait_for_port = on_port,
  touch = free,
  destroy = free,
}

--- method -> which argument holds its options, where these have a time-out.
calls.TIMED = { exec = 1, exec_stream = 1, wait_for_port = 2 }

return calls
