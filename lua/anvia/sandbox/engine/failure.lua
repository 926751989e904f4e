-- SPDX-License-Identifier: MIT
-- failure.lua - reads what an engine's command line client says when it fails.
-- Pure text work; whether the engine answers at all, the caller finds out.

local errors = require("anvia.sandbox.errors")

local M = {}

-- Remarks of the client that are not the reason.
local NOISE = {
  "^%s*$",
  "^Run '.*' for more information",
  "^See '.*'",
  "^Unable to find image .* locally",
  "^Trying to pull ",
  "^WARNING: ",
}

local PREFIXES = {
  "^docker: ",
  "^podman: ",
  "^Error: ",
  "^Error response from daemon: ",
  "^failed to create task for container: ",
  "^failed to create shim task: ",
  "^OCI runtime create failed: ",
  "^runc create failed: ",
}

-- Each reason with the texts that mean it; the order matters.
local REASONS = {
  { "image_missing", { "no such image", "image not known", "unable to find image" } },
  { "name_in_use", { "container name .* is already in use" } },
  {
    "no_shell",
    {
      'exec: "/bin/sh": .*no such file',
      'exec: "/bin/sh": .*not found',
      'exec: "/bin/sh": .*permission denied',
      'exec: "/bin/sh": .*exec format error',
      "exec container process.*/bin/sh.*no such file",
      "exec /bin/sh: ",
    },
  },
  {
    "no_supervisor",
    {
      'exec: "/.anvia/supervisor": ',
      "exec container process.*/.anvia/supervisor",
      "exec /.anvia/supervisor: ",
    },
  },
  { "port_in_use", { "port is already allocated", "address already in use" } },
  { "not_running", { "container .* is not running" } },
  { "no_container", { "no such container", "no container with name" } },
  { "no_volume", { "no such volume", "no volume with name" } },
  { "volume_in_use", { "volume is in use", "volume is being used" } },
  { "removing", { "removal of container .* is already in progress" } },
}

-- No engine has heard of the request.
local UNHEARD = {
  "cannot connect to the docker daemon",
  "unable to resolve docker endpoint",
  "permission denied while trying to connect",
  "failed to initialize",
  "unable to connect to podman",
  "cannot connect to podman",
  "^cannot run '",
}

-- The client lost its engine, maybe after it had heard of the request; in words that an
-- engine never uses.
local LOST = { "error during connect" }

local function says(text, patterns)
  for _, pattern in ipairs(patterns) do
    if text:find(pattern) then
      return true
    end
  end
  return false
end

--- The reason among REASONS that the client's text names, or nil.
function M.reason(text)
  text = text:lower()
  for _, entry in ipairs(REASONS) do
    if says(text, entry[2]) then
      return entry[1]
    end
  end
  return nil
end

--- True when the client says that it found no engine: it has done nothing.
function M.unheard(text)
  return says(text:lower(), UNHEARD)
end

--- True when the client says that it found no engine, or lost it.
function M.unreachable(text)
  return M.unheard(text) or says(text:lower(), LOST)
end

local function strip(line)
  local before
  repeat
    before = line
    for _, prefix in ipairs(PREFIXES) do
      line = line:gsub(prefix, "", 1)
    end
  until line == before
  return line
end

--- The first line of the client's text that says something, without its prefixes.
function M.summary(text)
  for line in text:gmatch("[^\r\n]+") do
    if not says(line, NOISE) then
      return strip(line)
    end
  end
  return nil
end

--- The error for what failed with `result` {stdout, stderr, exit_code}. `otherwise` is
--- the message where nothing was said; answers() says whether the engine answers, and
--- is called only when the text does not tell.
function M.explain(op, result, otherwise, answers)
  local text = result.stderr or ""
  local summary = M.summary(text) or otherwise
  local code = "docker_command"
  if M.unreachable(text) or not answers() then
    code = "docker_unavailable"
  end
  local err = errors.new(op, code, "%s", summary)
  err.reason = code == "docker_command" and M.reason(text) or nil
  err.result = { stdout = result.stdout, stderr = text, exit_code = result.exit_code }
  return err
end

return M
