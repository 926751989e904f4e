/* SPDX-License-Identifier: MIT */
#include <unistd.h>

#include "base/clock.h"
#include "base/random.h"
#include "bind/bind.h"
#include "io/sleep_op.h"

static const char mailbox_key;

struct lmailbox {
  struct sbx_mailbox *mb; /* NULL until it is needed */
  bool closed;            /* lua_close() has come this far */
};

static void drop(struct lmailbox *box) {
  struct sbx_mailbox *mb = box->mb;
  box->mb = NULL;
  if (mb) {
    sbx_mailbox_close(mb);
    sbx_mailbox_unref(mb);
  }
}

/* Runs after the finalizers of everything that was made with the module, and
 * before the C library may be unloaded. */
static int l_mailbox_gc(lua_State *L) {
  struct lmailbox *box = lua_touserdata(L, 1);
  box->closed = true;
  sbx_lop_close_all(L);
  drop(box);
  return 0;
}

struct sbx_mailbox *sbx_lua_mailbox(lua_State *L) {
  lua_rawgetp(L, LUA_REGISTRYINDEX, &mailbox_key);
  struct lmailbox *box = lua_touserdata(L, -1);
  lua_pop(L, 1); /* the registry keeps it */
  if (!box || box->closed)
    luaL_error(L, "the Lua state is being closed");
  if (box->mb && sbx_mailbox_stale(box->mb))
    drop(box); /* this is a forked child: the old one is the parent's */
  if (!box->mb) {
    struct sbx_err err = {0};
    if (sbx_mailbox_new(&box->mb, &err) < 0)
      sbx_push_failure(L, &err);
  }
  return box->mb;
}

/* core.fd() -> integer: readable when core.next(0) has something */
static int l_core_fd(lua_State *L) {
  struct sbx_mailbox *mb = sbx_lua_mailbox(L);
  if (!mb)
    return 2;
  lua_pushinteger(L, sbx_mailbox_fd(mb));
  return 1;
}

static void push_true(lua_State *L, struct sbx_op *op) {
  if (op->rc == 0)
    lua_pushboolean(L, 1);
  else
    lua_pushnil(L);
}

/* core.sleep(ms) -> op; result true */
static int l_core_sleep(lua_State *L) {
  lua_Integer ms = luaL_checkinteger(L, 1);
  luaL_argcheck(L, ms >= 0 && ms <= SBX_MAX_INTEGER, 1,
                "must be between 0 and 2^53 milliseconds");
  struct sbx_mailbox *mb = sbx_lua_mailbox(L);
  if (!mb)
    return 2;
  struct sbx_lop *lop = sbx_lop_new(L, push_true);
  sbx_check_rc(L, sbx_sleep_op_new(&lop->op, mb, (uint64_t)ms));
  return sbx_lop_submit(L, lop);
}

static int l_core_now_ms(lua_State *L) {
  lua_pushinteger(L, (lua_Integer)sbx_now_ms());
  return 1;
}

static int l_core_wall_ms(lua_State *L) {
  lua_pushinteger(L, (lua_Integer)sbx_wall_ms());
  return 1;
}

static int l_core_getpid(lua_State *L) {
  lua_pushinteger(L, getpid());
  return 1;
}

static int l_core_uuid(lua_State *L) {
  char uuid[SBX_UUID_LEN + 1];
  sbx_check_rc(L, sbx_uuid(uuid));
  lua_pushstring(L, uuid);
  return 1;
}

/* core.random_hex(digits) -> string */
static int l_core_random_hex(lua_State *L) {
  char hex[256 + 1];
  lua_Integer n = luaL_checkinteger(L, 1);
  luaL_argcheck(L, n >= 1 && n <= 256, 1, "must be between 1 and 256");
  sbx_check_rc(L, sbx_random_hex(hex, (size_t)n));
  lua_pushstring(L, hex);
  return 1;
}

void sbx_lruntime_open(lua_State *L) {
  static const luaL_Reg functions[] = {
      {"fd", l_core_fd},
      {"sleep", l_core_sleep},
      {"now_ms", l_core_now_ms},
      {"wall_ms", l_core_wall_ms},
      {"getpid", l_core_getpid},
      {"uuid", l_core_uuid},
      {"random_hex", l_core_random_hex},
      {NULL, NULL},
  };
  struct lmailbox *box = lua_newuserdatauv(L, sizeof(*box), 0);
  *box = (struct lmailbox){0};
  lua_createtable(L, 0, 1);
  lua_pushcfunction(L, l_mailbox_gc);
  lua_setfield(L, -2, "__gc");
  lua_setmetatable(L, -2);
  lua_rawsetp(L, LUA_REGISTRYINDEX, &mailbox_key);

  luaL_setfuncs(L, functions, 0);
}
