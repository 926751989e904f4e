-- SPDX-License-Identifier: MIT
--- Counts what is only known when a call is over: the time of commands and the bytes read.
---
--- meter[method](state, ...) takes what the method returned, counts it and returns it.
local core = require("anvia.sandbox.core")

local meter = {}

function meter.exec(state, result, ...)
  if result then
    state:charge("exec.ms", result.duration_ms or 0)
  end
  return result, ...
end

function meter.read_file(state, data, ...)
  if data then
    state:charge("read.bytes", #data)
  end
  return data, ...
end

meter.read_archive = meter.read_file

function meter.read_text_page(state, page, ...)
  if page then
    state:charge("read.bytes", #page.content)
  end
  return page, ...
end

local Stream = {}
Stream.__index = Stream
Stream.__name = "anvia.sandbox.GuardedStream"

function Stream:_count()
  if self._since then
    self._state:charge("exec.ms", math.max(0, core.now_ms() - self._since))
    self._since = nil
  end
end

function Stream:next()
  local event = self._stream:next()
  if not event or event.type == "exit" or event.type == "error" then
    self:_count()
  end
  return event
end

function Stream:__call()
  return self:next()
end

function Stream:close()
  self._stream:close()
  self:_count()
end

Stream.__close = Stream.close

--- A stream is over when its last event was read or it was closed.
function meter.exec_stream(state, stream, ...)
  if not stream then
    return stream, ...
  end
  local counted = setmetatable({ _stream = stream, _state = state, _since = core.now_ms() }, Stream)
  return counted, nil, nil, counted
end

return meter
