-- SPDX-License-Identifier: MIT
-- sandbox.lua - a sandbox: checked options, and the sessions made with them.

local container = require("anvia.sandbox.container")
local create = require("anvia.sandbox.create")
local engines = require("anvia.sandbox.engine")
local hooks = require("anvia.sandbox.hooks")
local image = require("anvia.sandbox.image")
local manifest = require("anvia.sandbox.manifest")
local options = require("anvia.sandbox.options")
local ports = require("anvia.sandbox.ports")
local prune = require("anvia.sandbox.prune")
local supervisor = require("anvia.sandbox.supervisor")

local M = {}

local ID = options.string({
  pattern = container.ID_PATTERN,
  max = container.ID_MAX,
  what = container.ID_WHAT,
})

-- A word that the client cannot take for one of its options.
local WORD = options.string({
  pattern = "^[^-%s]%S*$",
  what = "one word that does not begin with '-'",
})

local COUNT = options.integer(1)

local WORKSPACE_FIELDS = options.record({
  mode = { options.one_of({ "ephemeral", "persistent" }), required = true },
  id = ID,
  destroy_on_session_destroy = options.boolean,
})

local function workspace(value, name)
  local copy, complaint = WORKSPACE_FIELDS(value, name)
  if not copy then
    return nil, complaint
  elseif copy.mode == "persistent" and not copy.id then
    return nil, "option '" .. name .. ".id' is required for a persistent workspace"
  elseif copy.mode == "ephemeral" and (copy.id or copy.destroy_on_session_destroy ~= nil) then
    return nil, "option '" .. name .. "': only a persistent workspace has other fields"
  end
  return copy
end

local PLAIN = options.string({ min = 2, max = 1024 })

local function workdir(value, name)
  local path, complaint = PLAIN(value, name)
  if not path then
    return nil, complaint
  elseif not path:find("^/") or (path .. "/"):find("/%.%.?/") or path:find("//", 1, true)
    or path:find("/$") or path:find("%c") then
    return nil, "option '" .. name .. "' must be an absolute path such as /workspace"
  elseif (path .. "/"):find(supervisor.DIRECTORY .. "/", 1, true) == 1 then
    return nil, "option '" .. name .. "' must not be in " .. supervisor.DIRECTORY
  end
  return path
end

local function label_name(value, name)
  local label, complaint = options.string({ min = 1, pattern = "^[^=%c]+$" })(value, name)
  if label and label:find("^anvia%.sandbox") then
    return nil, "option '" .. name .. "': labels that begin with anvia.sandbox are taken"
  end
  return label, complaint
end

local LIFECYCLE = options.record({
  ttl_ms = COUNT,
  idle_timeout_ms = COUNT,
  auto_destroy = { options.boolean, default = true },
})

local LIMITS = options.record({
  timeout_ms = { COUNT, default = 30000 },
  max_output_bytes = { options.integer(0), default = 1024 * 1024 },
  max_file_bytes = options.integer(0),
  memory_mb = options.integer(6),
  cpus = options.positive(),
  pids_limit = { COUNT, default = 512 },
  max_processes = { COUNT, default = 4 },
})

local SECURITY = options.record({
  readonly_rootfs = { options.boolean, default = false },
  no_new_privileges = { options.boolean, default = true },
  drop_capabilities = { options.list(WORD), default = { "ALL" } },
})

local function sandbox_options(default_image)
  return options.record({
    image = { WORD, default = default_image },
    pull = { options.one_of({ "missing", "always", "never" }), default = "missing" },
    workdir = { workdir, default = "/workspace" },
    workspace = { workspace, default = { mode = "ephemeral" } },
    network = { options.either(options.one_of({ true, false }), WORD), default = false },
    user = WORD,
    engine = { options.one_of({ "auto", "api", "cli" }), default = "auto" },
    runner = { options.one_of({ "auto", "supervisor", "exec" }), default = "auto" },
    docker_path = options.string({ min = 1 }),
    host = WORD,
    runtime = WORD,
    labels = { options.map(label_name, options.string()), default = {} },
    lifecycle = { LIFECYCLE, default = {} },
    limits = { LIMITS, default = {} },
    security = { SECURITY, default = {} },
    hooks = { hooks.CHECK, default = {} },
  })
end

local METADATA = options.map(options.string({
  pattern = "^[%w][%w_.-]*$",
  what = "a name of letters, digits, '_', '.' and '-'",
}), options.string())

local function policy(value, name)
  if type(value) ~= "table" or type(value.authorize) ~= "function" then
    return nil, "option '" .. name .. "' must be a policy of sandbox.policy"
  end
  return value
end

local SESSION_OPTIONS = options.record({
  id = ID,
  ports = { ports.check_list, default = {} },
  workspace = workspace,
  metadata = { METADATA, default = {} },
  manifest = manifest.CHECK,
  policy = policy,
  on_ask = options.callback,
})

local PRUNE_OPTIONS = options.record({ dry_run = { options.boolean, default = false } })

local PULL_OPTIONS = options.record({
  on_progress = options.callback,
  cancel = options.cancel_token,
  timeout_ms = { COUNT, default = image.PULL_TIMEOUT_MS },
})

local methods = {}

--- Creates a session: a container of its own with a workspace in it. With a policy,
--- every method of the session asks it first, and there is no way around it.
---@param opts? anvia.sandbox.SessionOptions
---@return anvia.sandbox.Session? session
---@return anvia.sandbox.Error? err
function methods:create_session(opts)
  opts = options.check("create_session", SESSION_OPTIONS, opts)
  opts.workspace = opts.workspace or self._options.workspace
  local session, err = create.session(self._options, self._engine, opts, self._cache)
  if session and opts.policy then
    local guard = require("anvia.sandbox.guard") -- here, since it needs LPeg
    return guard.bind(session, opts.policy, { on_ask = opts.on_ask })
  end
  return session, err
end

--- The sessions on this engine, whoever made them, oldest first.
---@return anvia.sandbox.SessionRow[]? rows
---@return anvia.sandbox.Error? err
function methods:list()
  return prune.list(self._engine)
end

--- Removes sessions that are provably nobody's any more; see prune.lua. With
--- `dry_run` it only says which.
---@param opts? {dry_run: boolean?}
---@return {removed: table[], kept: table[]}? report
---@return anvia.sandbox.Error? err
function methods:prune(opts)
  opts = options.check("prune", PRUNE_OPTIONS, opts)
  return prune.prune(self._engine, opts.dry_run)
end

--- Fetches the image now, whatever the option `pull` says. `on_progress` is called
--- with {image, status, layers, layers_done, bytes, total_bytes}, where the engine is
--- spoken to directly.
---@param opts? anvia.sandbox.PullOptions
---@return boolean? pulled
---@return anvia.sandbox.Error? err
function methods:pull(opts)
  opts = options.check("pull", PULL_OPTIONS, opts)
  self._cache.facts = nil
  return self._engine:pull(self.image, opts.timeout_ms, opts)
end

local mt = { __name = "anvia.sandbox.Sandbox", __index = methods }

--- The function that makes sandboxes of one preset.
function M.preset(name, default_image)
  local check = sandbox_options(default_image)
  return function(opts)
    local checked = options.check("sandbox." .. name, check, opts)
    local engine, complaint = engines.new(checked)
    if not engine then
      error("sandbox." .. name .. ": option 'engine': " .. complaint, 2)
    end
    return setmetatable({
      image = checked.image,
      _options = checked,
      _engine = engine,
      _cache = { facts = nil }, -- see image.lua
    }, mt)
  end
end

return M
