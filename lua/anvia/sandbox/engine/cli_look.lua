-- SPDX-License-Identifier: MIT
-- cli_look.lua - the questions about what there is, for cli.lua.

local core = require("anvia.sandbox.core")
local errors = require("anvia.sandbox.errors")
local describe = require("anvia.sandbox.engine.describe")
local failure = require("anvia.sandbox.engine.failure")

-- Descriptions asked for at once: keeps argument lists and answers small.
local BATCH = 50

local methods = {}

--- One container's description (see describe.lua), or nil, err.
function methods:inspect(name)
  return self:_one("inspect", { "container", "inspect", name }, describe.container)
end

-- The description of one thing that the client prints as a list.
function methods:_one(op, args, convert)
  local result, err = self:_request(op, args)
  if not result then
    return nil, err
  end
  local list, complaint = core.json_decode(result.stdout)
  if type(list) ~= "table" or list[1] == nil then
    return nil, errors.new(op, "protocol", "unreadable answer: %s", complaint or "empty")
  end
  return convert(list[1])
end

--- An image's description (see describe.lua), or nil, err.
function methods:inspect_image(name)
  return self:_one("inspect", { "image", "inspect", name }, describe.image)
end

local function lines_of(text)
  local lines = {}
  for line in text:gmatch("[^\r\n]+") do
    lines[#lines + 1] = line
  end
  return lines
end

local function with_filters(args, labels)
  for name, value in pairs(labels) do
    args[#args + 1] = "--filter"
    args[#args + 1] = "label=" .. (value == true and name or name .. "=" .. value)
  end
  return args
end

function methods:_lines(op, args)
  local result, err = self:_request(op, args)
  return result and lines_of(result.stdout), err
end

--- The ids of the containers with these labels, running or not.
function methods:find_containers(labels)
  return self:_lines("list", with_filters({ "ps", "-a", "-q", "--no-trunc" }, labels))
end

--- The names of the volumes with these labels.
function methods:find_volumes(labels)
  return self:_lines("list", with_filters({ "volume", "ls", "-q" }, labels))
end

-- Descriptions of those of `names` that still exist.
function methods:_describe(kind, names, convert)
  local rows = {}
  for first = 1, #names, BATCH do
    local args = { kind, "inspect" }
    for i = first, math.min(first + BATCH - 1, #names) do
      args[#args + 1] = names[i]
    end
    local result, err = self:_run(args)
    if not result then
      return nil, errors.wrap("list", err)
    elseif result.timed_out then
      return nil, self:_too_late("list", result)
    end
    -- Of several names the client describes those it finds, and fails.
    local list = core.json_decode(result.stdout)
    if type(list) ~= "table" or (#list == 0 and result.exit_code ~= 0) then
      local reason = failure.reason(result.stderr)
      if reason ~= "no_container" and reason ~= "no_volume" then
        return nil, self:explain("list", result)
      end
      list = {}
    end
    for _, raw in ipairs(list) do
      rows[#rows + 1] = convert(raw)
    end
  end
  return rows
end

function methods:describe_containers(ids)
  return self:_describe("container", ids, describe.container)
end

function methods:describe_volumes(names)
  return self:_describe("volume", names, describe.volume)
end

--- The ids of the containers that have this volume mounted, running or not.
function methods:volume_users(name)
  return self:_lines("list", { "ps", "-a", "-q", "--no-trunc", "--filter", "volume=" .. name })
end

--- Adds them to the engine's methods.
return function(class)
  for name, method in pairs(methods) do
    class[name] = method
  end
end
