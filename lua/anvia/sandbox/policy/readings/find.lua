-- SPDX-License-Identifier: MIT
--- `find`: a small language of its own, with commands in it. Also `fd`, whose -x is the same idea.

local expand = require("anvia.sandbox.policy.shell.expand")

local find = {}

local RUNS = { ["-exec"] = true, ["-execdir"] = true, ["-ok"] = true, ["-okdir"] = true }
local WRITES = { ["-fprint"] = true, ["-fprint0"] = true, ["-fls"] = true, ["-fprintf"] = true }

--- Tests and options with one value.
local VALUES = {}
for name in ([[name iname path ipath wholename iwholename regex iregex type xtype size mtime mmin
  atime amin ctime cmin newer anewer cnewer user group uid gid perm maxdepth mindepth printf lname
  ilname links inum samefile fstype context regextype used newerXY newermt newerat files0-from
  flags D]]):gmatch("%S+") do
  VALUES["-" .. name] = true
end

--- The command after -exec: gives its words, the position after it, and whether it has an end.
local function command_at(argv, from)
  local words, at = {}, from
  while at <= #argv do
    local word = argv[at]
    if word == ";" or (word == "+" and argv[at - 1] == "{}") then
      return words, at + 1, true
    end
    words[#words + 1] = word
    at = at + 1
  end
  return words, at, false
end

local function plus_in(words)
  for i, word in ipairs(words) do
    if word == "+" then
      return i
    end
  end
end

--- Replaces {} by a word that is not known.
local function with_files(words)
  local out = {}
  for i, word in ipairs(words) do
    if type(word) == "string" and word:find("{}", 1, true) then
      local unknown = expand.unknown(word)
      unknown.single = word ~= "{}" or words[i + 1] ~= nil
      unknown.prefix = word:match("^(.-){}")
      unknown.holed = word:gsub("{}", "\1")
      out[i] = unknown
    else
      out[i] = word
    end
  end
  return out
end

--- The places where find starts.
local function starts(argv)
  local list = {}
  for i = 2, #argv do
    local word = argv[i]
    if type(word) ~= "string" then
      list[#list + 1] = word
    elseif word:find("^[-(!),]") then
      if not word:find("^%-[HLPDO]") then
        break
      end
    else
      list[#list + 1] = word
    end
  end
  if #list == 0 then
    list[1] = "."
  end
  return list
end

local function acts(reader, command, name, argv, at)
  command.actions = command.actions or {}
  command.actions[#command.actions + 1] = name
  if name == "-delete" then
    for _, start in ipairs(starts(argv)) do
      local below = type(start) == "string" and {
        dynamic = true, text = start, glob = true, single = false, prefix = start,
        pattern = start:gsub("[*?%[\\]", "\\%0") .. "/**", holed = start .. "/\1",
      } or start
      reader:access("write", start, at.cwds, "find -delete")
      reader:access("write", below, at.cwds, "find -delete")
    end
  end
end

---@param reader table
---@param command anvia.sandbox.Command
---@param argv anvia.sandbox.Word[]
---@param at anvia.sandbox.readings.Site
function find.open(reader, command, argv, at)
  local i = 2
  while i <= #argv do
    local word = argv[i]
    if type(word) ~= "string" then
      local before = argv[i - 1]
      if not (word.single and type(before) == "string" and VALUES[before])
        and not (word.single and word.prefix:find("^[^-(!),]")) then
        reader:problem("dynamic", "words of find are computed", word)
      end
      i = i + 1
    elseif RUNS[word] then
      local words, after, closed = command_at(argv, i + 1)
      if not closed then
        reader:problem("syntax", "a command of find has no end", word)
      end
      local site = reader.inside(at, "find " .. word, {
        external = true, cwds = word:find("dir") and { dynamic = true } or at.cwds,
      })
      reader:run(with_files(words), site)
      i = after
      -- In busybox any "+" ends the command.
      local plus = plus_in(words)
      if plus then
        local head = {}
        for k = 1, plus - 1 do
          head[k] = words[k]
        end
        reader:run(with_files(head), site)
        i = after - (closed and 1 or 0) - (#words - plus)
      end
    elseif WRITES[word] then
      acts(reader, command, word, argv, at)
      if argv[i + 1] ~= nil then
        reader:access("write", argv[i + 1], at.cwds, "find " .. word)
      end
      i = i + 2
    else
      if word == "-delete" then
        acts(reader, command, word, argv, at)
      end
      i = i + 1
    end
  end
end

local FD_RUNS = { ["-x"] = true, ["--exec"] = true, ["-X"] = true, ["--exec-batch"] = true }

---@param reader table
---@param argv anvia.sandbox.Word[]
---@param at anvia.sandbox.readings.Site
function find.open_fd(reader, argv, at)
  local i = 2
  while i <= #argv do
    local word = argv[i]
    local attached = type(word) == "string" and word:match("^%-%-exec[a-z-]*=(.*)$")
    if FD_RUNS[word] or attached then
      local words, after = command_at(argv, i + 1)
      if attached then
        table.insert(words, 1, attached)
      end
      words[#words + 1] = "{}"
      reader:run(with_files(words), reader.inside(at, "fd -x", { external = true }))
      i = after
    else
      if type(word) ~= "string" and not (word.single and word.prefix:find("^[^-]")) then
        reader:problem("dynamic", "words of fd are computed", word)
      end
      i = i + 1
    end
  end
end

return find
