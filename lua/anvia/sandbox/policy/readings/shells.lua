-- SPDX-License-Identifier: MIT
--- Opens a shell: finds the script among its arguments or on its standard input.

local dialect = require("anvia.sandbox.policy.shell.dialect")
local words = require("anvia.sandbox.policy.readings.words")

local shells = {}

--- Shells with a language of their own.
local OTHER = {
  fish = true, csh = true, tcsh = true, elvish = true, nu = true, xonsh = true, pwsh = true,
  powershell = true, rc = true, es = true, ion = true,
}

--- Long options of bash with a value.
local LONG_VALUES = { ["--rcfile"] = true, ["--init-file"] = true, ["--emulate"] = true }

--- Names of the standard input.
local STDIN = {
  ["/dev/stdin"] = true, ["/dev/fd/0"] = true, ["/proc/self/fd/0"] = true, ["-"] = true,
}

function shells.is_shell(name)
  return dialect.of(name) ~= nil or OTHER[name] == true
end

function shells.is_stdin(word)
  return STDIN[word] == true
end

---@class anvia.sandbox.readings.ShellArguments
---@field rest anvia.sandbox.Word[]
---@field script boolean    -c
---@field stdin boolean     -s
---@field interactive boolean?
---@field computed boolean  an option is not known
---@field extended boolean? -O extglob
---@field files anvia.sandbox.Word[]  start files that options name

--- One cluster: -ec, +x, -o. Gives how many of the next words it takes.
local function cluster(found, text)
  local takes = 0
  if text:find("[^%a]", 2) or text:find("^[-+]%a*[kH]") then
    found.odd = text
  end
  for char in text:sub(2):gmatch(".") do
    if char == "c" and text:sub(1, 1) == "-" then
      found.script = true
    elseif char == "s" and text:sub(1, 1) == "-" then
      found.stdin = true
    elseif char == "i" then
      found.interactive = true
    elseif char == "o" or char == "O" then
      takes = takes + 1
    end
  end
  return takes
end

--- The options of a shell.
---@param argv anvia.sandbox.Word[]
---@return anvia.sandbox.readings.ShellArguments
local function arguments(argv)
  local found = { rest = {}, script = false, stdin = false, computed = false,
    files = {} }
  local at = 2
  while at <= #argv do
    local word = argv[at]
    local text = type(word) == "string" and word or word.prefix
    if type(word) ~= "string" and (text == "" or text:find("^[-+]") or not word.single) then
      found.computed = true
      break
    elseif text == "--" or text == "-" then
      at = at + 1
      break
    elseif text:sub(1, 2) == "--" then
      if LONG_VALUES[text] then
        found.files[#found.files + 1] = argv[at + 1]
        at = at + 1
      end
      at = at + 1
    elseif text:find("^[-+]") then
      for i = 1, cluster(found, text) do
        found.extended = found.extended or argv[at + i] == "extglob"
        at = at + 1
      end
      at = at + 1
    else
      break
    end
  end
  for i = at, #argv do
    found.rest[#found.rest + 1] = argv[i]
  end
  return found
end

--- A script on the standard input.
local function from_stdin(reader, name, at, opts)
  local stdin = at.stdin
  local site = reader.inside(at, name .. " (stdin)", { external = nil })
  opts.from_stdin = true
  if stdin.kind == "none" then
    return
  elseif stdin.kind == "script" then
    -- The rest of a text that is being read already.
    return reader:problem("stdin", "a shell reads the rest of the script around it", name)
  elseif stdin.text then
    if stdin.shared then
      reader:problem("stdin", "a shell reads what others have left of its input", name)
    end
    return reader:script(stdin.text, stdin.known ~= false, site, opts)
  end
  reader:problem("stdin", "a shell reads a script that is not known", name)
end

--- Text of a here-document on another descriptor: maybe the script.
local function from_descriptors(reader, name, at, opts)
  for _, text in ipairs(at.texts or {}) do
    reader:script(text, false, reader.inside(at, name), opts)
  end
end

--- A script file.
local function from_file(reader, name, word, at, opts)
  if type(word) == "string" and STDIN[word] then
    return from_stdin(reader, name, at, opts)
  end
  reader:problem("file", "a script file that was not seen", word)
  if type(word) == "string" then
    reader:access("read", word, at.cwds, "script")
  end
  from_descriptors(reader, name, at, opts)
end

--- Variables that make a shell read a file first.
local function start_files(reader, name, at, found)
  for _, variable in ipairs({ "BASH_ENV", "ENV" }) do
    local value = at.env[variable] or at.vars[variable]
    if value ~= nil and value ~= "" and (variable == "ENV" or name:find("bash", 1, true)
      or name == "sh") then
      reader:problem("file", variable .. " names a script that was not seen",
        type(value) == "string" and value or variable)
    end
  end
  for _, file in ipairs(found.files) do
    reader:problem("file", "a start file that was not seen", file)
  end
end

---@param reader table
---@param name string
---@param argv anvia.sandbox.Word[]
---@param at anvia.sandbox.readings.Site
---@param command anvia.sandbox.Command
function shells.open(reader, name, argv, at, command)
  if OTHER[name] then
    if #argv > 1 or at.stdin.kind ~= "none" then
      reader:problem("shell", "the language of this shell is not read", name)
    end
    return
  end

  local found = arguments(argv)
  local opts = { extended = found.extended, dialects = dialect.of(name),
    loose = dialect.LOOSE[name] and name }
  start_files(reader, name, at, found)
  if found.computed then
    reader:problem("dynamic", "words of a shell are computed", argv[1])
  elseif found.odd then
    reader:problem("option", "an option of a shell is not known", found.odd)
  end
  local rest = found.rest
  if found.script then
    local script = rest[1]
    if script == nil then
      return
    end
    opts.zero = rest[2] or name
    opts.params = words.slice(rest, 3)
    local site = reader.inside(at, name .. " -c", { external = false })
    reader:script_word(script, site, opts)
    if found.stdin then
      -- Some go on with the standard input.
      from_stdin(reader, name, at, { dialects = opts.dialects, params = opts.params, zero = name })
    end
    return
  end
  if found.stdin or rest[1] == nil then
    if found.interactive and at.stdin.text then
      reader:problem("shell", "an interactive shell may change what it reads", name)
    end
    opts.zero, opts.params = name, rest
    return from_stdin(reader, name, at, opts)
  end
  opts.zero, opts.params = rest[1], words.slice(rest, 2)
  command.fed = type(rest[1]) == "table" and rest[1].process or nil
  from_file(reader, name, rest[1], at, opts)
  if found.computed then
    -- The unknown words may be -c or nothing.
    for i = 1, math.min(#rest, 4) do
      if type(rest[i]) == "string" then
        reader:script_word(rest[i], reader.inside(at, name .. " ?"), opts)
      end
    end
  end
end

return shells
