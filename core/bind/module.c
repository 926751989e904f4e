/* SPDX-License-Identifier: MIT */
/* module.c - the Lua module `anvia.sandbox.core`. */
#include "bind/bind.h"

#ifdef SBX_HAVE_LBOX
#include "bind/lbox.h"
#endif

#ifdef SBX_HAVE_SCRIPTS
extern const char sbx_script_run[];
extern const char sbx_script_control[];
#endif

__attribute__((visibility("default"))) int
luaopen_anvia_sandbox_core(lua_State *L);

int luaopen_anvia_sandbox_core(lua_State *L) {
  luaL_checkversion(L);
  lua_newtable(L);
  lua_pushliteral(L, SBX_VERSION);
  lua_setfield(L, -2, "_VERSION");
  sbx_lruntime_open(L);
  sbx_lop_open(L);
  sbx_lrun_open(L);
  sbx_lhttp_open(L);
  sbx_ljson_open(L);
#ifdef SBX_HAVE_LSESSION
  sbx_lsession_open(L);
  sbx_lsupervisor_open(L);
#endif
#ifdef SBX_HAVE_LBOX
  sbx_box_open(L);
  lua_setfield(L, -2, "box");
#endif
#ifdef SBX_HAVE_SCRIPTS
  lua_createtable(L, 0, 2);
  lua_pushstring(L, sbx_script_run);
  lua_setfield(L, -2, "run");
  lua_pushstring(L, sbx_script_control);
  lua_setfield(L, -2, "control");
  lua_setfield(L, -2, "scripts");
#endif
  return 1;
}
