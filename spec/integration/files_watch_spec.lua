-- SPDX-License-Identifier: MIT
-- runner: supervisor
-- Watching the files of a session.

local core = require("anvia.sandbox.core")
local helper = require("spec.helper")
local sandbox = require("anvia.sandbox")

local function session_of(extra)
  local options = { runner = "supervisor" }
  for key, value in pairs(extra or {}) do
    options[key] = value
  end
  return helper.session(options)
end

local function sh(session, script)
  return assert(session:exec({ command = "sh", args = { "-c", script } })).stdout
end

-- Reads until each of these has come: "created a/b". Others may come, too.
local function expect(watch, ...)
  local missing, seen = {}, {}
  for _, text in ipairs({ ... }) do
    missing[text] = true
  end
  local deadline = core.now_ms() + 10000
  while next(missing) do
    local left = deadline - core.now_ms()
    if left <= 0 then
      error("did not come: " .. table.concat({ next(missing) }, " ") .. "; came: "
        .. table.concat(seen, ", "), 2)
    end
    for _, event in ipairs(assert(watch:read(left))) do
      local text = event.type .. " " .. tostring(event.path)
      seen[#seen + 1] = text
      missing[text] = nil
    end
  end
end

helper.describe("a watch", { helper.BUSYBOX }, function()
  it("tells what is made, changed, renamed and removed", function()
    local session = session_of()
    sh(session, "mkdir d; echo 1 >d/old")
    local watch = assert(session:watch_files("d"))
    sh(session, "echo 2 >>d/old; echo x >d/new; mkdir d/sub; echo y >d/sub/deep")
    expect(watch, "modified d/old", "created d/new", "created d/sub")
    session:write_file("d/by-api", "z")
    session:rename("d/new", "d/newer")
    session:remove("d/old")
    expect(watch, "created d/by-api", "deleted d/new", "created d/newer", "deleted d/old")
    -- nothing of what is below its directories, nor of what is elsewhere
    sh(session, "echo >d/sub/other; echo >elsewhere; echo >d/last")
    local paths = {}
    repeat
      for _, event in ipairs(assert(watch:read(5000))) do
        paths[event.path] = true
      end
    until paths["d/last"]
    assert.is_nil(paths["d/sub/other"])
    assert.is_nil(paths.elsewhere)
    watch:close()
    local events, err = watch:read()
    assert.is_nil(events)
    assert.equal("cancelled", err.code)
  end)

  it("sees all that is below, also in directories that are new", function()
    local session = session_of()
    sh(session, "mkdir -p a/b")
    local watch <close> = assert(session:watch_files(".", { recursive = true }))
    sh(session, "echo x >a/b/f; mkdir -p n/e/w; echo y >n/e/w/f")
    expect(watch, "created a/b/f", "created n", "created n/e/w/f")
    sh(session, "rm -r n; mv a z; echo >z/b/g")
    expect(watch, "deleted n", "deleted a", "created z", "created z/b/g")
  end)

  it("says nothing when nothing happens, and waits no longer than it may", function()
    local session = session_of()
    local watch <close> = assert(session:watch_files())
    local took, events, cursor = helper.timed(watch.read, watch, 100)
    assert.same({}, events)
    assert.equal(watch.cursor, cursor)
    assert.is_true(took >= 95 and took < 2000, took)
    assert.same({}, watch:read(0))
    local task = sandbox.spawn(function()
      return watch:read(10000)
    end)
    session:write_file("f", "x")
    assert.equal("f", task:join()[1].path)
  end)

  it("goes on from a cursor", function()
    local session = session_of()
    local watch = assert(session:watch_files("."))
    session:write_file("one", "1")
    expect(watch, "created one")
    local cursor = watch.cursor
    watch:close()
    session:write_file("two", "2")
    watch = assert(session:watch_files(".", { since = cursor }))
    session:write_file("three", "3")
    local seen = {}
    repeat
      for _, event in ipairs(assert(watch:read(5000))) do
        seen[event.type .. " " .. tostring(event.path)] = true
      end
    until seen["created three"]
    assert.is_true(seen["created two"] or seen["lost nil"])
    assert.is_nil(seen["created one"])
    watch:close()
  end)

  it("loses nothing without saying so when its reader is slow", function()
    local session = session_of({ limits = { timeout_ms = 60000 } })
    local watch <close> = assert(session:watch_files("."))
    sh(session, [[i=0; while [ $i -lt 6000 ]; do i=$((i+1))
      >"a-name-that-is-long-enough-to-fill-a-queue-after-some-thousand-of-them-$i"; done; >end]])
    local created, lost, over = 0, false, false
    repeat
      for _, event in ipairs(assert(watch:read(10000))) do
        created = created + (event.type == "created" and 1 or 0)
        lost = lost or event.type == "lost"
        over = over or event.path == "end"
      end
    until over or lost
    assert.is_true(lost or created >= 6001, created)
  end)

  it("ends with the session, and when its directory is not there", function()
    local session = session_of()
    local watch, err = session:watch_files("no/such")
    assert.is_nil(watch)
    assert.equal("not_found", err.code)
    assert.truthy(err.message:find("'no/such'", 1, true))
    assert.equal("path", select(2, session:watch_files("../x")).code)
    session:write_file("file", "x")
    assert.equal("path", select(2, session:watch_files("file")).code)
    sh(session, "ln -s /tmp out")
    assert.truthy(select(2, session:watch_files("out")).message:find("leads out", 1, true))
    watch = assert(session:watch_files("."))
    local task = sandbox.spawn(function()
      return watch:read()
    end)
    assert(session:destroy())
    local events, why = task:join()
    assert.is_nil(events)
    assert.equal("session_destroyed", why.code)
  end)

  it("is an iterator, and leaves with its loop", function()
    local session = session_of()
    local watch = assert(session:watch_files("."))
    session:write_file("f", "x")
    for events, cursor in watch do
      assert.is_true(cursor > 0)
      if #events > 0 then
        break
      end
    end
    watch = nil -- luacheck: ignore
    collectgarbage()
    collectgarbage()
    assert.equal("x", session:read_file("f"))
  end)
end)

helper.describe("a session without a supervisor", { helper.BUSYBOX }, function()
  it("says that it cannot watch", function()
    local session = helper.session({ runner = "exec" })
    local watch, err = session:watch_files(".")
    assert.is_nil(watch)
    assert.truthy(err.message:find('runner "supervisor"', 1, true))
  end)
end)
