/* SPDX-License-Identifier: MIT */
/* Several Lua states in one process: they share the I/O thread and nothing
 * else, and each closes whatever it still has under way. */
#include <lauxlib.h>
#include <lua.h>
#include <lualib.h>

#include "bind/bind.h"
#include "io_help.h"

int luaopen_anvia_sandbox_core(lua_State *L);

static const char work[] =
    "local core = require('anvia.sandbox.core')\n"
    "local function await(op)\n"
    "  while not op:done() do core.next(1000) end\n"
    "  return op:result()\n"
    "end\n"
    "for round = 1, 5 do\n"
    "  local ops = {}\n"
    "  for i = 1, 8 do\n"
    "    ops[i] = core.run{argv = {'echo', tostring(i)}}\n"
    "  end\n"
    "  for i = 1, 8 do\n"
    "    assert(await(ops[i]).stdout == i .. '\\n')\n"
    "  end\n"
    "  await(core.sleep(round))\n"
    "  collectgarbage()\n"
    "end\n"
    /* left for lua_close() to end */
    "left = {core.run{argv = {'sleep', '100'}}, core.sleep(1000000)}\n"
    "core.run{argv = {'true'}}\n"
    "return core.json_encode(core.json_decode('[1,{\"a\":null}]'))\n";

static lua_State *new_state(void) {
  lua_State *L = luaL_newstate();
  REQUIRE(L != NULL);
  luaL_openlibs(L);
  luaL_requiref(L, "anvia.sandbox.core", luaopen_anvia_sandbox_core, 0);
  lua_pop(L, 1);
  return L;
}

static void run(lua_State *L, const char *script) {
  bool ok = luaL_dostring(L, script) == LUA_OK;
  if (!CHECK(ok))
    fprintf(stderr, "%s\n", lua_tostring(L, -1));
}

static void *one_state(void *arg) {
  (void)arg;
  for (int i = 0; i < 2; i++) {
    lua_State *L = new_state();
    run(L, work);
    CHECK_STR(lua_tostring(L, -1), "[1,{\"a\":null}]");
    lua_close(L);
  }
  return NULL;
}

static void states_on_threads_of_their_own(void) {
  int threads_before = io_threads(), fds = io_fds();
  pthread_t threads[4];
  for (int i = 0; i < 4; i++)
    pthread_create(&threads[i], NULL, one_state, NULL);
  for (int i = 0; i < 4; i++)
    pthread_join(threads[i], NULL);
  CHECK(io_childless());
  CHECK_INT(io_threads(), threads_before);
  CHECK_INT(io_fds(), fds);
}

/* An operation of one state is no news for another. */
static void two_states_on_one_thread(void) {
  lua_State *a = new_state(), *b = new_state();
  run(a, "core = require('anvia.sandbox.core'); op = core.sleep(10)");
  run(b, "core = require('anvia.sandbox.core'); op = core.sleep(5)\n"
         "assert(core.next(5000) == op); assert(core.next(50) == nil)");
  run(a, "assert(core.next(5000) == op and op:result() == true)");
  run(b, "op = core.run{argv = {'sleep', '100'}}");
  lua_close(a);
  run(b, "assert(not op:done()); op:cancel()\n"
         "assert(core.next(5000) == op); assert(op:result().cancelled)");
  lua_close(b);
  CHECK(io_childless());
}

/* A state whose memory runs out at any point loses nothing of C's. */
struct limited {
  size_t left; /* allocations */
};

static void *limited_alloc(void *ud, void *ptr, size_t osize, size_t nsize) {
  struct limited *limit = ud;
  if (nsize == 0) {
    free(ptr);
    return NULL;
  }
  if (!ptr || nsize > osize) {
    if (limit->left == 0)
      return NULL;
    limit->left--;
  }
  return realloc(ptr, nsize);
}

static int open_and_work(lua_State *L) {
  luaL_requiref(L, "anvia.sandbox.core", luaopen_anvia_sandbox_core, 1);
  lua_pop(L, 1);
  static const char script[] =
      "local core = ...\n"
      "local op = core.run{argv = {'true'}, env = {A = 'b'}, input = 'x'}\n"
      "while not op:done() do core.next(1000) end\n"
      "op:result()\n"
      "core.json_encode(core.json_decode('{\"a\":[1,\"\\\\u0000\",[]]}'))\n";
  if (luaL_loadstring(L, script) != LUA_OK)
    return lua_error(L);
  luaL_requiref(L, "anvia.sandbox.core", luaopen_anvia_sandbox_core, 1);
  lua_call(L, 1, 0);
  return 0;
}

static void out_of_memory_at_every_allocation(void) {
  size_t allowed = 0;
  int step = IO_TSAN ? 37 : 3, rc;
  do {
    struct limited limit = {.left = SIZE_MAX};
    lua_State *L = lua_newstate(limited_alloc, &limit);
    REQUIRE(L != NULL);
    lua_gc(L, LUA_GCSTOP);
    lua_pushcfunction(L, open_and_work);
    limit.left = allowed;
    rc = lua_pcall(L, 0, 0, 0);
    CHECK(rc == LUA_OK || rc == LUA_ERRMEM || rc == LUA_ERRRUN);
    limit.left = SIZE_MAX;
    lua_close(L);
    allowed += (size_t)step;
  } while (rc != LUA_OK && allowed < 5000);
  CHECK_INT(rc, LUA_OK);
  CHECK(allowed > 100);
  CHECK(io_childless());
}

int main(void) {
  io_warm_up();
  two_states_on_one_thread();
  states_on_threads_of_their_own();
  out_of_memory_at_every_allocation();
  return check_done();
}
