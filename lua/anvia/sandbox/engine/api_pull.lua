-- SPDX-License-Identifier: MIT
-- api_pull.lua - fetches an image through the engine's API, with progress.

local core = require("anvia.sandbox.core")
local errors = require("anvia.sandbox.errors")
local http = require("anvia.sandbox.engine.api_http")
local task = require("anvia.sandbox.task")

local M = {}

--- "host:5000/a/b:tag" -> "host:5000/a/b", "tag"; a digest counts as a tag; without
--- one it is "latest", or the engine would fetch every tag there is.
function M.split(image)
  local name, digest = image:match("^(.-)@(.+)$")
  if name then
    -- what stands between is a tag that the digest overrules
    return name:match("^(.*[^/]):[^/:]+$") or name, digest
  end
  local before, tag = image:match("^(.+):([^/:]+)$")
  if before then
    return before, tag
  end
  return image, "latest"
end

-- What has been heard of the layers, as one event for people to watch.
local Progress = {}
Progress.__index = Progress

local DONE = { ["Pull complete"] = true, ["Already exists"] = true }

function Progress:take(line)
  local id, status = line.id, line.status
  local detail = type(line.progressDetail) == "table" and line.progressDetail or {}
  if type(id) ~= "string" or type(status) ~= "string" or status:find("^Pulling from") then
    return
  end
  local layer = self.layers[id]
  if not layer then
    layer = { current = 0, total = 0, done = false }
    self.layers[id] = layer
  end
  if status == "Downloading" and type(detail.current) == "number" then
    layer.current = detail.current
    layer.total = type(detail.total) == "number" and detail.total or layer.total
  elseif status == "Download complete" then
    layer.current = layer.total
  end
  layer.done = layer.done or DONE[status] == true
end

function Progress:event(image, status)
  local event = {
    image = image,
    status = status,
    layers = 0,
    layers_done = 0,
    bytes = 0,
    total_bytes = 0,
  }
  for _, layer in pairs(self.layers) do
    event.layers = event.layers + 1
    event.layers_done = event.layers_done + (layer.done and 1 or 0)
    event.bytes = event.bytes + layer.current
    event.total_bytes = event.total_bytes + layer.total
  end
  return event
end

local function complaint_of(line)
  if type(line.errorDetail) == "table" and type(line.errorDetail.message) == "string" then
    return line.errorDetail.message
  end
  return type(line.error) == "string" and line.error or nil
end

-- Reads the lines to the end: nil, or the engine's complaint. What the callback
-- raises ends the pull and is raised again.
local function follow(operation, image, on_progress)
  local progress = setmetatable({ layers = {} }, Progress)
  local complaint
  while true do
    local which, data = task.await_stream(operation)
    if not which then
      return complaint
    end
    local line = core.json_decode(data)
    if type(line) == "table" then
      complaint = complaint or complaint_of(line)
      progress:take(line)
      if on_progress then
        local ok, raised = pcall(on_progress, progress:event(image, line.status or ""))
        if not ok then
          operation:cancel()
          error(raised, 0)
        end
      end
    end
  end
end

--- `options` are {on_progress, cancel, auth}: a function for events {image, status,
--- layers, layers_done, bytes, total_bytes}, a cancel token, a header's value.
function M.pull(client, image, timeout_ms, options)
  local name, tag = M.split(image)
  local operation, err = client:start("pull", "POST",
    "/images/create" .. http.query({ fromImage = name, tag = tag }), {
      timeout_ms = timeout_ms,
      lines = true,
      headers = options.auth and { ["X-Registry-Auth"] = options.auth } or nil,
    })
  if not operation then
    return nil, err
  end
  local unsubscribe = options.cancel and options.cancel:on_cancel(function()
    operation:cancel()
  end)
  local complaint = follow(operation, image, options.on_progress)
  if unsubscribe then
    unsubscribe()
  end
  local answer
  answer, err = client:finish("pull", operation)
  if answer and complaint then
    err = errors.new("pull", "docker_command", "%s", complaint)
    err.result = { stdout = "", stderr = complaint, exit_code = 1 }
  elseif answer then
    return true
  end
  err.message = "image " .. image .. " could not be pulled: " .. err.message
  return nil, err
end

return M
