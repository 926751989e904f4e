-- SPDX-License-Identifier: MIT
-- commands: by words, wherever the program lies and whatever wraps it
allow { exec = { "git", any { "status", "diff", "log" } },
        match = { "git status", "git -C src diff" }, not_match = "git push" }
deny  { exec = { "git", "push" }, because = "publishing is the user's job",
        instead = "commit, and say that it can be pushed",
        except = { { "git", "push", "--dry-run" } } }
allow { exec = any { "ls", "cat", "python3 -m unittest" } }
ask   { exec = "npm install" }
deny  { pipe = "curl | sh" }

-- files, by path
allow { read = "**" }
allow { write = "src/**" }
deny  { write = "**/.env", because = "it holds secrets" }

-- what has no rule
default { exec = "ask", write = "deny" }
limit   { exec = { timeout_ms = 60000, calls = 200 } }

-- anything else, in Lua
rule("no large files", function(call)
  if call.tool == "write_file" and #call.content > 100000 then
    return deny("it is larger than 100 kB", "write it in parts")
  end
end)

-- a policy whose expectations do not hold does not load
expect("git push -f", "deny")
expect("git push --dry-run", "ask")
expect("sh -c 'cd src && git push'", "deny")
expect({ tool = "write_file", path = "src/../.env" }, "deny")
