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

--- What to say of an image that is not on the engine.
function M.missing(image)
  return string.format("the image %s is not there", image)
end

--- Fetches the image if the rule `pull` asks for that before the first try. `cache` is
--- the sandbox's, for what is known of its image.
function M.before_create(engine, image, pull, cache)
  if pull ~= "always" then
    return true
  end
  cache.facts = nil
  return engine:pull(image, M.PULL_TIMEOUT_MS)
end

--- After a create failed with `err`: true when the image was missing, has been
--- fetched now, and the create deserves another try; else false, or nil and the
--- error of the pull.
function M.after_failure(engine, image, pull, cache, err)
  if err.reason ~= "image_missing" then
    return false
  end
  cache.facts = nil
  if pull ~= "missing" then
    return false
  end
  return engine:pull(image, M.PULL_TIMEOUT_MS)
end

--- What the engine says of the image (see describe.lua), or nil, err. It is asked once,
--- and again after the image was fetched: a question is a tenth of a create.
function M.facts(engine, image, cache)
  if cache.facts then
    return cache.facts
  end
  local facts, err = engine:inspect_image(image)
  if not facts and err.reason == "image_missing" then
    err.message = M.missing(image)
  end
  cache.facts = facts
  return facts, err
end

return M
