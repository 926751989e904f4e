-- SPDX-License-Identifier: MIT
local api_pull = require("anvia.sandbox.engine.api_pull")
local cancel = require("anvia.sandbox.cancel")

-- A client whose pull prints these lines.
local function client_of(lines)
  local operation = { at = 0, cancelled = false }
  function operation.done() return true end
  function operation.read()
    operation.at = operation.at + 1
    if lines[operation.at] then
      return "stdout", lines[operation.at]
    end
  end
  function operation.cancel() operation.cancelled = true end
  local client = { operation = operation }
  function client.start(_, _, method, path, extra)
    client.asked = { method = method, path = path, extra = extra }
    return operation
  end
  function client.finish()
    return { status = 200, body = "", headers = {} }
  end
  return client
end

describe("a pull by the engine's API", function()
  it("counts layers and bytes", function()
    local client = client_of({
      '{"status":"Pulling from library/x","id":"1"}',
      '{"status":"Pulling fs layer","progressDetail":{},"id":"a"}',
      '{"status":"Already exists","progressDetail":{},"id":"b"}',
      '{"status":"Downloading","progressDetail":{"current":10,"total":40},"id":"a"}',
      "no json",
      '{"status":"Download complete","progressDetail":{},"id":"a"}',
      '{"status":"Pull complete","progressDetail":{},"id":"a"}',
      '{"status":"Status: Downloaded newer image for x:1"}',
    })
    local events = {}
    assert.is_true(api_pull.pull(client, "x:1", 1000, {
      on_progress = function(event) events[#events + 1] = event end,
    }))
    assert.equal("/images/create?fromImage=x&tag=1", client.asked.path)
    assert.equal(7, #events)
    assert.same({ image = "x:1", status = "Downloading", layers = 2, layers_done = 1, bytes = 10,
      total_bytes = 40 }, events[4])
    assert.equal(2, events[7].layers_done)
    assert.equal(40, events[7].bytes)
  end)

  it("finds the complaint in an answer that began well", function()
    local ok, err = api_pull.pull(client_of({
      '{"status":"Pulling from library/x","id":"1"}',
      '{"errorDetail":{"message":"no space left"},"error":"no space left"}',
    }), "x", 1000, {})
    assert.is_nil(ok)
    assert.equal("docker_command", err.code)
    assert.equal("image x could not be pulled: no space left", err.message)
  end)

  it("ends when its callback raises, or its token is cancelled", function()
    local client = client_of({ '{"status":"Pulling fs layer","id":"a"}' })
    assert.has_error(function()
      api_pull.pull(client, "x", 1000, { on_progress = function() error("enough", 0) end })
    end, "enough")
    assert.is_true(client.operation.cancelled)
    local token = cancel.token()
    client = client_of({})
    token:cancel()
    api_pull.pull(client, "x", 1000, { cancel = token })
    assert.is_true(client.operation.cancelled)
  end)
end)
