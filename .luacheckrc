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
files["lua/types"] = { ignore = { "211", "212", "241", "631" } }
files["rocks"] = { std = "+rockspec" }
files[".luacheckrc"] = { std = "+luacheckrc" }
