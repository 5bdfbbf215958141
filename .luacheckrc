std = "lua54"
max_line_length = 100
self = false
exclude_files = { "build" }
include_files = { "**/*.lua", ".busted", ".luacheckrc", "*.rockspec" }
files["spec"] = { std = "+busted" }
