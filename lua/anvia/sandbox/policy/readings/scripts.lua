-- SPDX-License-Identifier: MIT
--- Shell scripts as part of a call: read in each dialect that may be meant. Methods of the reader.

local shell = require("anvia.sandbox.policy.shell")
local dialect = require("anvia.sandbox.policy.shell.dialect")
local scope = require("anvia.sandbox.policy.readings.scope")
local walk = require("anvia.sandbox.policy.readings.walk")
local text_of = require("anvia.sandbox.policy.readings.text")

local MAX_NESTING = 12
local MAX_KEY_VARIABLES = 32
local MAX_TOTAL = 1048576

local scripts = {}

---@class anvia.sandbox.readings.ScriptOptions
---@field dialects anvia.sandbox.Dialect[]?  [any]
---@field zero anvia.sandbox.Word?     $0
---@field params anvia.sandbox.Word[]? $1 ...; nil: not known
---@field from_stdin boolean?          it comes from standard input, which its commands share
---@field extended boolean?           extended patterns are switched on
---@field loose string?                name of a shell that only resembles these dialects

--- Counts shell text that is read; false when it is too much. Ends with `leave`.
---@param text string
---@param known boolean
function scripts:enter(text, known, at)
  if not known then
    self:problem("dynamic", "a script is computed", text)
  end
  if text:find("%z") then
    self:problem("nul", "a NUL byte in a script")
  end
  self.bytes = self.bytes + #text
  if #text > shell.MAX_BYTES or self.bytes > MAX_TOTAL then
    self:problem("bound", "too much shell text")
    return false
  elseif self.nesting >= MAX_NESTING or at.depth > 2 * MAX_NESTING then
    self:problem("bound", "scripts are nested too deep")
    return false
  end
  self.nesting = self.nesting + 1
  return true
end

function scripts:leave()
  self.nesting = self.nesting - 1
end

--- Text in which nothing is special to one of the shells that only resemble the dialects.
local function is_plain(text)
  return not text:find("[*?%[%]~^#`\\]") and not text:find("${", 1, true)
    and not text:find("[%s;|&(]=") and not text:find("^=")
end

--- The parse in each dialect. All but the first are only needed when shells read it differently.
local function parse_all(dialects, text, extended)
  local first = shell.parse(text, dialects[1], extended)
  local all = { { parsed = first, dialect = dialects[1] } }
  if first.diverged or first.failed then
    for i = 2, #dialects do
      if dialects[i] ~= dialect.bash_as_sh or first.quote_diverged then
        all[#all + 1] = { parsed = shell.parse(text, dialects[i], extended), dialect = dialects[i] }
      end
    end
  end
  return all
end

--- The keys of what is noted already, so that another dialect does not note it again.
local function remember(self, from)
  if self.keys then
    return false
  end
  self.keys = {}
  for i = from, #self.commands do
    local command = self.commands[i]
    self.keys[text_of.key(command.argv) .. "\1" .. table.concat(command.via, "\1") .. "\1"
      .. table.concat(command.cwds, "\1") .. command.stdin] = true
  end
  return true
end

local function sorted(map)
  local out = {}
  for name, value in pairs(map or {}) do
    out[#out + 1] = name .. "=" .. tostring(value)
  end
  table.sort(out)
  return table.concat(out, "\1")
end

--- Everything that a script's readings depend on. A script inside one that is read as several
--- dialects comes by several times, mostly the same.
local function key_of(text, known, at, opts)
  local count = 0
  for _ in pairs(at.vars) do
    count = count + 1
    if count > MAX_KEY_VARIABLES then
      return nil
    end
  end
  return table.concat({
    text, tostring(known), table.concat(at.via, "\1"), text_of.key({ opts.zero }),
    opts.params and text_of.key(opts.params) or "?", tostring(opts.from_stdin),
    tostring(opts.dialects), at.stdin.kind, at.stdin.text or "", tostring(at.stdin.shared),
    sorted(at.env), sorted(at.vars), sorted(at.unset), sorted(at.cwds), tostring(at.pipe ~= nil),
  }, "\2")
end

--- Reads a script.
---@param text string
---@param known boolean  false: some of it is not known, with a byte 1 in its place
---@param at anvia.sandbox.readings.Site
---@param opts anvia.sandbox.readings.ScriptOptions
function scripts:script(text, known, at, opts)
  local key = self.several > 0 and key_of(text, known, at, opts)
  if key and self.scripts_read[key] then
    return
  elseif not self:enter(text, known, at) then
    return
  end
  if key then
    self.scripts_read[key] = true
  end
  self.first_script = self.first_script or text
  if opts.loose and not is_plain(text) then
    self:problem("shell", ("what is special to %s is not read"):format(opts.loose), text)
  end
  opts.holes = not known
  local all = parse_all(opts.dialects or dialect.ANY, text, opts.extended)

  local accepted = false
  for _, each in ipairs(all) do
    accepted = accepted or not each.parsed.failed
  end
  local from, mine = #self.commands + 1, false
  self.several = self.several + (#all > 1 and 1 or 0)
  for i, each in ipairs(all) do
    local parsed = each.parsed
    if not parsed.failed or parsed.bound or not accepted then
      for _, problem in ipairs(parsed.problems) do
        self:problem(problem.kind, problem.what, problem.where)
      end
    end
    if i > 1 then
      mine = remember(self, from) or mine
    end
    local inner = scope.new(self, parsed, each.dialect, at, opts)
    local site = self.inside(at, nil, {
      scope = inner, vars = inner.vars, external = false, calls = false, looping = false,
      locals = {}, texts = false, aliases = false,
    })
    if opts.from_stdin then
      site.stdin = { kind = "script", text = text, known = known, shared = true }
    else
      site.stdin = walk.shared(at.stdin)
    end
    walk.node(inner, parsed.failed and accepted and parsed.before or parsed.list, site)
    inner:finish(site)
  end
  self.several = self.several - (#all > 1 and 1 or 0)
  if mine then
    self.keys = nil
  end
  self:leave()
end

--- Reads a word as a script.
---@param word anvia.sandbox.Word
function scripts:script_word(word, at, opts)
  if type(word) == "string" then
    return self:script(word, true, at, opts)
  end
  self:script(word.holed, false, at, opts)
end

return scripts
