-- SPDX-License-Identifier: MIT
--- Checks what a model sent against the JSON Schema it was shown.
---
--- `check` returns a fresh copy, so that what was checked is what runs, or one sentence that says
--- what to send instead. It knows the keywords that the tools use: type, properties, required,
--- additionalProperties, items, minimum, maximum, minLength, maxItems, maxProperties. It walks the
--- schema and not the value, so depth is bounded by the schema.
local schema = {}

-- Linux takes no single argument or variable longer than this.
local MAX_STRING_BYTES = 131071

--- What a Lua or decoded JSON value is in JSON's words. An empty table is both array and object.
local function kind_of(value)
  local kind = type(value)
  if kind == "userdata" or kind == "nil" then
    return "null" -- core.null
  elseif kind ~= "table" then
    return kind
  end
  local count, integers = 0, true
  for key in next, value do
    count = count + 1
    if type(key) ~= "number" then
      integers = false
    end
  end
  if count == 0 then
    return "empty"
  elseif not integers then
    return "object"
  end
  for i = 1, count do
    if rawget(value, i) == nil then
      return "object"
    end
  end
  return "array"
end

local function shorten(text)
  text = text:gsub("[%c\128-\255]", "?")
  if #text > 40 then
    text = text:sub(1, 37) .. "..."
  end
  return text
end

--- What was sent, in few words.
local function describe(value)
  local kind = kind_of(value)
  if kind == "string" then
    return 'the string "' .. shorten(value) .. '"'
  elseif kind == "number" or kind == "boolean" then
    return "the " .. kind .. " " .. tostring(value)
  elseif kind == "null" then
    return "null"
  elseif kind == "empty" then
    return "an empty object"
  end
  return "an " .. kind:gsub("^function$", "unknown value"):gsub("^thread$", "unknown value")
end

local function range_of(node)
  if node.minimum and node.maximum then
    return string.format(" from %d to %d", node.minimum, node.maximum)
  elseif node.minimum then
    return string.format(" of at least %d", node.minimum)
  end
  return ""
end

--- What a node wants, in few words.
local function wanted(node)
  if node.type == "integer" then
    return "an integer" .. range_of(node)
  elseif node.type == "string" then
    return "a string"
  elseif node.type == "array" then
    return 'an array of strings, for example ["-l", "src"]'
  end
  return 'an object of strings, for example {"NAME": "value"}'
end

local function mistyped(where, node, value)
  local text = string.format("'%s' must be %s, not %s", where, wanted(node), describe(value))
  if node.type == "integer" and type(value) == "string" and tonumber(value) then
    return text .. "; send the number without quotes"
  elseif node.type == "string" and type(value) == "number" then
    return text .. "; send it in quotes"
  elseif node.type == "array" and type(value) == "string" then
    return text .. "; send one array element per argument"
  end
  return text
end

local checks = {}

function checks.string(node, value, where, limit)
  if type(value) ~= "string" then
    return nil, mistyped(where, node, value)
  elseif #value < (node.minLength or 0) then
    return nil, string.format("'%s' must not be empty", where)
  elseif not limit and value:find("\0", 1, true) then
    return nil, string.format("'%s' contains a NUL byte; send it without", where)
  end
  limit = limit or MAX_STRING_BYTES
  if #value > limit then
    return nil, string.format("'%s' has %d bytes; at most %d are taken", where, #value, limit)
  end
  return value
end

function checks.integer(node, value, where)
  if type(value) ~= "number" or value ~= value or value % 1 ~= 0 then
    return nil, mistyped(where, node, value)
  elseif value < (node.minimum or -2 ^ 53) or value > (node.maximum or 2 ^ 53) then
    return nil, mistyped(where, node, value)
  end
  return math.floor(value)
end

function checks.array(node, value, where)
  local kind = kind_of(value)
  if kind ~= "array" and kind ~= "empty" then
    return nil, mistyped(where, node, value)
  elseif node.maxItems and #value > node.maxItems then
    return nil, string.format("'%s' has %d items; at most %d are taken", where, #value,
      node.maxItems)
  end
  local copy = {}
  for i = 1, #value do
    local item = where .. "[" .. (i - 1) .. "]"
    local element, message = checks[node.items.type](node.items, rawget(value, i), item)
    if message then
      return nil, message
    end
    copy[i] = element
  end
  return copy
end

local function sorted_keys(object)
  local names = {}
  for name in next, object do
    names[#names + 1] = name
  end
  table.sort(names)
  return names
end

--- "timeout", "timeout_ms" and "TimeoutMS" all mean "timeoutMs".
local function nearest(name, properties)
  local plain = name:lower():gsub("[^%w]", "")
  for _, known in ipairs(sorted_keys(properties)) do
    local other = known:lower()
    if #plain > 2 and (other == plain or other:sub(1, #plain) == plain
        or plain:sub(1, #other) == other) then
      return known
    end
  end
end

local function unknown(names, properties, order)
  local name = names[1]
  local text = string.format("unknown input '%s'", shorten(name))
  local known = nearest(name, properties)
  if known then
    return text .. string.format("; did you mean '%s'?", known)
  elseif #order == 0 then
    return text .. "; this tool takes none"
  end
  return text .. "; the inputs are " .. table.concat(order, ", ")
end

--- A map from names to values of one type: the environment.
local function check_map(node, value, where)
  local copy, count = {}, 0
  for _, name in ipairs(sorted_keys(value)) do
    count = count + 1
    if not name:find("^[%a_][%w_]*$") then
      return nil, string.format("'%s' has the name '%s'; a name has letters, digits and "
        .. "underscores and does not start with a digit", where, shorten(name))
    end
    local inner = node.additionalProperties
    local element, message = checks[inner.type](inner, rawget(value, name), where .. "." .. name)
    if message then
      return nil, message
    end
    copy[name] = element
  end
  if node.maxProperties and count > node.maxProperties then
    return nil, string.format("'%s' has %d names; at most %d are taken", where, count,
      node.maxProperties)
  end
  return copy
end

function checks.object(node, value, where)
  local kind = kind_of(value)
  if kind ~= "object" and kind ~= "empty" then
    return nil, mistyped(where, node, value)
  end
  for name in next, value do
    if type(name) ~= "string" then
      return nil, mistyped(where, node, value)
    end
  end
  return check_map(node, value, where)
end

local function is_required(node, name)
  for _, other in ipairs(node.required or {}) do
    if other == name then
      return true
    end
  end
  return false
end

local function required_first(node)
  local order = {}
  for _, name in ipairs(node.required or {}) do
    order[#order + 1] = name
  end
  for _, name in ipairs(sorted_keys(node.properties)) do
    if not is_required(node, name) then
      order[#order + 1] = name
    end
  end
  return order
end

--- Checks the arguments of a tool.
---@param node table               the tool's input_schema
---@param value any                a Lua table or decoded JSON
---@param bytes table<string, integer>?  the inputs that may carry NUL, each with its limit in bytes
---@return table? copy
---@return string? message         for the model: what is wrong and what to send
function schema.check(node, value, bytes)
  local kind = kind_of(value)
  if kind ~= "object" and kind ~= "empty" then
    return nil, "the arguments must be one JSON object, not " .. describe(value)
  end
  local order, strangers = required_first(node), {}
  for name in next, value do
    if not node.properties[name] then
      strangers[#strangers + 1] = tostring(name)
    end
  end
  if #strangers > 0 then
    table.sort(strangers)
    return nil, unknown(strangers, node.properties, order)
  end
  for _, name in ipairs(node.required or {}) do
    if rawget(value, name) == nil then
      return nil, string.format("'%s' is missing; send %s", name, wanted(node.properties[name]))
    end
  end
  local copy = {}
  for _, name in ipairs(order) do
    local given = rawget(value, name)
    if given ~= nil then
      local inner = node.properties[name]
      local element, message = checks[inner.type](inner, given, name, bytes and bytes[name])
      if message and kind_of(given) == "null" and not is_required(node, name) then
        message = message .. "; leave it out instead"
      end
      if message then
        return nil, message
      end
      copy[name] = element
    end
  end
  return copy
end

return schema
