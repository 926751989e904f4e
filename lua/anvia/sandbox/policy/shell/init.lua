-- SPDX-License-Identifier: MIT
--- Shell text in, tree out.

local parser = require("anvia.sandbox.policy.shell.parser")

local shell = {}

shell.MAX_BYTES = 65536

local MAX_RECOVERIES = 16

---@class anvia.sandbox.shell.Script
---@field list anvia.sandbox.shell.List
---@field before anvia.sandbox.shell.List  what stands before the first error
---@field sets boolean        sets variables
---@field failed boolean      a shell of this dialect would refuse the text, or it was too much for us
---@field bound boolean       it was too much for us
---@field problems anvia.sandbox.Problem[]
---@field diverged boolean    holds something that shells read differently
---@field quote_diverged boolean
---@field evaluates boolean   holds arithmetic, which can run what stands in values
---@field functions table<string, anvia.sandbox.shell.Node[]>
---@field in_functions table<string, true>  names that function bodies set

--- Reads as much as can be read: after an error, reading goes on with the next line. A shell would
--- not do that; it only serves to find more that may be worth a refusal.
---@param text string
---@param dialect anvia.sandbox.Dialect
---@return anvia.sandbox.shell.Script
function shell.parse(text, dialect)
  local p = parser.new(text, dialect)
  local common = p.common
  p.extended = text:find("extglob", 1, true) ~= nil
  local list = { t = "list", items = {} }
  local script = { list = list, failed = false, bound = false, functions = common.functions,
    in_functions = common.in_functions }

  local recoveries, before = 0, {}
  while true do
    local ok, err = pcall(function()
      while p:item(list) do
        common.simples = {}
      end
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
      for i, item in ipairs(list.items) do
        before[i] = item
      end
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
  script.problems = common.problems
  script.diverged = common.diverged
  script.quote_diverged = common.quote_diverged
  script.evaluates = common.evaluates
  return script
end

return shell
