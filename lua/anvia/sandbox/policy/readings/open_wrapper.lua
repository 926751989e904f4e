-- SPDX-License-Identifier: MIT
--- Opens a wrapper: finds what it runs and reads that.

local options = require("anvia.sandbox.policy.readings.options")
local expand = require("anvia.sandbox.policy.shell.expand")
local paths = require("anvia.sandbox.policy.readings.paths")
local dialect = require("anvia.sandbox.policy.shell.dialect")
local variables = require("anvia.sandbox.policy.readings.variables")
local split = require("anvia.sandbox.policy.readings.env_split")
local words = require("anvia.sandbox.policy.readings.words")

local wrappers = {}

local function static(word)
  return type(word) == "string" and word or nil
end

--- A directory option: where the program starts.
local function chdir(at, word)
  local path = static(word)
  if not path then
    return { dynamic = true }
  elseif path:sub(1, 1) == "/" then
    return { paths.absolute(path, "/") }
  end
  local out = { dynamic = at.cwds.dynamic }
  for i, dir in ipairs(at.cwds) do
    out[i] = dir and paths.absolute(path, dir)
  end
  return out
end

--- NAME=value at the start of `rest`: moves it into `env`. Gives what is left.
local function take_assignments(reader, rest, env, at)
  local from = 1
  while rest[from] ~= nil do
    local word = rest[from]
    local text = type(word) == "string" and word or word.prefix
    local name = text:match("^([^=]*)=")
    if not name then
      break
    end
    if type(word) == "string" then
      env[name] = word:sub(#name + 2)
      variables.run(reader, name, env[name], at)
    else
      env[name] = true
      variables.run(reader, name, true, at)
      if not word.single then
        reader:problem("dynamic", "words of a wrapper are computed", word)
      end
    end
    from = from + 1
  end
  return words.slice(rest, from)
end

local function copy(map)
  local out = {}
  for key, value in pairs(map or {}) do
    out[key] = value
  end
  return out
end

--- What the options say about the site of the program.
local function site_changes(reader, spec, found, at)
  local changes = { external = true, env = copy(at.env), unset = copy(at.unset) }
  for _, option in ipairs(found.values) do
    local name = option.name
    if spec.chdir and spec.chdir[name] then
      changes.cwds = chdir(at, option.value)
    elseif spec.unsets and spec.unsets[name] then
      local variable = static(option.value)
      changes.unset[variable or "*"] = true
      if variable then
        changes.env[variable] = nil
      end
    elseif spec.clears and spec.clears[name] then
      changes.unset["*"] = true
      changes.env = {}
    end
  end
  if spec.assignments then
    take_assignments(reader, found.assigns, changes.env, at)
    found.rest = take_assignments(reader, found.rest, changes.env, at)
  end
  if next(changes.unset) == nil then
    changes.unset = nil
  end
  if spec.elsewhere then
    changes.cwds = { dynamic = true }
  end
  if spec.quiet_stdin then
    changes.stdin = { kind = "none" }
  end
  return changes
end

--- True when an option of `set` is given.
local function given(set, found)
  for _, option in ipairs(found.values) do
    if set and set[option.name] then
      return true
    end
  end
  return false
end

--- True when an option says that nothing is run.
local function runs_nothing(spec, found)
  if given(spec.none, found) then
    return true
  elseif given(spec.pids, found) then
    -- `taskset -p 3 1234`. But some versions run what stands behind the numbers.
    for _, word in ipairs(found.rest) do
      if type(word) ~= "string" or not word:find("^[%x,x-]+$") then
        return false
      end
    end
    return true
  end
  return false
end

--- Options whose value is shell text.
local function run_scripts(reader, spec, found, site)
  local ran = false
  for _, option in ipairs(found.values) do
    local value = option.value
    if spec.script and spec.script[option.name] and value ~= nil and value ~= "" then
      ran = true
      reader:script_word(value, site, { dialects = dialect.ANY })
    elseif option.name == "checkpoint-action" and value ~= nil then
      local text = static(value)
      if not text or text:find("^exec=") then
        reader:script_word(text and text:sub(6) or value, site, { dialects = dialect.ANY })
      end
    elseif option.name == "o" and type(value) == "string" then
      -- -o ProxyCommand=..., APT::...-Invoke::=...; and -o '|command' of strace
      local text = value:match("^[|!](.*)$") or value:match("^%a*[Cc]ommand[= ]%s*(.*)$")
        or value:match("Invoke[%w:-]*=(.*)$")
      if text then
        reader:script_word(text, site, { dialects = dialect.ANY })
      end
    end
  end
  return ran
end

--- Puts what a wrapper reads from elsewhere into an argv: at the end, or where the mark stands.
local function with_unknown_words(spec, found, argv)
  local mark
  for _, option in ipairs(found.values) do
    if spec.replace and spec.replace[option.name] then
      mark = option.value or "{}"
    end
  end
  local out = words.slice(argv, 1)
  if mark == nil then
    out[#out + 1] = expand.unknown("(its input)")
    return out
  end
  for i, word in ipairs(out) do
    local text = type(word) == "string" and word or word.holed
    if type(mark) ~= "string" or mark == "" or text:find(mark, 1, true) then
      local before = type(mark) == "string" and mark ~= "" and text:find(mark, 1, true)
      local unknown = expand.unknown(type(word) == "string" and word or word.text)
      unknown.single = true
      if before then
        unknown.prefix = text:sub(1, before - 1):match("^[^\1]*")
        local pieces, from = {}, 1
        while true do
          local start, stop = text:find(mark, from, true)
          pieces[#pieces + 1] = text:sub(from, (start or #text + 1) - 1)
          if not start then
            break
          end
          from = stop + 1
        end
        unknown.holed = table.concat(pieces, "\1")
      end
      out[i] = unknown
    end
  end
  return out
end

--- The value of the last option of this name.
local function value_of(found, set)
  local value
  for _, option in ipairs(found.values) do
    if set and set[option.name] and option.value ~= nil then
      value = option.value
    end
  end
  return value
end

--- Reads the rest as what `tail` says.
local function run_tail(reader, spec, found, rest, site)
  local tail = spec.tail or "program"
  if tail == "shell" then
    local argv = { "sh" }
    for _, word in ipairs(rest) do
      argv[#argv + 1] = word
    end
    return reader:run(argv, site)
  end
  local named = value_of(found, spec.argv)
  if named then
    table.insert(rest, 1, named)
  end
  if rest[1] == nil and spec.default then
    rest = words.slice(spec.default, 1)
  end
  if spec.reads then
    if tail == "script" then
      rest[#rest + 1] = expand.unknown("(its input)")
    else
      rest = with_unknown_words(spec, found, rest)
    end
  end
  if rest[1] == nil then
    return
  elseif tail == "script" then
    local text, known = words.joined(rest)
    return reader:script(text, known, site, { dialects = dialect.ANY })
  elseif tail == "applet" and type(rest[1]) == "string" and rest[1]:sub(1, 1) == "-" then
    return
  end
  reader:run(rest, site)
end

--- Reads what a wrapper runs.
---@param reader table
---@param spec anvia.sandbox.Wrapper
---@param name string
---@param argv anvia.sandbox.Word[]
---@param at anvia.sandbox.readings.Site
function wrappers.open(reader, spec, name, argv, at)
  local from = 2
  if spec.after then
    if argv[2] ~= spec.after then
      return
    end
    from = 3
  end
  local found = options.read(spec, argv, from)
  local again = name == "env" and split.apply(reader, found, argv)
  if again then
    return reader:run(again, reader.inside(at, "env -S"))
  end

  local changes = site_changes(reader, spec, found, at)
  if name == "command" or name == "builtin" or name == "exec" or name == "noglob"
    or name == "nocorrect" then
    changes.external = at.external or name == "exec"
    changes.no_functions = true
  end
  local site = reader.inside(at, name, changes)
  local scripted = run_scripts(reader, spec, found, site)
  for _, doubt in ipairs(found.doubts) do
    reader:problem("option", ("an option of %s is not known"):format(name), doubt)
  end
  if runs_nothing(spec, found) or (spec.script and not spec.tail and not spec.default) then
    return
  end

  local rest = found.rest
  local operands = spec.operands or 0
  local late = spec.script and rest[operands + 1]
  if late and (late == "-c" or late == "--command") and rest[operands + 2] ~= nil then
    return reader:script_word(rest[operands + 2], site, { dialects = dialect.ANY })
  end
  local computed = found.computed
  for i = 1, operands do
    computed = computed or (type(rest[i]) == "table" and not rest[i].numeric)
  end
  if computed then
    reader:problem("dynamic", "words of a wrapper are computed", argv[1])
  end
  if scripted and spec.tail ~= "program" then
    return
  end
  run_tail(reader, spec, found, words.slice(rest, operands + 1), site)
  if #found.doubts > 0 or computed then
    -- The doubtful option may take a value, or the operand may be an option.
    if rest[operands + 2] ~= nil then
      run_tail(reader, spec, found, words.slice(rest, operands + 2), reader.inside(site, "?"))
    end
    if operands > 0 and computed then
      run_tail(reader, spec, found, words.slice(rest, operands), reader.inside(site, "?"))
    end
  end
end

return wrappers
