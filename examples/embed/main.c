/* SPDX-License-Identifier: MIT */
/* A C program that hosts Lua, has the sandbox linked in, and runs a command in
 * a session: cmake --build build/debug && build/debug/examples/embed/embed
 *
 * libanvia_sandbox.a holds the C core; the Lua files are found below
 * SBX_LUA_DIR, or wherever LUA_PATH says. */
#include <lauxlib.h>
#include <lua.h>
#include <lualib.h>
#include <stdio.h>
#include <stdlib.h>

int luaopen_anvia_sandbox_core(lua_State *L);

static const char script[] =
    "local sandbox = require('anvia.sandbox')\n"
    "local sb = sandbox.docker({\n"
    "  image = os.getenv('ANVIA_SANDBOX_IMAGE') or 'debian:bookworm-slim',\n"
    "  engine = 'cli', runner = 'exec',\n"
    "})\n"
    "local session = assert(sb:create_session({}))\n"
    "local result = assert(session:exec({ command = 'uname', args = { '-s' } "
    "}))\n"
    "assert(session:destroy())\n"
    "return result.exit_code, result.stdout\n";

/* What `require "anvia.sandbox.core"` finds before it looks for a file. */
static void preload(lua_State *L) {
  luaL_getsubtable(L, LUA_REGISTRYINDEX, LUA_PRELOAD_TABLE);
  lua_pushcfunction(L, luaopen_anvia_sandbox_core);
  lua_setfield(L, -2, "anvia.sandbox.core");
  lua_pop(L, 1);
}

static void add_path(lua_State *L, const char *dir) {
  lua_getglobal(L, "package");
  lua_getfield(L, -1, "path");
  lua_pushfstring(L, "%s/?.lua;%s/?/init.lua;%s", dir, dir,
                  lua_tostring(L, -1));
  lua_setfield(L, -3, "path");
  lua_pop(L, 2);
}

int main(void) {
  lua_State *L = luaL_newstate();
  if (!L)
    return EXIT_FAILURE;
  luaL_openlibs(L);
  preload(L);
  add_path(L, SBX_LUA_DIR);

  int status = luaL_loadstring(L, script);
  if (status == LUA_OK)
    status = lua_pcall(L, 0, 2, 0);
  if (status != LUA_OK)
    fprintf(stderr, "embed: %s\n", luaL_tolstring(L, -1, NULL));
  else
    printf("exit code %d, printed %s", (int)lua_tointeger(L, -2),
           lua_tostring(L, -1));
  lua_close(L);
  return status == LUA_OK ? EXIT_SUCCESS : EXIT_FAILURE;
}
