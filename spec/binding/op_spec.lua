-- SPDX-License-Identifier: MIT

local core = require("anvia.sandbox.core")
local task = require("anvia.sandbox.task")

local LUA = os.getenv("SBX_LUA") or "lua5.4"
local sanitizer = os.getenv("SBX_SANITIZE") or ""

-- Runs a script in a process of its own and returns what it printed.
local function lua(script, shell)
  local result = task.await(core.run({
    argv = shell and { "sh", "-c", shell, LUA, script } or { LUA, "-e", script },
    env = { LUA_PATH = package.path, LUA_CPATH = package.cpath },
    timeout_ms = 60000,
  }))
  return result.stdout .. result.stderr, result
end

describe("an operation", function()
  it("is done once, and keeps its result", function()
    local op = core.run({ argv = { "echo", "x" } })
    assert.truthy(tostring(op):find("^operation %(run"))
    while not op:done() do
      core.next(1000)
    end
    local result = op:result()
    assert.equal("x\n", result.stdout)
    assert.equal(result, op:result())
    op:cancel()
    assert.is_true(op:done())
    assert.is_nil(op:read())
  end)

  it("has no result before", function()
    local op = core.sleep(60000)
    assert.has_error(function()
      op:result()
    end, "the operation is not done")
    op:cancel()
    local done, err = task.await(op)
    assert.is_nil(done)
    assert.equal("cancelled", err.code)
  end)

  it("that was cancelled says so, and its process is gone", function()
    local op = core.run({ argv = { "sh", "-c", "echo $$; exec sleep 60" } })
    task.sleep(100)
    op:cancel()
    op:cancel()
    local result = task.await(op)
    assert.is_true(result.cancelled)
    assert.is_false(result.timed_out)
    assert.is_nil(result.exit_code)
    assert.falsy(os.execute("kill -0 " .. result.stdout:match("%d+") .. " 2>/dev/null"))
  end)

  it("that nobody can reach any more is cancelled", function()
    local name = os.tmpname()
    core.run({ argv = { "sh", "-c", 'echo $$ >"$0"; exec sleep 60', name } })
    task.sleep(100)
    collectgarbage()
    collectgarbage()
    task.sleep(100)
    local file = io.open(name)
    local pid = file:read("a"):match("%d+")
    file:close()
    os.remove(name)
    assert.falsy(os.execute("kill -0 " .. pid .. " 2>/dev/null"))
  end)

  it("wakes the reader of the descriptor", function()
    local fd = core.fd()
    assert.equal(fd, core.fd())
    assert.is_true(math.type(fd) == "integer" and fd > 2)
    local op = core.sleep(20)
    assert.equal(op, core.next(5000))
    assert.is_nil(core.next(0))
    assert.is_true(op:result())
  end)

  it("cannot be tampered with", function()
    local op = core.sleep(0)
    assert.is_false(getmetatable(op))
    assert.has_error(function()
      op.done(io.stdout)
    end)
    assert.has_error(function()
      op.done()
    end)
  end)
end)

describe("core.next", function()
  it("waits as long as it is told", function()
    repeat -- what earlier tests have left
      local news = core.next(50)
    until not news
    local start = core.now_ms()
    assert.is_nil(core.next(60))
    local took = core.now_ms() - start
    assert.is_true(took >= 60 and took < 1000)
  end)

  it("returns on a signal, so that Ctrl-C ends a script that waits", function()
    if sanitizer ~= "" then
      return pending("that interpreter leaves signals alone")
    end
    local start = core.now_ms()
    local out = lua([[
      local core, task = require("anvia.sandbox.core"), require("anvia.sandbox.task")
      task.await(core.run{argv = {"sleep", "20"}})]],
      [["$0" -e "$1" & sleep 0.5; kill -INT $!; wait $!; echo "status $?"]])
    assert.truthy(out:find("interrupted!"), out)
    assert.truthy(out:find("status 1"), out)
    assert.is_true(core.now_ms() - start < 8000)
  end)

  it("refuses nonsense", function()
    for _, wrong in ipairs({ -1, 0.5, "x", {} }) do
      assert.has_error(function()
        core.next(wrong)
      end)
    end
  end)
end)

describe("the module", function()
  it("starts its thread with the first operation, and leaves nothing", function()
    local out = lua([[
      local function count(what)
        local n = 0
        for _ in io.popen("ls /proc/" .. PID .. "/" .. what):lines() do n = n + 1 end
        return n
      end
      local core = require("anvia.sandbox.core")
      PID = core.getpid()
      print(count("task"))
      local op = core.run{argv = {"true"}}
      while not op:done() do core.next(1000) end
      print(count("task"))]])
    assert.equal(sanitizer == "thread" and "1\n3\n" or "1\n2\n", out) -- it has one, too
  end)

  it("ends with the Lua state, whatever is still going on", function()
    local start = core.now_ms()
    local out, result = lua([[
      local core = require("anvia.sandbox.core")
      ops = {core.sleep(1000000), core.run{argv = {"sleep", "100"}}}
      -- finalized after everything of the module, which it then uses
      early = setmetatable({}, {__gc = function()
        print(pcall(core.sleep, 1))
        print(pcall(core.next, 1))
        print(ops[1]:done(), pcall(ops[1].cancel, ops[1]))
      end})
      for i = 1, 50 do core.run{argv = {"true"}} end
      os.exit(true, true)]])
    assert.equal(0, result.exit_code, out)
    assert.is_true(core.now_ms() - start < 8000)
    assert.is_nil(result.signal)
  end)

  it("can be used from finalizers that run after its own", function()
    local out, result = lua([[
      local t = {}
      setmetatable(t, {__gc = function()
        print(pcall(t.core.sleep, 1))
        print(pcall(t.core.next, 1))
        print(t.op:done(), (pcall(t.op.cancel, t.op)), (pcall(t.op.result, t.op)))
      end})
      t.core = require("anvia.sandbox.core")
      t.op = t.core.sleep(100000)
      os.exit(true, true)]])
    assert.equal(0, result.exit_code, out)
    assert.truthy(out:find("false\tthe Lua state is being closed\n", 1, true), out)
  end)

  it("serves several Lua states of one process", function()
    -- the state of a policy box is not one of these; coroutines share one state
    local seen = 0
    local function waiter()
      local op = core.sleep(5)
      while not op:done() do
        core.next(1000)
      end
      seen = seen + 1
    end
    for _ = 1, 5 do
      coroutine.wrap(waiter)()
    end
    assert.equal(5, seen)
  end)

  it("has clocks and names", function()
    local now = core.now_ms()
    assert.is_true(math.type(now) == "integer" and core.now_ms() >= now)
    assert.is_true(math.abs(core.wall_ms() / 1000 - os.time()) < 5)
    assert.truthy(core.uuid():find(
      "^%x%x%x%x%x%x%x%x%-%x%x%x%x%-4%x%x%x%-[89ab]%x%x%x%-%x%x%x%x%x%x%x%x%x%x%x%x$"))
    assert.not_equal(core.uuid(), core.uuid())
    for _, n in ipairs({ 1, 7, 32, 256 }) do
      assert.truthy(core.random_hex(n):find("^" .. ("[0-9a-f]"):rep(n) .. "$"))
    end
    for _, n in ipairs({ 0, -1, 257, 1.5, "x" }) do
      assert.has_error(function()
        core.random_hex(n)
      end)
    end
    assert.truthy(core._VERSION:find("^%d+%.%d+%.%d+"))
  end)
end)
