-- SPDX-License-Identifier: MIT
--- Collects the readings of one call.
---
--- `run` is the heart: it notes one argv as a command and then opens it, when the program is
--- known to run something else (a shell, a wrapper, a builtin). What it opens comes back to
--- `run`. Everything is bounded: depth, number of commands, bytes of shell text, bytes of
--- expansion.

local text = require("anvia.sandbox.policy.readings.text")
local paths = require("anvia.sandbox.policy.readings.paths")
local state = require("anvia.sandbox.policy.shell.state")

local MAX_COMMANDS = 4096
local MAX_ACCESSES = 8192
local MAX_PROBLEMS = 32
local MAX_DEPTH = 24
local MAX_EXPANSION = 1048576

local reader = {}
reader.__index = reader

---@class anvia.sandbox.readings.Site   where a command stands
---@field via string[]
---@field cwds anvia.sandbox.shell.Values   directories, as in state "/cwd"
---@field stdin {kind: string, text: string?}
---@field env table<string, string|true>  set for this command
---@field vars table<string, string|true> set earlier in the script; shared, not to be changed
---@field unset table<string, true>?
---@field scope table?      the script it stands in
---@field external boolean? started by another program, so builtins of the shell do not count
---@field pipe table?       {names, from, to}
---@field depth integer     how many wrappers and shells are around it
---@field calls table<string, integer>|false|nil  functions whose bodies are around it
---@field looping boolean?  in the body of a loop
---@field locals table?     what variables were before the function made them its own
---@field effect table?     {fail, dead}: filled by builtins
---@field texts string[]|false|nil  here-documents on other descriptors
---@field aliases table<string, true>|false|nil  aliases that were replaced already

---@param context anvia.sandbox.ReadingsContext
---@param openers table     see readings/openers.lua
function reader.new(context, openers)
  local workdir = paths.absolute(context.workdir or "/workspace", "/")
  return setmetatable({
    commands = {}, accesses = {}, problems = {}, complete = true,
    workdir = workdir, links = context.links, env = context.env or {},
    openers = openers, seen_accesses = {}, spent = 0, bytes = 0, steps = 0, nesting = 0, keys = nil,
    scripts_read = {}, several = 0,
  }, reader)
end

--- Says that something was not read. The readings are then not complete.
---@param kind string
---@param what string
---@param where anvia.sandbox.Word|nil
function reader:problem(kind, what, where)
  self.complete = false
  local shown = where == nil and "" or text.word(where)
  for _, known in ipairs(self.problems) do
    if known.what == what and known.where == shown then
      return
    end
  end
  if #self.problems < MAX_PROBLEMS then
    self.problems[#self.problems + 1] = { kind = kind, what = what, where = shown }
  end
end

--- Counts expanded text; false when there was too much.
function reader:spend(size)
  self.spent = self.spent + size
  return self.spent <= MAX_EXPANSION
end

--- The program of a command: name, path as written, static path.
local function program(word)
  if type(word) == "string" then
    local path = word:find("/", 1, true) and word or nil
    return paths.basename(word), path
  end
  -- "$DIR/bin/ls": the path is not known, but the name is.
  local tail = word.single and not word.process and word.holed:match("/([^/]+)$")
  if tail and not tail:find("\1", 1, true) then
    return tail, nil
  end
end

local function directories(set)
  local list = {}
  for _, dir in ipairs(set) do
    if dir then
      list[#list + 1] = dir
    end
  end
  return list
end

--- The variables that are set for a command.
local function assignments(at)
  if next(at.env) == nil then
    return at.vars
  elseif next(at.vars) == nil then
    return at.env
  end
  local all = {}
  for name, value in pairs(at.vars) do
    all[name] = value
  end
  for name, value in pairs(at.env) do
    all[name] = value
  end
  return all
end

--- Notes a command. Nil when there are too many, or when it is known already from reading the same
--- script as another dialect.
---@param argv anvia.sandbox.Word[]
---@param at anvia.sandbox.readings.Site
---@return anvia.sandbox.Command?
function reader:emit(argv, at)
  if #self.commands >= MAX_COMMANDS then
    self:problem("bound", "too many commands")
    return nil
  end
  local name, path = program(argv[1])
  local known = not at.cwds.dynamic
  local cwds = known and directories(at.cwds) or {}
  local command = {
    argv = argv,
    name = name,
    path = path,
    dynamic = type(argv[1]) ~= "string",
    role = self.openers:role(name, at),
    inert = false,
    via = at.via,
    reading = text.command(argv),
    assignments = assignments(at),
    unset = at.unset,
    cwd = #cwds == 1 and cwds[1] or nil,
    cwds = cwds,
    stdin = at.stdin.kind,
    stdin_text = at.stdin.text,
    position = #self.commands + 1,
    script = at.scope ~= nil,
  }
  command.inert = command.role == "builtin" and self.openers.inert(name)
  if path and command.cwd then
    command.file = paths.absolute(path, command.cwd)
  elseif path and path:sub(1, 1) == "/" then
    command.file = paths.absolute(path, "/")
  end
  if at.pipe then
    command.pipes_to, command.pipes_from = at.pipe.to, at.pipe.from
    if name and at.pipe.names then
      at.pipe.names[#at.pipe.names + 1] = name
    end
  end
  if self.keys then
    local key = text.key(argv) .. "\1" .. table.concat(at.via, "\1") .. "\1"
      .. table.concat(cwds, "\1") .. command.stdin
    if self.keys[key] then
      return command
    end
    self.keys[key] = true
  end
  self.commands[#self.commands + 1] = command
  return command
end

--- A copy of a site with changes; with a step, one further in.
---@param at anvia.sandbox.readings.Site
---@param step string?  for the trail
---@param changes table?
---@return anvia.sandbox.readings.Site
function reader.inside(at, step, changes)
  local site = {}
  for name, value in pairs(at) do
    site[name] = value
  end
  if step then
    local via = {}
    for i, each in ipairs(at.via) do
      via[i] = each
    end
    via[#via + 1] = step
    site.via, site.depth = via, at.depth + 1
  end
  if changes then
    for name, value in pairs(changes) do
      site[name] = value
    end
  end
  return site
end

--- Notes what an argv runs, and what that runs in turn.
---@param argv anvia.sandbox.Word[]
---@param at anvia.sandbox.readings.Site
function reader:run(argv, at)
  if argv[1] == nil then
    return
  elseif at.depth > MAX_DEPTH then
    return self:problem("bound", "nested too deep", argv[1])
  end
  local command = self:emit(argv, at)
  if not command then
    return
  end
  if command.dynamic then
    self:problem("dynamic", "the program is computed", argv[1])
    if not argv[1].single and #argv > 1 then
      -- It may turn out to be nothing, and then the next word is the program.
      local rest = {}
      for i = 2, #argv do
        rest[i - 1] = argv[i]
      end
      self:run(rest, reader.inside(at, argv[1].text))
    end
    local literal = argv[1].literal
    if literal then
      local copy = { literal }
      for i = 2, #argv do
        copy[i] = argv[i]
      end
      self:run(copy, reader.inside(at, argv[1].text))
    end
  end
  if command.name then
    self.openers:open(self, command, argv, at)
  end
  self:run_target(command, argv, at)
end

--- When the program is a known link, it is also read by what the link leads to.
function reader:run_target(command, argv, at)
  if not self.links or not command.file then
    return
  end
  local target = paths.follow(command.file, self.links)
  if not target or target == argv[1] then
    return
  end
  local copy = { target }
  for i = 2, #argv do
    copy[i] = argv[i]
  end
  self:run(copy, reader.inside(at, "link"))
end

local function add_access(self, access)
  local key = access.kind .. access.path .. "\0" .. access.via .. tostring(access.dynamic)
  if self.seen_accesses[key] then
    return
  elseif #self.accesses >= MAX_ACCESSES then
    return self:problem("bound", "too many files")
  end
  self.seen_accesses[key] = true
  self.accesses[#self.accesses + 1] = access
end

local function static_access(self, kind, path, base, via, written)
  local absolute = paths.absolute(path, base)
  local shown, outside = paths.in_workspace(absolute, self.workdir)
  add_access(self, { kind = kind, path = shown, outside = outside, via = via, dynamic = false,
    text = written })
  local target = self.links and paths.follow(absolute, self.links)
  if target then
    shown, outside = paths.in_workspace(target, self.workdir)
    add_access(self, { kind = kind, path = shown, outside = outside, via = "link",
      dynamic = false, text = written })
  end
end

--- Notes that a file is read or written.
---@param kind "read"|"write"
---@param word anvia.sandbox.Word
---@param cwds anvia.sandbox.shell.Values
---@param via string
function reader:access(kind, word, cwds, via)
  local written = type(word) == "string" and word or word.text
  if type(word) == "string" or word.literal then
    local path = type(word) == "string" and word or word.literal
    if path:sub(1, 1) == "/" then
      static_access(self, kind, path, "/", via, written)
    elseif path ~= "" then
      for _, dir in ipairs(directories(cwds)) do
        static_access(self, kind, path, dir, via, written)
      end
      if cwds.dynamic then
        add_access(self, { kind = kind, path = "**/" .. path, outside = true, via = via,
          dynamic = true, text = written })
      end
    end
    if type(word) == "string" then
      return
    end
  end

  -- A part that is not known may hold "../", so it may lead anywhere; a glob or a number cannot.
  local base = state.single(cwds)
  local known = (word.glob or word.numeric) and (base or word.pattern:sub(1, 1) == "/")
  local shown, outside = "**", true
  if known then
    shown, outside = paths.in_workspace(paths.absolute(word.pattern, base or "/"), self.workdir)
  end
  add_access(self, { kind = kind, path = shown, outside = outside, via = via, dynamic = true,
    text = written })
end

return reader
