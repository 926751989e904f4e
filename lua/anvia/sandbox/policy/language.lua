-- SPDX-License-Identifier: MIT
-- What the words of the policy language take. The one place to look up a field.

local language = {}

--- From weakest to strictest. `abstain` is the answer of a rule that does not apply.
language.rank = { abstain = 0, allow = 1, ask = 2, deny = 3 }

--- The stricter of two answers; nil counts as abstain.
function language.stricter(a, b)
  return language.rank[a or "abstain"] > language.rank[b or "abstain"]
end

--- What a rule can be about.
language.subjects = { "exec", "pipe", "read", "write", "list", "env", "port", "tool" }

--- The other fields of allow, ask and deny, with the type of each.
language.conditions = { cwd = "paths", larger_than = "bytes", up_to = "bytes", when = "predicate",
  tool = "names" }
language.notes = { name = "text", because = "text", instead = "text", except = "any",
  match = "any", not_match = "any" }

--- What `default` can be said of. `unparsed`: text that could not be read to the end. `risky_env`:
--- variables that decide what a program runs, when no rule speaks of them.
language.defaults = { "exec", "read", "write", "list", "env", "risky_env", "port", "tool",
  "unparsed" }

--- What can keep text from being read, see readings/init.lua.
language.problems = { "syntax", "dynamic", "file", "stdin", "language", "bound", "option", "shell" }

--- Answers when no layer says anything.
language.fallback = { exec = "ask", read = "ask", write = "ask", list = "ask", env = "allow",
  risky_env = "ask", port = "ask", tool = "ask", unparsed = "ask" }

--- The kinds that `limit` knows, and what can be limited of each.
language.limits = {
  exec = { timeout_ms = true, calls = true, total_ms = true, input_bytes = true },
  read = { calls = true, bytes = true, file_bytes = true },
  write = { calls = true, bytes = true, file_bytes = true },
  list = { calls = true },
  port = { calls = true, timeout_ms = true },
  process = { calls = true },
}

--- Variables that decide which program a name finds, or what code a program loads.
language.risky_env = { "PATH", "LD_*", "DYLD_*", "BASH_ENV", "BASH_FUNC_*", "ENV", "IFS", "CDPATH",
  "SHELLOPTS", "BASHOPTS", "PS4", "PROMPT_COMMAND", "PYTHONPATH", "PYTHONHOME", "PYTHONSTARTUP",
  "PERL5LIB", "PERL5OPT", "PERLLIB", "RUBYLIB", "RUBYOPT", "NODE_OPTIONS", "NODE_PATH",
  "LUA_INIT*", "LUA_PATH*", "LUA_CPATH*", "JAVA_TOOL_OPTIONS", "_JAVA_OPTIONS", "GCONV_PATH",
  "GIT_*", "EDITOR", "VISUAL", "PAGER", "MANPAGER", "LESSOPEN", "LESSCLOSE", "BROWSER", "SHELL",
  "GOFLAGS", "RUSTC", "RUSTC_WRAPPER", "CARGO_*", "npm_config_*", "PIP_*", "MAKEFLAGS", "CC",
  "CXX", "GLIBC_TUNABLES", "MALLOC_*", "HOSTALIASES", "OPENSSL_CONF", "DOCKER_HOST",
  "DOCKER_CONFIG", "KUBECONFIG" }

--- Programs that are never proposed for a grant of their own: what they run is in their arguments,
--- or in a file that may change.
language.runs_anything = { "sh", "bash", "dash", "ash", "zsh", "ksh", "mksh", "fish", "rbash",
  "csh", "tcsh", "busybox", "toybox", "python*", "pypy*", "node", "nodejs", "deno", "bun", "perl*",
  "ruby*", "php*", "lua*", "tclsh*", "rscript", "java", "dotnet", "env", "xargs", "find",
  "parallel", "sudo", "doas", "su", "runuser", "nsenter", "chroot", "unshare", "setpriv", "ssh",
  "awk", "gawk", "mawk", "nawk", "sed", "vi", "vim", "ed", "ex", "emacs", "eval", "exec", "command",
  "source", ".", "timeout", "nice", "nohup", "setsid", "stdbuf", "time", "watch", "script",
  "expect", "socat", "nc", "ncat", "npx", "bunx", "uvx", "pipx", "gdb", "strace", "ltrace", "flock",
  "entr", "at", "batch", "crontab", "systemd-run", "ionice", "chrt", "taskset" }

--- The subject of each tool, and of the session's methods that a model could reach.
language.tools = {
  exec_command = "exec", exec = "exec", exec_stream = "exec", start_process = "exec",
  write_process = "exec",
  read_file = "read", read_text_page = "read", stat = "read",
  write_file = "write", mkdir = "write", remove = "write", rename = "write",
  list_files = "list",
  wait_for_port = "port",
  list_ports = "tool", list_processes = "tool", process_info = "tool", read_process_logs = "tool",
  stop_process = "tool", signal_process = "tool", wait_process = "tool",
  close_process_stdin = "tool", resize_process = "tool",
}

--- Those that only look at, or end, what the session itself started: allowed unless a rule speaks.
language.harmless = { list_ports = true, list_processes = true, process_info = true,
  read_process_logs = true, stop_process = true, signal_process = true, wait_process = true,
  close_process_stdin = true, resize_process = true }

return language
