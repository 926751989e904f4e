-- SPDX-License-Identifier: MIT
-- A model that plays back what was recorded: it needs no network and says the same each time.
--
-- It speaks as Anthropic's messages do. A real model takes its place by sending `messages` and
-- `tools` to the provider and returning the message that comes back.
local model = {}

-- What the recording calls {process_id} is the newest id that a tool has shown.
local function newest_process_id(messages)
  local id
  for _, message in ipairs(messages) do
    for _, block in ipairs(type(message.content) == "table" and message.content or {}) do
      if block.type == "tool_result" then
        id = block.content:match("process_id: ([^\n]+)") or id
      end
    end
  end
  return id
end

local function fill(value, id)
  if type(value) == "table" then
    local copy = {}
    for key, item in pairs(value) do
      copy[key] = fill(item, id)
    end
    return copy
  end
  return value == "{process_id}" and id or value
end

--- Returns a function(messages, tools) -> the next message of the model.
function model.play(recording)
  local turn, calls = 0, 0
  return function(messages, tools) -- luacheck: ignore 212/tools
    turn = turn + 1
    local recorded = recording.turns[turn]
    local content = {}
    if recorded.say then
      content[1] = { type = "text", text = recorded.say }
    end
    local id = newest_process_id(messages)
    for _, call in ipairs(recorded.calls or {}) do
      calls = calls + 1
      content[#content + 1] = { type = "tool_use", id = "call-" .. calls, name = call.name,
        input = fill(call.input, id) }
    end
    return {
      role = "assistant",
      content = content,
      stop_reason = recorded.calls and "tool_use" or "end_turn",
    }
  end
end

return model
