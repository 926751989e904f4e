-- SPDX-License-Identifier: MIT
--- Paths: made absolute, ".." resolved, and told relative to the workspace.
---
--- All of this is text. A directory that is really a link can lead elsewhere; links that the caller
--- knows of (`context.links`) are followed.

local paths = {}

local MAX_LINKS = 16

--- An absolute path without ".", ".." and doubled slashes.
---@param path string
---@param base string  absolute; for a relative path
---@return string
function paths.absolute(path, base)
  if path:sub(1, 1) ~= "/" then
    path = base .. "/" .. path
  end
  local parts = {}
  for part in path:gmatch("[^/]+") do
    if part == ".." then
      parts[#parts] = nil
    elseif part ~= "." then
      parts[#parts + 1] = part
    end
  end
  return "/" .. table.concat(parts, "/")
end

--- The path as an access names it: relative when it is in the workspace.
---@param absolute string
---@param workdir string
---@return string path, boolean outside
function paths.in_workspace(absolute, workdir)
  if absolute == workdir then
    return ".", false
  elseif workdir == "/" then
    return absolute:sub(2), false
  elseif absolute:sub(1, #workdir + 1) == workdir .. "/" then
    return absolute:sub(#workdir + 2), false
  end
  return absolute, true
end

--- Follows the links that the caller knows of. Nil when no part of the path is one.
---@param absolute string
---@param links fun(path: string): string?
---@return string?
function paths.follow(absolute, links)
  local followed = false
  for _ = 1, MAX_LINKS do
    local at, hit = 1, false
    while at do
      local slash = absolute:find("/", at + 1, true)
      local head = absolute:sub(1, (slash or #absolute + 1) - 1)
      local target = links(head)
      if type(target) == "string" and target ~= "" then
        local dir = head:match("^(.*)/[^/]*$")
        local tail = slash and absolute:sub(slash) or ""
        absolute = paths.absolute(target .. tail, dir == "" and "/" or dir)
        followed, hit = true, true
        break
      end
      at = slash
    end
    if not hit then
      break
    end
  end
  return followed and absolute or nil
end

--- The last part of a path: what a program is called by.
---@param path string
---@return string
function paths.basename(path)
  return path:match("([^/]+)/*$") or ""
end

return paths
