-- SPDX-License-Identifier: MIT
-- path.lua - paths inside a workspace, judged by their text alone.
--
-- This is the first of two guards: it refuses, before the engine is asked
-- anything, what could never be right. Links are the business of the second one,
-- inside the container (files/scripts.lua).

local errors = require("anvia.sandbox.errors")

local M = {}

-- What Linux allows: NAME_MAX, and PATH_MAX with its final zero byte.
local MAX_NAME_BYTES = 255
local MAX_PATH_BYTES = 4095

local ESCAPES = { ["\n"] = "\\n", ["\r"] = "\\r", ["\t"] = "\\t", ["\\"] = "\\\\", ["'"] = "\\'" }

--- A path as it may stand in a message: quoted, in one line, not too long.
---@param text string
---@return string
function M.show(text)
  local tail = ""
  if #text > 300 then
    text, tail = text:sub(1, 200), string.format("... (%d bytes)", #text)
  end
  text = text:gsub("[%z\1-\31\127\\']", function(c)
    return ESCAPES[c] or string.format("\\x%02x", c:byte())
  end)
  return "'" .. text .. "'" .. tail
end

--- Orders strings by their bytes, whatever the locale.
---@param a string
---@param b string
---@return boolean
function M.less(a, b)
  local size = math.min(#a, #b)
  for i = 1, size do
    local x, y = a:byte(i), b:byte(i)
    if x ~= y then
      return x < y
    end
  end
  return #a < #b
end

-- The part of an absolute path below the workspace, or nil.
local function below(workdir, text)
  local prefix = workdir:gsub("/+$", "")
  if text:sub(1, #prefix) == prefix and text:sub(#prefix + 1):find("^/") then
    return (text:sub(#prefix + 1):gsub("^/+", ""))
  end
  return text == prefix and "" or nil
end

-- A "..\x" is a legal name, but whoever sends it means the parent directory.
local function climbs_by_backslash(name)
  if not name:find("\\", 1, true) then
    return false
  end
  for piece in name:gmatch("[^\\]+") do
    if piece == ".." then
      return true
    end
  end
  return false
end

local function normalize(text)
  local parts, climbed = {}, false
  for name in text:gmatch("[^/]+") do
    if #name > MAX_NAME_BYTES then
      return nil, string.format("has a name of %d bytes; at most %d are possible", #name,
        MAX_NAME_BYTES)
    elseif climbs_by_backslash(name) then
      return nil, "leads out of the workspace"
    elseif name == ".." then
      climbed = true
      if #parts == 0 then
        return nil, "leads out of the workspace"
      end
      parts[#parts] = nil
    elseif name ~= "." then
      parts[#parts + 1] = name
    end
  end
  if #parts == 0 and climbed then
    return nil, "leads up to the workspace itself; say '.' for that"
  end
  return #parts == 0 and "." or table.concat(parts, "/")
end

--- Makes a path relative to the workspace, without `.`, `..` and doubled slashes.
---
--- Accepted are relative paths and absolute ones inside `workdir`; `.` is the
--- workspace itself. Everything that leads out of it is refused, and so are the
--- empty path, NUL bytes, and what is too long for the kernel.
---@param workdir string   absolute path of the workspace
---@param text string      what the caller said
---@param field? string    what to call it in messages ["path"]
---@param op? string       the operation, for the error
---@return string? relative
---@return anvia.sandbox.Error? err
function M.resolve(workdir, text, field, op)
  field = field or "path"
  local function refuse(why)
    return nil, errors.new(op or field, "path", "%s %s %s", field, M.show(text), why)
  end
  if type(text) ~= "string" then
    return nil, errors.new(op or field, "path", "%s must be a string", field)
  elseif text == "" then
    return refuse("is empty")
  elseif text:find("\0", 1, true) then
    return refuse("contains a NUL byte")
  elseif #text > MAX_PATH_BYTES then
    return refuse(string.format("has %d bytes; at most %d are possible", #text, MAX_PATH_BYTES))
  end
  local inside = text
  if text:sub(1, 1) == "/" then
    inside = below(workdir, text)
    if not inside then
      return refuse("leads out of the workspace " .. workdir)
    end
  end
  local relative, why = normalize(inside)
  if not relative then
    return refuse(why)
  end
  return relative
end

return M
