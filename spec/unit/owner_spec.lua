-- SPDX-License-Identifier: MIT
local core = require("anvia.sandbox.core")
local owner = require("anvia.sandbox.owner")

local HERE = { boot = "b1", host = "h", pidns = "4026531836", pid = 1, start = "1" }

local function who(extra)
  local copy = { boot = "b1", host = "h", pidns = "4026531836", pid = 700, start = "5555" }
  for key, value in pairs(extra or {}) do
    copy[key] = value
  end
  return copy
end

local function stat(name, state, start)
  return "700 (" .. name .. ") " .. state .. (" 0"):rep(18) .. " " .. start .. " 0 0\n"
end

-- A /proc that holds these files; a number is the error of opening one.
local function proc(files)
  files["/proc/1/stat"] = files["/proc/1/stat"] or stat("init", "S", "1")
  files["/proc/self/mounts"] = files["/proc/self/mounts"] or "proc /proc proc rw,relatime 0 0\n"
  return function(path)
    local text = files[path] or 2
    if type(text) == "number" then
      return nil, text
    end
    return text
  end
end

describe("an owner", function()
  it("is alive while its pid has its start time", function()
    assert.equal("alive", (owner.state(who(), HERE, proc({
      ["/proc/700/stat"] = stat("lua", "S", "5555") }))))
  end)

  it("is recognised whatever its name is", function()
    assert.equal("alive", (owner.state(who(), HERE, proc({
      ["/proc/700/stat"] = stat("a) R 1 (b", "S", "5555") }))))
  end)

  it("is dead when its pid is gone, used again, or a zombie", function()
    assert.equal("dead", (owner.state(who(), HERE, proc({}))))
    assert.equal("dead", (owner.state(who(), HERE, proc({
      ["/proc/700/stat"] = stat("lua", "S", "5556") }))))
    assert.equal("dead", (owner.state(who(), HERE, proc({
      ["/proc/700/stat"] = stat("lua", "Z", "5555") }))))
  end)

  it("is unknown when it cannot be seen from here", function()
    assert.equal("unknown", (owner.state(who({ boot = "b2" }), HERE, proc({}))))
    assert.equal("unknown", (owner.state(who({ pidns = "1" }), HERE, proc({}))))
    assert.equal("unknown", (owner.state(who({ pidns = "" }), HERE, proc({}))))
    assert.equal("unknown", (owner.state(who({ start = "" }), HERE, proc({}))))
    assert.equal("unknown", (owner.state(who(), HERE, proc({ ["/proc/700/stat"] = 13 }))))
    assert.equal("unknown", (owner.state(who(), HERE, proc({ ["/proc/700/stat"] = "700" }))))
    assert.equal("unknown", (owner.state(who(), HERE, proc({ ["/proc/1/stat"] = 2 }))))
    assert.equal("unknown", (owner.state(who(), HERE, proc({
      ["/proc/self/mounts"] = "proc /proc proc rw,hidepid=2 0 0\n" }))))
  end)

  it("survives the way through labels", function()
    local labels = owner.label({}, who())
    assert.same(who(), owner.from_labels(labels))
  end)

  it("is nobody when labels are missing or malformed", function()
    for _, change in ipairs({ { "pid", "0" }, { "pid", "-1" }, { "pid", "x" }, { "pid", "1e3" },
      { "pid", "99999999999" }, { "boot", nil } }) do
      local labels = owner.label({}, who())
      labels["anvia.sandbox.owner." .. change[1]] = change[2]
      assert.is_nil(owner.from_labels(labels))
    end
    assert.is_nil(owner.from_labels({}))
  end)

  it("is this process, seen from here", function()
    local here = owner.here()
    assert.equal(core.getpid(), here.pid)
    assert.is_truthy(here.boot:find("^%x+%-%x+"))
    assert.is_truthy(here.pidns:find("^%d+$"))
    assert.equal("alive", (owner.state(here, here)))
  end)
end)
