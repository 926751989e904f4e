-- SPDX-License-Identifier: MIT
--- git runs commands that its arguments hold: in `-c key=value`, and in options of sub-commands.

local dialect = require("anvia.sandbox.policy.shell.dialect")

local git = {}

--- Settings whose value is shell text.
local SETTINGS = {
  ["core.pager"] = true, ["core.editor"] = true, ["core.sshcommand"] = true,
  ["core.fsmonitor"] = true, ["core.gitproxy"] = true, ["core.askpass"] = true,
  ["core.alternaterefscommand"] = true, ["diff.external"] = true, ["sequence.editor"] = true,
  ["credential.helper"] = true, ["gpg.program"] = true, ["uploadpack.packobjectshook"] = true,
  ["sendemail.sendmailcmd"] = true, ["interactive.difffilter"] = true,
}

local ENDS = {
  "^pager%.", "^diff%..*%.command$", "^diff%..*%.textconv$", "^filter%..*%.clean$",
  "^filter%..*%.smudge$", "^filter%..*%.process$", "^merge%..*%.driver$", "^mergetool%..*%.cmd$",
  "^difftool%..*%.cmd$", "^credential%..*%.helper$", "^gpg%..*%.program$", "^trailer%..*%.command$",
  "^trailer%..*%.cmd$", "^browser%..*%.cmd$", "^man%..*%.cmd$", "^guitool%..*%.cmd$",
  "^remote%..*%.uploadpack$", "^remote%..*%.receivepack$", "^submodule%..*%.update$",
}

--- Options of any sub-command whose value is shell text.
local OPTIONS = {
  ["--exec"] = true, ["--extcmd"] = true, ["--upload-pack"] = true, ["--receive-pack"] = true,
  ["--tree-filter"] = true, ["--index-filter"] = true, ["--msg-filter"] = true,
  ["--env-filter"] = true, ["--parent-filter"] = true, ["--commit-filter"] = true,
  ["--tag-name-filter"] = true, ["--setup"] = true, ["--open-files-in-pager"] = true,
}

--- Their short forms, by sub-command.
local SHORT = {
  rebase = "-x", difftool = "-x", clone = "-u", grep = "-O",
}

--- Options before the sub-command that take the next word.
local VALUES = {
  ["-C"] = true, ["-c"] = true, ["--git-dir"] = true, ["--work-tree"] = true,
  ["--namespace"] = true, ["--config-env"] = true, ["--exec-path"] = false,
  ["--super-prefix"] = true, ["--attr-source"] = true,
}

local function run(reader, word, at, step)
  local site = reader.inside(at, "git " .. step, { external = true })
  reader:script_word(word, site, { dialects = dialect.ANY })
end

local function setting(reader, word, at, aliases)
  local text = type(word) == "string" and word or word.prefix
  local key, value = text:match("^([^=]*)=(.*)$")
  if not key then
    if type(word) ~= "string" then
      reader:problem("dynamic", "a setting of git is computed", word)
    end
    return
  end
  key = key:lower()
  local command = SETTINGS[key] or false
  for _, pattern in ipairs(ENDS) do
    command = command or key:find(pattern) ~= nil
  end
  if key:find("^alias%.") or key == "credential.helper" or key:find("%.update$") then
    command = value:sub(1, 1) == "!"
    aliases[key:match("^alias%.(.*)$") or ""] = not command and value or nil
    value = value:sub(2)
  end
  if type(word) ~= "string" and (command or key:find("^alias%.")) then
    reader:problem("dynamic", "a setting of git is computed", word)
  elseif command and value ~= "" and value ~= "true" and value ~= "false" then
    run(reader, value, at, "-c " .. key)
  end
end

--- The rest of the words, as one text or as an argv.
local function run_rest(reader, argv, from, at, step)
  local rest = {}
  while type(argv[from]) == "string" and argv[from]:find("^%-%-") do
    from = from + 1
  end
  for i = from, #argv do
    rest[#rest + 1] = argv[i]
  end
  if #rest == 1 then
    run(reader, rest[1], at, step)
  elseif #rest > 1 then
    reader:run(rest, reader.inside(at, "git " .. step, { external = true }))
  end
end

local function sub_command(reader, argv, from, at, aliases)
  local name = argv[from]
  if aliases[name] then
    local other = { argv[1] }
    for word in aliases[name]:gmatch("%S+") do
      other[#other + 1] = word
    end
    for i = from + 1, #argv do
      other[#other + 1] = argv[i]
    end
    reader:run(other, reader.inside(at, "git -c alias." .. name))
  end
  if name == "bisect" and argv[from + 1] == "run" then
    return run_rest(reader, argv, from + 2, at, "bisect run")
  elseif name == "submodule" or name == "worktree" then
    for i = from + 1, #argv do
      if argv[i] == "foreach" then
        return run_rest(reader, argv, i + 1, at, "submodule foreach")
      end
    end
  end
  for i = from + 1, #argv do
    local word = argv[i]
    if type(word) == "string" then
      local option, value = word:match("^(%-%-[%a-]+)=(.*)$")
      local short = SHORT[name]
      if option and OPTIONS[option] then
        run(reader, value, at, option)
      elseif (OPTIONS[word] or word == short) and argv[i + 1] ~= nil
        and word ~= "--open-files-in-pager" and word ~= "-O" then
        run(reader, argv[i + 1], at, word)
      elseif short and word:sub(1, 2) == short and #word > 2 then
        run(reader, word:sub(3), at, short)
      elseif word:find("^ext::") then
        run(reader, word:sub(6), at, "ext::")
      end
    end
  end
end

---@param reader table
---@param argv anvia.sandbox.Word[]
---@param at anvia.sandbox.readings.Site
function git.open(reader, argv, at)
  local i, aliases = 2, {}
  while i <= #argv do
    local word = argv[i]
    if type(word) ~= "string" then
      return
    elseif word == "-c" and argv[i + 1] ~= nil then
      setting(reader, argv[i + 1], at, aliases)
    elseif word:find("^%-c.") then
      setting(reader, word:sub(3), at, aliases)
    elseif word:sub(1, 1) ~= "-" then
      return sub_command(reader, argv, i, at, aliases)
    end
    i = i + (VALUES[word] and 2 or 1)
  end
end

return git
