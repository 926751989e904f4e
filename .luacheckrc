std = "lua54"
max_line_length = 100
max_code_line_length = 100
max_string_line_length = 100
max_comment_line_length = 100
unused_args = true
self = false
cache = false

include_files = {
  "lua/**/*.lua", "spec/**/*.lua", "examples/**/*.lua", "rocks/*.rockspec",
  ".busted", ".luacheckrc",
}

files["spec"] = { std = "lua54+busted" }
-- Policies have words of their own; see lua/types/policy.lua.
files["examples/policy"] = {
  std = "none",
  read_globals = {
    "allow", "ask", "deny", "limit", "default", "rule", "expect", "any", "only", "program",
    "wrapper", "container", "pairs", "ipairs", "type", "tostring", "tonumber", "string", "table",
    "math",
  },
}
files["lua/types"] = { ignore = { "211", "212", "241", "631" } }
files["rocks"] = { std = "+rockspec" }
files[".luacheckrc"] = { std = "+luacheckrc" }
