-- SPDX-License-Identifier: MIT
local glob = require("anvia.sandbox.policy.glob")
local match = require("anvia.sandbox.policy.match")
local pattern = require("anvia.sandbox.policy.pattern")
local programs = require("anvia.sandbox.policy.programs")

local described = {}
for name, description in pairs(programs.builtin) do
  described[name] = programs.compile(description, glob.token)
end

--- A word whose value is not known; `"..."` is one word, bare `$x` may be any number.
local function dynamic(word)
  local text = word:match("^\"(.*)\"$") or word
  local prefix = text:match("^[^$*]*")
  return { dynamic = true, text = word, pattern = (text:gsub("%$%w+", "*")), prefix = prefix,
    single = word ~= text }
end

local function command(text)
  local words = {}
  for word in text:gmatch("%S+") do
    words[#words + 1] = word:find("[$*]") and dynamic(word) or word
  end
  local first = words[1]
  return { argv = words, name = type(first) == "string" and first:match("[^/]*$") or nil,
    path = type(first) == "string" and first:find("/", 1, true) and first or nil }
end

local function both(value, text)
  local view = match.view(command(text), described)
  local strict, exact = nil, false
  for _, one in ipairs(assert(pattern.compile(value))) do
    local found = match.strict(one, view)
    if found == "yes" or not strict then strict = found or strict end
    exact = exact or match.exact(one, view)
  end
  return strict or "no", exact
end

local any = function(list) return { any = list } end
local only = function(value) return { only = value } end

-- pattern, command, what deny and ask see, whether allow holds
local CASES = {
  -- words, prefixes
  { "git push", "git push", "yes", true },
  { "git push", "git push origin main -f", "yes", true },
  { "git push", "git pull", "no", false },
  { "git push", "git", "no", false },
  { "git push", "git log push", "no", false },
  { { "git", "push" }, "git push", "yes", true },
  { "npm install *", "npm install", "yes", true },
  { "npm install *", "npm install x y", "yes", true },
  { "git * main", "git push main", "yes", true },
  { "git * main", "git push other", "no", false },
  { "*", "anything at all", "yes", true },
  { "git*", "gitk", "yes", true },
  { "pyth?n3.*", "python3.11 x", "yes", true },
  { { "npm", "run", "test:*" }, "npm run test:unit", "yes", true },
  { { "npm", "run", "test:*" }, "npm run build", "no", false },
  { { "echo", "\\*" }, "echo x", "no", false },
  -- alternatives
  { { "git", any { "push", "fetch" } }, "git fetch", "yes", true },
  { { "git", any { "push", "fetch" } }, "git pull", "no", false },
  { any { "ls", "cat", { "git", "log" } }, "cat x", "yes", true },
  { any { "ls", "cat", { "git", "log" } }, "git log", "yes", true },
  { any { "ls", "cat", { "git", "log" } }, "git push", "no", false },
  { { any { "pip", "pip3" }, "install" }, "pip3 install x", "yes", true },
  { { "git", any { "remote add", "push" } }, "git remote add x", "yes", true },
  { { "git", any { "remote add", "push" } }, "git remote -v", "no", false },
  -- only
  { only "git status", "git status", "yes", true },
  { only "git status", "git status -s", "no", false },
  { only "git status", "git status x", "no", false },
  { only { "ls", "-l" }, "ls -l", "yes", true },
  { only { "ls", "-l" }, "ls -l -a", "no", false },
  { only "npm install *", "npm install x", "yes", true },
  { only "npm install *", "npm install", "no", false },
  { only "npm install *", "npm install x y", "no", false },
  -- names and paths
  { "rm", "/bin/rm x", "yes", false },
  { "rm", "./rm x", "yes", false },
  { "rm", "../bin/rm x", "yes", false },
  { "rm", "RM x", "yes", false },
  { "rm", "rmdir x", "no", false },
  { "/bin/rm", "/bin/rm x", "yes", true },
  { "/bin/rm", "rm x", "yes", false },
  { "/bin/rm", "/workspace/rm x", "no", false },
  { "/usr/bin/*", "/usr/bin/ls", "yes", true },
  { "*", "./x", "yes", true },
  -- options before the sub-command, described
  { "git push", "git -C x push", "yes", true },
  { "git push", "git -C push log", "no", false },
  { "git push", "git --no-pager push", "yes", true },
  { "git push", "git --git-dir=x push", "yes", false },
  { "git push", "git --git-dir x push", "yes", false },
  { "git push", "git -c a=b push", "yes", false },
  { { "git", "-c", "push" }, "git -c a=b push", "yes", true },
  { "git push", "git -ca=b push", "yes", false },
  { "git push", "git --config-env=x=y push", "yes", false },
  { "git push", "git --exec-path=/x push", "yes", false },
  { "git push", "git -p push", "yes", true },
  { "git push", "git --what push", "yes", false },
  { "git push", "git --what push log", "yes", false },
  { "git push", "git --what=push log", "no", false },
  { "git push", "git -- push", "yes", true },
  { "git log", "git log --output=x", "yes", false },
  { "git log", "git log --outp=x", "yes", false },
  { "git log", "git log --oneline -5", "yes", true },
  { { "git", "log", "--output" }, "git log --output=x", "yes", true },
  { "cargo publish", "cargo +nightly publish", "yes", true },
  { "kubectl delete", "kubectl -n prod delete pod x", "yes", true },
  { "kubectl delete pod", "kubectl delete -n prod pod x", "yes", true },
  { "kubectl get", "kubectl --kubeconfig x get pods", "yes", false },
  { "docker run", "docker -H tcp://x run y", "yes", false },
  { "docker run", "docker run --privileged y", "yes", false },
  { "docker run", "docker run --rm y", "yes", true },
  { "npm publish", "npm --prefix x publish", "yes", true },
  { "npm install", "npm --registry http://x install", "yes", false },
  { "apt-get install", "apt-get -y install x", "yes", true },
  { "apt-get install", "apt-get -o X=y install x", "yes", false },
  { "systemctl stop", "systemctl --now stop x", "yes", true },
  { "pip install", "pip -q install x", "yes", true },
  { "pip install", "pip install --index-url http://x y", "yes", false },
  { "go test", "go test -exec ./x", "yes", false },
  { "go test", "go -C x test ./...", "yes", true },
  -- undescribed: deny considers both readings of an option, allow neither
  { "terraform destroy", "terraform -chdir=x destroy", "yes", false },
  { "terraform destroy", "terraform -chdir x destroy", "yes", false },
  { "terraform destroy", "terraform destroy -auto-approve", "yes", true },
  { "terraform destroy", "terraform plan destroy", "no", false },
  -- options anywhere
  { { "git", "push", "--force" }, "git push origin main --force", "yes", true },
  { { "git", "push", "--force" }, "git push -f", "yes", true },
  { { "git", "push", "-f" }, "git push --force", "yes", true },
  { { "git", "push", "--force" }, "git push --forc", "yes", false },
  { { "git", "push", "--force" }, "git push --force-with-lease", "no", false },
  { { "git", "push", "--force" }, "git push", "no", false },
  { { "git", "push", "--force*" }, "git push --force-with-lease", "yes", true },
  { { "git", "push", any { "-f", "--force-with-lease" } }, "git push --force-with-lease", "yes",
    true },
  { { "git", "push", "--force" }, "git push -- --force", "no", false },
  { { "git", "push", "-uf" }, "git push -fu", "yes", false },
  { "rm -rf", "rm -rf x", "yes", true }, { "rm -rf", "rm -fr x", "yes", false },
  { "rm -rf", "rm x -r -f", "yes", false }, { "rm -rf", "rm -R --force x", "yes", false },
  { "rm -rf", "rm -vrif x", "yes", false }, { "rm -rf", "rm -r x", "no", false },
  { "rm -rf", "rm -r \"$X\"", "maybe", false },
  { "ls -la", "ls -la", "yes", true }, { "find -delete", "find . -delete", "yes", true },
  -- options and their values
  { { "curl", "-X", "POST" }, "curl -X POST x", "yes", false },
  { { "curl", "-X", "POST" }, "curl -XPOST x", "yes", false },
  { { "curl", "-X", "POST" }, "curl -X GET x", "no", false },
  { { "curl", "--request", "POST" }, "curl --request=POST x", "yes", false },
  { { "curl", "--request=POST" }, "curl --request POST x", "yes", false },
  { { "curl", "--request=*" }, "curl --request POST x", "yes", false },
  { { "curl", "-XPOST" }, "curl -X POST x", "yes", false },
  { { "docker", "run", "-v", "/:*" }, "docker run -v /:/host x", "yes", false },
  { { "docker", "run", "-v/:*" }, "docker run -v /:/host x", "yes", false },
  { { "docker", "run", "--volume=/:*" }, "docker run --volume /:/host x", "yes", false },
  -- what may not be the option at all is none to an allow or an exception
  { { "git", "push", "--dry-run" }, "git push --dry-run x", "yes", true },
  { { "git", "push", "--dry-run" }, "git push -v --dry-run x", "yes", true },
  { { "git", "push", "--dry-run" }, "git push -o --dry-run x", "yes", false },
  { { "git", "push", "--dry-run" }, "git push -o x --dry-run", "yes", true },
  { { "git", "push", "--dry-run" }, "git push --dry-run --no-dry-run", "yes", false },
  { { "git", "push", "--dry-run" }, "git push --dry-run=false", "yes", false },
  { { "git", "push", "--dry-run" }, "git push --dry-run=", "yes", false },
  { { "foo", "-n" }, "foo -n x", "yes", true }, { { "foo", "-n" }, "foo -on x", "yes", false },
  { { "foo", "-n" }, "foo -n $X", "yes", false }, { { "foo", "-n" }, "foo -n x$X", "yes", true },
  { { "foo", "-n" }, "foo -n -- $X", "yes", true },
  -- other names of sub-commands
  { "npm install", "npm i x", "yes", true }, { "npm install", "npm add x", "yes", true },
  { "npm i", "npm install x", "yes", true }, { "npm publish", "npm publ", "yes", false },
  { "npm publish", "npm pu", "no", false }, { "npm test", "npm t", "yes", true },
  { "npm run", "npm run-script x", "yes", true },
  { "npm install", "npm install-test", "no", false },
  { "docker run", "docker container run x", "yes", true },
  { "docker container run", "docker container run x", "yes", true },
  { "docker ps", "docker container", "no", false }, { "cargo test", "cargo t", "yes", true },
  { "cargo test", "cargo +nightly t", "yes", true },
  { { "rm", "-r", "-f" }, "rm -rf x", "yes", true },
  { { "rm", "-r", "-f" }, "rm -fr x", "yes", true },
  { { "rm", "-r", "-f" }, "rm x -f -R", "yes", true },
  { { "rm", "-r", "-f" }, "rm --recursive --force x", "yes", true },
  { { "rm", "-r", "-f" }, "rm --rec --for x", "yes", false },
  { { "rm", "-r", "-f" }, "rm -r x", "no", false },
  { { "rm", "-r" }, "rm -- -r", "no", false },
  { { "find", "-delete" }, "find . -name x -delete", "yes", true },
  { "find", "find . -delete", "yes", true },
  { "find", "find . -name x", "yes", true },
  { "tar", "tar -xf x --to-command=sh", "yes", false },
  { "tar", "tar -xf x", "yes", true },
  { { "curl", "-o*" }, "curl -ofile x", "yes", true },
  { { "dd", "of=/dev/*" }, "dd if=x of=/dev/sda", "no", false },
  { { "dd", "if=*", "of=/dev/*" }, "dd if=x of=/dev/sda", "yes", true },
  -- words that are only known when it runs
  { "git push", "git $X", "maybe", false },
  { "git push", "git \"$X\"", "maybe", false },
  { "git push", "git \"$X\" push", "maybe", false },
  { "git push", "git $X push", "maybe", false },
  { "git push", "git pu$X", "maybe", false },
  { "git push", "git \"lo$X\"", "no", false },
  { "git push", "git push $X", "yes", false },
  { "git log", "git log $X", "yes", false },
  { "git log", "git log src/$X", "yes", true },
  { "git log", "git log -- $X", "yes", true },
  { { "git", "push", "--force" }, "git push $X", "maybe", false },
  { { "git", "push", "--force" }, "git push \"$X\"", "maybe", false },
  { { "git", "push", "--force" }, "git push origin/$X", "no", false },
  { { "git", "push", "--force" }, "git push -$X", "maybe", false },
  { { "git", "push", "--force" }, "git push -- $X", "no", false },
  { "echo", "echo $X", "yes", true },
  { "echo hello", "echo \"$X\" hello", "maybe", false },
  { only "echo *", "echo \"$X\"", "maybe", false },
  { only "echo *", "echo \"x$X\"", "yes", true },
  { "*", "$X y", "yes", true },
  { "rm", "$X y", "no", false },
}

describe("a command pattern", function()
  for _, case in ipairs(CASES) do
    local shown = type(case[1]) == "string" and case[1]
      or require("anvia.sandbox.policy.show").source(case[1])
    it(("%s and `%s`"):format(shown, case[2]), function()
      local strict, exact = both(case[1], case[2])
      assert.same({ case[3], case[4] }, { strict, exact })
    end)
  end

  it("does not try what failed before", function()
    local words = { "foo" }
    for _ = 1, 4000 do
      words[#words + 1] = "-a"
      words[#words + 1] = "x"
    end
    local view = match.view({ argv = words, name = "foo" }, described)
    local one = pattern.compile({ "foo", "x", "x", "x", "x", "x", "y" })[1]
    local start = os.clock()
    assert.is_nil(match.strict(one, view))
    assert.is_true(os.clock() - start < 2)
  end)

  it("sees through blanks that a reader does not see", function()
    for _, name in ipairs { "rm ", " rm", "rm\194\160", "rm\226\128\139", "r\227\128\128m", "rm\r",
      "rm\t", "\239\187\191rm" } do
      local view = match.view({ argv = { name }, name = name }, described)
      assert.equal("yes", match.strict(pattern.compile("rm")[1], view), ("%q"):format(name))
      assert.is_false(match.exact(pattern.compile("rm")[1], view))
    end
  end)

  it("limits combinations", function()
    local many = {}
    for i = 1, 30 do many[i] = "a" .. i .. " b" end
    assert.is_nil((pattern.compile({ "x", any(many), any(many) })))
  end)
end)

-- glob, path, allow, deny; a path from the root lies outside of the workspace
local PATHS = {
  { "src/**", "src/a", true, true }, { "src/**", "src/a/b", true, true },
  { "src/**", "src", false, true }, { "src/**", "srcs", false, false },
  { "src/**", "/src/a", false, false }, { "src", "src", true, true },
  { "src", "src/a", true, true }, { "src", "x/src/a", true, true }, { "src/", "src/a", true, true },
  { "./src", "src/a", true, true }, { "./src", "x/src/a", false, false },
  { "src/*", "src/a", true, true }, { "src/*", "src/a/b", false, true },
  { "*.lua", "a.lua", true, true }, { "*.lua", "x/y/a.lua", true, true },
  { "*.lua", "a.luac", false, false }, { "*.lua", "/etc/a.lua", false, true },
  { "**/.env", ".env", true, true }, { "**/.env", "a/b/.env", true, true },
  { "**/.env", "a/.envrc", false, false }, { "**/.env", "/root/.env", false, true },
  { ".env", "x/.env", true, true }, { ".git", ".git/config", true, true },
  { "a/**/b", "a/b", true, true }, { "a/**/b", "a/x/y/b", true, true },
  { "a/**/b", "a/x/y/c", false, false }, { "**", "a/b", true, true }, { "**", ".", true, true },
  { "**", "/etc/passwd", false, true }, { "/etc/**", "/etc/passwd", true, true },
  { "/etc", "/etc/passwd", true, true }, { "/etc/**", "etc/passwd", false, false },
  { ".", "a", true, true }, { "a/*/c", "a/b/c", true, true }, { "a/*/c", "a/b/d/c", false, false },
  { "[a-c].txt", "b.txt", true, true }, { "[!a-c].txt", "b.txt", false, false },
  { "?.txt", "x.txt", true, true }, { "\\*.txt", "*.txt", true, true },
  { "\\*.txt", "x.txt", false, false }, { "**/x/**", "a/x/b", true, true },
  { "**/x/**", "a/x", false, true }, { "a//b", "a/b", true, true },
  { "/workspace/src/**", "src/x", true, true },
}

describe("a path glob", function()
  for _, case in ipairs(PATHS) do
    it(("%s and %s"):format(case[1], case[2]), function()
      local path = assert(glob.path(case[1]))
      local outside = case[2]:sub(1, 1) == "/"
      local absolute = glob.parts(outside and case[2] or "/workspace/" .. case[2])
      local relative = not outside and glob.parts(case[2]) or nil
      assert.same({ case[3], case[4] }, { glob.test_path(path, absolute, relative, false),
        glob.test_path(path, absolute, relative, true) })
    end)
  end

  it("takes time in proportion, whatever the path", function()
    local path = glob.path("**/a*a*a*a*a*a*b/**/x")
    local parts = {}
    for i = 1, 200 do parts[i] = ("a"):rep(200) end
    local start = os.clock()
    assert.is_false(glob.test_path(path, parts, parts, true))
    assert.is_true(os.clock() - start < 1)
  end)
end)

describe("near misses", function()
  local near = require("anvia.sandbox.policy.near")
  it("finds the word that was meant", function()
    assert.equal(", did you mean 'command'?", near.suggest("comand", { "command", "cwd" }))
    assert.equal(", did you mean 'because'?", near.suggest("becuase", { "exec", "because" }))
    assert.equal(", did you mean 'deny'?", near.suggest("Deny", { "deny" }))
    assert.equal("", near.suggest("frobnicate", { "deny", "ask" }))
    assert.equal("", near.suggest(("x"):rep(1000), { "deny" }))
  end)
end)
