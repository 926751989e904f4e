-- SPDX-License-Identifier: MIT
-- Policies from what other tools use: the JSON form of Codex prefix rules, and the permission lists
-- of Claude Code. The result is the text of a policy file, and notes on what could not be said.

local claude = require("anvia.sandbox.policy.import_claude")
local codex = require("anvia.sandbox.policy.import_codex")

local import = {}

local function decode(source)
  if type(source) ~= "string" then return source end
  local value, wrong = require("anvia.sandbox.core").json_decode(source)
  if value == nil then return nil, "not valid JSON: " .. tostring(wrong) end
  return value
end

--- -> text, notes | nil, what is wrong
function import.text(source)
  local value, wrong = decode(source)
  if value == nil then return nil, wrong end
  if type(value) ~= "table" then return nil, "expected an object or an array" end
  if claude.knows(value) then return claude.text(value) end
  if codex.knows(value) then return codex.text(value) end
  return nil, "this is neither a list of Codex prefix rules (\"rules\": [{ \"pattern\": ... }]) "
    .. "nor Claude Code permissions (\"permissions\": { \"allow\": [...] })"
end

return import
