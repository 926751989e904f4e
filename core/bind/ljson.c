/* SPDX-License-Identifier: MIT */
/* ljson.c - JSON for Lua, on cJSON; decoding is in ljson_decode.c.
 *
 * Nothing is cut or rounded: NUL bytes and 64-bit integers survive both ways
 * (jsontext.h), what JSON cannot say is refused. Keys come out sorted. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"
#include "bind/jsontext.h"
#include "bind/ljson.h"

/* Metatable of tables that are JSON arrays even when they are empty. */
static const char array_key;

void sbx_json_work_fini(struct sbx_json_work *w) {
  cJSON_Delete(w->tree);
  w->tree = NULL;
  cJSON_free(w->printed);
  w->printed = NULL;
  sbx_buf_fini(&w->text);
}

static int l_work_gc(lua_State *L) {
  sbx_json_work_fini(lua_touserdata(L, 1));
  return 0;
}

struct sbx_json_work *sbx_json_work_push(lua_State *L) {
  struct sbx_json_work *w = lua_newuserdatauv(L, sizeof(*w), 0);
  *w = (struct sbx_json_work){0};
  sbx_buf_init(&w->text, SIZE_MAX / 2);
  luaL_setmetatable(L, "anvia.sandbox.core.Json");
  return w;
}

int sbx_json_fail(lua_State *L, const char *message) {
  lua_pushnil(L);
  lua_pushstring(L, message);
  return 2;
}

void sbx_json_push_array_mark(lua_State *L) {
  lua_rawgetp(L, LUA_REGISTRYINDEX, &array_key);
}

struct encoder {
  lua_State *L;
  struct sbx_json_work *work;
  const void *path[SBX_JSON_DEPTH]; /* the tables around the current value */
  int depth;
  struct sbx_err err;
};

static int refuse(struct encoder *e, const char *what) {
  return sbx_fail(&e->err, SBX_EPROTO, "cannot encode as JSON: %s", what);
}

static cJSON *raw_string(struct encoder *e, const char *s, size_t len) {
  struct sbx_buf *b = &e->work->text;
  sbx_buf_clear(b);
  int rc = sbx_json_quote(b, s, len);
  if (rc == -EINVAL)
    refuse(e, "a string that is not UTF-8");
  if (rc == 0)
    rc = sbx_buf_append(b, "", 1);
  return rc == 0 ? cJSON_CreateRaw((const char *)b->data) : NULL;
}

static cJSON *raw_integer(lua_Integer n) {
  char text[32];
  snprintf(text, sizeof(text), LUA_INTEGER_FMT, (LUAI_UACINT)n);
  return cJSON_CreateRaw(text);
}

/* The shortest text that is read back as the same number; cJSON's own may be
 * off in the last place. */
static cJSON *raw_float(double n) {
  char text[40];
  for (int digits = 15; digits <= 17; digits++) {
    snprintf(text, sizeof(text), "%.*g", digits, n);
    if (strtod(text, NULL) == n)
      break;
  }
  char *point = text + strspn(text, "0123456789+-e");
  if (*point) /* a locale may have another one */
    *point = '.';
  return cJSON_CreateRaw(text);
}

static cJSON *number(struct encoder *e, int index) {
  if (lua_isinteger(e->L, index))
    return raw_integer(lua_tointeger(e->L, index));
  double n = lua_tonumber(e->L, index);
  if (!isfinite(n)) {
    refuse(e, "a number that is not finite");
    return NULL;
  }
  if (n == floor(n) && fabs(n) <= (double)SBX_MAX_INTEGER)
    return raw_integer((lua_Integer)n);
  return raw_float(n);
}

static bool is_marked_array(lua_State *L, int index) {
  if (!lua_getmetatable(L, index))
    return false;
  sbx_json_push_array_mark(L);
  bool marked = lua_rawequal(L, -1, -2);
  lua_pop(L, 2);
  return marked;
}

enum shape { OBJECT, ARRAY, REFUSED };

/* What is the table, by its keys? *count is the number of them. */
static enum shape shape_of(struct encoder *e, int index, lua_Integer *count) {
  lua_State *L = e->L;
  lua_Integer strings = 0, integers = 0, highest = 0;
  lua_pushnil(L);
  while (lua_next(L, index)) {
    lua_pop(L, 1);
    if (lua_type(L, -1) == LUA_TSTRING) {
      strings++;
    } else if (lua_isinteger(L, -1) && lua_tointeger(L, -1) > 0) {
      integers++;
      if (lua_tointeger(L, -1) > highest)
        highest = lua_tointeger(L, -1);
    } else {
      refuse(e, "a key that is neither a string nor a positive integer");
      return REFUSED;
    }
  }
  bool array = integers > 0 || is_marked_array(L, index);
  if (array && strings > 0)
    refuse(e, "a table with both string keys and array elements");
  else if (highest != integers)
    refuse(e, "an array with holes");
  else {
    *count = strings + integers;
    return array ? ARRAY : OBJECT;
  }
  return REFUSED;
}

static int encode_value(struct encoder *e, cJSON *parent, const char *key);

static int encode_array(struct encoder *e, cJSON *node, lua_Integer count) {
  int index = lua_gettop(e->L);
  int rc = 0;
  for (lua_Integer i = 1; i <= count && rc == 0; i++) {
    lua_rawgeti(e->L, index, i);
    rc = encode_value(e, node, NULL);
    lua_settop(e->L, index);
  }
  return rc;
}

static int by_bytes(const void *a, const void *b) {
  return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static int encode_object(struct encoder *e, cJSON *node, lua_Integer count) {
  lua_State *L = e->L;
  int index = lua_gettop(L);
  /* the strings stay where they are: their table is not changed meanwhile */
  const char **keys =
      lua_newuserdatauv(L, ((size_t)count + 1) * sizeof(*keys), 0);
  size_t n = 0;
  lua_pushnil(L);
  while (lua_next(L, index)) {
    lua_pop(L, 1);
    size_t len;
    keys[n] = lua_tolstring(L, -1, &len);
    if (memchr(keys[n], '\0', len))
      return refuse(e, "a key with a NUL byte");
    for (size_t at = 0, c; at < len; at += c)
      if ((c = sbx_utf8_char((const uint8_t *)keys[n] + at, len - at)) == 0)
        return refuse(e, "a key that is not UTF-8");
    n++;
  }
  qsort(keys, n, sizeof(*keys), by_bytes);
  int rc = 0;
  for (size_t i = 0; i < n && rc == 0; i++) {
    lua_pushstring(L, keys[i]);
    lua_rawget(L, index);
    rc = encode_value(e, node, keys[i]);
    lua_settop(L, index + 1); /* keys stay */
  }
  return rc;
}

static int attach(struct encoder *e, cJSON *parent, const char *key,
                  cJSON *node) {
  bool ok = node != NULL;
  if (ok && !parent)
    e->work->tree = node;
  else if (ok && key)
    ok = cJSON_AddItemToObject(parent, key, node);
  else if (ok)
    ok = cJSON_AddItemToArray(parent, node);
  if (ok)
    return 0;
  cJSON_Delete(node);
  return sbx_fail(&e->err, -ENOMEM, "cannot encode as JSON");
}

static int encode_table(struct encoder *e, cJSON *parent, const char *key) {
  lua_State *L = e->L;
  const void *self = lua_topointer(L, -1);
  for (int i = 0; i < e->depth; i++)
    if (e->path[i] == self)
      return refuse(e, "a table that contains itself");
  if (e->depth == SBX_JSON_DEPTH)
    return refuse(e, "nested too deep");
  lua_Integer count = 0;
  enum shape shape = shape_of(e, lua_gettop(L), &count);
  if (shape == REFUSED)
    return SBX_EPROTO;
  /* owned by the tree before anything else happens */
  cJSON *node = shape == ARRAY ? cJSON_CreateArray() : cJSON_CreateObject();
  int rc = attach(e, parent, key, node);
  if (rc < 0)
    return rc;
  e->path[e->depth++] = self;
  rc = shape == ARRAY ? encode_array(e, node, count)
                      : encode_object(e, node, count);
  e->depth--;
  return rc;
}

/* Encodes the value on the top of the stack. */
static int encode_value(struct encoder *e, cJSON *parent, const char *key) {
  lua_State *L = e->L;
  luaL_checkstack(L, 8, "JSON");
  cJSON *node = NULL;
  size_t len;
  switch (lua_type(L, -1)) {
  case LUA_TTABLE:
    return encode_table(e, parent, key);
  case LUA_TSTRING: {
    const char *s = lua_tolstring(L, -1, &len);
    node = raw_string(e, s, len);
    break;
  }
  case LUA_TNUMBER:
    node = number(e, -1);
    break;
  case LUA_TBOOLEAN:
    node = cJSON_CreateBool(lua_toboolean(L, -1));
    break;
  case LUA_TLIGHTUSERDATA:
    if (!lua_touserdata(L, -1)) {
      node = cJSON_CreateNull();
      break;
    }
    /* fall through */
  default:
    sbx_fail(&e->err, SBX_EPROTO, "cannot encode as JSON: a %s",
             luaL_typename(L, -1));
  }
  return attach(e, parent, key, node);
}

/* core.json_encode(value) -> text | nil, message */
static int l_core_json_encode(lua_State *L) {
  luaL_checkany(L, 1);
  lua_settop(L, 1);
  struct encoder e = {.L = L, .work = sbx_json_work_push(L)};
  lua_pushvalue(L, 1);
  if (encode_value(&e, NULL, NULL) < 0)
    return sbx_json_fail(L, e.err.message);
  e.work->printed = cJSON_PrintUnformatted(e.work->tree);
  if (!e.work->printed)
    return sbx_json_fail(L, "cannot encode as JSON: not enough memory");
  if (strlen(e.work->printed) > SBX_JSON_SIZE)
    return sbx_json_fail(L, "cannot encode as JSON: too large");
  lua_pushstring(L, e.work->printed);
  sbx_json_work_fini(e.work);
  return 1;
}

/* core.json_array([table]) -> table, which is [] and not {} when it is empty */
static int l_core_json_array(lua_State *L) {
  if (lua_isnoneornil(L, 1)) {
    lua_settop(L, 0);
    lua_newtable(L);
  }
  luaL_checktype(L, 1, LUA_TTABLE);
  lua_settop(L, 1);
  if (lua_getmetatable(L, 1) && !is_marked_array(L, 1))
    return luaL_argerror(L, 1, "has a metatable already");
  lua_settop(L, 1);
  sbx_json_push_array_mark(L);
  lua_setmetatable(L, 1);
  return 1;
}

/* core.json_is_array(value): was it marked, or decoded from an array? */
static int l_core_json_is_array(lua_State *L) {
  lua_pushboolean(L, lua_istable(L, 1) && is_marked_array(L, 1));
  return 1;
}

void sbx_ljson_open(lua_State *L) {
  static const luaL_Reg functions[] = {
      {"json_encode", l_core_json_encode},
      {"json_decode", sbx_json_decode},
      {"json_array", l_core_json_array},
      {"json_is_array", l_core_json_is_array},
      {NULL, NULL},
  };
  luaL_newmetatable(L, "anvia.sandbox.core.Json");
  lua_pushcfunction(L, l_work_gc);
  lua_setfield(L, -2, "__gc");
  lua_pop(L, 1);

  lua_createtable(L, 0, 1);
  lua_pushliteral(L, "anvia.sandbox.json.array");
  lua_setfield(L, -2, "__name");
  lua_rawsetp(L, LUA_REGISTRYINDEX, &array_key);

  luaL_setfuncs(L, functions, 0);
  lua_pushlightuserdata(L, NULL);
  lua_setfield(L, -2, "null");
}
