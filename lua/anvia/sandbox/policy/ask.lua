-- SPDX-License-Identifier: MIT
-- Asking a person: what is asked, what may be granted for the session, and what the answer does.
--
-- A grant is for exactly what was asked, never for more. Where even that would be too much, because
-- what runs stands in a file or in text that may change, nothing is proposed and a yes is for once.

local glob = require("anvia.sandbox.policy.glob")
local language = require("anvia.sandbox.policy.language")
local show = require("anvia.sandbox.policy.show")

local ask = {}

local RUNS_ANYTHING = {}
for i, text in ipairs(language.runs_anything) do RUNS_ANYTHING[i] = glob.token(text) end

-- Programs here are not the workspace's to change.
local SYSTEM_PATHS = { "^/bin/[^/]+$", "^/sbin/[^/]+$", "^/usr/bin/[^/]+$", "^/usr/sbin/[^/]+$",
  "^/usr/local/bin/[^/]+$" }

local function runs_anything(name)
  name = name:lower()
  for _, matcher in ipairs(RUNS_ANYTHING) do
    if glob.test(matcher, name) then return true end
  end
  return false
end

local function is_system_path(path)
  for _, pattern in ipairs(SYSTEM_PATHS) do
    if path:find(pattern) then return true end
  end
  return false
end

local function plain_words(command)
  local words = {}
  for i, word in ipairs(command.argv) do
    if type(word) ~= "string" then return nil end
    words[i] = word
  end
  return words
end

-- A glob that stands for the text itself.
local function literal(text)
  return (text:gsub("[*?%[\\]", "\\%0"))
end

-- What a program reads is as good as an argument, and a grant does not cover it.
local GIVEN_NOTHING = { none = true, inherit = true }

local function propose_command(command)
  local words = plain_words(command)
  if command.stdin and not GIVEN_NOTHING[command.stdin] then return nil end
  local role = command.role or "program"
  if not words or not command.name or (role ~= "program" and role ~= "builtin") then return nil end
  if runs_anything(command.name) or command.cwd == nil then return nil end
  if words[1]:find("/", 1, true) and not is_system_path(words[1]) then return nil end
  if #words == 1 and words[1] == "git" then return nil end
  local patterns = {}
  for i, word in ipairs(words) do patterns[i] = literal(word) end
  return {
    key = "exec\0" .. command.cwd .. "\0" .. table.concat(words, "\0"),
    text = ("allow { exec = %s, cwd = %s }"):format(show.source { only = patterns },
      show.source { only = literal(command.cwd) }),
  }
end

--- The narrowest rule that would allow what a match asks for -> { key, text } | nil
function ask.propose(found)
  local subject = found.subject
  if found.maybe or found.failed or found.answer ~= "ask" then return nil end
  if subject.kind == "exec" then return propose_command(subject.command) end
  if subject.absolute then
    if subject.dynamic then return nil end
    local path = "/" .. table.concat(subject.absolute, "/")
    return { key = subject.kind .. "\0" .. path,
      text = ("allow { %s = %s }"):format(subject.kind, show.source { only = literal(path) }) }
  elseif subject.kind == "env" then
    if subject.risky then return nil end
    return { key = "env\0" .. subject.name,
      text = ("allow { env = %s }"):format(show.source(literal(subject.name))) }
  elseif subject.kind == "port" then
    return { key = "port\0" .. tostring(subject.port),
      text = ("allow { port = %s }"):format(tostring(subject.port)) }
  end
  return nil
end

--- What on_ask is given.
function ask.request(verdict, ctx, describe)
  local request = { call = ctx.call, readings = ctx.readings, answer = "ask", text = verdict.text,
    because = verdict.because, rule = verdict.rule, file = verdict.file, line = verdict.line,
    asks = {}, proposal = nil }
  local texts, keys, all = {}, {}, true
  for i, found in ipairs(verdict.asks) do
    local proposal = ask.propose(found)
    local one = describe(found)
    request.asks[i] = { reading = one.reading, subject = one.subject, because = one.because,
      instead = one.instead, rule = one.rule, file = one.file, line = one.line,
      proposal = proposal and proposal.text or nil }
    if not proposal then
      all = false
    elseif not keys[proposal.key] then
      keys[proposal.key] = true
      texts[#texts + 1] = proposal.text
    end
  end
  if all and #texts > 0 then request.proposal = table.concat(texts, "\n") end
  return request, all and keys or {}
end

local ANSWERS = { once = true, session = true }

--- Calls on_ask -> true | nil, why not. A grant for the session is remembered in `state`.
function ask.run(on_ask, request, keys, state)
  local ok, answer = pcall(on_ask, request)
  if not ok then return nil, "asking failed: " .. show.line(tostring(answer)) end
  if answer == true then answer = "once" end
  if not ANSWERS[answer] then
    if answer == nil or answer == false or answer == "no" or answer == "deny" then
      return nil, "the user said no"
    end
    return nil, "on_ask answered " .. show.value(answer) .. ", which is none of \"once\", "
      .. "\"session\" and false"
  end
  if answer == "session" then
    for key in pairs(keys) do state.grants[key] = true end
  end
  return true
end

return ask
