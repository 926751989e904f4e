-- SPDX-License-Identifier: MIT
local core = require("anvia.sandbox.core")
local describe_json = require("anvia.sandbox.engine.describe")
local ports = require("anvia.sandbox.ports")

local function mapping(json)
  local raw = core.json_decode('{"NetworkSettings":{"Ports":' .. json .. "}}")
  return ports.mapping(describe_json.container(raw).bindings["8000/tcp"])
end

local V4 = '{"HostIp":"127.0.0.1","HostPort":"49154"}'
local V6 = '{"HostIp":"::","HostPort":"49153"}'
local ANY = '{"HostIp":"0.0.0.0","HostPort":"49154"}'

describe("the mapping of a published port", function()
  for _, list in ipairs({ { V4 }, { V6, V4, V4 }, { V4, V6, V4 }, { V4, V4, V6 } }) do
    local text = '{"8000/tcp":[' .. table.concat(list, ",") .. "]}"
    it("is the one on 127.0.0.1: " .. text, function()
      assert.equal(49154, mapping(text))
    end)
  end

  for _, text in ipairs({
    "null",
    "{}",
    '{"8000/tcp":null}',
    '{"8000/tcp":[]}',
    '{"8000/tcp":{}}',
    '{"8000/udp":[' .. V4 .. "]}",
    '{"8000/tcp":[{"HostIp":"","HostPort":"1"}]}',
    '{"8000/tcp":[{"HostIp":"127.0.0.1","HostPort":""}]}',
    '{"8000/tcp":[{"HostIp":"127.0.0.1","HostPort":"0"}]}',
    '{"8000/tcp":[{"HostIp":"127.0.0.1","HostPort":8000}]}',
    '{"8000/tcp":[{"HostIp":"127.0.0.1","HostPort":"70000"}]}',
    '{"8000/tcp":[null]}', '{"8000/tcp":[' .. V6 .. "]}", '{"8000/tcp":[' .. ANY .. "]}",
    '{"8000/tcp":[' .. V4 .. "," .. ANY .. "]}",
    '{"8000/tcp":[' .. V4 .. ',{"HostIp":"127.0.0.1","HostPort":"49155"}]}',
  }) do
    it("is not there, or not what was asked for: " .. text, function()
      local port, why = mapping(text)
      assert.is_nil(port)
      assert.is_string(why)
    end)
  end
end)

describe("a description", function()
  it("survives whatever is missing", function()
    for _, text in ipairs({ "null", "{}", '{"State":null,"Config":[],"Mounts":{}}' }) do
      local row = describe_json.container(core.json_decode(text))
      assert.equal("unknown", row.status)
      assert.same({}, row.labels)
      assert.same({}, row.addresses)
    end
  end)

  it("has the addresses of all networks", function()
    local row = describe_json.container(core.json_decode(
      '{"NetworkSettings":{"Networks":{"b":{"IPAddress":"172.18.0.2"},"a":{"IPAddress":""},'
      .. '"c":{"IPAddress":"172.17.0.9"},"d":null}}}'))
    assert.same({ "172.17.0.9", "172.18.0.2" }, row.addresses)
  end)
end)
