-- SPDX-License-Identifier: MIT
-- helper.lua - what the specs that need an engine share.

local busted = require("busted")
local chosen = require("spec.support.chosen")
local core = require("anvia.sandbox.core")
local sandbox = require("anvia.sandbox")
local outside = require("spec.support.outside")

local M = {}

M.BUSYBOX = "anvia-test/busybox:1"
M.DEBIAN = "anvia-test/debian:1"

--- Where it makes sense, a case runs in each of these. The supervisor uses nothing of an
--- image, so that one of them is enough, but for a run over everything.
M.IMAGES = { M.DEBIAN, M.BUSYBOX }
--- The same for what depends on the shell's job control.
M.SHELL_IMAGES = { M.DEBIAN, M.BUSYBOX, "anvia-test/nosetsid:1" }
if chosen.runner == "supervisor" and not os.getenv("SBX_MATRIX") then
  M.IMAGES, M.SHELL_IMAGES = { M.DEBIAN }, { M.DEBIAN }
end

local function available(image)
  local _, ok = outside.sh("docker image inspect " .. outside.quote(image))
  return ok
end

--- Whether an engine with these images is there. With SBX_MUST_WORK=1 it must be.
function M.needs_engine(...)
  local missing
  local _, ok = outside.sh("docker version")
  if not ok then
    missing = "no engine answers"
  end
  for _, image in ipairs(missing and {} or { M.BUSYBOX, ... }) do
    if not available(image) then
      missing = "the image " .. image .. " is missing; ./run images makes it"
    end
  end
  if missing and os.getenv("SBX_MUST_WORK") == "1" then
    error(missing, 0)
  end
  return missing == nil
end

--- The first thing in a describe() whose cases need an engine with these images:
--- true, and every case is judged by what it leaves. Else false, and one case is
--- pending: there is nothing more to describe.
function M.engine(...)
  if not M.needs_engine(...) then
    busted.pending("no engine here")
    return false
  end
  M.leaves_nothing()
  return true
end

--- describe() and engine() together.
function M.describe(name, images, body)
  busted.describe(name, function()
    if M.engine((table.unpack or _G.unpack)(images)) then
      body()
    end
  end)
end

local open = {}

--- The engine of this run, "api" or "cli", and the runner, "supervisor" or "exec";
--- nil: the library's own choice.
M.ENGINE = chosen.engine
M.RUNNER = chosen.runner

--- Options for sandbox.docker(): an image that is there, and `extra` on top.
function M.options(extra)
  local options = chosen.options(extra)
  options.image = options.image or M.BUSYBOX
  return options
end

--- A session, destroyed after the test if the test does not do it.
function M.session(extra, session_options)
  local session = assert(sandbox.docker(M.options(extra)):create_session(session_options))
  open[#open + 1] = session
  return session
end

--- Judges every test of this describe() by what it leaves.
function M.leaves_nothing()
  local before

  busted.before_each(function()
    before = outside.baseline()
  end)

  busted.after_each(function()
    local complaint
    for _, session in ipairs(open) do
      local ok, err = session:destroy()
      if not ok then
        complaint = "destroy: " .. tostring(err)
      end
    end
    open = {}
    complaint = complaint or outside.left_behind(before)
    if complaint then
      outside.clean()
      error("left behind:\n" .. complaint, 0)
    end
  end)
end

--- Runs fn: what it returned, after how many milliseconds it took.
function M.timed(fn, ...)
  local start = core.now_ms()
  local results = { fn(...) }
  return core.now_ms() - start, (table.unpack or _G.unpack)(results)
end

--- Waits until fn() is true: 15 s, for a busy machine, if nothing else is said.
function M.eventually(fn, timeout_ms)
  local deadline = core.now_ms() + (timeout_ms or 15000)
  while not fn() do
    if core.now_ms() > deadline then
      error("it did not happen in time", 2)
    end
    sandbox.sleep(20)
  end
end

--- How many processes in the session have `text` in their arguments. `text` is
--- written so that it does not find itself, as in "[s]leep 321".
function M.count(session, text)
  local result = assert(session:exec({
    command = "sh",
    args = { "-c", [[n=0
      for f in /proc/[0-9]*/cmdline; do
        tr '\0' ' ' <"$f" 2>/dev/null | grep -q "$1" && n=$((n + 1))
      done
      echo $n]], "sh", text },
  }))
  return tonumber(result.stdout)
end

--- A Lua program in a process of its own, in the background: {pid, output()}. It
--- finds `...` in `arg`, and prints its own messages to its output. Its sandboxes are
--- of this run's kind when it takes their options from spec.support.chosen.
function M.script(text, ...)
  local name = os.tmpname()
  local file = assert(io.open(name, "w"))
  file:write("io.stdout:setvbuf('line')\n", text)
  file:close()
  local words = { os.getenv("SBX_LUA") or "lua5.4", name }
  for _, word in ipairs({ ... }) do
    words[#words + 1] = outside.quote(tostring(word))
  end
  local log = os.tmpname()
  local pid = tonumber((outside.sh(string.format("setsid %s </dev/null >%s 2>&1 & echo $!",
    table.concat(words, " "), log))))
  outside.watch_pid(pid)
  return {
    pid = pid,
    output = function()
      local handle = assert(io.open(log))
      local said = handle:read("a")
      handle:close()
      return said
    end,
    alive = function()
      local _, ok = outside.sh(string.format("kill -0 %d", pid))
      return ok
    end,
    kill = function(signal)
      outside.sh(string.format("kill -%s %d", signal or "KILL", pid))
    end,
    forget = function()
      os.remove(name)
      os.remove(log)
    end,
  }
end

return M
