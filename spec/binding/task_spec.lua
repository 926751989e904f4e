-- SPDX-License-Identifier: MIT

local core = require("anvia.sandbox.core")
local loop = require("anvia.sandbox.loop")
local task = require("anvia.sandbox.task")

local function timed(fn)
  local start = core.now_ms()
  fn()
  return core.now_ms() - start
end

describe("await", function()
  it("blocks in plain Lua, while tasks run", function()
    local seen = {}
    local t = task.spawn(function()
      for i = 1, 3 do
        task.sleep(5)
        seen[i] = i
      end
    end)
    assert.same({}, seen)
    task.sleep(100)
    assert.same({ 1, 2, 3 }, seen)
    assert.is_true(t:done())
  end)

  it("blocks in coroutines that are no tasks, and leaves their yields alone", function()
    local co = coroutine.wrap(function()
      task.sleep(5)
      coroutine.yield("mine")
      task.sleep(5)
      return "end"
    end)
    assert.equal("mine", co())
    assert.equal("end", co())
    local t = task.spawn(function()
      local inner = coroutine.wrap(function()
        task.sleep(5)
        coroutine.yield("a")
        return "b"
      end)
      return inner() .. inner()
    end)
    assert.equal("ab", t:join())
  end)

  it("blocks in callbacks that cannot yield", function()
    local function double(s)
      return (s:gsub(".", function(c)
        task.sleep(1)
        return c .. c
      end))
    end
    assert.equal("aabb", double("ab"))
    assert.equal("aabb", task.spawn(double, "ab"):join())
    local sorted = { 3, 1, 2 }
    task.spawn(table.sort, sorted, function(a, b)
      task.sleep(0)
      return a < b
    end):join()
    assert.same({ 1, 2, 3 }, sorted)
  end)

  it("lets many wait at once", function()
    local fns = {}
    for i = 1, 100 do
      fns[i] = function()
        task.sleep(50)
        return i
      end
    end
    local results
    local took = timed(function()
      results = task.all(fns)
    end)
    assert.equal(100, results.n)
    assert.equal(100, results[100])
    assert.is_true(took >= 50 and took < 2000)
  end)

  it("nests: waits inside of waits inside of waits", function()
    local function level(n)
      if n == 0 then
        return 1
      end
      local total = 0
      ;("xx"):gsub(".", function()
        total = total + task.spawn(level, n - 1):join()
      end)
      return total
    end
    assert.equal(32, level(5))
  end)

  it("ends early when its token is cancelled", function()
    local token = task.cancel_token()
    task.spawn(function()
      task.sleep(30)
      token:cancel("enough")
    end)
    local ok, err
    local took = timed(function()
      ok, err = task.sleep(60000, token)
    end)
    assert.is_nil(ok)
    assert.equal("sleep: cancelled: cancelled", tostring(err))
    assert.is_true(took < 5000)
    assert.is_nil((task.sleep(60000, token))) -- also when it was cancelled before
    local result = task.await(core.run({ argv = { "sleep", "60" } }), token)
    assert.is_true(result.cancelled)
    assert.equal("", result.stdout)
  end)

  it("passes on what could not be started", function()
    local value, err = task.await(nil, { code = "internal", message = "m" })
    assert.is_nil(value)
    assert.equal("internal: m", tostring(err))
  end)

  it("refuses to wait twice for the same thing", function()
    local op = core.sleep(30)
    local t = task.spawn(task.await, op)
    local ok, message = pcall(task.await, op)
    assert.is_false(ok)
    assert.equal("two are waiting for the same operation", message)
    assert.is_true(t:join())
  end)

  it("refuses wrong times at the caller's line", function()
    for _, wrong in ipairs({ -1, 0.5, 0 / 0, math.huge, "5", {}, 2 ^ 54 }) do
      local ok, message = pcall(function()
        return (task.sleep(wrong))
      end)
      assert.is_false(ok)
      assert.truthy(message:find("task_spec.lua:%d+: sleep needs milliseconds"), message)
    end
  end)
end)

describe("spawn", function()
  it("runs the function at once, up to its first wait", function()
    local seen = {}
    local t = task.spawn(function(a, b)
      seen[1] = a
      task.sleep(0)
      seen[2] = b
      return 1, nil, 3
    end, "x", "y")
    assert.same({ "x" }, seen)
    assert.is_false(t:done())
    assert.equal(3, select("#", t:join()))
    assert.same({ "x", "y" }, seen)
    assert.same({ 1, nil, 3 }, { t:join() }) -- as often as one likes
  end)

  it("keeps an error from everybody else, until it is joined", function()
    local failing = task.spawn(function()
      task.sleep(5)
      error("boom")
    end)
    local fine = task.spawn(function()
      task.sleep(20)
      return "fine"
    end)
    assert.equal("fine", fine:join())
    local ok, message = pcall(failing.join, failing)
    assert.is_false(ok)
    assert.truthy(message:find("task_spec.lua:%d+: boom\nin a task:\nstack traceback:"), message)
  end)

  it("raises error objects as they are", function()
    local object = setmetatable({}, {})
    local t = task.spawn(function()
      error(object)
    end)
    local ok, raised = pcall(t.join, t)
    assert.is_false(ok)
    assert.equal(object, raised)
    local ok_nil, raised_nil = pcall(function()
      task.spawn(error):join()
    end)
    assert.is_false(ok_nil)
    assert.is_nil(raised_nil)
  end)

  it("lets several tasks join one, and one join several", function()
    local t = task.spawn(function()
      task.sleep(10)
      return "x"
    end)
    local function join()
      return t:join()
    end
    assert.same({ "x", "x", "x", n = 3 }, (task.all({ join, join, join })))
  end)

  it("finds joins that can never end", function()
    local a, b
    a = task.spawn(function()
      task.sleep(1)
      a:join()
    end)
    local ok, message = pcall(a.join, a)
    assert.is_false(ok)
    assert.truthy(message:find("a task cannot join itself", 1, true))

    a = task.spawn(function()
      task.sleep(1)
      b:join()
    end)
    b = task.spawn(function()
      task.sleep(1)
      a:join()
    end)
    ok, message = pcall(a.join, a)
    assert.is_false(ok)
    assert.equal("deadlock: every task waits for another one", message)

    a = task.spawn(function()
      task.sleep(1)
      local inner = coroutine.wrap(function()
        a:join()
      end)
      inner()
    end)
    ok, message = pcall(a.join, a)
    assert.is_false(ok)
    assert.truthy(message:find("deadlock: the task waits for this call to return", 1, true))
  end)

  it("takes a task's own yield as a chance for the others", function()
    local order = {}
    local function counter(name)
      return function()
        for i = 1, 3 do
          order[#order + 1] = name .. i
          coroutine.yield()
        end
      end
    end
    task.all({ counter("a"), counter("b") })
    assert.equal("a1 b1 a2 b2 a3 b3", table.concat(order, " "))
  end)

  it("keeps tasks alive that nobody else knows (H020)", function()
    local finished = 0
    for _ = 1, 20 do
      coroutine.wrap(function()
        task.spawn(function()
          task.await(core.run({ argv = { "sleep", "0.05" } }))
          finished = finished + 1
        end)
      end)()
    end
    for _ = 1, 10 do
      collectgarbage()
    end
    task.sleep(500)
    assert.equal(20, finished)
  end)

  it("refuses what is no function, at the caller's line", function()
    local ok, message = pcall(function()
      task.spawn("x")
    end)
    assert.is_false(ok)
    assert.truthy(message:find("task_spec.lua:%d+: spawn needs a function, not a string"), message)
  end)
end)

describe("all", function()
  it("gives results and errors in the order of the functions", function()
    local results, errs = task.all({
      function()
        task.sleep(20)
        return "slow"
      end,
      function()
        return nil, "failed"
      end,
      function()
        return false
      end,
      function() end,
    })
    assert.same({ "slow", nil, false, nil, n = 4 }, results)
    assert.same({ [2] = "failed" }, errs)
    local none, no_errs = task.all({})
    assert.same({ n = 0 }, none)
    assert.is_nil(no_errs)
  end)

  it("waits for all before it raises the error of one", function()
    local ended = false
    local ok, message = pcall(task.all, {
      function()
        error("first")
      end,
      function()
        task.sleep(50)
        ended = true
      end,
      function()
        error("second")
      end,
    })
    assert.is_false(ok)
    assert.truthy(message:find("first", 1, true))
    assert.is_true(ended)
  end)

  it("starts nothing when one is no function", function()
    local started = false
    local ok, message = pcall(task.all, {
      function()
        started = true
      end,
      5,
    })
    assert.is_false(ok)
    assert.truthy(message:find("[2] is a number", 1, true))
    assert.is_false(started)
  end)
end)

-- A real loop would poll(); the state of an eventfd can also be read. The thread
-- sanitizer does not see that libuv closes files, and takes a number that is used
-- again for a race.
local function is_readable(fd)
  if os.getenv("SBX_SANITIZE") == "thread" then
    return true
  end
  local file = io.open("/proc/" .. core.getpid() .. "/fdinfo/" .. fd)
  local info = file:read("a")
  file:close()
  return tonumber(info:match("eventfd%-count:%s*(%x+)"), 16) > 0
end

describe("a foreign loop", function()
  it("runs tasks by watching the descriptor", function()
    local fd = loop.fd()
    local done = 0
    for _ = 1, 10 do
      task.spawn(function()
        task.sleep(5)
        task.await(core.run({ argv = { "true" } }))
        coroutine.yield()
        done = done + 1
      end)
    end
    assert.is_true(fd > 2)
    local news = 0
    while done < 10 do
      if is_readable(fd) then
        news = news + loop.dispatch()
      end
    end
    assert.is_true(news >= 30)
    assert.equal(0, loop.dispatch())
  end)

  it("may dispatch from inside a task or a callback", function()
    local t = task.spawn(function()
      task.sleep(5)
      loop.dispatch()
      return "ok"
    end)
    assert.equal("ok", t:join())
  end)
end)

describe("under an aggressive collector", function()
  it("everything still happens once", function()
    collectgarbage("incremental", 1, 1000)
    local total = 0
    for _ = 1, 5 do
      local fns = {}
      for i = 1, 20 do
        fns[i] = function()
          local result = task.await(core.run({ argv = { "echo", tostring(i) } }))
          collectgarbage()
          total = total + tonumber(result.stdout)
        end
      end
      task.all(fns)
    end
    collectgarbage("incremental", 200, 100)
    assert.equal(5 * 210, total)
  end)
end)
