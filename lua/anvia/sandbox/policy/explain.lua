-- SPDX-License-Identifier: MIT
-- Answers as text: one message for a model, and the long form for the author of a policy.

local show = require("anvia.sandbox.policy.show")

local explain = {}

local NOUN = { exec = "commands", read = "reading files", write = "writing files",
  list = "listing directories", env = "environment variables", port = "ports", tool = "this tool",
  risky_env = "variables that decide what a program runs",
  unparsed = "text that could not be read to the end" }

local KINDS_OF_PROBLEM = {
  syntax = "it is not understood", dynamic = "it is only known when it runs",
  file = "the script file was not seen", stdin = "the script on its input was not seen",
  bound = "it is too long or nested too deeply", option = "an option is not known",
  shell = "the language of that shell is not known",
}

local function place(found)
  local file = found.rule and found.rule.file or found.file
  local line = found.rule and found.rule.line or found.line
  if not file then return nil end
  return line and line > 0 and ("%s:%d"):format(file, line) or file
end

local function sentence(text)
  text = tostring(text):gsub("%s+$", "")
  return text:find("[.!?]$") and text or text .. "."
end

-- How a command was reached, when it is not the call itself.
local function trail(subject)
  local via = subject.command and subject.command.via
  if not via or #via < 2 then return "" end
  local steps = {}
  for i = 2, #via do steps[#steps + 1] = via[i] end
  return " (run by " .. show.line(table.concat(steps, ", "), 80) .. ")"
end

local function what(found)
  local subject = found.subject
  if subject.kind == "exec" then return "`" .. subject.text .. "`" .. trail(subject) end
  if subject.kind == "unparsed" then
    local where = subject.problem.where
    return "the command text" .. (where and " at `" .. show.line(where, 60) .. "`" or "")
  end
  return subject.text
end

local function reason(found)
  if found.failed then return found.failed end
  if found.by == "inert" then return "nothing speaks against it" end
  if found.by == "grant" then return "it was granted for the session" end
  if found.by == "limit" or found.by == "call" then return found.because end
  local because = found.because or (found.rule and found.rule.because)
  if found.maybe then
    return "a word in it is only known when it runs, and it may be what this rule forbids"
      .. (because and ": " .. because or "")
  end
  if because then return because end
  if found.subject.kind == "unparsed" then
    return "it could not be read to the end: "
      .. (found.subject.problem.what or KINDS_OF_PROBLEM[found.subject.problem.kind] or "unknown")
  end
  if found.by == "default" or found.by == "fallback" then
    local opening = found.answer == "allow" and "" or "no rule allows it, and "
    return opening .. "the default for " .. NOUN[found.kind] .. " is " .. found.answer
  end
  return nil
end

--- The `because` of a verdict: always a text.
function explain.because(found)
  return reason(found) or (found.rule and "the rule " .. found.rule.title)
end

local OPENING = { deny = "Refused: ", ask = "Needs approval: ", allow = "Allowed: " }

--- One message for a model: what, why, what instead, and where that is written.
function explain.text(found)
  local parts = { OPENING[found.answer] .. sentence(what(found)) }
  local why = reason(found)
  if why then parts[#parts + 1] = "Reason: " .. sentence(why) end
  local instead = found.instead or (found.rule and found.rule.instead)
  if instead then parts[#parts + 1] = "Instead: " .. sentence(instead) end
  local at = place(found)
  if at then
    local title = found.rule and "rule " .. found.rule.title
      or (found.by == "limit" and "limit" or "default")
    parts[#parts + 1] = ("[%s, %s]"):format(title, at)
  end
  return table.concat(parts, " ")
end

local function step_line(step)
  local lines = { ("%-6s %s"):format(step.answer, what(step)) }
  local why = reason(step)
  if step.rule then lines[#lines + 1] = "       by " .. step.rule.title end
  if place(step) then lines[#lines + 1] = "       at " .. place(step) end
  if why then lines[#lines + 1] = "       " .. why end
  return table.concat(lines, "\n")
end

--- The long form: every subject with its answer, then every rule that matched.
function explain.long(verdict)
  local lines = { "answer: " .. verdict.answer }
  for _, step in ipairs(verdict.steps) do lines[#lines + 1] = step_line(step) end
  local seen = {}
  for _, found in ipairs(verdict.matches) do
    local line = ("matched %-5s %s at %s"):format(found.maybe and "maybe" or "", found.rule.title,
      place(found))
    if not seen[line] then lines[#lines + 1] = line end
    seen[line] = true
  end
  return table.concat(lines, "\n")
end

--- Fills in the public fields of a verdict from what decided it.
function explain.verdict(found, asks)
  local rule = found.rule
  return {
    answer = found.answer, by = found.by,
    rule = rule and rule.title or nil,
    file = rule and rule.file or found.file, line = rule and rule.line or found.line,
    reading = found.subject.text, subject = found.subject.kind,
    because = explain.because(found),
    instead = found.instead or (rule and rule.instead) or nil,
    text = explain.text(found), asks = asks,
  }
end

return explain
