/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "bind/bind.h"

int sbx_field_error(lua_State *L, const char *name, const char *text) {
  return luaL_error(L, "option '%s' %s", name, text);
}

void sbx_check_rc(lua_State *L, int rc) {
  if (rc == -ENOMEM)
    luaL_error(L, "not enough memory");
  else if (rc < 0)
    luaL_error(L, "%s", uv_strerror(rc));
}

static bool is_known(const char *key, const char *const *known) {
  for (; *known; known++)
    if (strcmp(key, *known) == 0)
      return true;
  return false;
}

void sbx_check_fields(lua_State *L, int index, const char *const *known) {
  luaL_checktype(L, index, LUA_TTABLE);
  lua_pushnil(L);
  while (lua_next(L, index)) {
    lua_pop(L, 1);
    if (lua_type(L, -1) != LUA_TSTRING)
      luaL_error(L, "option names must be strings, not %s",
                 luaL_typename(L, -1));
    const char *key = lua_tostring(L, -1);
    if (!is_known(key, known))
      luaL_error(L, "unknown option '%s'", key);
  }
}

lua_Integer sbx_field_integer(lua_State *L, int index, const char *name,
                              lua_Integer min, lua_Integer max,
                              lua_Integer absent) {
  int type = lua_getfield(L, index, name);
  if (type == LUA_TNIL) {
    lua_pop(L, 1);
    return absent;
  }
  int exact = 0;
  lua_Integer n = 0;
  if (type == LUA_TNUMBER) /* a string that looks like one is a mistake */
    n = lua_tointegerx(L, -1, &exact);
  if (!exact)
    sbx_field_error(L, name, "must be an integer");
  if (n < min || n > max)
    luaL_error(L, "option '%s' must be between %I and %I", name,
               (LUAI_UACINT)min, (LUAI_UACINT)max);
  lua_pop(L, 1);
  return n;
}

bool sbx_field_boolean(lua_State *L, int index, const char *name) {
  int type = lua_getfield(L, index, name);
  if (type != LUA_TNIL && type != LUA_TBOOLEAN)
    sbx_field_error(L, name, "must be a boolean");
  bool value = lua_toboolean(L, -1);
  lua_pop(L, 1);
  return value;
}

const char *sbx_field_string(lua_State *L, int index, const char *name,
                             size_t *len) {
  int type = lua_getfield(L, index, name);
  if (type == LUA_TNIL)
    return NULL;
  if (type != LUA_TSTRING)
    sbx_field_error(L, name, "must be a string");
  return lua_tolstring(L, -1, len);
}

const char *sbx_field_text(lua_State *L, int index, const char *name) {
  size_t len = 0;
  const char *text = sbx_field_string(L, index, name, &len);
  if (!text)
    sbx_field_error(L, name, "must be a string");
  if (memchr(text, '\0', len))
    sbx_field_error(L, name, "must not contain a NUL byte");
  return text;
}

enum sbx_keep sbx_field_keep(lua_State *L, int index) {
  const char *keep = sbx_field_string(L, index, "keep", NULL);
  enum sbx_keep value = SBX_KEEP_BOTH;
  if (keep && strcmp(keep, "head") == 0)
    value = SBX_KEEP_HEAD;
  else if (keep && strcmp(keep, "tail") == 0)
    value = SBX_KEEP_TAIL;
  else if (keep && strcmp(keep, "both") != 0)
    sbx_field_error(L, "keep", "must be \"head\", \"tail\" or \"both\"");
  lua_pop(L, 1);
  return value;
}

static void read_argv(lua_State *L, int index, struct sbx_request *request) {
  if (lua_getfield(L, index, "argv") != LUA_TTABLE)
    sbx_field_error(L, "argv", "must be an array of strings");
  lua_Integer n = (lua_Integer)lua_rawlen(L, -1);
  if (n == 0)
    sbx_field_error(L, "argv", "must name a program");
  for (lua_Integer i = 1; i <= n; i++) {
    if (lua_rawgeti(L, -1, i) != LUA_TSTRING)
      luaL_error(L, "option 'argv[%I]' must be a string", (LUAI_UACINT)i);
    size_t len;
    const char *arg = lua_tolstring(L, -1, &len);
    int rc = sbx_request_arg(request, arg, len);
    if (rc == -EINVAL)
      luaL_error(L, "option 'argv[%I]' must not contain a NUL byte",
                 (LUAI_UACINT)i);
    sbx_check_rc(L, rc);
    lua_pop(L, 1);
  }
  lua_pop(L, 1);
}

static void read_env(lua_State *L, int index, struct sbx_request *request) {
  int type = lua_getfield(L, index, "env");
  if (type == LUA_TNIL) {
    lua_pop(L, 1);
    return;
  }
  if (type != LUA_TTABLE)
    sbx_field_error(L, "env", "must be a table of strings");
  lua_pushnil(L);
  while (lua_next(L, -2)) {
    if (lua_type(L, -2) != LUA_TSTRING)
      sbx_field_error(L, "env", "must have names as its keys");
    size_t name_len, len = 0;
    const char *name = lua_tolstring(L, -2, &name_len);
    const char *value = NULL; /* false: not in the environment */
    if (lua_type(L, -1) == LUA_TSTRING)
      value = lua_tolstring(L, -1, &len);
    else if (!lua_isboolean(L, -1) || lua_toboolean(L, -1))
      luaL_error(L, "option 'env.%s' must be a string or false", name);
    int rc = sbx_request_env(request, name, name_len, value, len);
    if (rc == -EINVAL)
      luaL_error(L,
                 "option 'env.%s' must not contain a NUL byte, nor its name "
                 "a '='",
                 name);
    sbx_check_rc(L, rc);
    lua_pop(L, 1);
  }
  lua_pop(L, 1);
}

void sbx_fields_request(lua_State *L, int index, struct sbx_request *request) {
  read_argv(L, index, request);
  read_env(L, index, request);
  int rc = sbx_request_seal(request);
  if (rc == -EINVAL)
    sbx_field_error(L, "argv", "must name a program");
  sbx_check_rc(L, rc);
}
