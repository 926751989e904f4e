-- SPDX-License-Identifier: MIT
-- A policy from the two lists of the tools' options: allowed_commands and blocked_commands.
--
-- A list of allowed names admits these names only as they are, found through the session's own
-- PATH: no path forms, no program that a wrapper or a script runs unless it is listed too, and no
-- variables that change what a name finds. A list of blocked names refuses them in every form that
-- can be seen. It is no boundary: a program that is not blocked can do what the blocked one does.

local layers = require("anvia.sandbox.policy.layer")

local lists = {}

local function check(name, list)
  if list == nil then return {} end
  if type(list) ~= "table" then error("option '" .. name .. "' must be a list of names", 4) end
  for i, item in ipairs(list) do
    if type(item) ~= "string" or item == "" or item:find("[%s\0]") then
      error(("option '%s' must be a list of program names; number %d is none"):format(name, i), 4)
    end
  end
  return list
end

local function literal(text)
  return (text:gsub("[*?%[\\]", "\\%0"))
end

local function declare(declarations, word, value)
  declarations[#declarations + 1] = { word = word, line = 0, value = value }
end

local function declare_rules(declarations, allowed, blocked)
  for _, name in ipairs(allowed) do
    declare(declarations, "allow", { exec = { literal(name) }, name = "allowed_commands" })
  end
  for _, name in ipairs(blocked) do
    declare(declarations, "deny", { exec = { literal(name) }, name = "blocked_commands",
      because = "'" .. name .. "' is blocked" })
    if name:match("[^/]*$") == "rm" then
      declare(declarations, "deny", { exec = { "find", "-delete" }, name = "blocked_commands",
        because = "'" .. name .. "' is blocked, and find -delete removes files as it does" })
    end
  end
end

local function declare_defaults(declarations, has_allowed)
  local default = { read = "allow", write = "allow", list = "allow", port = "allow",
    tool = "allow", env = "allow", risky_env = has_allowed and "deny" or "allow",
    exec = has_allowed and "deny" or "allow", unparsed = "deny" }
  declare(declarations, "default", default)
  if not has_allowed then
    -- what was not seen is not known to be blocked; what is hidden on purpose is refused
    declare(declarations, "default", { unparsed = { file = "allow", stdin = "allow",
      option = "allow", shell = "allow", language = "allow" } })
  end
end

--- The layer of {allowed_commands, blocked_commands}. Raises at the caller of the public function.
function lists.layer(options)
  for key in pairs(options) do
    if key ~= "allowed_commands" and key ~= "blocked_commands" then
      error("unknown option '" .. tostring(key) .. "'", 3)
    end
  end
  local allowed = check("allowed_commands", options.allowed_commands)
  local blocked = check("blocked_commands", options.blocked_commands)
  local declarations = {}
  declare_rules(declarations, allowed, blocked)
  declare_defaults(declarations, options.allowed_commands ~= nil)
  local layer = layers.new("tool options")
  local complaints = layers.fill(layer, declarations)
  if complaints[1] then error(complaints[1].text, 3) end
  -- A name on the list is the whole program with all of its options.
  layer.programs = {}
  layer.reasons = {
    exec = "the commands that may run are " .. table.concat(allowed, ", ")
      .. ", each by that name alone",
    risky_env = "where commands are listed, a call may not change what their names find or load",
  }
  return layer
end

return lists
