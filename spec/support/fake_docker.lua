-- SPDX-License-Identifier: MIT
-- fake_docker.lua - a `docker` command without an engine, made of shell text.
--
-- Its containers are this host: `run` runs PID 1's script here, `exec` the command's.
-- What else it shall answer is given as shell text for each of its commands.

local M = {}

local PROLOGUE = [=[
#!/bin/sh
here=%s
printf '%%s\n' "$*" | head -n 1 >>"$here/calls"
# Shell text for the spec: a counter that is one higher with each call.
count() {
  n=$(cat "$here/count.$1" 2>/dev/null || echo 0)
  n=$((n + 1))
  echo "$n" >"$here/count.$1"
}
real_run() { shift $(($# - 4)); exec /bin/sh "$@"; }
real_exec() { while [ "$1" != /bin/sh ]; do shift; done; exec "$@"; }
]=]

local DEFAULTS = {
  version = "echo 1.0",
  run = 'real_run "$@"',
  exec = 'real_exec "$@"',
  ps = ":",
  rm = ":",
  volume = ":",
  container = "echo '[]'",
  context = "echo unix:///fake.sock",
  image = "echo '[]'",
  create = "echo cafe",
  cp = ":",
  pull = ":",
}

local Fake = {}
Fake.__index = Fake

local function write(path, text)
  local file = assert(io.open(path, "w"))
  file:write(text)
  file:close()
end

--- `answers` are shell texts by command: they see the client's arguments in "$@".
function M.new(answers)
  local dir = os.tmpname()
  os.remove(dir)
  assert(os.execute("mkdir -p " .. dir .. "/workspace"))
  local self = setmetatable({ dir = dir, path = dir .. "/docker" }, Fake)
  self:answer(answers or {})
  return self
end

--- Replaces the answers.
function Fake:answer(answers)
  local parts = { PROLOGUE:format(self.dir), 'case "$1" in\n' }
  for command, default in pairs(DEFAULTS) do
    parts[#parts + 1] = command .. ")\n" .. (answers[command] or default) .. "\n;;\n"
  end
  parts[#parts + 1] = "*) echo \"unknown command $1\" >&2; exit 125 ;;\nesac\n"
  write(self.path .. ".new", table.concat(parts))
  assert(os.execute(string.format("chmod 755 %s.new && mv %s.new %s", self.path, self.path,
    self.path)))
end

--- The first lines of the argument lists it was called with.
function Fake:calls()
  local list = {}
  local file = io.open(self.dir .. "/calls")
  if file then
    for line in file:lines() do
      list[#list + 1] = line
    end
    file:close()
  end
  return list
end

function Fake:called(pattern)
  for _, line in ipairs(self:calls()) do
    if line:find(pattern) then
      return true
    end
  end
  return false
end

--- Options for sandbox.docker(). The runner is the one that a shell can play.
function Fake:options(extra)
  local options = {
    image = "fake",
    runner = "exec",
    docker_path = self.path,
    workdir = self.dir .. "/workspace",
  }
  for key, value in pairs(extra or {}) do
    options[key] = value
  end
  return options
end

function Fake:remove()
  os.execute("rm -rf " .. self.dir)
end

return M
