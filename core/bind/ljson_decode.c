/* SPDX-License-Identifier: MIT */
#include <math.h>

#include "bind/jsontext.h"
#include "bind/ljson.h"

static int push_item(lua_State *L, cJSON *item, struct sbx_err *err);

static int push_number(lua_State *L, double n, struct sbx_err *err) {
  if (!isfinite(n))
    return sbx_fail(err, SBX_EPROTO, "invalid JSON: number out of range");
  lua_Integer integer;
  if (n == floor(n) && fabs(n) <= (double)SBX_MAX_INTEGER) {
    integer = (lua_Integer)n;
    lua_pushinteger(L, integer);
  } else {
    lua_pushnumber(L, n);
  }
  return 0;
}

static int push_string(lua_State *L, char *s, struct sbx_err *err) {
  if (!sbx_json_is_number(s)) {
    lua_pushlstring(L, s, sbx_json_unmark(s));
    return 0;
  }
  lua_stringtonumber(L, s + 2); /* its grammar was checked */
  if (!isfinite(lua_tonumber(L, -1)))
    return sbx_fail(err, SBX_EPROTO, "invalid JSON: number out of range");
  return 0;
}

static int push_array(lua_State *L, cJSON *array, struct sbx_err *err) {
  lua_newtable(L);
  sbx_json_push_array_mark(L);
  lua_setmetatable(L, -2);
  lua_Integer i = 0;
  for (cJSON *it = array->child; it; it = it->next) {
    int rc = push_item(L, it, err);
    if (rc < 0)
      return rc;
    lua_rawseti(L, -2, ++i);
  }
  return 0;
}

/* Two equal keys are refused: whoever checks the text must not see another
 * value than whoever uses it. */
static int push_object(lua_State *L, cJSON *object, struct sbx_err *err) {
  lua_newtable(L);
  for (cJSON *it = object->child; it; it = it->next) {
    if (sbx_json_is_number(it->string))
      return sbx_fail(err, SBX_EPROTO, "invalid JSON: a key must be a string");
    lua_pushlstring(L, it->string, sbx_json_unmark(it->string));
    lua_pushvalue(L, -1);
    if (lua_rawget(L, -3) != LUA_TNIL)
      return sbx_fail(err, SBX_EPROTO, "invalid JSON: duplicate key \"%s\"",
                      it->string);
    lua_pop(L, 1);
    int rc = push_item(L, it, err);
    if (rc < 0)
      return rc;
    lua_rawset(L, -3);
  }
  return 0;
}

/* On failure something is left on the stack: the caller gives up. */
static int push_item(lua_State *L, cJSON *item, struct sbx_err *err) {
  luaL_checkstack(L, 8, "JSON");
  if (cJSON_IsArray(item))
    return push_array(L, item, err);
  if (cJSON_IsObject(item))
    return push_object(L, item, err);
  if (cJSON_IsString(item))
    return push_string(L, item->valuestring, err);
  if (cJSON_IsNumber(item))
    return push_number(L, item->valuedouble, err);
  if (cJSON_IsBool(item))
    lua_pushboolean(L, cJSON_IsTrue(item));
  else
    lua_pushlightuserdata(L, NULL); /* core.null */
  return 0;
}

/* core.json_decode(text) -> value | nil, message */
int sbx_json_decode(lua_State *L) {
  size_t len;
  luaL_checktype(L, 1, LUA_TSTRING);
  const char *text = lua_tolstring(L, 1, &len);
  struct sbx_json_work *w = sbx_json_work_push(L);
  struct sbx_err err = {0};
  int rc = sbx_json_rewrite(&w->text, text, len, &err);
  if (rc == 0)
    rc = sbx_buf_append(&w->text, "", 1); /* for the parser's end check */
  if (rc < 0)
    return sbx_json_fail(L, err.code ? err.message : "not enough memory");

  const char *start = (const char *)w->text.data;
  const char *end = start;
  w->tree = cJSON_ParseWithLengthOpts(start, w->text.len, &end, 1);
  if (!w->tree) {
    lua_pushnil(L);
    if (w->text.len == len + 1) /* nothing was rewritten: the place is right */
      lua_pushfstring(L, "invalid JSON near byte %I",
                      (LUAI_UACINT)(end - start + 1));
    else
      lua_pushliteral(L, "invalid JSON");
    return 2;
  }
  rc = push_item(L, w->tree, &err);
  sbx_json_work_fini(w);
  return rc < 0 ? sbx_json_fail(L, err.message) : 1;
}
