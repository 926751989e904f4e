-- SPDX-License-Identifier: MIT
-- image.lua - the images of the presets, and how a missing image is fetched.

local M = {}

M.presets = {
  docker = "node:22-bookworm",
  node = "node:22-bookworm",
  python = "python:3.13-bookworm",
  deno = "denoland/deno:debian",
}

-- A pull moves hundreds of megabytes: it has a budget of its own.
M.PULL_TIMEOUT_MS = 10 * 60 * 1000

--- Fetches the image if the rule `pull` asks for that before the first try.
function M.before_create(engine, image, pull)
  if pull ~= "always" then
    return true
  end
  return engine:pull(image, M.PULL_TIMEOUT_MS)
end

--- After a create failed with `err`: true when the image was missing, has been
--- fetched now, and the create deserves another try; else false, or nil and the
--- error of the pull.
function M.after_failure(engine, image, pull, err)
  if pull ~= "missing" or err.reason ~= "image_missing" then
    return false
  end
  return engine:pull(image, M.PULL_TIMEOUT_MS)
end

return M
