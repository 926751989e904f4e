-- SPDX-License-Identifier: MIT
-- What the file methods make of their arguments and of the answers they get.

local entries = require("anvia.sandbox.files.entries")
local errors = require("anvia.sandbox.errors")
local files = require("anvia.sandbox.files")
local manifest = require("anvia.sandbox.manifest")

-- A session that gives one answer to all commands.
local function session_that(answers)
  local session = { workdir = "/workspace", _limits = { timeout_ms = 1500 }, requests = {} }
  files.attach(session)
  function session._internal_exec(self, request)
    self.requests[#self.requests + 1] = request
    if type(answers) == "function" then
      return answers(request)
    end
    local result = { stdout = "", stderr = "", exit_code = 0, timed_out = false,
      stdout_truncated = false }
    for key, value in pairs(answers or {}) do
      result[key] = value
    end
    return result
  end
  function session._fire() end
  return session
end

local function failed(word, status, more)
  return { exit_code = status, stderr = (more or "") .. "\nanvia-files " .. word .. " 1 0\n" }
end

local CALLS = {
  read_file = {},
  read_text_page = {},
  write_file = { "data" },
  list_files = {},
  stat = {},
  mkdir = {},
  remove = {},
  rename = { "ok" },
}

describe("file methods", function()
  it("refuse a bad path before any engine call (H105, H112)", function()
    local session = session_that()
    for method, more in pairs(CALLS) do
      for _, path in ipairs({ "../x", "", "a\0b", "/etc/passwd", "..\\x", ("a"):rep(256) }) do
        local value, err = session[method](session, path, more[1])
        assert.is_nil(value)
        assert.equal("path", err.code)
        assert.equal(method, err.op)
      end
    end
    assert.is_nil(session:rename("ok", "../x"))
    assert.equal(0, #session.requests)
  end)

  it("raise when an argument has the wrong type", function()
    local session = session_that()
    assert.has_error(function() session:read_file(nil) end)
    assert.has_error(function() session:write_file("f", 12) end)
    assert.has_error(function() session:list_files(7) end)
    assert.has_error(function() session:remove("f", { recursiv = true }) end)
    assert.has_error(function() session:read_text_page("f", { start_line = 0 }) end)
    local _, message = pcall(function() session:write_file("f") end)
    assert.truthy(tostring(message):find("files_methods_spec", 1, true), message)
  end)

  it("have the session's deadline", function()
    for method, more in pairs(CALLS) do
      local session = session_that({ timed_out = true, exit_code = 124 })
      local value, err = session[method](session, "f", more[1])
      assert.is_nil(value)
      assert.equal("timeout", err.code)
      assert.equal(1500, session.requests[1].timeout_ms)
    end
  end)

  it("pass on the failure of the session", function()
    for method, more in pairs(CALLS) do
      local session = session_that(function()
        return nil, errors.new(nil, "session_destroyed", "gone")
      end)
      local value, err = session[method](session, "f", more[1])
      assert.is_nil(value)
      assert.equal("session_destroyed", err.code)
      assert.equal(method, err.op)
    end
  end)

  it("believe a failure only when word and status agree", function()
    local function read(answer)
      return select(2, session_that(answer):read_file("f"))
    end
    assert.equal("not_found", read(failed("not_found", 40)).code)
    assert.equal("path", read(failed("is_directory", 42)).code)
    assert.equal("internal", read(failed("not_found", 42)).code)
    assert.equal("internal", read(failed("nonsense", 40)).code)
    local err = read({ exit_code = 2, stderr = "sh: can't fork\n" })
    assert.equal("internal", err.code)
    assert.truthy(err.message:find("status 2: sh: can't fork", 1, true))
    err = read(failed("failed", 49, "cat: write error: No space left on device\n1+0 records in\n"))
    assert.truthy(err.message:find("'f'.*No space left on device$"))
  end)

  it("read only what has the size that was said", function()
    local sizes = { "5", "5", "3" }
    local session = session_that(function()
      local size = table.remove(sizes, 1)
      return { exit_code = 0, stdout = "abcd", stderr = "\nanvia-files size 1 " .. size
        .. "\n0+1 records in\n" }
    end)
    assert.equal("abc", session:read_file("f"))
    local value, err = session_that({ stdout = "abc", stderr = "\nanvia-files size 1 4\n" })
      :read_file("f")
    assert.is_nil(value)
    assert.truthy(err.message:find("changes while it is read", 1, true))
    assert.is_nil((session_that({ stdout = "abc" }):read_file("f")))
  end)

  it("send only the script and its arguments, the content as input", function()
    local session = session_that()
    session:write_file("a/-b", "con\0tent")
    local request = session.requests[1]
    assert.equal("/bin/sh", request.command)
    assert.equal("con\0tent", request.input)
    assert.equal("/workspace", request.args[4])
    assert.same({ "a/-b", "8" }, { request.args[6], request.args[7] })
    assert.truthy(request.args[5]:find("^%.anvia%-%x+$"))
  end)
end)

describe("entries", function()
  it("read what stat and ls say", function()
    local function is(expected, line)
      assert.same(expected, entries.describe(line))
    end
    is({ type = "file", size = 3, mode = "0644", mtime_ms = 1796093670325 },
      "81a4 3 1796093670 2026-12-01 02:54:30.325103655 +0000")
    is({ type = "directory", size = 4096, mode = "1777" }, "43ff 4096")
    is({ type = "symlink", size = 1, mode = "0777" }, "a1ff 1")
    is({ type = "other", size = 0, mode = "0600" }, "1180 0")
    is({ type = "file", size = 1099511627776, mode = "4755" }, "-rwsr-xr-x 1099511627776")
    is({ type = "directory", size = 40, mode = "3775" }, "drwxrwsr-t 40")
    is({ type = "directory", size = 40, mode = "7000" }, "d--S--S--T 40")
    is({ type = "file", size = 1, mode = "0640" }, "-rw-r-----+ 1")
    is({ type = "other", size = 0, mode = "0666" }, "crw-rw-rw- 1,")
    is(nil, "-")
    is(nil, "")
    is(nil, "stat: cannot")
  end)

  local function listing(directories, data, details)
    local found = {}
    return entries.append(found, directories, data, details) and entries.sort(found) or nil
  end

  it("read a listing, and refuse a damaged one", function()
    local data = "./b\0./a\n\0\0" .. "81a4 1\n41ed 2\0" .. "./gone\0./c\0\0-\n81a4 3\n\0"
    assert.same({
      { path = "d/a\n", type = "directory", size = 2 },
      { path = "d/b", type = "file", size = 1 },
      { path = "d/c", type = "file", size = 3 },
    }, listing({ "d" }, data))
    assert.same({}, listing({ "." }, ""))
    for _, size in ipairs({ 1, 4, 8, 10, 20, #data - 1 }) do
      assert.is_nil(listing({ "d" }, data:sub(1, size)))
    end
    assert.is_nil(listing({ "d" }, "./b\0./a\0\0" .. "81a4 1\0"))
  end)

  it("read the listings of many directories", function()
    local data = "\0" .. "1\0" .. "\0" .. "2\0./x\0\0" .. "81a4 1 1 2001-01-01 00:00:01.5\0"
      .. "\0" .. "3\0./y\0\0a1ff 2\0"
    assert.same({
      { path = "b/x", type = "file", size = 1, mode = "0644", mtime_ms = 1000 },
      { path = "c/y", type = "symlink", size = 2, mode = "0777" },
    }, listing({ "a", "b", "c" }, data, true))
    assert.is_nil(listing({ "a" }, data))
    assert.is_nil(listing({ "a", "b", "c" }, data:sub(1, -2)))
  end)
end)

describe("a manifest", function()
  local function apply(session, tree)
    return manifest.apply(session, assert(manifest.CHECK(tree, "manifest")))
  end

  it("is written by few commands", function()
    local session, tree = session_that(), {}
    for i = 1, 500 do
      tree["dir/file" .. i] = "content " .. i
    end
    assert.is_true(apply(session, { files = tree }))
    assert.equal(1, #session.requests)
    tree.big = ("x"):rep(9 * 1024 * 1024) -- goes alone
    assert.is_true(apply(session, { files = tree, directories = { "a", "b/c" } }))
    assert.equal(4, #session.requests)
    assert.is_true(apply(session, {}))
    assert.equal(4, #session.requests)
  end)

  it("is checked as a whole before anything is sent", function()
    local session = session_that()
    session._limits.max_file_bytes = 10
    for _, tree in ipairs({
      { files = { ok = "", ["../x"] = "" } },
      { files = { ok = "", ["a"] = "1", ["./a"] = "2" } },
      { files = { ["dir/"] = "" } },
      { files = { ["."] = "" } },
      { directories = { "/etc" } },
      { files = { ok = "", big = ("x"):rep(11) } },
    }) do
      local ok, err = apply(session, tree)
      assert.is_nil(ok)
      assert.truthy(err.code == "path" or err.code == "file_size")
    end
    assert.equal(0, #session.requests)
  end)

  it("refuses the wrong shape", function()
    for _, tree in ipairs({
      { file = {} },
      { files = { 1 } },
      { files = { a = 1 } },
      { files = { a = { mode = "644" } } },
      { files = { a = { content = "", mode = "888" } } },
      { files = { a = { content = "", mode = 4096 } } },
      { files = { a = { content = "", owner = 1 } } },
      { directories = { a = "b" } },
      { directories = "a" },
      { env = { ["A-B"] = "" } },
      { env = { A = "\0" } },
      { env = { A = 1 } },
    }) do
      local copy, complaint = manifest.CHECK(tree, "manifest")
      assert.is_nil(copy)
      assert.truthy(complaint:find("option", 1, true))
    end
    local copy = manifest.CHECK({ files = { a = { content = "", mode = 493 } } }, "manifest")
    assert.equal("755", copy.files.a.mode)
  end)

  it("names the file that could not be written", function()
    local session = session_that({ exit_code = 42, stderr = "\nanvia-files is_directory 2 0\n" })
    local _, err = apply(session, { files = { a = "", b = "", c = "" } })
    assert.equal("'b' is a directory", err.message)
  end)
end)
