-- SPDX-License-Identifier: MIT
--- Programs that run another program, and how to find it in their arguments.
---
--- An author adds programs with `wrappers = { mytool = { values = "c", operands = 1 } }`; an
--- entry of the same name replaces the one here, `false` removes it.

---@class anvia.sandbox.Wrapper
---@field flags string?        short options without a value: "iv0"
---@field values string?       short options with a value, attached or as the next word
---@field attached string?     short options whose value, if any, is attached: -i{} of xargs
---@field long table<string, boolean|string>?  long options: false = no value, true = has one,
---  "attached" = only after "="
---@field numeric boolean?     -5 and +5 are options
---@field single_dash boolean? long options have one dash (-exec)
---@field lenient boolean?     options that are not listed are flags, and no reason for a problem
---@field permute boolean?     options may stand behind the operands
---@field assignments boolean|"mixed"|nil  NAME=value words stand before the program; mixed: options
---  may follow them
---@field operands integer?    words before the program
---@field after string?        the program only wraps when this is its next word: "run"
---@field tail "program"|"script"|"applet"|"shell"|nil  what the rest is: argv; words that are
---  joined and given to sh -c; the name of a program built into this one; arguments of a shell;
---  nothing ["program"; nothing when `script` is given]
---@field script table<string, true>?  options whose value is shell text: {c = true, command = true}
---@field argv table<string, true>?    options whose value is one program name
---@field unsets table<string, true>?  options whose value is a variable that is removed
---@field clears table<string, true>?  options that empty the environment
---@field chdir table<string, true>?   options whose value is the directory it starts in
---@field elsewhere boolean?   where it starts cannot be told
---@field none table<string, true>?    with this option nothing is run
---@field pids table<string, true>?    with this option the operands are processes, not programs
---@field stops table<string, true>?   options after which no more are read
---@field default string[]?    what runs when nothing is named
---@field reads boolean?       more words come from somewhere else: they are appended
---@field replace table<string, true>? options whose value (or "{}") stands for such words
---@field quiet_stdin boolean? what it runs has an empty standard input

local function set(...)
  local out = {}
  for _, name in ipairs({ ... }) do
    out[name] = true
  end
  return out
end

local wrappers = {}

---@type table<string, anvia.sandbox.Wrapper>
wrappers.table = {
  -- environment, priority, time
  env = {
    flags = "i0v", values = "uCSa", assignments = true,
    long = { ["ignore-environment"] = false, null = false, debug = false, unset = true,
      chdir = true, ["split-string"] = true, argv0 = true, ["block-signal"] = "attached",
      ["default-signal"] = "attached", ["ignore-signal"] = "attached",
      ["list-signal-handling"] = false },
    stops = set("S", "split-string"), unsets = set("u", "unset"),
    clears = set("i", "ignore-environment", "-"),
    chdir = set("C", "chdir"),
  },
  timeout = {
    flags = "vfp", values = "ks", operands = 1,
    long = { ["kill-after"] = true, signal = true, foreground = false, verbose = false,
      ["preserve-status"] = false },
  },
  nice = { values = "n", numeric = true, long = { adjustment = true } },
  nohup = {},
  setsid = { flags = "cfw", long = { ctty = false, fork = false, wait = false } },
  stdbuf = { values = "ioe", long = { input = true, output = true, error = true } },
  time = {
    flags = "pvqaV", values = "fo",
    long = { portability = false, verbose = false, quiet = false, append = false, format = true,
      output = true },
  },
  ionice = {
    flags = "t", values = "cnpPu", pids = set("p", "P", "u", "pid", "pgid", "uid"),
    long = { class = true, classdata = true, pid = true, pgid = true, uid = true, ignore = false },
  },
  chrt = {
    flags = "abdfimoprRvG", values = "TPD", operands = 1, none = set("m", "max"),
    pids = set("p", "pid"),
    long = { pid = false, max = false, batch = false, deadline = false, fifo = false, idle = false,
      other = false, rr = false, ["all-tasks"] = false, ["reset-on-fork"] = false,
      ["sched-runtime"] = true, ["sched-period"] = true, ["sched-deadline"] = true },
  },
  taskset = {
    flags = "acp", operands = 1, pids = set("p", "pid"),
    long = { ["all-tasks"] = false, ["cpu-list"] = false, pid = false },
  },
  numactl = {
    flags = "aHls", values = "iNCmpPwo",
    long = { all = false, interleave = true, cpunodebind = true, physcpubind = true, membind = true,
      preferred = true, localalloc = false, balancing = false, ["weighted-interleave"] = true },
  },
  cpulimit = { flags = "zifvqm", values = "pelcP" },
  prlimit = { lenient = true },
  setarch = { operands = 1, lenient = true }, linux32 = { lenient = true },
  linux64 = { lenient = true },
  ["catchsegv"] = {}, unbuffer = { flags = "p" }, rlwrap = { lenient = true }, fakeroot = {
    flags = "uhv", values = "lsibe", lenient = true },
  torify = {}, torsocks = { lenient = true }, proxychains = { flags = "q", values = "f" },
  proxychains4 = { flags = "q", values = "f" }, ["xvfb-run"] = { flags = "al", values = "efnpsw",
    lenient = true },
  ["dbus-run-session"] = { lenient = true }, tini = { flags = "svgwhlV", values = "pe" },
  ["dumb-init"] = { flags = "cvhV", values = "r", lenient = true },
  ["systemd-run"] = { lenient = true, values = "pMHtuE" },

  -- other users, other roots
  sudo = {
    flags = "AbBEeHhiKklNnPSsVv", values = "CcDgpRrTtUu", assignments = "mixed",
    none = set("e", "edit", "l", "list", "V", "version", "K", "v", "validate"),
    chdir = set("D", "chdir"), default = { "sh" },
    long = { askpass = false, background = false, bell = false, ["close-from"] = true,
      chdir = true, ["preserve-env"] = "attached", edit = false, group = true, ["set-home"] = false,
      help = false, host = true, login = false, ["remove-timestamp"] = false,
      ["reset-timestamp"] = false, list = false, ["no-update"] = false,
      ["non-interactive"] = false, ["preserve-groups"] = false, prompt = true, chroot = true,
      role = true, stdin = false, shell = false, ["command-timeout"] = true, type = true,
      ["other-user"] = true, user = true, validate = false, version = false },
  },
  doas = { flags = "Lns", values = "aCu", default = { "sh" } },
  su = { flags = "flmpP", values = "csgGwT", permute = true, script = set("c", "command",
    "session-command"), operands = 1, tail = "shell", default = { "sh" },
    long = { command = true, ["session-command"] = true, login = false, shell = true, fast = false,
      ["preserve-environment"] = false, group = true, ["supp-group"] = true, pty = false,
      ["whitelist-environment"] = true } },
  runuser = { flags = "flmpP", values = "cusgGwT", script = set("c", "command",
    "session-command"), tail = "program",
    long = { command = true, ["session-command"] = true, user = true, login = false, shell = true,
      fast = false, ["preserve-environment"] = false, group = true, ["supp-group"] = true,
      pty = false, ["whitelist-environment"] = true } },
  pkexec = { long = { user = true, ["disable-internal-agent"] = false, ["keep-cwd"] = false } },
  gosu = { operands = 1 }, ["su-exec"] = { operands = 1 }, setuidgid = { operands = 1 },
  chpst = { flags = "vPV012", values = "uUbedoplmfnr" },
  chroot = {
    operands = 1, elsewhere = true, default = { "sh" },
    long = { userspec = true, groups = true, ["skip-chdir"] = false },
  },
  unshare = {
    flags = "imnpuUCTfrc", values = "RwSG", lenient = true, default = { "sh" },
    long = { root = true, wd = true, setuid = true, setgid = true, propagation = true,
      setgroups = true },
  },
  nsenter = {
    elsewhere = true, flags = "aFZe", values = "tSGN", attached = "mnuipUCTrwW", lenient = true,
    default = { "sh" },
    long = { target = true, setuid = true, setgid = true },
  },
  setpriv = {
    lenient = true,
    long = { reuid = true, regid = true, groups = true, ["inh-caps"] = true,
      ["ambient-caps"] = true, ["bounding-set"] = true, securebits = true, pdeathsig = true,
      ["selinux-label"] = true,
      ["apparmor-profile"] = true, ruid = true, euid = true, rgid = true, egid = true },
  },
  bwrap = { elsewhere = true, lenient = true, single_dash = true },
  proot = { elsewhere = true, lenient = true, values = "rbqwikm" },
  firejail = { lenient = true },

  -- watching, tracing, locking
  watch = {
    flags = "bcdegptwCrx", values = "nqs", tail = "script",
    long = { beep = false, color = false, ["no-color"] = false, differences = "attached",
      errexit = false, chgexit = false, interval = true, precise = false, ["no-rerun"] = false,
      equexit = true, ["no-title"] = false, exec = false, ["no-wrap"] = false },
  },
  strace = {
    flags = "ACcdDfFhiknNqrtTvVwxyYzZ", values = "abeEIoOpPsSuUX", lenient = true,
    pids = set("p", "attach"),
  },
  ltrace = { flags = "bcCfhiLrStTV", values = "aADeFlnopsuwxX", lenient = true, pids = set("p") },
  valgrind = { lenient = true }, heaptrack = { lenient = true },
  perf = { after = "stat", lenient = true, values = "eCpto" },
  flock = {
    flags = "sxeunoF", values = "wEc", operands = 1, script = set("c", "command"), tail = "program",
    long = { shared = false, exclusive = false, unlock = false, nonblock = false, nb = false,
      timeout = true, wait = true, ["conflict-exit-code"] = true, close = false,
      ["no-fork"] = false, verbose = false, command = true, fcntl = false },
  },
  script = {
    flags = "aefqr", values = "cEImoOBT", attached = "t", operands = 1,
    script = set("c", "command"), permute = true, default = { "sh" },
    long = { append = false, command = true, echo = true, ["return"] = false, flush = false,
      force = false, ["log-io"] = true, ["log-out"] = true, ["log-in"] = true,
      ["log-timing"] = true, ["logging-format"] = true, ["output-limit"] = true, quiet = false,
      timing = "attached" },
  },
  entr = { flags = "acdnprsxz", tail = "program" },
  hyperfine = { lenient = true, values = "wrmMSpcPN", tail = "script" },

  -- arguments from elsewhere
  xargs = {
    flags = "0prtxo", values = "adEILnPsJRS", attached = "eil", default = { "echo" }, reads = true,
    quiet_stdin = true, replace = set("I", "i", "J", "replace"),
    long = { null = false, ["arg-file"] = true, delimiter = true, eof = "attached",
      replace = "attached", ["max-lines"] = "attached", ["max-args"] = true, ["max-procs"] = true,
      interactive = false, ["no-run-if-empty"] = false, ["max-chars"] = true, verbose = false,
      ["show-limits"] = false, exit = false, ["open-tty"] = false, ["process-slot-var"] = true },
  },
  parallel = { lenient = true, values = "jSInNLPadC", tail = "script", reads = true },
  ssh = {
    flags = "46AaCfGgKkMNnqsTtVvXxYy", values = "BbcDEeFIiJLlmOopQRSWw", operands = 1,
    elsewhere = true, tail = "script",
  },

  -- many programs in one
  busybox = { tail = "applet" }, toybox = { tail = "applet" },
  coreutils = { lenient = true, tail = "applet", argv = set("coreutils-prog"),
    long = { ["coreutils-prog"] = true } },

  -- words of the shell
  command = { flags = "pvV", none = set("v", "V") },
  builtin = {}, exec = { flags = "cl", values = "a" },
  nocorrect = {}, noglob = {}, ["-"] = {}, ["repeat"] = { operands = 1 },

  -- runners of projects
  npx = { lenient = true, values = "pc", script = set("c", "call"), tail = "program" },
  bunx = { lenient = true }, uvx = { lenient = true },
  uv = { after = "run", lenient = true }, poetry = { after = "run", lenient = true },
  pipenv = { after = "run", lenient = true }, pdm = { after = "run", lenient = true },
  bundle = { after = "exec", lenient = true }, rbenv = { after = "exec", lenient = true },
  pyenv = { after = "exec", lenient = true }, direnv = { after = "exec", operands = 1 },
  mise = { after = "exec", lenient = true }, asdf = { after = "exec", lenient = true },
  nix = { after = "run", lenient = true },

  -- not wrappers, but some of their options are commands
  tar = {
    lenient = true, permute = true, values = "FI", script = set("F", "I", "to-command",
      "use-compress-program", "info-script", "new-volume-script", "rsh-command", "rmt-command"),
    long = { ["to-command"] = true, ["use-compress-program"] = true, ["info-script"] = true,
      ["new-volume-script"] = true, ["rsh-command"] = true, ["rmt-command"] = true,
      ["checkpoint-action"] = true, checkpoint = "attached" },
  },
  rsync = {
    lenient = true, permute = true, values = "e", script = set("e", "rsh", "rsync-path"),
    long = { rsh = true, ["rsync-path"] = true },
  },
  sort = {
    lenient = true, permute = true, values = "koStT", script = set("compress-program"),
    long = { ["compress-program"] = true },
  },
  split = {
    lenient = true, permute = true, values = "abClnt", script = set("filter"),
    long = { filter = true },
  },
  zip = { lenient = true, permute = true, single_dash = true, script = set("TT", "unzip-command"),
    long = { TT = true, ["unzip-command"] = true } },
  tcpdump = { lenient = true, permute = true, values = "zwriCGW", script = set("z") },
  ["apt-get"] = { lenient = true, permute = true, values = "oct", script = set() },
  apt = { lenient = true, permute = true, values = "oct", script = set() },
  man = {
    lenient = true, permute = true, values = "CPpRLmMSserEH", script = set("P", "pager", "H"),
    long = { pager = true },
  },
}

--- A program that only happens to have options that are commands.
---@param spec anvia.sandbox.Wrapper
function wrappers.is_wrapper(spec)
  return spec.tail ~= nil or spec.script == nil or spec.default ~= nil
end

--- The table with an author's additions.
---@param extra table<string, anvia.sandbox.Wrapper|false>?
---@return table<string, anvia.sandbox.Wrapper>
function wrappers.with(extra)
  if not extra then
    return wrappers.table
  end
  local all = setmetatable({}, { __index = wrappers.table })
  for name, spec in pairs(extra) do
    all[name] = spec
  end
  return all
end

return wrappers
