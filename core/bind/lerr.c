/* SPDX-License-Identifier: MIT */
#include "bind/bind.h"

void sbx_push_error(lua_State *L, const struct sbx_err *err) {
  lua_createtable(L, 0, 3);
  lua_pushstring(L, sbx_err_name(err->code));
  lua_setfield(L, -2, "code");
  lua_pushstring(L, err->message[0] ? err->message : sbx_err_text(err->code));
  lua_setfield(L, -2, "message");
}

int sbx_push_failure(lua_State *L, const struct sbx_err *err) {
  lua_pushnil(L);
  sbx_push_error(L, err);
  return 2;
}
