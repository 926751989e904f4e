-- SPDX-License-Identifier: MIT
-- native.lua - builds and loads native.c, with the compiler that built the rest.

local outside = require("spec.support.outside")

local library = os.tmpname()
local said, ok = outside.sh(string.format("cc -O2 -shared -fPIC $(pkg-config --cflags lua5.4) "
  .. "-o %s spec/bench/runner/native.c", library))
assert(ok, said)
local open = assert(package.loadlib(library, "luaopen_bench_native"))
os.remove(library)

return open()
