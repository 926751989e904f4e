-- SPDX-License-Identifier: MIT
--- Shell text in, tree out.

local parser = require("anvia.sandbox.policy.shell.parser")

local shell = {}

shell.MAX_BYTES = 65536

local MAX_RECOVERIES = 16

---@class anvia.sandbox.shell.Script
---@field list anvia.sandbox.shell.List
---@field before anvia.sandbox.shell.List  what stands before the first error
---@field sets_ifs boolean    sets IFS, or may
---@field sets boolean        sets variables
---@field failed boolean      a shell of this dialect would refuse the text, or it was too much for us
---@field bound boolean       it was too much for us
---@field problems anvia.sandbox.Problem[]
---@field diverged boolean    holds something that shells read differently
---@field quote_diverged boolean
---@field evaluates boolean   holds arithmetic, which can run what stands in values
---@field functions table<string, anvia.sandbox.shell.Node[]>
---@field in_functions table<string, true>  names that function bodies set

--- The items on the lines before the one where reading failed. A shell runs those.
local function earlier_lines(text, items, starts)
  local failed, line = starts[#items + 1] or #text, 0
  -- The failing item may begin behind newlines of its own.
  failed = text:find("[^%s]", failed) or failed
  for at = failed - 1, 1, -1 do
    if text:byte(at) == 10 then
      line = at
      break
    end
  end
  local out = {}
  for i, item in ipairs(items) do
    if starts[i] < line then
      out[i] = item
    end
  end
  return out
end

--- Reads as much as can be read: after an error, reading goes on with the next line. A shell would
--- not do that; it only serves to find more that may be worth a refusal.
---@param text string
---@param dialect anvia.sandbox.Dialect
---@param extended boolean?  extended patterns are switched on
---@return anvia.sandbox.shell.Script
function shell.parse(text, dialect, extended)
  local p = parser.new(text, dialect)
  local common = p.common
  p.extended = extended or text:find("extglob", 1, true) ~= nil
  local list = { t = "list", items = {} }
  local script = { list = list, failed = false, bound = false, functions = common.functions,
    in_functions = common.in_functions }

  local recoveries, before, starts = 0, {}, {}
  while true do
    local ok, err = pcall(function()
      repeat
        starts[#list.items + 1] = p.pos
        common.simples = {}
      until not p:item(list)
      if p.pos <= #text then
        p:unexpected()
      end
      p:no_pending()
    end)
    if ok then
      break
    elseif type(err) ~= "table" or not err.shell_error then
      error(err, 0)
    end
    if not script.failed then
      before = earlier_lines(text, list.items, starts)
    end
    script.failed = true
    script.bound = script.bound or err.kind == "bound"
    common.problems[#common.problems + 1] = { kind = err.kind, what = err.what, where = err.where }
    for _, node in ipairs(common.simples) do
      list.items[#list.items + 1] = { node = node }
    end
    local line_end = text:find("\n", p.pos, true)
    recoveries = recoveries + 1
    if not line_end or recoveries > MAX_RECOVERIES then
      break
    end
    p.pos, p.pending, p.brace_command = line_end + 1, {}, nil
    common.depth, common.simples, common.sets = 0, {}, {}
  end

  script.before = script.failed and { t = "list", items = before } or list
  script.sets = next(common.sets) ~= nil
  script.sets_ifs = common.sets_ifs
  script.problems = common.problems
  script.diverged = common.diverged
  script.quote_diverged = common.quote_diverged
  script.evaluates = common.evaluates
  return script
end

return shell
