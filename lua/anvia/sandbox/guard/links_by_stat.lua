-- SPDX-License-Identifier: MIT
--- Where a path of the workspace really leads, entry by entry, where no shell can say it.
local files = require("anvia.sandbox.files")
local paths = require("anvia.sandbox.policy.readings.paths")

local by_stat = {}

local MAX_HOPS = 40

local function push_parts(parts, text)
  local names = {}
  for name in text:gmatch("[^/]+") do
    if name ~= "." then
      names[#names + 1] = name
    end
  end
  for i = #names, 1, -1 do
    parts[#parts + 1] = names[i] -- a stack, the next one on its top
  end
end

local function rest_of(parts)
  local names = {}
  for i = #parts, 1, -1 do
    names[#names + 1] = parts[i]
  end
  return table.concat(names, "/")
end

--- The entry, or nil when there is none to go through; raises when nobody can tell.
local function look(session, path)
  local entry, err = files.backend(session).stat(session, "policy", path)
  if not entry and err.code ~= "not_found" and err.code ~= "path" then
    error(tostring(err), 0)
  end
  return entry
end

--- `path` is absolute and below `workspace`, which ends in a slash. The result is absolute; from
--- its first name outside of the workspace on it is as the links say it.
---@param session anvia.sandbox.Session
---@param workspace string
---@param path string
---@return string
function by_stat.real(session, workspace, path)
  local parts, here, hops = {}, {}, 0
  push_parts(parts, path:sub(#workspace + 1))
  while #parts > 0 do
    local name = table.remove(parts)
    if name == ".." and #here == 0 then
      return paths.absolute("../" .. rest_of(parts), workspace)
    elseif name == ".." then
      here[#here] = nil
    else
      here[#here + 1] = name
      local entry = look(session, table.concat(here, "/"))
      local target = entry and entry.type == "symlink" and hops < MAX_HOPS and entry.target
      if not entry then
        break
      elseif target then
        hops = hops + 1
        here[#here] = nil
        if target:sub(1, 1) == "/" and (target .. "/"):sub(1, #workspace) ~= workspace then
          return paths.absolute(target .. "/" .. rest_of(parts), "/")
        elseif target:sub(1, 1) == "/" then
          here, target = {}, target:sub(#workspace + 1)
        end
        push_parts(parts, target)
      end
    end
  end
  return paths.absolute(workspace .. table.concat(here, "/") .. "/" .. rest_of(parts), "/")
end

return by_stat
