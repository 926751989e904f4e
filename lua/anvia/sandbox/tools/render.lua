-- SPDX-License-Identifier: MIT
--- The forms in which providers list tools, send calls and take results.
---
--- A form has `list(tool)`, `accepts(call)`, `parse(call)` -> id, name, arguments, and
--- `result(id, text, failed)`.
local render = {}

local forms = {}

--- OpenAI chat completions: {id, type = "function", function = {name, arguments = "<json>"}}.
forms.openai = {
  list = function(tool)
    return {
      type = "function",
      ["function"] = {
        name = tool.name,
        description = tool.description,
        parameters = tool.input_schema,
      },
    }
  end,
  accepts = function(call)
    return type(call["function"]) == "table"
  end,
  parse = function(call)
    return call.id, call["function"].name, call["function"].arguments
  end,
  result = function(id, text, failed)
    return { role = "tool", tool_call_id = id, content = failed and "error: " .. text or text }
  end,
}

--- OpenAI responses: {type = "function_call", call_id, name, arguments = "<json>"}.
forms.openai_responses = {
  list = function(tool)
    return {
      type = "function",
      name = tool.name,
      description = tool.description,
      parameters = tool.input_schema,
      strict = false,
    }
  end,
  accepts = function(call)
    return call.type == "function_call"
  end,
  parse = function(call)
    return call.call_id, call.name, call.arguments
  end,
  result = function(id, text, failed)
    return {
      type = "function_call_output",
      call_id = id,
      output = failed and "error: " .. text or text,
    }
  end,
}

--- Anthropic messages: {type = "tool_use", id, name, input}.
forms.anthropic = {
  list = function(tool)
    return {
      name = tool.name,
      description = tool.description,
      input_schema = tool.input_schema,
    }
  end,
  accepts = function(call)
    return call.type == "tool_use"
  end,
  parse = function(call)
    return call.id, call.name, call.input
  end,
  result = function(id, text, failed)
    return { type = "tool_result", tool_use_id = id, content = text, is_error = failed }
  end,
}

--- MCP tools/call: {name, arguments}.
forms.mcp = {
  list = function(tool, read_only)
    return {
      name = tool.name,
      description = tool.description,
      inputSchema = tool.input_schema,
      annotations = { readOnlyHint = read_only },
    }
  end,
  accepts = function(call)
    return call.type == nil and type(call.name) == "string"
  end,
  parse = function(call)
    return nil, call.name, call.arguments
  end,
  result = function(_, text, failed)
    return { content = { { type = "text", text = text } }, isError = failed }
  end,
}

render.forms = forms

--- The form of a call, or nil for a table that is none.
function render.form_of(call)
  for _, name in ipairs({ "openai", "openai_responses", "anthropic", "mcp" }) do
    if forms[name].accepts(call) then
      return forms[name]
    end
  end
end

return render
