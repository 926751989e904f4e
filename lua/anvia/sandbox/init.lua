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
local tools = require("anvia.sandbox.tools")

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
  tool_session = tools.session,
  tools = tools.build,
}

for name, default_image in pairs(image.presets) do
  M[name] = sandboxes.preset(name, default_image)
end

return M
