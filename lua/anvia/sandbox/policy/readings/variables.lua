-- SPDX-License-Identifier: MIT
--- Variables whose value is a command that some program will run.

local variables = {}

--- Prompts: substitutions in them run.
local PROMPTS = { PS0 = true, PS1 = true, PS2 = true, PS3 = true, PS4 = true }

--- Shell text.
local COMMANDS = {
  PROMPT_COMMAND = true, PAGER = true, MANPAGER = true, GIT_PAGER = true, EDITOR = true,
  VISUAL = true, FCEDIT = true, GIT_EDITOR = true, GIT_SEQUENCE_EDITOR = true, GIT_SSH = true,
  GIT_SSH_COMMAND = true, GIT_ASKPASS = true, SSH_ASKPASS = true, SUDO_ASKPASS = true,
  GIT_EXTERNAL_DIFF = true, GIT_PROXY_COMMAND = true, BROWSER = true, LESSOPEN = true,
  LESSCLOSE = true, RSYNC_RSH = true, CVS_RSH = true, TAR_OPTIONS = false,
}

--- Reads the substitutions in a text that is expanded as if it stood in double quotes.
function variables.substitutions(reader, text, site)
  if text:find("[$`]") then
    local mark = "\2END"
    reader:script((": <<%s\n%s\n%s\n"):format(mark, text, mark), true, site, { params = nil })
  end
end

--- Reads what a variable of this name makes some program run.
---@param reader table
---@param name string
---@param value string|true
---@param at anvia.sandbox.readings.Site
function variables.run(reader, name, value, at)
  local exported = name:match("^BASH_FUNC_(.*)%%%%$") or name:match("^BASH_FUNC_(.*)%(%)$")
  if not exported and not PROMPTS[name] and not COMMANDS[name] then
    return
  end
  local site = reader.inside(at, name, { external = true })
  if value == true then
    if name == "PROMPT_COMMAND" or exported then
      reader:problem("dynamic", "a variable that holds a command is computed", name)
    end
  elseif exported then
    local body = value:match("^%s*%(%)%s*(.*)$")
    reader:script(body and ("f() %s\nf"):format(body) or value, true, site, { params = nil })
  elseif PROMPTS[name] then
    variables.substitutions(reader, value, site)
  elseif value ~= "" then
    reader:script((value:gsub("^|%-?", "")), true, site, { params = {} })
  end
end

return variables
