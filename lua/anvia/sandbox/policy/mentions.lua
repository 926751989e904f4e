-- SPDX-License-Identifier: MIT
-- Files that well known programs are given as arguments.
--
-- A rule against reading `.env` is meant for `cat .env` too. So the operands of these programs are
-- held against the rules of deny and ask, and only those: that a command may run is for its own
-- rules to say, and a program that is not listed here can touch what it likes.

local argv = require("anvia.sandbox.policy.argv")

local mentions = {}

local function set(kind, names)
  for name in names:gmatch("%S+") do mentions.programs[name] = kind end
end

--- What a program does with its operands: all are read, all are written (also: removed, changed),
--- or the last one is written and the others are read.
mentions.programs = {}
set("read", "cat tac head tail less more nl wc cut paste sort uniq grep egrep fgrep rg awk gawk "
  .. "sed jq yq od xxd hexdump strings base64 base32 md5sum sha1sum sha256sum sha512sum cksum diff "
  .. "cmp "
  .. "comm join column fold fmt rev split tar gzip gunzip zcat bzip2 xz zip unzip file source . "
  .. "view vi vim nano emacs bat openssl gpg scp")
set("write", "rm rmdir unlink shred truncate touch tee mkdir mkfifo mknod chmod chown chgrp chattr")
set("last", "cp mv ln install rsync")

-- In-place editing makes a reader a writer.
local function in_place(name, items)
  if name ~= "sed" and name ~= "perl" and name ~= "yq" then return false end
  for _, item in ipairs(items) do
    if item.option and (item.option:find("^%-i") or item.option:find("^%-%-in%-place")) then
      return true
    end
    for _, letter in ipairs(item.letters or {}) do
      if letter == "-i" then return true end
    end
  end
  return false
end

local function operands_of(items)
  local list = {}
  for _, item in ipairs(items) do
    if item.operand and item.operand ~= "" then list[#list + 1] = item.operand end
  end
  return list
end

local function add(found, kind, path)
  found[#found + 1] = { kind = kind, path = path }
end

local function of_dd(operands, found)
  for _, operand in ipairs(operands) do
    local name, path = operand:match("^(%l+)=(.+)$")
    if name == "of" then add(found, "write", path) end
    if name == "if" then add(found, "read", path) end
  end
  return found
end

--- The files that a command names -> list of { kind, path }; nil for a program that is not known.
function mentions.of(command)
  local name = command.name and command.name:lower()
  local kind = name and mentions.programs[name]
  if not kind and name ~= "dd" and name ~= "perl" then return nil end
  local items = argv.items(command.argv)
  local operands, found = operands_of(items), {}
  if name == "dd" then return of_dd(operands, found) end
  if in_place(name, items) then kind = "write" end
  for i, path in ipairs(operands) do
    if kind ~= "last" then
      add(found, kind or "read", path)
    else
      -- what is moved is gone from where it was
      add(found, (i == #operands or name == "mv") and "write" or "read", path)
      if name == "mv" and i < #operands then add(found, "read", path) end
    end
  end
  return found
end

return mentions
