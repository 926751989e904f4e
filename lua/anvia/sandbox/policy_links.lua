-- SPDX-License-Identifier: MIT
--- Where a path really leads, as far as it can be seen.
---
--- A rule about a file or a program must hold for a link to it. This looks links up in the session
--- before a call is judged. Whoever can change them between the look and the call can still win,
--- and a copy is no link: the session's own checks and the container remain the boundary.
local common = require("anvia.sandbox.files.scripts.common")
local run = require("anvia.sandbox.files.run")

local policy_links = {}

-- One call that names more paths than this is refused: errors of `links` are.
local MAX_LOOKS = 64

--- real: absolute path. Prints the path with links resolved that stand where a program in the
--- session can make them, up to the first name elsewhere: /bin/rm stays that, though it may be a
--- link to busybox. What does not exist is kept as it is.
local SCRIPT = common .. [=[
here() {
  case ${PWD%/}/ in
    "$root"* | /tmp/* | /var/tmp/* | /dev/shm/*) ;;
    *) return 1 ;;
  esac
}

path=$1
cd /
rest=${path#/}
while :; do
  case $rest in
    */*) part=${rest%%/*} rest=${rest#*/} ;;
    *) break ;;
  esac
  cd -P "./$part" 2>/dev/null || {
    rest=$part/$rest
    break
  }
done
case $rest in
  */*) leaf= ;;
  *) leaf=$rest ;;
esac
hops=0
while [ -n "$leaf" ] && [ "$hops" -lt 40 ] && here && [ -L "./$leaf" ]; do
  hops=$((hops + 1))
  target=$(readlink "./$leaf" && printf .) || break
  target=${target%"$nl".}
  directory=./
  case $target in
    */*) directory=${target%/*}/ leaf=${target##*/} ;;
    *) leaf=$target ;;
  esac
  case $directory in
    /* | ./*) ;;
    *) directory=./$directory ;;
  esac
  cd -P "$directory" 2>/dev/null || {
    rest=$target
    case $target in /*) cd / && rest=${target#/} ;; esac
    leaf=
    break
  }
  rest=$leaf
done
printf '%s/%s' "${PWD%/}" "$rest"
]=]

local function look(session, path)
  local result, err = run(session, "policy", SCRIPT, { path }, { path })
  if not result then
    error("links could not be looked up: " .. tostring(err), 0)
  end
  local real = result.stdout
  return real ~= "" and real ~= path and real or false
end

local REGIONS = { "/tmp/", "/var/tmp/", "/dev/shm/" }

local function is_worth_a_look(path, workspace)
  for _, region in ipairs({ workspace, REGIONS[1], REGIONS[2], REGIONS[3] }) do
    if path:sub(1, #region) == region and #path > #region then
      return true
    end
  end
  return false
end

--- A function(absolute path) -> the path it leads to, or nil when that is the same; and a function
--- that forgets what was seen, to be called before each call is judged. Nil for a session that
--- cannot run commands of the library's own.
function policy_links.of(session)
  if type(session._internal_exec) ~= "function" then
    return nil
  end
  local workspace = session.workdir:gsub("/+$", "") .. "/"
  local seen, looks = {}, 0

  local function links(path)
    if not is_worth_a_look(path, workspace) or path:find("\0", 1, true) then
      return nil
    end
    if seen[path] == nil then
      looks = looks + 1
      if looks > MAX_LOOKS then
        error("the call names too many paths", 0)
      end
      seen[path] = look(session, path)
      -- A path that leads to itself has no link among its directories.
      local parent = path:match("^(.+)/[^/]*$")
      while parent and not seen[path] and seen[parent] == nil do
        seen[parent] = false
        parent = parent:match("^(.+)/[^/]*$")
      end
    end
    return seen[path] or nil
  end

  return links, function()
    seen, looks = {}, 0
  end
end

return policy_links
