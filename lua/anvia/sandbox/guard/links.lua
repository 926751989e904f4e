-- SPDX-License-Identifier: MIT
--- Where a path really leads, as far as it can be seen.
---
--- A rule about a file or a program must hold for a link to it. This looks links up in the session
--- before a call is judged. Whoever can change them between the look and the call can still win,
--- and a copy is no link: the session's own checks and the container remain the boundary.
local by_stat = require("anvia.sandbox.guard.links_by_stat")
local common = require("anvia.sandbox.files.scripts.common")
local paths = require("anvia.sandbox.policy.readings.paths")
local run = require("anvia.sandbox.files.run")

local links = {}

local unpack = table.unpack or _G.unpack

-- One call that names more paths than these is refused: errors of `links` are.
local MAX_LOOKS = 64
local MAX_CANDIDATES = 5000

-- Where a program in the session can make links, besides the workspace.
local REGIONS = { "/tmp/", "/var/tmp/", "/dev/shm/" }

-- So many paths are looked up by one command.
local BATCH = 500

--- real: absolute paths. Prints each, ended by NUL, with links resolved that stand where a program
--- in the session can make them, up to the first name elsewhere: /bin/rm stays that, though it may
--- be a link to busybox. What does not exist is kept as it is.
local SCRIPT = common .. [=[
here() {
  case ${PWD%/}/ in
    "$root"* | /tmp/* | /var/tmp/* | /dev/shm/*) ;;
    *) return 1 ;;
  esac
}

# Goes to the directory of /$rest, as far as it exists; $rest is what is left then.
descend() {
  cd /
  while :; do
    case $rest in
      */*) part=${rest%%/*} rest=${rest#*/} ;;
      *) return 0 ;;
    esac
    cd -P "./$part" 2>/dev/null || {
      rest=$part/$rest
      return 1
    }
  done
}

# Follows the link $rest once: false when it leads to a directory that is not there.
hop() {
  target=$(readlink "./$rest" && printf .) || return 1
  target=${target%"$nl".}
  case $target in
    /*) directory=${target%/*}/ ;;
    */*) directory=./${target%/*}/ ;;
    *) directory=./ ;;
  esac
  if cd -P "$directory" 2>/dev/null; then
    rest=${target##*/}
    return 0
  fi
  rest=$target
  case $target in /*) cd / && rest=${target#/} ;; esac
  return 1
}

for path; do
  rest=${path#/}
  hops=0
  if descend; then
    while [ -n "$rest" ] && [ "$hops" -lt 40 ] && here && [ -L "./$rest" ]; do
      hops=$((hops + 1))
      hop || break
    done
  fi
  printf '%s/%s\0' "${PWD%/}" "$rest"
done
]=]

--- In an image without a shell, whose supervisor can still tell what is in the workspace. What is
--- elsewhere, where there may be links too, is refused.
local function look_without_shell(session, list)
  local workspace, real = session.workdir:gsub("/+$", "") .. "/", {}
  for i, path in ipairs(list) do
    if path:sub(1, #workspace) ~= workspace then
      error("links outside of the workspace cannot be looked up in an image without a shell", 0)
    end
    real[i] = by_stat.real(session, workspace, path)
    for _, region in ipairs(REGIONS) do
      if real[i]:sub(1, #region) == region then
        error("a link leads to where links cannot be looked up without a shell", 0)
      end
    end
  end
  return real
end

local function look(session, list)
  local result, err = run(session, "policy", SCRIPT, list, list,
    { max_output_bytes = 16 * 1024 * 1024 })
  if not result and err.code == "process" and session.runner == "supervisor" then
    return look_without_shell(session, list)
  elseif not result then
    error("links could not be looked up: " .. tostring(err), 0)
  end
  local real = {}
  for path in result.stdout:gmatch("([^%z]*)%z") do
    real[#real + 1] = path
  end
  if #real ~= #list then
    error("links could not be looked up", 0)
  end
  return real
end

local function is_worth_a_look(path, workspace)
  local function is_in(region)
    return path:sub(1, #region) == region and #path > #region and #path < 4096
  end
  return is_in(workspace) or is_in(REGIONS[1]) or is_in(REGIONS[2]) or is_in(REGIONS[3])
end

local function directory_of(path)
  return path:match("^(.+)/[^/]*$")
end

--- Words of a call that may be paths; some that are none do no harm.
local function words_of(call)
  local words = { call.path, call.to }
  words[#words + 1] = call.command
  for _, text in ipairs({ call.input or "", unpack(call.args or {}) }) do
    words[#words + 1] = text
    if text:find("[%s;|&<>()\"'`=:,{}$]") then
      for word in text:gmatch("[^%s;|&<>()\"'`=:,{}$]+") do
        words[#words + 1] = word
      end
    end
    if #words > MAX_CANDIDATES then
      break
    end
  end
  return words
end

local Links = {}
Links.__index = Links

function Links:add(path, real)
  self.seen[path] = real ~= "" and real ~= path and real or false
  -- A path that leads to itself has no link among its directories.
  local parent = directory_of(path)
  while parent and not self.seen[path] and self.seen[parent] == nil do
    self.seen[parent] = false
    parent = directory_of(parent)
  end
end

function Links:look(list)
  for first = 1, #list, BATCH do
    local batch = { unpack(list, first, math.min(first + BATCH - 1, #list)) }
    for i, real in ipairs(look(self.session, batch)) do
      self:add(batch[i], real)
    end
  end
end

--- Forgets what was seen before a call is judged.
function Links:prepare(call)
  self.call, self.seen, self.looks = call, {}, 0
end

--- Sees all that the call names in one go; most calls name nothing that a policy looks up.
function Links:look_at_call(call)
  local base, wanted, listed = self.session.workdir, {}, {}
  if call.cwd then
    base = paths.absolute(call.cwd, base)
  end
  for _, word in ipairs(words_of(call)) do
    local path = #word < 4096 and not word:find("\0", 1, true) and paths.absolute(word, base)
    if path and not listed[path] and is_worth_a_look(path, self.workspace)
        and #wanted < MAX_CANDIDATES then
      listed[path] = true
      wanted[#wanted + 1] = path
    end
  end
  self:look(wanted)
  local parents = {}
  for _, path in ipairs(wanted) do
    local parent = self.seen[path] and directory_of(path)
    while parent and self.seen[parent] == nil and is_worth_a_look(parent, self.workspace) do
      self.seen[parent] = false
      parents[#parents + 1] = parent
      parent = directory_of(parent)
    end
  end
  self:look(parents)
end

--- What a listing of a directory has shown is where the directory is, and no link. All paths are
--- relative to the workspace or absolute.
function Links:know_below(directory, list)
  local top = paths.absolute(directory, self.session.workdir)
  local real = self:of(top)
  for _, path in ipairs(list) do
    local here = paths.absolute(path, self.session.workdir)
    self.seen[here] = real and real .. here:sub(#top + 1) or false
  end
end

function Links:of(path)
  if not is_worth_a_look(path, self.workspace) or path:find("\0", 1, true) then
    return nil
  end
  if self.call then
    self:look_at_call(self.call)
    self.call = nil
  end
  if self.seen[path] == nil then
    self.looks = self.looks + 1
    if self.looks > MAX_LOOKS then
      error("the call names too many paths", 0)
    end
    self:look({ path })
  end
  return self.seen[path] or nil
end

--- Links as a session shows them: `prepare(call)` before a call is judged, then `of(path)` -> the
--- path it leads to, or nil when that is the same. Nil for a session that cannot run commands of
--- the library's own.
function links.new(session)
  if type(session._internal_exec) ~= "function" then
    return nil
  end
  return setmetatable({
    session = session,
    workspace = session.workdir:gsub("/+$", "") .. "/",
    call = nil,
    seen = {},
    looks = 0,
  }, Links)
end

return links
