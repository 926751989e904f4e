-- SPDX-License-Identifier: MIT
-- Descriptions of programs: which options take a value, and which ones change what runs.
--
-- With a description `git -C x push`, `git push` and `git --no-pager push` are one thing. Without
-- one, an option that is not known may or may not take the next word as its value: deny and ask
-- consider both, allow holds for neither.
--
--   options              take no value
--   options_with_value   take the next word, unless written with '='
--   risky_options        make the program run or overwrite something else: an allow rule holds only
--                        if it names them
--   same_options         { "-f", "--force" }: one option with several names
--   same_commands        { "install", "i", "add" }: one sub-command with several names
--   abbreviates          a sub-command may be shortened: npm publ
--   skip                 operands before the sub-command that are not it (globs): cargo +nightly
--   after                the same fields for what follows the sub-command; with it, the fields
--                        above are those of the options before the sub-command only

local programs = {}

local FIELDS = { "options", "options_with_value", "risky_options" }

programs.fields = { "options", "options_with_value", "risky_options", "same_options",
  "same_commands", "abbreviates", "skip", "after" }

programs.builtin = {
  git = {
    options = { "-p", "--paginate", "-P", "--no-pager", "--no-replace-objects", "--bare",
      "--literal-pathspecs", "--glob-pathspecs", "--noglob-pathspecs", "--icase-pathspecs",
      "--no-optional-locks", "--no-lazy-fetch", "--no-advice", "-v", "--version", "-h", "--help",
      "--html-path", "--man-path", "--info-path" },
    options_with_value = { "-C", "-c", "--git-dir", "--work-tree", "--namespace",
      "--super-prefix", "--config-env", "--list-cmds", "--attr-source" },
    risky_options = { "-c", "--config-env", "--exec-path", "--git-dir", "--work-tree" },
    same_options = { { "-f", "--force" }, { "-d", "--delete" } },
    after = {
      options = { "-v", "--verbose", "-q", "--quiet", "-f", "--force", "--dry-run", "-u",
        "--set-upstream", "--tags", "--all", "--no-verify", "--hard", "--soft", "--amend", "--stat",
        "--oneline", "--cached", "--staged", "--name-only" },
      risky_options = { "--output", "--ext-diff", "--textconv", "--open-files-in-pager",
        "--upload-pack", "--receive-pack", "--exec", "--template", "--extcmd", "--tool",
        "--show-signature", "--config", "--config-env" },
    },
  },
  npm = {
    options = { "-g", "--global", "-s", "--silent", "-q", "--quiet", "-d", "--verbose", "--json",
      "--no-audit", "--no-fund", "-y", "--yes", "-f", "--force", "--save-dev", "-D", "--save-exact",
      "-E", "--save", "-S", "--no-save", "--offline", "--prefer-offline", "--ignore-scripts",
      "--if-present", "--foreground-scripts", "--production", "-ws", "--workspaces", "--dry-run",
      "--version", "-v", "-h", "--help", "-l", "--long", "--parseable", "-p" },
    options_with_value = { "--prefix", "-C", "--registry", "--workspace", "-w", "--loglevel",
      "--userconfig", "--globalconfig", "--cache", "--tag", "--otp", "--scope", "--omit",
      "--include", "--node-options", "--script-shell", "--access" },
    risky_options = { "--node-options", "--script-shell", "--userconfig", "--globalconfig",
      "--registry" },
    same_options = { { "-g", "--global" }, { "-f", "--force" }, { "-D", "--save-dev" } },
    same_commands = {
      { "install", "i", "in", "ins", "inst", "insta", "instal", "isnt", "isnta", "isntal",
        "isntall", "add" },
      { "ci", "clean-install", "ic", "install-clean", "isntall-clean" },
      { "install-test", "it" }, { "install-ci-test", "cit", "clean-install-test", "sit" },
      { "uninstall", "un", "unlink", "remove", "rm", "r" }, { "update", "up", "upgrade", "udpate" },
      { "run", "run-script", "rum", "urn" }, { "test", "t", "tst" }, { "exec", "x" },
      { "create", "init", "innit" }, { "link", "ln" }, { "list", "ls", "la", "ll" },
      { "view", "v", "info", "show" }, { "config", "c" }, { "login", "adduser", "add-user" },
      { "owner", "author" }, { "dist-tag", "dist-tags" }, { "rebuild", "rb" },
      { "search", "s", "se", "find" }, { "dedupe", "ddp" },
    },
    abbreviates = true,
  },
  pip = {
    options = { "-q", "--quiet", "-v", "--verbose", "--isolated", "--no-input", "--no-color",
      "--disable-pip-version-check", "--no-cache-dir", "-U", "--upgrade", "-V", "--version", "-h",
      "--help", "--user", "--no-deps", "--pre", "-y", "--yes", "--require-virtualenv" },
    options_with_value = { "--proxy", "--log", "--retries", "--timeout", "--exists-action",
      "--trusted-host", "--cert", "--client-cert", "--cache-dir", "-i", "--index-url",
      "--extra-index-url", "-f", "--find-links", "-r", "--requirement", "-c", "--constraint", "-e",
      "--editable", "-t", "--target", "--prefix", "--root", "--python" },
    risky_options = { "-i", "--index-url", "--extra-index-url", "-f", "--find-links",
      "--trusted-host", "--python", "--log" },
    same_options = { { "-U", "--upgrade" }, { "-r", "--requirement" }, { "-t", "--target" },
      { "-e", "--editable" }, { "-i", "--index-url" }, { "-f", "--find-links" } },
  },
  docker = {
    options = { "-D", "--debug", "--tls", "--tlsverify", "-v", "--version", "-h", "--help" },
    options_with_value = { "--config", "-c", "--context", "-H", "--host", "-l", "--log-level",
      "--tlscacert", "--tlscert", "--tlskey" },
    risky_options = { "--config", "-c", "--context", "-H", "--host" },
    skip = { "container" },
    after = {
      risky_options = { "--privileged", "-v", "--volume", "--mount", "--device", "--pid", "--ipc",
        "--network", "--net", "--cap-add", "--security-opt", "--userns", "--volumes-from",
        "--entrypoint" },
      same_options = { { "-v", "--volume" }, { "-f", "--force" }, { "--net", "--network" } },
    },
  },
  kubectl = {
    options = { "--insecure-skip-tls-verify", "--match-server-version", "--warnings-as-errors",
      "-A", "--all-namespaces", "-w", "--watch", "-h", "--help" },
    options_with_value = { "-n", "--namespace", "--context", "--cluster", "--user", "--kubeconfig",
      "-s", "--server", "--token", "--as", "--as-group", "--cache-dir", "--certificate-authority",
      "--client-certificate", "--client-key", "--request-timeout", "--tls-server-name", "-v", "--v",
      "--vmodule", "--profile", "--profile-output", "-o", "--output", "-l", "--selector", "-f",
      "--filename", "-c", "--container", "--field-selector" },
    risky_options = { "--kubeconfig", "-s", "--server", "--token", "--as", "--as-group", "--user",
      "--context", "--cluster", "--profile-output" },
    same_options = { { "-n", "--namespace" }, { "-f", "--filename" }, { "-l", "--selector" },
      { "-A", "--all-namespaces" } },
  },
  cargo = {
    options = { "-v", "--verbose", "-vv", "-q", "--quiet", "--locked", "--offline", "--frozen",
      "-V", "--version", "--list", "-h", "--help" },
    options_with_value = { "-C", "--config", "--color", "-Z", "--explain", "--manifest-path", "-p",
      "--package", "--target-dir", "--target", "--features", "-F", "-j", "--jobs", "--profile" },
    risky_options = { "--config", "-C", "-Z" },
    same_options = { { "-p", "--package" }, { "-F", "--features" }, { "-j", "--jobs" } },
    same_commands = { { "build", "b" }, { "check", "c" }, { "doc", "d" }, { "run", "r" },
      { "test", "t" }, { "remove", "rm" } },
    skip = { "+*" },
  },
  go = {
    options_with_value = { "-C" },
    after = {
      options = { "-v", "-x", "-n", "-a", "-race", "-short", "-json", "-u", "-t" },
      options_with_value = { "-o", "-p", "-run", "-tags", "-mod", "-ldflags", "-gcflags",
        "-asmflags", "-overlay", "-modfile", "-exec", "-toolexec", "-vettool", "-count", "-timeout",
        "-bench" },
      risky_options = { "-exec", "-toolexec", "-vettool", "-overlay", "-modfile", "-ldflags",
        "-gcflags", "-asmflags" },
    },
  },
  apt = {
    options = { "-y", "--yes", "--assume-yes", "-q", "--quiet", "-qq", "-d", "--download-only",
      "-s", "--simulate", "--dry-run", "-f", "--fix-broken", "-m", "--fix-missing", "--no-upgrade",
      "--reinstall", "--no-install-recommends", "--install-recommends", "--purge", "-V", "-v",
      "--version", "-h", "--help", "-u", "--auto-remove", "--autoremove", "--allow-downgrades",
      "--installed", "-a", "--upgradable" },
    options_with_value = { "-o", "--option", "-c", "--config-file", "-t", "--target-release",
      "--default-release", "-a", "--host-architecture" },
    risky_options = { "-o", "--option", "-c", "--config-file" },
    same_options = { { "-y", "--yes", "--assume-yes" }, { "-s", "--simulate", "--dry-run" } },
  },
  systemctl = {
    options = { "--user", "--system", "--global", "-q", "--quiet", "--no-block", "--no-pager",
      "--now", "-f", "--force", "-l", "--full", "-a", "--all", "--no-legend", "--plain",
      "--no-reload", "--runtime", "-r", "--recursive", "-h", "--help", "--version", "--failed" },
    options_with_value = { "-t", "--type", "--state", "-p", "--property", "-H", "--host", "-M",
      "--machine", "-n", "--lines", "-o", "--output", "--root", "-s", "--signal", "--kill-who",
      "--job-mode", "--preset-mode" },
    risky_options = { "-H", "--host", "-M", "--machine", "--root" },
    same_options = { { "-f", "--force" }, { "-a", "--all" }, { "-t", "--type" } },
  },
  -- Without sub-commands: for the options that run or overwrite something else. What find runs and
  -- removes is read, and judged as commands and files.
  tar = {
    risky_options = { "--to-command", "-I", "--use-compress-program", "--checkpoint-action",
      "--rsh-command", "--rmt-command", "-F", "--info-script", "--new-volume-script", "-P",
      "--absolute-names" },
  },
  rsync = {
    risky_options = { "-e", "--rsh", "--rsync-path", "--delete", "--remove-source-files" },
  },
  sort = { risky_options = { "-o", "--output", "--compress-program", "-T" } },
  rg = { risky_options = { "--pre", "--search-zip", "-z" } },
  rm = {
    options = { "-r", "-R", "--recursive", "-f", "--force", "-i", "-I", "-d", "--dir", "-v",
      "--verbose", "--one-file-system", "--no-preserve-root" },
    same_options = { { "-r", "-R", "--recursive" }, { "-f", "--force" } },
  },
  bash = {
    options = { "-c", "-l", "-e", "-u", "-x", "-v", "-n", "-f", "-i", "-s", "-a", "-b", "-h", "-m",
      "-p", "-B", "-C", "-E", "-H", "-P", "-T", "--login", "--norc", "--noprofile", "--posix" },
    options_with_value = { "-o", "-O", "+o", "+O", "--rcfile", "--init-file" },
    risky_options = { "--rcfile", "--init-file" },
  },
  ls = { options = { "-l", "-a", "-A", "-h", "-1", "-R", "-t", "-S", "-r", "-d", "-F", "-i" } },
  chmod = {
    options = { "-R", "--recursive", "-v", "--verbose", "-c", "-f" },
    same_options = { { "-R", "--recursive" } },
  },
  chown = {
    options = { "-R", "--recursive", "-v", "--verbose", "-c", "-f", "-h", "-H", "-L", "-P" },
    same_options = { { "-R", "--recursive" } },
  },
  cp = {
    options = { "-r", "-R", "--recursive", "-f", "--force", "-a", "-p", "-n", "-i", "-v", "-u",
      "-d", "-l", "-s", "-L", "-P", "-H", "-x" },
    same_options = { { "-r", "-R", "--recursive" }, { "-f", "--force" } },
  },
}

programs.builtin["apt-get"] = programs.builtin.apt
for _, shell in ipairs { "sh", "dash", "ash", "zsh", "ksh" } do
  programs.builtin[shell] = programs.builtin.bash
end
programs.builtin.pip3 = programs.builtin.pip
programs.builtin.pnpm = programs.builtin.npm
programs.builtin.yarn = programs.builtin.npm
programs.builtin.bun = programs.builtin.npm
programs.builtin.podman = programs.builtin.docker

local function new_options()
  return { kind = {}, risky = {}, same = {} }
end

local function read_options(into, description)
  for _, name in ipairs(description.options or {}) do into.kind[name] = "flag" end
  for _, name in ipairs(description.options_with_value or {}) do into.kind[name] = "value" end
  for _, name in ipairs(description.risky_options or {}) do
    into.risky[name] = true
    into.has_risky = true
  end
  for _, group in ipairs(description.same_options or {}) do
    for _, name in ipairs(group) do into.same[name] = group[1] end
  end
end

--- A description made ready for match.lua; `glob` compiles the operands to skip.
function programs.compile(description, token)
  local compiled = { before = new_options(), skip = {}, commands = {},
    abbreviates = description.abbreviates or nil }
  for _, group in ipairs(description.same_commands or {}) do
    for _, name in ipairs(group) do compiled.commands[name] = group[1] end
  end
  read_options(compiled.before, description)
  compiled.after = compiled.before
  if description.after then
    compiled.after = new_options()
    read_options(compiled.after, { same_options = description.same_options })
    read_options(compiled.after, description.after)
  end
  compiled.has_risky = compiled.before.has_risky or compiled.after.has_risky
  for _, text in ipairs(description.skip or {}) do
    compiled.skip[#compiled.skip + 1] = token(text)
  end
  return compiled
end

--- Two descriptions as one: an author's adds to the one that is built in.
function programs.merge(base, more)
  if not base then return more end
  local merged = {}
  for _, field in ipairs(FIELDS) do merged[field] = {} end
  merged.same_options, merged.same_commands, merged.skip = {}, {}, {}
  for _, from in ipairs { base, more } do
    for field, list in pairs(merged) do
      for _, value in ipairs(from[field] or {}) do list[#list + 1] = value end
    end
  end
  if more.abbreviates ~= nil then merged.abbreviates = more.abbreviates
  else merged.abbreviates = base.abbreviates end
  if base.after or more.after then
    merged.after = programs.merge(base.after or {}, more.after or {})
  end
  return merged
end

return programs
