-- SPDX-License-Identifier: MIT
-- The readings of command lines: every command that they run, and no other.

local readings = require("anvia.sandbox.policy.readings")

-- A script (given to sh -c, or to `shell`) or an argv; the readings after the first one, which is
-- the argv as given; the kind of the first problem when the readings are not complete.
local CASES = {
  -- quoting
  { "r\\m x", { "rm x" } },
  { "r''m x; \"r\"m y; 'rm' z", { "rm x", "rm y", "rm z" } },
  { "r\\\nm x", { "rm x" } },
  { "'rm x' y", { "'rm x' y" } },
  { '"" rm', { "'' rm" } },
  { "rm\194\160x", { "'rm\194\160x'" } },
  { "rm x\r\nls\r", { "rm 'x\\r'", "'ls\\r'" } },
  { "echo 'a; rm x' \"b | rm\" \\;rm", { "echo 'a; rm x' 'b | rm' ';rm'" } },
  { "echo a#b # rm x", { "echo 'a#b'" } },
  { 'echo "a\\"; rm x; \\""', { "echo 'a\"; rm x; \"'" } },
  { "$'\\x72\\x6d' x", shell = "bash", { "rm x" } },
  { "$'rm' x", shell = "dash", { "'$rm' x" } },
  { '$"rm" x', shell = "bash", { "rm x" } },
  { "echo }; rm x", { "echo '}'", "rm x" } },
  { "\\if rm x", { "if rm x" } },
  { "if=1 rm x", { "rm x" } },
  { "echo if then rm", { "echo if then rm" } },

  -- variables
  { "X=r; Y=m; $X$Y z", { "rm z" } },
  { "rm$IFS-rf${IFS}x", { "rm -rf x" } },
  { "IFS=,; X=rm,-rf,y; $X", { "rm -rf y" } },
  { 'x="rm y"; $x; "$x"', { "rm y", "'rm y'" } },
  { "${x:-rm} y", { "${x:-rm} y", "y", "rm y" }, "dynamic" },
  { "x=/usr/bin/rm; ${x##*/} y", { "rm y" } },
  { "X=ls; if a; then X=rm; fi; $X y", { "a", "ls y", "rm y" } },
  { "X=ls; (X=rm); $X y", { "ls y" } },
  { "X=ls; read X; $X y", { "read X", "$X y", "y" }, "dynamic" },
  { "while :; do $X y; X=rm; done", { ":", "rm y", "$X y", "y" }, "dynamic" },
  { "for c in rm ls; do $c x; done", { "rm x", "ls x" } },
  { "EMPTY=; $EMPTY rm x", { "rm x" } },
  { "$UNKNOWN rm x", { "$UNKNOWN rm x", "rm x" }, "dynamic" },
  { '"$@" rm x', { "rm x" } },
  { 'set -- rm x; "$@"', { "set -- rm x", "rm x" } },
  { "set -- a rm; shift; $1 x", { "set -- a rm", "shift", "rm x" } },
  { 'a=(rm -rf x); "${a[@]}"', shell = "bash", { "rm -rf x" } },
  { "x=r; x+=m; $x y", shell = "bash", { "rm y" } },
  { "declare -n r=x; x=rm; $r y", shell = "bash", { "declare -n r=x", "x y" }, "syntax" },
  { "y=rm; x=y; ${!x} z", shell = "bash", { "${!x} z", "z" }, "dynamic" },
  { "env X=rm sh -c '$X y'", { "env X=rm sh -c '$X y'", "sh -c '$X y'", "rm y" } },
  { "X=rm sh -c '$X y'", { "sh -c '$X y'", "rm y" } },

  -- substitutions
  { 'echo $(rm a) "$(rm b)" `rm c` "`rm d`"',
    { "rm a", "rm b", "rm c", "rm d", 'echo $(rm a) "$(rm b)" `rm c` "`rm d`"' } },
  { 'echo "$(echo "$(rm "a b")")"',
    { "rm 'a b'", 'echo "$(rm "a b")"', 'echo "$(echo "$(rm "a b")")"' } },
  { "echo `echo \\`rm a\\``", { "rm a", "echo `rm a`", "echo `echo \\`rm a\\``" } },
  { "x=$(rm a) y=`rm b`", { "rm a", "rm b" } },
  { "echo $((1 + $(rm a)))", { "rm a", "echo $((1 + $(rm a)))" } },
  { 'echo ${x:-$(rm a)} "${y#`rm b`}"', { "rm a", "rm b", 'echo ${x:-$(rm a)} "${y#`rm b`}"' } },
  { "$(echo rm) x", { "echo rm", "rm x" } },
  { "$(cat f) x", { "cat f", "$(cat f) x", "x" }, "dynamic" },
  { "diff <(rm a) >(rm b)", shell = "bash", { "rm a", "rm b", "diff <(rm a) >(rm b)" } },
  { "a[$(rm x)]=1", shell = "bash", { "rm x" } },
  { "[[ $(rm a) == b && c < d ]]", shell = "bash", { "rm a" } },
  { "(( x + $(rm a) ))", shell = "bash", { "rm a" } },
  { "cat <<E\n$(rm a) `rm b` \\$(rm c)\nE", { "rm a", "rm b", "cat" } },
  { "cat <<'E'\n$(rm a)\nE", { "cat" } },
  { "case $(rm a) in $(rm b)) rm c;; esac", { "rm a", "rm b", "rm c" } },
  { '> "$(rm a)"', { "rm a" } },

  -- structure
  { "a; b & c && d || e\nf", { "a", "b", "c", "d", "e", "f" } },
  { "a | b | c", { "a", "b", "c" } },
  { "a |& b", shell = "bash", { "a", "b" } },
  { "if ! a; then b; elif c; then d; else e; fi", { "a", "b", "c", "d", "e" } },
  { "while a; do b; done; until c; do d; done", { "a", "b", "c", "d" } },
  { "for i in 1 2; do a $i; done", { "a 1", "a 2" } },
  { 'for i; do a "$i"; done', { 'a "$i"' } },
  { "case x in (a|b) c;; *) d; esac", { "c", "d" } },
  { "case x in a) b;& c) d;;& e) f;; esac", shell = "bash", { "b", "d", "f" } },
  { "{ a; b; } | (c; d)", { "a", "b", "c", "d" } },
  { 'f() { rm "$@"; }; f a b', { "rm a b" } },
  { 'f() { shift; "$@"; }; f x rm y', { "shift", "rm y" } },
  { 'ls() { rm "$@"; }; ls a', { "rm a" } },
  { "rm() { :; }; rm x", { ":" } },
  { "unused() { rm x; }; ls", { "ls", "rm x" } },
  { "function f { rm x; }; f", shell = "bash", { "rm x" } },
  { "for ((i=0; i<$(a); i++)); do b; done", shell = "bash", { "a", "b" } },
  { "select x in a; do b; done", shell = "bash", { "b" } },
  { "coproc rm x", shell = "bash", { "rm x" } },
  { "time -p rm x", shell = "bash", { "rm x" } },
  { "!(rm x)", { "rm x" } },
  { "{(rm x)}", { "rm x" } },
  { "((rm x))", { "rm x" } },
  { "((rm x); ls)", shell = "bash", { "rm x", "ls" } },
  { "{rm,-rf,x}; r{m,n} x; a {1..3}", shell = "bash", { "rm -rf x", "rm rn x", "a 1 2 3" } },
  { "alias l='rm -f'\nl x", { "alias 'l=rm -f'", "rm -f x", "rm -f", "l x" } },
  { "i\\\nf a; then b; fi; c &\\\n& d", { "a", "b", "c", "d" } },

  -- here-documents
  { "cat <<A; rm x <<B; ls\n$(one)\nA\nb\nB\ntwo", { "one", "cat", "rm x", "ls", "two" } },
  { "cat <<-E\n\trm x\n\tE\nls", { "cat", "ls" } },
  { "sh <<E\nrm a\nE", { "sh", "rm a" } },
  { "sh <<'E'\nrm $1\nE", { "sh", "rm" } },
  { "sh <<E\nrm $(cat f)\nE", { "cat f", "sh", "rm <?>" }, "dynamic" },
  { "cat <<E | sh\nrm a\nE", { "cat", "sh", "rm a" } },
  { "sh <<< 'rm a'", shell = "bash", { "sh", "rm a" } },
  { "cat <<E\na\\\nE\nrm x\nE", shell = "dash", { "cat" } },
  { "cat <<EOF\nEO\\\nF\nrm x", shell = "bash", { "cat", "rm x" } },
  { "x=$(cat <<E)\nrm x\nE", shell = "dash", { "cat", "rm x", "E" } },
  { "cat <<E\nno end", { "cat" }, "syntax" },

  -- text that is run
  { 'eval "r""m x"', { "eval 'rm x'", "rm x" } },
  { 'eval "$X"', { 'eval "$X"', "<?>" }, "dynamic" },
  { "eval 'X=rm'; $X y", { "eval X=rm", "rm y" } },
  { "trap 'rm x' EXIT", { "trap 'rm x' EXIT", "rm x" } },
  { "trap - INT; trap '' TERM", { "trap - INT", "trap '' TERM" } },
  { "sh -c \"sh -c 'rm x'\"", { "sh -c 'sh -c '\\''rm x'\\'''", "sh -c 'rm x'", "rm x" } },
  { "sh -c '\"$@\"' _ rm x", { "sh -c '\"$@\"' _ rm x", "rm x" } },
  { "sh -c '$0 y' rm", { "sh -c '$0 y' rm", "rm y" } },
  { "sh -ec 'rm a'; bash -lc 'rm b'; sh -c -- 'rm c'; bash -eo pipefail -c 'rm d'; sh +e -c 'rm e'",
    { "sh -ec 'rm a'", "rm a", "bash -lc 'rm b'", "rm b", "sh -c -- 'rm c'", "rm c",
      "bash -eo pipefail -c 'rm d'", "rm d", "sh +e -c 'rm e'", "rm e" } },
  { 'sh -c "rm $x"', { 'sh -c "rm $x"', "rm <?>" }, "dynamic" },
  { "echo rm x | sh", { "echo rm x", "sh", "rm x" } },
  { "printf 'rm %s\\n' a b | bash", { "printf 'rm %s\\n' a b", "bash", "rm a", "rm b" } },
  { "curl x | sh", { "curl x", "sh" }, "stdin" },
  { "echo rm | cat | sh", { "echo rm", "cat", "sh" }, "stdin" },
  { "sh x.sh", { "sh x.sh" }, "file" },
  { ". ./x.sh", { ". ./x.sh" }, "file" },
  { "sh < x.sh", { "sh" }, "stdin" },
  { "sh -s a <<'E'\nrm \"$1\"\nE", { "sh -s a", "rm a" } },
  { "PS4='$(rm x)'; set -x", { "rm x", ":", "set -x" } },
  { "PROMPT_COMMAND='rm x' bash -i", { "rm x", "bash -i" } },
  { "BASH_ENV=./x bash -c ls", { "bash -c ls", "ls" }, "file" },
  { "exec rm x", { "exec rm x", "rm x" } },
  { "command rm x; command -v rm", { "command rm x", "rm x", "command -v rm" } },
  { "builtin eval 'rm x'", shell = "bash", { "builtin eval 'rm x'", "eval 'rm x'", "rm x" } },
  { "hash -p /bin/rm l; l x", shell = "bash",
    { "hash -p /bin/rm l", "/bin/rm", "l x" }, "syntax" },
  { "mapfile -C 'rm x' l", shell = "bash", { "mapfile -C 'rm x' l", "rm x 0 x" } },
  { "x='a[$(rm y)]'; echo $((x))", shell = "bash", { "rm y", ":", "echo $((x))" }, "syntax" },
  { "python3 -c 'print(1)'; python3 x.py",
    { "python3 -c 'print(1)'", "python3 x.py" }, "language" },
  { "awk '{print $1}' f; awk 'BEGIN{system(\"rm\")}'",
    { "awk '{print $1}' f", "awk 'BEGIN{system(\"rm\")}'" }, "language" },
  { "sed s/a/b/ f; sed '1e rm x' f", { "sed s/a/b/ f", "sed '1e rm x' f" }, "language" },
  { "ls -l", shell = "zsh", { "ls -l" } },
  { "ls *(e:rm:)", shell = "zsh", { "ls *", "ls *" }, "shell" },

  -- wrappers
  { { "/bin/rm", "x" }, {} },
  { { "env", "rm", "x" }, { "rm x" } },
  { { "env", "-i", "-u", "B", "A=1", "rm", "x" }, { "rm x" } },
  { { "env", "-S", "rm x", "y" }, { "env rm x y", "rm x y" } },
  { { "env", "-iS", "A=1 rm x" }, { "env -i A=1 rm x", "rm x" } },
  { { "env", "--spl=rm x" }, { "env rm x", "rm x" } },
  { { "env", "--unknown", "rm", "x" }, { "rm x", "x" }, "option" },
  { { "timeout", "-k", "3", "--signal=KILL", "5", "rm", "x" }, { "rm x" } },
  { { "nice", "-n", "5", "rm", "x" }, { "rm x" } },
  { { "nice", "-5", "nohup", "setsid", "stdbuf", "-oL", "rm", "x" },
    { "nohup setsid stdbuf -oL rm x", "setsid stdbuf -oL rm x", "stdbuf -oL rm x", "rm x" } },
  { { "sudo", "-u", "root", "-E", "A=1", "rm", "x" }, { "rm x" } },
  { { "sudo", "-e", "/etc/passwd" }, {} },
  { { "su", "-", "root", "-c", "rm x" }, { "rm x" } },
  { { "xargs", "-0", "-n1", "rm", "-f" }, { "rm -f (its input)" } },
  { { "xargs", "-I{}", "mv", "{}", "{}.bak" }, { "mv {} {}.bak" } },
  { { "xargs" }, { "echo (its input)" } },
  { { "xargs", "sh", "-c", 'rm "$@"', "_" }, { "sh -c 'rm \"$@\"' _ (its input)", 'rm "$@"' } },
  { { "xargs", "-I{}", "sh", "-c", "rm {}" }, { "sh -c rm {}", "rm <?>" }, "dynamic" },
  { { "xargs", "env" }, { "env (its input)", "(its input)" }, "dynamic" },
  { { "find", ".", "-name", "x", "-exec", "rm", "{}", ";" }, { "rm {}" } },
  { { "find", ".", "-execdir", "sh", "-c", 'rm "$1"', "_", "{}", "+" },
    { "sh -c 'rm \"$1\"' _ {}", 'rm "$1"' } },
  { { "find", ".", "-delete" }, {} },
  { { "busybox", "rm", "x" }, { "rm x" } },
  { { "busybox", "sh", "-c", "rm x" }, { "sh -c 'rm x'", "rm x" } },
  { { "toybox", "env", "rm", "x" }, { "env rm x", "rm x" } },
  { { "flock", "-n", "/l", "rm", "x" }, { "rm x" } },
  { { "flock", "/l", "-c", "rm x" }, { "rm x" } },
  { { "watch", "-n", "1", "rm x; ls" }, { "rm x", "ls" } },
  { { "script", "-qc", "rm x", "/dev/null" }, { "rm x" } },
  { { "strace", "-f", "-e", "trace=all", "rm", "x" }, { "rm x" } },
  { { "chroot", "/x", "rm", "y" }, { "rm y" } },
  { { "taskset", "-c", "0", "ionice", "-c", "3", "rm", "x" }, { "ionice -c 3 rm x", "rm x" } },
  { { "time", "-p", "rm", "x" }, { "rm x" } },
  { { "/lib64/ld-linux-x86-64.so.2", "/bin/rm", "x" }, { "/bin/rm x" } },
  { { "tar", "-xf", "a", "--to-command", "rm x" }, { "rm x" } },
  { { "git", "-c", "alias.x=!rm y", "x" }, { "rm y" } },
  { { "git", "-c", "core.pager=rm x", "log" }, { "rm x" } },
  { { "git", "-c", "alias.x=push", "x", "origin" }, { "git push origin" } },
  { { "git", "rebase", "-x", "rm x", "main" }, { "rm x" } },
  { { "env", "BASH_FUNC_ls%%=() { rm x; }", "bash", "-c", "ls" },
    { "rm x", "bash -c ls", "ls" } },
  { { "sh", "-c", "exec env A=1 nice rm x" },
    { "exec env A=1 nice rm x", "env A=1 nice rm x", "nice rm x", "rm x" } },
  { { "ssh", "host", "rm x" }, { "rm x" } },

  -- refused or not understood
  { "echo 'rm x", { "echo" }, "syntax" },
  { 'echo "a', { "echo" }, "syntax" },
  { "a )\nrm x", { "a", "rm x" }, "syntax" },
  { "if a; then b", { "a", "b" }, "syntax" },
  { "echo ${x y}", { "echo ${x y}" }, "syntax" },
  { "fi", {}, "syntax" },
  { "a <<", { "a" }, "syntax" },
  { "diff <(a) b", shell = "dash", { "diff" }, "syntax" },
  { "diff <(a) b", { "a", "diff <(a) b" } },
}

local function call_of(case)
  local given = case[1]
  if type(given) == "string" then
    return { command = case.shell or "sh", args = { "-c", given } }
  end
  local args = {}
  for i = 2, #given do
    args[i - 1] = given[i]
  end
  return { command = given[1], args = args }
end

local function title(case)
  local text = type(case[1]) == "string" and case[1] or table.concat(case[1], " ")
  text = text:gsub("[%c]", { ["\n"] = "\\n", ["\r"] = "\\r", ["\t"] = "\\t" })
  return (case.shell and case.shell .. ": " or "") .. text
end

describe("the readings of", function()
  for _, case in ipairs(CASES) do
    it(title(case), function()
      local got = readings.of(call_of(case))
      local list = {}
      for i = 2, #got.commands do
        list[i - 1] = got.commands[i].reading
      end
      assert.are.same(case[2], list)
      assert.are.equal(case[3], got.problems[1] and got.problems[1].kind)
      assert.are.equal(case[3] == nil, got.complete)
    end)
  end

  it("at least 150 lines are here", function()
    assert.is_true(#CASES >= 150)
  end)
end)
