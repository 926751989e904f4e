-- SPDX-License-Identifier: MIT
-- Runs inside the box: the call that a predicate is given. It is a copy made for this predicate
-- luacheck: read globals glob near
-- alone; its methods ask the questions that authors ask most.

local globs = glob()

local methods = {}

local function words_of(...)
  local words = {}
  for _, text in ipairs { ... } do
    for word in string.gmatch(text, "%S+") do words[#words + 1] = word end
  end
  return words
end

local function begins_with(command, words)
  if not globs.test(globs.token(words[1]), command.name or "") then return false end
  for i = 2, #words do
    local word = command.argv[i]
    if type(word) ~= "string" or not globs.test(globs.token(words[i]), word) then return false end
  end
  return true
end

--- The first command that begins with these words, or nil: call:runs("git push").
function methods:runs(...)
  local words = words_of(...)
  for _, command in ipairs(self.commands) do
    if begins_with(command, words) then return command end
  end
  return nil
end

--- Whether one of these programs reads what another command prints.
function methods:pipes_into(...)
  for _, name in ipairs { ... } do
    local token = globs.token(name)
    for _, command in ipairs(self.commands) do
      if command.reads_pipe and globs.test(token, command.name or "") then return true end
    end
  end
  return false
end

--- The same for any shell.
function methods:pipes_into_shell()
  for _, command in ipairs(self.commands) do
    if command.reads_pipe and command.role == "shell" then return true end
  end
  return false
end

local function touches(self, kind, pattern)
  local path = globs.path(pattern)
  for _, access in ipairs(self.accesses) do
    if access.kind == kind and globs.test_path(path, access.absolute, access.relative, true) then
      return true
    end
  end
  return false
end

function methods:writes(pattern) return touches(self, "write", pattern) end

function methods:reads(pattern) return touches(self, "read", pattern) end

--- The value that the call gives to an environment variable; true when it is not known.
function methods:sets(name)
  local token = globs.token(name)
  for _, set in ipairs(self.environment) do
    if globs.test(token, set.name) then return set.value or true end
  end
  return nil
end

-- A field that no call has is a slip of the pen; one that this call lacks is nil.
local FIELDS = {
  tool = true, command = true, args = true, cwd = true, env = true, input = true, path = true,
  content = true, size = true, port = true, id = true, timeout_ms = true, script = true,
  commands = true, accesses = true, environment = true, complete = true, problems = true,
  spent = true, limits = true, workdir = true, to = true, signal = true,
}

local mt = {
  __index = function(_, name)
    if methods[name] then return methods[name] end
    if FIELDS[name] then return nil end
    local known = {}
    for field in pairs(FIELDS) do known[#known + 1] = field end
    for method in pairs(methods) do known[#known + 1] = method end
    error("a call has no '" .. tostring(name) .. "'" .. near().suggest(tostring(name), known), 2)
  end,
}

return function(copy)
  if copy.script then
    copy.script = setmetatable({ text = copy.script.text, commands = copy.commands,
      accesses = copy.accesses, environment = copy.environment }, { __index = methods })
  end
  return setmetatable(copy, mt)
end
