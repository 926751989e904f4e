/* SPDX-License-Identifier: MIT */
#include <stdlib.h>

#include "bind/bind.h"

#define CLASS "anvia.sandbox.core.Op"

/* Key of the table from operations to their userdata. Its values are weak: an
 * operation that nobody can reach any more is cancelled and forgotten. */
static const char boxes_key;

struct sbx_lop *sbx_lop_new(lua_State *L, sbx_push_result push_result) {
  struct sbx_lop *lop = lua_newuserdatauv(L, sizeof(*lop), 2);
  *lop = (struct sbx_lop){.push_result = push_result};
  luaL_setmetatable(L, CLASS);
  return lop;
}

int sbx_lop_submit(lua_State *L, struct sbx_lop *lop) {
  lua_rawgetp(L, LUA_REGISTRYINDEX, &boxes_key);
  lua_pushvalue(L, -2);
  lua_rawsetp(L, -2, lop->op);
  lua_pop(L, 1);
  sbx_op_submit(lop->op);
  return 1;
}

/* core.next(timeout_ms | nil) -> op with news | nil
 *
 * Waits without end for nil. Returns nil early when a signal arrives, so that
 * the hooks of the interpreter run. */
static int l_core_next(lua_State *L) {
  lua_Integer timeout = -1;
  if (!lua_isnoneornil(L, 1)) {
    timeout = luaL_checkinteger(L, 1);
    luaL_argcheck(L, timeout >= 0, 1, "must not be negative");
  }
  struct sbx_mailbox *mb = sbx_lua_mailbox(L);
  if (!mb)
    return 2;
  lua_rawgetp(L, LUA_REGISTRYINDEX, &boxes_key);
  int wait = timeout > INT_MAX ? INT_MAX : (int)timeout;
  struct sbx_op *op;
  while ((op = sbx_mailbox_next(mb, wait)) != NULL) {
    int type = lua_rawgetp(L, -1, op);
    sbx_op_unref(op); /* the userdata has a reference of its own */
    if (type != LUA_TNIL)
      return 1;
    lua_pop(L, 1); /* collected */
    if (wait > 0)
      wait = 0; /* rather early than late: the caller looks at the clock */
  }
  lua_pushnil(L);
  return 1;
}

static struct sbx_lop *check_lop(lua_State *L) {
  return luaL_checkudata(L, 1, CLASS);
}

/* op:done() -> boolean */
static int l_op_done(lua_State *L) {
  struct sbx_lop *lop = check_lop(L);
  lua_pushboolean(L, !lop->op || sbx_op_done(lop->op));
  return 1;
}

/* Leaves result and error in the two user values and lets the operation, which
 * may hold a lot of memory that the collector knows nothing about, go. */
static void take_result(lua_State *L, struct sbx_lop *lop) {
  struct sbx_op *op = lop->op;
  if (sbx_op_lost(op))
    lua_pushnil(L);
  else
    lop->push_result(L, op);
  if (op->rc != 0) {
    struct sbx_err err = op->err;
    err.code = op->rc;
    sbx_push_error(L, &err);
    lua_pushvalue(L, -2);
    lua_setfield(L, -2, "result");
    lua_setiuservalue(L, 1, 2);
    lua_pop(L, 1);
  } else {
    lua_setiuservalue(L, 1, 1);
  }
  lop->op = NULL;
  sbx_op_unref(op);
}

/* op:result() -> value | nil, {code, message, result}
 *
 * Once it is done. What was not read by then is dropped. */
static int l_op_result(lua_State *L) {
  struct sbx_lop *lop = check_lop(L);
  if (lop->op) {
    if (!sbx_op_done(lop->op))
      return luaL_error(L, "the operation is not done");
    take_result(L, lop);
  }
  lua_getiuservalue(L, 1, 1);
  if (lua_getiuservalue(L, 1, 2) != LUA_TNIL)
    return 2;
  lua_pop(L, 1);
  return 1;
}

/* op:read() -> "stdout" | "stderr", data | nil */
static int l_op_read(lua_State *L) {
  struct sbx_lop *lop = check_lop(L);
  if (!lop->chunk && lop->op)
    lop->chunk = sbx_op_read(lop->op);
  if (!lop->chunk) {
    lua_pushnil(L);
    return 1;
  }
  lua_pushstring(L, lop->chunk->which == 1 ? "stdout" : "stderr");
  lua_pushlstring(L, (const char *)lop->chunk->data, lop->chunk->len);
  free(lop->chunk);
  lop->chunk = NULL;
  return 2;
}

/* op:cancel() */
static int l_op_cancel(lua_State *L) {
  struct sbx_lop *lop = check_lop(L);
  if (lop->op)
    sbx_op_cancel(lop->op);
  return 0;
}

static void let_go(struct sbx_lop *lop) {
  struct sbx_op *op = lop->op;
  lop->op = NULL;
  free(lop->chunk);
  lop->chunk = NULL;
  if (op) {
    sbx_op_cancel(op);
    sbx_op_unref(op);
  }
}

static int l_op_gc(lua_State *L) {
  let_go(check_lop(L));
  return 0;
}

void sbx_lop_close_all(lua_State *L) {
  lua_rawgetp(L, LUA_REGISTRYINDEX, &boxes_key);
  lua_pushnil(L);
  while (lua_istable(L, -2) && lua_next(L, -2)) {
    let_go(lua_touserdata(L, -1));
    lua_pop(L, 1);
  }
  lua_pop(L, 1);
}

static int l_op_tostring(lua_State *L) {
  struct sbx_lop *lop = check_lop(L);
  lua_pushfstring(
      L, "operation (%s%s): %p", lop->op ? lop->op->cls->name : "result taken",
      lop->op && sbx_op_done(lop->op) ? ", done" : "", (const void *)lop);
  return 1;
}

void sbx_lop_open(lua_State *L) {
  static const luaL_Reg methods[] = {
      {"done", l_op_done}, {"result", l_op_result},
      {"read", l_op_read}, {"cancel", l_op_cancel},
      {NULL, NULL},
  };
  luaL_newmetatable(L, CLASS);
  luaL_newlib(L, methods);
  lua_setfield(L, -2, "__index");
  lua_pushcfunction(L, l_op_gc);
  lua_setfield(L, -2, "__gc");
  lua_pushcfunction(L, l_op_tostring);
  lua_setfield(L, -2, "__tostring");
  lua_pushboolean(L, 0);
  lua_setfield(L, -2, "__metatable");
  lua_pop(L, 1);

  lua_newtable(L);
  lua_createtable(L, 0, 1);
  lua_pushliteral(L, "v");
  lua_setfield(L, -2, "__mode");
  lua_setmetatable(L, -2);
  lua_rawsetp(L, LUA_REGISTRYINDEX, &boxes_key);

  lua_pushcfunction(L, l_core_next);
  lua_setfield(L, -2, "next");
}
