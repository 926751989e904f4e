-- SPDX-License-Identifier: MIT
--- anvia.sandbox - a place to run untrusted work.
---
---     local sandbox = require("anvia.sandbox")
---     local session = assert(sandbox.python():create_session())
---     print(assert(session:exec{ command = "python3", args = { "-V" } }).stdout)
---     assert(session:destroy())

local cancel = require("anvia.sandbox.cancel")
local core = require("anvia.sandbox.core")
local errors = require("anvia.sandbox.errors")
local image = require("anvia.sandbox.image")
local json = require("anvia.sandbox.json")
local loop = require("anvia.sandbox.loop")
local sandboxes = require("anvia.sandbox.sandbox")
local sessions = require("anvia.sandbox.session")
local task = require("anvia.sandbox.task")

local M = {
  _VERSION = core._VERSION,
  all = task.all,
  cancel_token = cancel.token,
  errors = errors,
  is_port_session = sessions.is_port_session,
  is_process_session = sessions.is_process_session,
  json = json,
  loop = loop,
  now_ms = core.now_ms,
  sleep = task.sleep,
  spawn = task.spawn,
}

-- Tools and policies read shell text with LPeg, which only their users need to have.
local function needing_lpeg(module)
  local ok, loaded = pcall(require, module)
  if ok then
    return loaded
  elseif not pcall(require, "lpeg") then
    error("tools and policies need LPeg: apt-get install lua-lpeg, or luarocks install lpeg", 3)
  end
  error(loaded, 0)
end

--- The tools of a session that a model can be given; see tools/init.lua.
---@param session anvia.sandbox.Session
---@param options anvia.sandbox.ToolOptions?
---@return anvia.sandbox.ToolSet? tools
---@return anvia.sandbox.Error? err
function M.tools(session, options)
  return needing_lpeg("anvia.sandbox.tools").build(session, options)
end

--- The session that a tool works on; nil for a table that is no tool.
---@param tool anvia.sandbox.Tool
---@return anvia.sandbox.Session?
function M.tool_session(tool)
  return needing_lpeg("anvia.sandbox.tools").session(tool)
end

for name, default_image in pairs(image.presets) do
  M[name] = sandboxes.preset(name, default_image)
end

-- `sandbox.policy`, when it is first looked at; see policy/init.lua.
return setmetatable(M, {
  __index = function(self, name)
    if name == "policy" then
      local policy = needing_lpeg("anvia.sandbox.policy")
      rawset(self, "policy", policy)
      return policy
    end
  end,
})
