/* SPDX-License-Identifier: MIT */
/* lua_host.c - enough of lua(1) to run the specs, built with a sanitizer.
 *
 * lua_host [-e chunk] [-l module] [-] [script [args]] */
#include <lauxlib.h>
#include <lua.h>
#include <lualib.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Static: what the state owns is reachable also when a script ends by
 * os.exit() without closing it. */
static lua_State *state;

struct options {
  int argc;
  char **argv;
  int script; /* index in argv, argc when there is none */
};

static int traceback(lua_State *L) {
  const char *msg = luaL_tolstring(L, 1, NULL);
  luaL_traceback(L, L, msg, 1);
  return 1;
}

static void run(lua_State *L, int args) {
  int base = lua_gettop(L) - args;
  lua_pushcfunction(L, traceback);
  lua_insert(L, base);
  if (lua_pcall(L, args, 0, base) != LUA_OK) {
    fprintf(stderr, "lua: %s\n", lua_tostring(L, -1));
    lua_close(L);
    exit(EXIT_FAILURE);
  }
  lua_remove(L, base);
}

static void need_chunk(lua_State *L, int status) {
  if (status != LUA_OK) {
    fprintf(stderr, "lua: %s\n", lua_tostring(L, -1));
    lua_close(L);
    exit(EXIT_FAILURE);
  }
}

static void run_option(lua_State *L, char option, const char *value) {
  if (option == 'e') {
    need_chunk(L, luaL_loadbuffer(L, value, strlen(value), "=(command line)"));
    run(L, 0);
  } else {
    lua_getglobal(L, "require");
    lua_pushstring(L, value);
    run(L, 1);
  }
}

/* Runs -e and -l; the index of the script. */
static int run_options(lua_State *L, int argc, char **argv) {
  int i = 1;
  for (; i < argc && argv[i][0] == '-' && argv[i][1] != '\0'; i++) {
    char option = argv[i][1];
    if (option == '-')
      return i + 1;
    if (option != 'e' && option != 'l')
      continue; /* -W, -E: nothing to do here */
    const char *value = argv[i][2] ? argv[i] + 2 : argv[++i];
    if (!value)
      break;
    run_option(L, option, value);
  }
  return i;
}

static int find_script(int argc, char **argv) {
  int i = 1;
  for (; i < argc && argv[i][0] == '-' && argv[i][1] != '\0'; i++) {
    if (argv[i][1] == '-')
      return i + 1;
    if (strchr("el", argv[i][1]) && argv[i][2] == '\0')
      i++;
  }
  return i < argc ? i : argc;
}

static void push_arg_table(lua_State *L, const struct options *o) {
  lua_newtable(L);
  for (int i = 0; i < o->argc; i++) {
    lua_pushstring(L, o->argv[i]);
    lua_rawseti(L, -2, i - (o->script < o->argc ? o->script : 0));
  }
  lua_setglobal(L, "arg");
}

static void run_script(lua_State *L, const struct options *o) {
  const char *name = o->argv[o->script];
  need_chunk(L, luaL_loadfile(L, strcmp(name, "-") == 0 ? NULL : name));
  for (int i = o->script + 1; i < o->argc; i++)
    lua_pushstring(L, o->argv[i]);
  run(L, o->argc - o->script - 1);
}

static void run_stdin(lua_State *L) {
  need_chunk(L, luaL_loadfile(L, NULL));
  run(L, 0);
}

int main(int argc, char **argv) {
  struct options o = {argc, argv, find_script(argc, argv)};
  state = luaL_newstate();
  if (!state)
    return EXIT_FAILURE;
  luaL_openlibs(state);
  push_arg_table(state, &o);
  run_options(state, argc, argv);
  if (o.script < argc)
    run_script(state, &o);
  else if (argc == 1)
    run_stdin(state);
  lua_close(state);
  return EXIT_SUCCESS;
}
