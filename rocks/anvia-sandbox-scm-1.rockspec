-- SPDX-License-Identifier: MIT
rockspec_format = "3.0"
package = "anvia-sandbox"
version = "scm-1"
source = {
  url = "git+file://.",
}
description = {
  summary = "Docker-backed sandboxes for Lua programs and AI agents",
  detailed = [[
Runs untrusted commands in a container: sessions with a workspace, managed
processes, published ports and files, from plain Lua.]],
  license = "MIT",
}
supported_platforms = { "linux" }
dependencies = {
  "lua >= 5.4, < 5.5",
}
external_dependencies = {
  LIBUV = { header = "uv.h", library = "uv" },
  CJSON = { header = "cjson/cJSON.h", library = "cjson" },
  HTTP_PARSER = { header = "http_parser.h", library = "http_parser" },
}
build = {
  type = "cmake",
  variables = {
    CMAKE_BUILD_TYPE = "Release",
    CMAKE_INSTALL_PREFIX = "$(PREFIX)",
    INSTALL_LMOD = "$(LUADIR)",
    INSTALL_CMOD = "$(LIBDIR)",
    LUA_INCDIR = "$(LUA_INCDIR)",
    LIBUV_INCDIR = "$(LIBUV_INCDIR)",
    LIBUV_LIBDIR = "$(LIBUV_LIBDIR)",
    CJSON_INCDIR = "$(CJSON_INCDIR)",
    CJSON_LIBDIR = "$(CJSON_LIBDIR)",
    HTTP_PARSER_INCDIR = "$(HTTP_PARSER_INCDIR)",
    HTTP_PARSER_LIBDIR = "$(HTTP_PARSER_LIBDIR)",
    SBX_TESTS = "OFF",
    SBX_EMBED = "OFF",
  },
}
