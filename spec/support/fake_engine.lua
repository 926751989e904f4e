-- SPDX-License-Identifier: MIT
-- fake_engine.lua - an engine of tables, with what placing a program needs of one.

local core = require("anvia.sandbox.core")
local errors = require("anvia.sandbox.errors")
local tar = require("anvia.sandbox.tar")
local task = require("anvia.sandbox.task")

local M = {}

local Fake = {}
Fake.__index = Fake

--- `fields` are what a spec wants to be otherwise.
function M.new(fields)
  local self = setmetatable({
    calls = {}, -- names of the requests
    containers = {}, -- by id: {id, name, labels, volume}
    image = { architecture = "amd64", os = "linux", user = "", id = "i" },
    label = "engine " .. core.random_hex(16),
    volumes = {}, -- by name: {name, labels, files}
    _ids = 0,
  }, Fake)
  for name, value in pairs(fields or {}) do
    self[name] = value
  end
  return self
end

-- Every request takes a moment, in which others can do something.
function Fake:_note(name)
  self.calls[#self.calls + 1] = name
  task.sleep(1)
end

local function refusal(reason)
  local err = errors.new("test", "docker_command", "%s", reason)
  err.reason = reason
  return nil, err
end

function Fake:key()
  return self.label
end

function Fake:within()
  return self
end

function Fake:inspect_image()
  self:_note("inspect_image")
  if not self.image then
    return refusal("image_missing")
  end
  return self.image
end

function Fake:pull()
  self:_note("pull")
  self.image = self.next_image or self.image
  return true
end

function Fake:create_holder(holder)
  self:_note("create_holder")
  for _, other in pairs(self.containers) do
    if holder.name and other.name == holder.name then
      return refusal("name_in_use")
    end
  end
  self._ids = self._ids + 1
  local id, volume = "c" .. self._ids, holder.mount.name
  self.volumes[volume] = self.volumes[volume]
    or { name = volume, labels = holder.mount.labels, files = {} }
  self.containers[id] = { id = id, name = holder.name, labels = holder.labels, volume = volume }
  return id
end

function Fake:_files(id)
  local one = self.containers[id]
  return one and self.volumes[one.volume].files
end

function Fake:get_archive(id)
  self:_note("get_archive")
  local files = self:_files(id)
  if not files then
    return refusal("no_container")
  end
  local entries = { { path = ".anvia", type = "directory" } }
  for _, file in ipairs(files) do
    entries[#entries + 1] = file
  end
  return tar.write(entries)
end

--- As an engine does it: not at once.
function Fake:put_archive(id, _, archive)
  self:_note("put_archive")
  local files = self:_files(id)
  for i, entry in ipairs(tar.read(archive)) do
    local file = { path = ".anvia/" .. entry.path, type = "file", mode = entry.mode + 32768 }
    files[i] = file
    for cut = 0, 10 do
      file.content = entry.content:sub(1, math.floor(#entry.content * cut / 10))
      task.sleep(1)
    end
  end
  return true
end

function Fake:inspect(name)
  self:_note("inspect")
  for _, one in pairs(self.containers) do
    if one.name == name then
      return one
    end
  end
  return refusal("no_container")
end

function Fake:remove_container(id)
  self:_note("remove_container")
  self.containers[id] = nil
  return true
end

function Fake:remove_holder(_, id)
  return self:remove_container(id)
end

function Fake:describe_volumes(names)
  self:_note("describe_volumes")
  local rows = {}
  for _, name in ipairs(names) do
    rows[#rows + 1] = self.volumes[name]
  end
  return rows
end

function Fake:describe_containers(ids)
  local rows = {}
  for _, id in ipairs(ids) do
    rows[#rows + 1] = self.containers[id]
  end
  return rows
end

function Fake:find_containers(labels)
  self:_note("find_containers")
  local ids = {}
  for id, one in pairs(self.containers) do
    local fits = true
    for name, value in pairs(labels) do
      fits = fits and one.labels[name] == value
    end
    ids[#ids + 1] = fits and id or nil
  end
  return ids
end

function Fake.find_volumes()
  return {}
end

--- How often a request was made.
function Fake:count(name)
  local n = 0
  for _, call in ipairs(self.calls) do
    n = n + (call == name and 1 or 0)
  end
  return n
end

return M
