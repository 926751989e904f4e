-- SPDX-License-Identifier: MIT
-- A session without an engine: a table with the public methods, which answers what a test tells it
-- to and records what it was asked.

local METHODS = {
  "exec", "exec_stream", "read_file", "write_file", "read_text_page", "list_files", "stat", "mkdir",
  "remove", "rename", "read_archive", "write_archive", "watch_files", "start_process",
  "list_processes", "process_info", "read_process_logs",
  "signal_process", "write_process", "close_process_stdin", "wait_process", "stop_process",
  "resize_process", "wait_for_port", "destroy", "touch",
}

local fake = { METHODS = METHODS }

--- `answers[method]` is a value, or a function(session, ...) that returns one.
---
--- session.calls is the array of {method, args...}; session:last(method) the newest of them.
function fake.new(answers, fields)
  local session = {
    id = "fake-1",
    provider = "docker",
    workdir = "/workspace",
    runner = "exec",
    published_ports = {},
    calls = {},
  }
  for name, value in pairs(fields or {}) do
    session[name] = value
  end
  for _, method in ipairs(METHODS) do
    session[method] = function(self, ...)
      self.calls[#self.calls + 1] = { method, ... }
      local answer = answers and answers[method]
      if type(answer) == "function" then
        return answer(self, ...)
      elseif answer == nil then
        return true
      end
      return answer
    end
  end
  function session.last(self, method)
    for i = #self.calls, 1, -1 do
      if self.calls[i][1] == method then
        return self.calls[i]
      end
    end
  end
  return session
end

--- The result of a command, as exec returns it.
function fake.result(fields)
  local result = {
    stdout = "",
    stderr = "",
    exit_code = 0,
    duration_ms = 1,
    timed_out = false,
    cancelled = false,
    stdout_truncated = false,
    stderr_truncated = false,
    stdout_omitted_bytes = 0,
    stderr_omitted_bytes = 0,
  }
  for name, value in pairs(fields or {}) do
    result[name] = value
  end
  return result
end

fake.port = { container_port = 8000, host = "127.0.0.1", host_port = 49152, protocol = "tcp" }

return fake
