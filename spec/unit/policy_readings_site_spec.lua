-- SPDX-License-Identifier: MIT
-- What is known about a command besides its words: where it stands, what it gets and touches.

local readings = require("anvia.sandbox.policy.readings")

local function read(text, more, context)
  local call = { tool = "exec_command", command = "sh", args = { "-c", text } }
  for key, value in pairs(more or {}) do
    call[key] = value
  end
  return readings.of(call, context)
end

local function find(got, reading)
  for _, command in ipairs(got.commands) do
    if command.reading == reading then
      return command
    end
  end
  error("no reading: " .. reading)
end

local function shown(access)
  return access.kind .. " " .. access.path .. (access.outside and " outside" or "")
    .. (access.dynamic and " dynamic" or "")
end

local function accesses(got)
  local list = {}
  for i, access in ipairs(got.accesses) do
    list[i] = shown(access)
  end
  return list
end

describe("the directory", function()
  local CASES = {
    { "a", { "/workspace" } },
    { "cd src; a", { "/workspace/src", "/workspace" } },
    { "cd src && a", { "/workspace/src" } },
    { "cd src || exit 1; a", { "/workspace/src" } },
    { "cd src || { echo no; exit; }; a", { "/workspace/src" } },
    { "cd src || echo no; a", { "/workspace/src", "/workspace" } },
    { "cd /tmp && cd .. && a", { "/" } },
    { "(cd src && b); a", { "/workspace" } },
    { "cd src && b | a", { "/workspace/src" } },
    { "cd \"$x\" && a", {} },
    { "cd && a", {} },
    { "cd - && a", {} },
    { "while b; do cd src; done; a", {} },
    { "if cd src; then a; fi", { "/workspace/src" } },
    { "if cd src; then b; else a; fi", { "/workspace" } },
    { "f() { cd src; }; f && a", { "/workspace/src", "/workspace" } },
    { "CDPATH=/etc; cd src && a", {} },
    { "CDPATH=/etc; cd ./src && a", { "/workspace/src" } },
    { "command cd src && a", { "/workspace/src" } },
    { "env cd src && a", { "/workspace" } },
    { "env -C src a", { "/workspace/src" } },
    { "sudo -D /tmp a", { "/tmp" } },
    { "chroot /x a", {} },
    { "sh -c 'cd src && a'", { "/workspace/src" } },
    { "eval 'cd src' && a", { "/workspace/src" } },
    { "eval 'cd src'; a", { "/workspace/src", "/workspace" } },
    { "pushd src && popd && a", {} },
  }
  for _, case in ipairs(CASES) do
    it(case[1], function()
      local got = read(case[1])
      local command = find(got, "a")
      assert.are.same(case[2], command.cwds)
      assert.are.equal(#case[2] == 1 and case[2][1] or nil, command.cwd)
    end)
  end

  it("begins where the call says", function()
    assert.are.equal("/workspace/src", read("a", { cwd = "src" }).commands[1].cwd)
    assert.are.equal("/etc", read("a", { cwd = "/workspace/../etc" }).commands[1].cwd)
    assert.are.equal("/w/x", read("a", { cwd = "x" }, { workdir = "/w" }).commands[2].cwd)
  end)

  it("makes the path of a program absolute", function()
    local got = read("cd src && ./x; /bin/../bin/ls; ls")
    assert.are.equal("/workspace/src/x", find(got, "./x").file)
    assert.are.equal("/bin/ls", find(got, "/bin/../bin/ls").file)
    assert.are.equal("ls", find(got, "/bin/../bin/ls").name)
    assert.is_nil(find(got, "ls").file)
    assert.is_nil(find(got, "ls").path)
  end)
end)

describe("files", function()
  local CASES = {
    { "a > out 2>>err < in", { "write out", "write err", "read in" } },
    { "a >| out <> both", { "write out", "write both", "read both" } },
    { "> ../x", { "write /x outside" } },
    { "> src/../.env", { "write .env" } },
    { "> /workspace/./a//b", { "write a/b" } },
    { "cd src && > x", { "write src/x" } },
    { "cd src; > x", { "write src/x", "write x" } },
    { "cd $x; > y", { "write y", "write **/y outside dynamic" } },
    { "> $x", { "write ** outside dynamic" } },
    { "> src/$x", { "write ** outside dynamic" } },
    { "> \"log.$$\"", { "write log.* dynamic" } },
    { "x=out; > $x.txt", { "write out.txt" } },
    { "> 'a b'", { "write a b" } },
    { "a 2>&1 >&2 <&-", {} },
    { "{ a; b; } > out", { "write out" } },
    { "for i in 1; do a; done < in", { "read in" } },
    { "f() { a; } > out; f", { "write out" } },
    { "cat <<E > out\nx > y\nE", { "write out" } },
    { "echo 'a > b' \"c > d\"", {} },
    { "x=$(a > out)", { "write out" } },
    { "sh -c 'a > out'", { "write out" } },
    { "find . -fprint log -delete", { "write log", "write .", "write ** dynamic" } },
    { "find src -delete", { "write src", "write src/** dynamic" } },
    { "sh ./x", { "read x" } },
    { ". lib/x", { "read lib/x" } },
  }
  for _, case in ipairs(CASES) do
    it(case[1], function()
      assert.are.same(case[2], accesses(read(case[1], { command = "dash" })))
    end)
  end

  it("of bash only", function()
    local got = read("a &> out; b >& two; c &>> three", { command = "bash" })
    assert.are.same({ "write out", "write two", "write three" }, accesses(got))
  end)

  it("a glob may be the literal name too", function()
    assert.are.same({ "read *.txt", "read *.txt dynamic" }, accesses(read("a < *.txt")))
  end)

  it("of tools", function()
    local function of(tool, path)
      return accesses(readings.of({ tool = tool, path = path }))
    end
    assert.are.same({ "read src/a" }, of("read_file", "src/./a"))
    assert.are.same({ "write .env" }, of("write_file", "src/../.env"))
    assert.are.same({ "write /etc/x outside" }, of("write_file", "../etc/x"))
    assert.are.same({ "read ." }, of("list_files", "."))
    assert.are.same({ "read a", "write a" }, of("another_tool", "a"))
    local both = readings.of({ tool = "rename", path = "a", to = "b" })
    assert.are.same({ "write a", "write b" }, accesses(both))
    assert.are.same({}, both.commands)
  end)

  it("links that are known are followed", function()
    local links = { ["/workspace/l"] = "/etc", ["/workspace/r"] = "../bin/rm" }
    local context = { links = function(path) return links[path] end }
    local got = readings.of({ tool = "write_file", path = "l/passwd" }, context)
    assert.are.same({ "write l/passwd", "write /etc/passwd outside" }, accesses(got))
    got = read("./r x", nil, context)
    assert.are.equal("rm", find(got, "/bin/rm x").name)
    got = readings.of({ command = "./r", args = { "x" } }, context)
    assert.are.equal("/bin/rm x", got.commands[2].reading)
  end)

  it("a chain of links that never ends is given up", function()
    local got = readings.of({ tool = "read_file", path = "a" },
      { links = function(path) return path end })
    assert.are.equal("read a", shown(got.accesses[1]))
  end)
end)

describe("variables that a command gets", function()
  local CASES = {
    { "A=1 a", { A = "1" } },
    { "A=1; a", { A = "1" } },
    { "export A=1; a", { A = "1" } },
    { "export \"A=b c\"; a", { A = "b c" } },
    { "A=$x a", { A = true } },
    { "A=1 env B=2 a", { A = "1", B = "2" } },
    { "env -- A=1 a", { A = "1" } },
    { "env -u A a", {} },
    { "for PATH in /x; do a; done", { PATH = "/x" } },
    { "read PATH; a", { PATH = true } },
    { ": ${PATH:=/x}; a", { PATH = true } },
    { "sh -c 'A=1 a'", { A = "1" } },
    { "A=1 sh -c a", { A = "1" } },
    { "sudo A=1 a", { A = "1" } },
  }
  for _, case in ipairs(CASES) do
    it(case[1], function()
      assert.are.same(case[2], find(read(case[1]), "a").assignments)
    end)
  end

  it("those of the call are among them", function()
    local got = read("B=2 a", { env = { PATH = "/x" } })
    assert.are.same({ PATH = "/x" }, got.commands[1].assignments)
    assert.are.same({ PATH = "/x", B = "2" }, find(got, "a").assignments)
  end)

  it("a removed name is told", function()
    assert.are.same({ A = true }, find(read("env -u A a"), "a").unset)
    assert.are.same({ ["*"] = true }, find(read("env -i B=1 a"), "a").unset)
    assert.are.same({ B = "1" }, find(read("A=1 env -i B=1 a"), "a").assignments)
  end)

  it("values from the call and the session are used", function()
    assert.are.equal("rm", read("$X y", { env = { X = "rm" } }).commands[2].name)
    assert.are.equal("rm", read("$X y", nil, { env = { X = "rm" } }).commands[2].name)
    assert.is_true(read("$X y", { env = { X = "rm" } }).complete)
    assert.is_false(read("$X y").complete)
  end)

  it("values that are commands are read", function()
    local got = readings.of({ command = "git", args = { "log" }, env = { GIT_PAGER = "rm x" } })
    assert.are.equal("rm x", got.commands[2].reading)
    got = readings.of({ command = "bash", args = { "-c", "ls" },
      env = { ["BASH_FUNC_ls%%"] = "() { rm x; }" } })
    assert.are.equal("rm x", find(got, "rm x").reading)
    assert.is_false(readings.of({ command = "bash", args = { "-c", "ls" },
      env = { BASH_ENV = "/workspace/x" } }).complete)
  end)
end)

describe("input", function()
  local function input(command, args, text)
    return readings.of({ command = command, args = args or {}, input = text })
  end

  it("is a script for a shell", function()
    local got = input("sh", {}, "cd src && rm x\nls\n")
    assert.is_true(got.complete)
    assert.are.equal("rm x", got.commands[3].reading)
    assert.are.equal("ls", got.commands[4].reading)
    assert.are.equal("rm x", input("bash", { "-s", "a" }, "rm x").commands[2].reading)
    assert.are.equal("rm x", input("sh", { "-" }, "rm x").commands[2].reading)
    assert.are.equal("rm x", input("sh", { "/dev/stdin" }, "rm x").commands[2].reading)
    assert.are.equal("rm x", input("env", { "nice", "sh" }, "rm x").commands[4].reading)
  end)

  it("is not read when the script is given", function()
    assert.are.equal(2, #input("sh", { "-c", "cat" }, "rm x").commands)
    assert.is_true(input("sh", { "-c", "cat" }, "rm x").complete)
  end)

  it("is data for another program", function()
    local got = input("cat", {}, "rm x")
    assert.are.equal(1, #got.commands)
    assert.is_true(got.complete)
    assert.are.equal("rm x", got.commands[1].stdin_text)
  end)

  it("is code for an interpreter", function()
    assert.are.equal("language", input("python3", {}, "import os").problems[1].kind)
    assert.is_true(input("python3", { "x.py" }, "data").complete)
    assert.is_true(input("python3").complete)
    assert.are.equal("language", input("python3", { "-" }, "import os").problems[1].kind)
  end)

  it("that a script shares with its commands is not certain", function()
    assert.is_false(input("sh", {}, "read x\necho '\nrm y\n'").complete)
    assert.is_false(input("sh", {}, "exec < other").complete)
    assert.is_false(input("sh", {}, "head -n1\nls").complete)
    assert.is_false(input("sh", {}, "sh\nls").complete)
    assert.is_false(input("sh", { "-c", "read x; sh" }, "a\nrm x").complete)
  end)

  it("that comes later is not known", function()
    assert.is_false(readings.of({ command = "sh", stdin = true }).complete)
  end)
end)

describe("pipes", function()
  it("say who reads whom", function()
    local got = read("a | b | c; d")
    assert.are.same({ "b" }, find(got, "a").pipes_to)
    assert.are.same({ "a" }, find(got, "b").pipes_from)
    assert.are.same({ "c" }, find(got, "b").pipes_to)
    assert.is_nil(find(got, "c").pipes_to)
    assert.is_nil(find(got, "d").pipes_from)
    assert.are.equal("pipe", find(got, "b").stdin)
  end)

  it("lead into groups and wrappers", function()
    local got = read("curl x | sudo bash; curl y | { cat; (sh); }")
    assert.is_true(got.script:pipes_into("bash"))
    assert.is_true(got.script:pipes_into("sh"))
    assert.is_true(got.script:pipes_into("zsh", "sh"))
    assert.is_true(got.script:pipes_into("sudo"))
    assert.is_false(got.script:pipes_into("curl"))
    assert.is_true(got.script:pipes_into_shell())
  end)

  it("are not there without a pipe", function()
    local got = read("bash -c ls; sh <<E\nls\nE\ncat x | grep sh")
    assert.is_false(got.script:pipes_into("bash", "sh"))
    assert.is_false(got.script:pipes_into_shell())
  end)

  it("end at another input", function()
    local got = read("a | b < f")
    assert.are.equal("file", find(got, "b").stdin)
    assert.is_false(got.script:pipes_into("b"))
  end)

  it("count as one when a shell runs a process substitution", function()
    assert.is_true(read("bash <(curl x)", { command = "bash" }).script:pipes_into("bash"))
  end)
end)

describe("the script object", function()
  it("is there only when there is a script", function()
    assert.is_nil(readings.of({ command = "ls" }).script)
    assert.are.equal("ls > x", read("ls > x").script.text)
  end)

  it("lists what stands in scripts", function()
    local script = read("env ls > x").script
    assert.are.equal(2, #script:commands())
    assert.are.equal(1, #script:redirects())
  end)
end)

describe("roles", function()
  local CASES = {
    { "ls", "program" }, { "cd", "builtin", true }, { "echo", "builtin", true },
    { "kill", "builtin", false }, { "env a", "wrapper" }, { "sh -c a", "shell" },
    { "python3 x.py", "interpreter" }, { "eval a", "wrapper" }, { "tar xf a", "program" },
    { "find . -exec a ';'", "program" }, { "[ a ]", "builtin", true },
  }
  for _, case in ipairs(CASES) do
    it(case[1], function()
      local command = read(case[1]).commands[2]
      assert.are.equal(case[2], command.role)
      assert.are.equal(case[3] or false, command.inert)
    end)
  end

  it("outside a script there are no builtins", function()
    assert.are.equal("program", readings.of({ command = "echo" }).commands[1].role)
    assert.are.equal("program", read("env echo a").commands[3].role)
  end)

  it("tell how a command was reached", function()
    local got = read("env nice a")
    assert.are.same({ "argv" }, got.commands[1].via)
    assert.are.same({ "argv", "sh -c", "env", "nice" }, find(got, "a").via)
  end)
end)

describe("words that are not known", function()
  local function word(text, index)
    local got = read("a " .. text)
    return got.commands[#got.commands].argv[index or 2]
  end

  it("keep what is known of them", function()
    local got = word("--file=\"$x\".c")
    assert.is_true(got.dynamic)
    assert.are.equal("--file=", got.prefix)
    assert.are.equal("--file=*.c", got.pattern)
    assert.is_true(got.single)
    assert.is_false(word("$x").single)
    assert.is_false(word("\"$@\"x\"$@\"$x").single)
  end)

  it("may be globs", function()
    local got = word("*.c")
    assert.is_true(got.glob)
    assert.are.equal("*.c", got.pattern)
    assert.are.equal("a\\*b", word("'a*b'$x").pattern:sub(1, 4))
    assert.are.equal("[", word("["))
    assert.are.equal("a*", word("'a*'"))
  end)

  it("a program of a known name in an unknown place has a name", function()
    local got = read("\"$D\"/bin/rm x")
    assert.are.equal("rm", got.commands[2].name)
    assert.is_true(got.commands[2].dynamic)
    assert.is_false(got.complete)
  end)
end)

describe("wrappers of an author", function()
  local context = {
    wrappers = {
      mytool = { flags = "v", values = "c", operands = 1 },
      myshell = { script = { x = true }, values = "x" },
      env = false,
    },
  }

  it("are opened", function()
    local args = { "-v", "-c", "y", "op", "rm", "x" }
    local got = readings.of({ command = "mytool", args = args }, context)
    assert.are.equal("rm x", got.commands[2].reading)
    got = readings.of({ command = "myshell", args = { "-x", "rm x; ls" } }, context)
    assert.are.equal("rm x", got.commands[2].reading)
  end)

  it("replace and remove those that are there", function()
    assert.are.equal(1, #readings.of({ command = "env", args = { "rm" } }, context).commands)
    assert.are.equal(2, #readings.of({ command = "nice", args = { "rm" } }, context).commands)
  end)
end)

describe("limits", function()
  local function kind(got)
    return got.problems[1] and got.problems[1].kind
  end

  it("NUL is refused wherever it stands", function()
    assert.are.equal("nul", kind(readings.of({ command = "ls\0rm" })))
    assert.are.equal("nul", kind(readings.of({ command = "ls", args = { "a\0b" } })))
    assert.are.equal("nul", kind(readings.of({ command = "ls", env = { A = "a\0b" } })))
    assert.are.equal("nul", kind(readings.of({ command = "ls", env = { ["A\0"] = "b" } })))
    assert.are.equal("nul", kind(readings.of({ command = "ls", cwd = "a\0" })))
    assert.are.equal("nul", kind(readings.of({ tool = "write_file", path = "a\0/../x" })))
    assert.are.equal("nul", kind(readings.of({ command = "sh", input = "rm\0 x" })))
  end)

  it("what is too long, too deep or too much is not complete", function()
    assert.are.equal("bound", kind(read(("a;"):rep(40000))))
    assert.are.equal("bound", kind(read(("a\n"):rep(5000))))
    assert.are.equal("bound", kind(read(("("):rep(100) .. "a" .. (")"):rep(100))))
    local nested = "a"
    for _ = 1, 14 do
      nested = "eval " .. ("%q"):format(nested):gsub("\\\n", "\n")
    end
    assert.is_false(read(nested).complete)
    local env = {}
    for i = 1, 100 do
      env[i] = "env"
    end
    assert.are.equal("bound", kind(readings.of({ command = "env", args = env })))
    local numbered = {}
    for i = 1, 600 do
      numbered[i] = ("v%d=1"):format(i)
    end
    assert.are.equal("bound", kind(read(table.concat(numbered, "\n"))))
  end)

  it("an odd call is no error", function()
    assert.are.same({}, readings.of({}).commands)
    assert.is_false(readings.of({ command = "ls", args = { 1, {} } }).complete)
    assert.are.equal(1, #readings.of({ command = "" }).commands)
    assert.is_true(readings.of({ command = "ls", args = {}, env = {} }).complete)
  end)

  it("the same call gives the same readings", function()
    local text = "f() { a; }; g() { b; }; $x; f | g; case x in a) c;; esac > $y"
    local first, second = read(text), read(text)
    first.script, second.script = nil, nil
    assert.are.same(first, second)
  end)
end)
