/* SPDX-License-Identifier: MIT */
/* lsupervisor.c - the supervisor's programs. */
#include "bind/bind.h"
#include "proc/program.h"

/* core.supervisor(arch) -> bytes, sha256 | nil */
static int l_core_supervisor(lua_State *L) {
  const struct sbx_program *program = sbx_program_find(luaL_checkstring(L, 1));
  if (!program) {
    lua_pushnil(L);
    return 1;
  }
  lua_pushlstring(L, (const char *)program->data, program->len);
  lua_pushstring(L, program->sha256);
  return 2;
}

void sbx_lsupervisor_open(lua_State *L) {
  lua_pushcfunction(L, l_core_supervisor);
  lua_setfield(L, -2, "supervisor");
}
