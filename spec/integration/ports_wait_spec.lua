-- SPDX-License-Identifier: MIT
local helper = require("spec.helper")
local outside = require("spec.support.outside")
local sandbox = require("anvia.sandbox")

-- A server in Python: {address family, address, IPv6 only, port}, answers "ok".
local SERVER = [[
import socket, sys
family, address, v6only, port = sys.argv[1:]
s = socket.socket(getattr(socket, family))
s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
if family == "AF_INET6":
    s.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, int(v6only))
if address == "own":
    address = socket.gethostbyname(socket.gethostname())
s.bind((address, int(port)))
s.listen()
while True:
    c, _ = s.accept()
    c.sendall(b"HTTP/1.0 200 OK\r\n\r\nok")
    c.close()
]]

describe("a published port", function()
  if not helper.engine(helper.BUSYBOX, helper.DEBIAN) then
    return
  end

  local session

  local function open(port)
    session = helper.session({ image = helper.DEBIAN, network = true }, { ports = { port } })
    return session.published_ports[1]
  end

  local function serve(family, address, v6only, port)
    assert(session:start_process({
      command = "python3",
      args = { "-c", SERVER, family, address, v6only, tostring(port) },
    }))
  end

  local function fetch(entry)
    return (outside.sh(string.format("curl -s --max-time 2 http://%s:%d/", entry.host,
      entry.host_port)))
  end

  it("is bound to the loopback address of the host", function()
    local entry = open(8000)
    assert.equal(8000, entry.container_port)
    assert.equal("127.0.0.1", entry.host)
    assert.equal("tcp", entry.protocol)
    local seen = outside.sh("docker port anvia-sandbox-" .. session.id)
    assert.equal("8000/tcp -> 127.0.0.1:" .. entry.host_port .. "\n", seen)
  end)

  it("is ready when something listens, not before", function()
    local entry = open(8001)
    for _ = 1, 3 do
      local took, ready, err = helper.timed(session.wait_for_port, session, 8001,
        { timeout_ms = 500 })
      assert.is_nil(ready)
      assert.equal("timeout", err.code)
      assert.is_true(took < 1500)
    end
    assert.not_equal("ok", fetch(entry))
    sandbox.spawn(function()
      sandbox.sleep(700)
      serve("AF_INET", "0.0.0.0", "0", 8001)
    end)
    assert.same(entry, assert(session:wait_for_port(8001, { timeout_ms = 10000 })))
    assert.equal("ok", fetch(entry))
    assert.is_true(helper.timed(session.wait_for_port, session, 8001) < 1000)
  end)

  for _, case in ipairs({
    { "every address", "AF_INET", "0.0.0.0", "0", true },
    { "every address, of both kinds", "AF_INET6", "::", "0", true },
    { "the v4-mapped any-address", "AF_INET6", "::ffff:0.0.0.0", "0", true },
    { "the container's own address", "AF_INET", "own", "0", true },
    { "the loopback address", "AF_INET", "127.0.0.1", "0", "loopback" },
    { "the IPv6 loopback address", "AF_INET6", "::1", "1", "loopback" },
    { "IPv6 only", "AF_INET6", "::", "1", "IPv6" },
  }) do
    it("with a listener on " .. case[1], function()
      local entry = open(8002)
      serve(case[2], case[3], case[4], 8002)
      local reachable = case[5] == true
      local ready, err = session:wait_for_port(8002, { timeout_ms = reachable and 8000 or 1500 })
      if reachable then
        assert.same(entry, ready)
        assert.equal("ok", fetch(entry))
        return
      end
      assert.is_nil(ready)
      if assert(session:read_process_logs("p1")).stderr:find("Cannot assign", 1, true) then
        assert.equal("process", err.code) -- a network without IPv6: the server is gone
      else
        assert.equal("timeout", err.code)
        assert.is_truthy(err.message:find(case[5], 1, true), err.message)
      end
    end)
  end

  it("must be one that was asked for", function()
    open(8000)
    local ready, err = session:wait_for_port(8001)
    assert.is_nil(ready)
    assert.equal("port", err.code)
    assert.has.errors(function() session:wait_for_port("8000") end)
    assert.has.errors(function() session:wait_for_port(8000, { timeout = 5 }) end)
  end)

  it("can be given up", function()
    open(8000)
    local token = sandbox.cancel_token()
    sandbox.spawn(function()
      sandbox.sleep(300)
      token:cancel()
    end)
    local took, ready, err = helper.timed(session.wait_for_port, session, 8000, { cancel = token })
    assert.is_nil(ready)
    assert.equal("cancelled", err.code)
    assert.is_true(took < 1500)
    ready, err = session:wait_for_port(8000, { cancel = token })
    assert.is_nil(ready)
    assert.equal("cancelled", err.code)
  end)

  it("fails at once when the container is gone", function()
    open(8000)
    sandbox.spawn(function()
      sandbox.sleep(300)
      outside.sh("docker rm -f anvia-sandbox-" .. session.id)
    end)
    local took, ready, err = helper.timed(session.wait_for_port, session, 8000,
      { timeout_ms = 20000 })
    assert.is_nil(ready)
    assert.equal("session_destroyed", err.code)
    assert.is_true(took < 3000, took .. " ms")
  end)

  it("needs a network that can publish", function()
    local sb = sandbox.docker(helper.options())
    local none, err = sb:create_session({ ports = { 8000 } })
    assert.is_nil(none)
    assert.equal("port", err.code)
  end)

  it("fails, and leaves nothing, on a network that publishes nothing", function()
    outside.sh("docker network create --internal anvia-test-internal")
    local sb = sandbox.docker(helper.options({ network = "anvia-test-internal" }))
    local none, err = sb:create_session({ ports = { 8000 } })
    outside.sh("docker network rm anvia-test-internal")
    assert.is_nil(none)
    assert.equal("port", err.code)
  end)

  it("is there on a network of the user's", function()
    outside.sh("docker network create anvia-test-own")
    finally(function()
      outside.sh("docker network rm anvia-test-own")
    end)
    session = helper.session({ image = helper.DEBIAN, network = "anvia-test-own" },
      { ports = { 8000 } })
    serve("AF_INET", "0.0.0.0", "0", 8000)
    assert(session:wait_for_port(8000, { timeout_ms = 8000 }))
    assert.equal("ok", fetch(session.published_ports[1]))
    assert(session:destroy())
  end)
end)
