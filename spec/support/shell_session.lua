-- SPDX-License-Identifier: MIT
-- shell_session.lua - just enough of a session to run the file methods with any
-- shell of this machine, in a temporary directory.

local archive = require("anvia.sandbox.archive")
local files = require("anvia.sandbox.files")
local manifest = require("anvia.sandbox.manifest")

local methods = {}
local mt = { __index = methods }

archive.attach(methods)
files.attach(methods)

local M = {}

local function quote(word)
  return "'" .. word:gsub("'", "'\\''") .. "'"
end

local function slurp(name)
  local file = assert(io.open(name, "rb"))
  local data = file:read("*a")
  file:close()
  os.remove(name)
  return data
end

local function run(line, input)
  local base = os.tmpname()
  local file = assert(io.open(base .. ".in", "wb"))
  file:write(input or "")
  file:close()
  local _, _, code = os.execute(string.format("{ %s ; } <%s.in >%s.out 2>%s.err", line, base, base,
    base))
  local result = { exit_code = code }
  result.stdout, result.stderr = slurp(base .. ".out"), slurp(base .. ".err")
  os.remove(base .. ".in")
  os.remove(base)
  return result
end

--- What the real one does, as far as the files need it.
function methods:_internal_exec(opts)
  self.commands = self.commands + 1
  local words = {}
  for i, word in ipairs(opts.args) do
    words[i] = quote(word)
  end
  local program = opts.command == "/bin/sh" and self.shell or opts.command
  local seconds = (opts.timeout_ms or 30000) / 1000
  local result = run(string.format("timeout -s KILL %s %s %s", seconds, program,
    table.concat(words, " ")), opts.input)
  result.timed_out = result.exit_code == 137
  -- The real one keeps the head of what is too long.
  result.stderr = result.stderr:sub(1, opts.max_output_bytes)
  result.stdout_truncated = #result.stdout > opts.max_output_bytes
  self.last_command_bytes = #result.stdout
  return result
end

function methods:_fire(name, event)
  assert(name == "on_file_write")
  self.written[#self.written + 1] = event
end

--- A command in the workspace, as a user of the session would run it.
function methods:exec(opts)
  local words = {}
  for i, word in ipairs(opts.args) do
    words[i] = quote(word)
  end
  return run(string.format("sh -c 'cd \"$0\" && exec \"$@\"' %s %s %s", quote(self.workdir),
    opts.command, table.concat(words, " ")))
end

function methods:apply(tree)
  return manifest.apply(self, assert(manifest.CHECK(tree, "manifest")))
end

--- opts: workdir, shell ["sh"], limits.
function M.new(opts)
  return setmetatable({
    workdir = opts.workdir,
    shell = opts.shell or "sh",
    written = {},
    commands = 0,
    last_command_bytes = 0,
    _limits = opts.limits or { timeout_ms = 120000 },
  }, mt)
end

return M
