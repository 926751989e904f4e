-- SPDX-License-Identifier: MIT
-- What a call would do, as a list of things that rules speak of: each command, file, variable and
-- port is one subject, and each is judged on its own.

local glob = require("anvia.sandbox.policy.glob")
local language = require("anvia.sandbox.policy.language")
local mentions = require("anvia.sandbox.policy.mentions")
local show = require("anvia.sandbox.policy.show")

local subjects = {}

local WORKDIR = "/workspace"

-- Written to or read from by everything, and nothing is kept there.
local DEVICES = { ["/dev/null"] = true, ["/dev/stdin"] = true, ["/dev/stdout"] = true,
  ["/dev/stderr"] = true, ["/dev/tty"] = true, ["/dev/zero"] = true, ["/dev/urandom"] = true,
  ["/dev/random"] = true, ["/dev/full"] = true }

local RISKY_NAMES, RISKY_GLOBS = {}, {}
for _, text in ipairs(language.risky_env) do
  local matcher = glob.token(text)
  if matcher.literal then RISKY_NAMES[text] = true
  else RISKY_GLOBS[#RISKY_GLOBS + 1] = matcher end
end

--- Whether a variable decides what a program runs.
function subjects.risky_env(name)
  if RISKY_NAMES[name] then return true end
  for _, matcher in ipairs(RISKY_GLOBS) do
    if glob.test(matcher, name) then return true end
  end
  return false
end

local function join(parts)
  return "/" .. table.concat(parts, "/")
end

-- The parts of an absolute path below `root`, or nil.
local function below(parts, root)
  for i, part in ipairs(root) do
    if parts[i] ~= part then return nil end
  end
  local rest = {}
  for i = #root + 1, #parts do rest[#rest + 1] = parts[i] end
  return rest
end

--- A path subject. `path` is absolute, or relative to the workspace.
function subjects.path(kind, path, context, fields)
  local workdir = context.workdir or WORKDIR
  local absolute = glob.parts(path:sub(1, 1) == "/" and path or workdir .. "/" .. path)
  local relative = below(absolute, glob.parts(workdir))
  local subject = fields or {}
  subject.kind, subject.absolute, subject.relative = kind, absolute, relative
  subject.path = relative and (relative[1] and table.concat(relative, "/") or ".")
    or join(absolute)
  subject.text = kind .. " " .. show.line(subject.written or subject.path)
  subject.inert = DEVICES[join(absolute)] or (absolute[1] == "dev" and absolute[2] == "fd")
  return subject
end

local function add(list, subject)
  list[#list + 1] = subject
end

local function word_text(word)
  return type(word) == "table" and (word.text or "?") or word
end

local function command_text(command)
  if command.reading then return show.line(command.reading) end
  local words = {}
  for i, word in ipairs(command.argv) do words[i] = word_text(word) end
  return show.line(table.concat(words, " "))
end

local function add_env(list, seen, name, value)
  if seen[name] then return end
  seen[name] = true
  add(list, { kind = "env", name = name, value = value ~= true and value or nil,
    risky = subjects.risky_env(name), text = "variable " .. show.line(name) })
end

-- Files named as arguments: inert, so that only a rule that forbids them speaks of them.
local function add_mentions(list, command, context)
  for _, mention in ipairs(mentions.of(command) or {}) do
    for _, directory in ipairs(command.cwds or {}) do
      local path = mention.path
      if path:sub(1, 1) ~= "/" then path = directory .. "/" .. path end
      local subject = subjects.path(mention.kind, path, context, { argument = true })
      subject.inert = true
      add(list, subject)
    end
  end
end

local function add_readings(list, readings, call, context)
  local seen = {}
  for name, value in pairs(call.env or {}) do add_env(list, seen, name, value) end
  for _, command in ipairs(readings.commands) do
    add(list, { kind = "exec", command = command, text = command_text(command),
      inert = command.inert, size = call.input and #call.input or 0 })
    for name, value in pairs(command.assignments or {}) do add_env(list, seen, name, value) end
    add_mentions(list, command, context)
  end
  for _, access in ipairs(readings.accesses) do
    add(list, subjects.path(access.kind, access.path, context,
      { dynamic = access.dynamic, via = access.via, written = access.text }))
  end
end

local function add_path(list, kind, path, call, context)
  local size = call.content and #call.content or call.size
  add(list, subjects.path(kind, path, context, { size = size }))
  local absolute = join(list[#list].absolute)
  local target = context.links and context.links(absolute)
  if target then
    add(list, subjects.path(kind, target, context, { size = size, via = "link" }))
  end
end

--- Subjects of a call, as a list. Problems of reading are not among them.
function subjects.of(call, readings, context)
  local kind = language.tools[call.tool] or "tool"
  local list = { { kind = "tool", tool = call.tool, text = "tool " .. show.line(call.tool),
    inert = kind ~= "tool" or language.harmless[call.tool] } }
  if readings then add_readings(list, readings, call, context) end
  if kind == "read" or kind == "write" or kind == "list" then
    add_path(list, kind, call.path or ".", call, context)
    if call.to then add_path(list, kind, call.to, call, context) end
  elseif kind == "port" then
    add(list, { kind = "port", port = call.port, text = "port " .. tostring(call.port) })
  end
  return list
end

return subjects
