/* SPDX-License-Identifier: MIT */
#include "bind/lbox.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <lauxlib.h>
#include <lualib.h>

#define BOX_CLASS "anvia.sandbox.Box"

/* The hook looks at the clock this often. One instruction can hide as much
 * work as the memory budget allows (s:upper()), so it must be small. */
#define BOX_STEP       100

#define BOX_MIN_MEMORY (256 * 1024)
#define BOX_MAX_DEPTH  32
#define BOX_MAX_VALUES 200000 /* that one call may hand out */
#define BOX_MAX_TEXT   1024   /* of an error message */

struct box {
  lua_State *B; /* NULL once closed */
  size_t used, peak, limit;
  int64_t instructions, left;
  uint64_t cpu_ns, cpu_end, wall_end;
  const char *over; /* the budget that ended, while unwinding */
};

/* ---- budgets ---- */

static void *box_alloc(void *ud, void *ptr, size_t osize, size_t nsize) {
  struct box *box = ud;
  size_t old = ptr ? osize : 0; /* without ptr it is the kind of object */
  if (nsize == 0) {
    free(ptr);
    box->used -= old;
    return NULL;
  }
  if (nsize > old) {
    size_t room = box->limit > box->used ? box->limit - box->used : 0;
    if (nsize - old > room)
      return NULL;
  }
  void *p = realloc(ptr, nsize);
  if (!p)
    return NULL;
  box->used = box->used - old + nsize;
  if (box->used > box->peak)
    box->peak = box->used;
  return p;
}

static struct box *box_of(lua_State *B) {
  void *ud;
  lua_getallocf(B, &ud);
  return ud;
}

static uint64_t clock_ns(clockid_t id) {
  struct timespec ts;
  clock_gettime(id, &ts);
  return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

/* Processor time, so that a busy machine refuses nothing; the wall clock is
 * asked first because it costs no system call. */
static bool out_of_time(const struct box *box) {
  return clock_ns(CLOCK_MONOTONIC) > box->wall_end &&
         clock_ns(CLOCK_THREAD_CPUTIME_ID) > box->cpu_end;
}

static void box_hook(lua_State *B, lua_Debug *ar) {
  (void)ar;
  struct box *box = box_of(B);
  box->left -= BOX_STEP;
  if (!box->over && box->left < 0)
    box->over = "instructions";
  if (!box->over && out_of_time(box))
    box->over = "time";
  if (box->over)
    luaL_error(B, "the budget is spent");
}

static void box_start(struct box *box) {
  box->over = NULL;
  box->left = box->instructions;
  box->wall_end = clock_ns(CLOCK_MONOTONIC) + box->cpu_ns;
  box->cpu_end = clock_ns(CLOCK_THREAD_CPUTIME_ID) + box->cpu_ns;
  lua_sethook(box->B, box_hook, LUA_MASKCOUNT, BOX_STEP);
}

/* ---- functions that the code inside is given ---- */

/* pcall that lets the end of a budget through. */
static int b_pcall(lua_State *B) {
  luaL_checkany(B, 1);
  lua_pushboolean(B, 1);
  lua_insert(B, 1);
  int rc = lua_pcall(B, lua_gettop(B) - 2, LUA_MULTRET, 0);
  if (rc == LUA_OK)
    return lua_gettop(B);
  struct box *box = box_of(B);
  if (rc == LUA_ERRMEM)
    box->over = "memory";
  if (box->over)
    return lua_error(B);
  lua_pushboolean(B, 0);
  lua_insert(B, -2);
  return 2;
}

/* keep(f) -> id */
static int b_keep(lua_State *B) {
  luaL_checktype(B, 1, LUA_TFUNCTION);
  lua_settop(B, 1);
  lua_Integer id = (lua_Integer)lua_rawlen(B, lua_upvalueindex(1)) + 1;
  lua_rawseti(B, lua_upvalueindex(1), id);
  lua_pushinteger(B, id);
  return 1;
}

/* where() -> the line of the policy that is running, 0 when none is. Code of
 * ours is stripped and so has no lines. */
static int b_where(lua_State *B) {
  lua_Debug ar;
  lua_Integer line = 0;
  for (int level = 1; line == 0 && lua_getstack(B, level, &ar); level++) {
    lua_getinfo(B, "l", &ar);
    if (ar.currentline > 0)
      line = ar.currentline;
  }
  lua_pushinteger(B, line);
  return 1;
}

/* Opens the libraries for our own code inside. The environment of policies is
 * another table, which that code fills. */
static int b_open(lua_State *B) {
  static const luaL_Reg libs[] = {
      {LUA_GNAME, luaopen_base},       {LUA_STRLIBNAME, luaopen_string},
      {LUA_TABLIBNAME, luaopen_table}, {LUA_MATHLIBNAME, luaopen_math},
      {LUA_UTF8LIBNAME, luaopen_utf8}, {NULL, NULL},
  };
  static const char *const removed[] = {
      "load", "loadfile", "dofile", "collectgarbage", "print", "warn", NULL,
  };
  for (const luaL_Reg *lib = libs; lib->func; lib++) {
    luaL_requiref(B, lib->name, lib->func, 1);
    lua_pop(B, 1);
  }
  for (int i = 0; removed[i]; i++) {
    lua_pushnil(B);
    lua_setglobal(B, removed[i]);
  }
  lua_newtable(B);
  lua_setfield(B, LUA_REGISTRYINDEX, "environment");
  lua_newtable(B);
  lua_pushvalue(B, -1);
  lua_setfield(B, LUA_REGISTRYINDEX, "kept");
  lua_pushcclosure(B, b_keep, 1);
  lua_setglobal(B, "keep");
  lua_register(B, "where", b_where);
  lua_register(B, "pcall", b_pcall);
  return 0;
}

/* ---- copies ---- */

struct copying {
  lua_State *from, *to;
  size_t values, bytes; /* how much more may be copied */
  const char *refused;
};

static bool copy_value(struct copying *c, int index, int depth);

/* Copies the table at an absolute index. The reads are raw and of existing
 * keys, so they raise nothing and allocate nothing in `from`. */
static bool copy_table(struct copying *c, int index, int depth) {
  if (depth >= BOX_MAX_DEPTH || !lua_checkstack(c->from, 4)) {
    c->refused = "nested too deeply";
    return false;
  }
  luaL_checkstack(c->to, 6, NULL);
  lua_newtable(c->to);
  lua_pushnil(c->from);
  while (lua_next(c->from, index)) {
    int top = lua_gettop(c->from);
    if (!copy_value(c, top - 1, depth + 1) || !copy_value(c, top, depth + 1))
      return false;
    lua_rawset(c->to, -3);
    lua_pop(c->from, 1);
  }
  return true;
}

/* Pushes a copy onto `to`; false with c->refused set for what cannot cross,
 * and then both stacks hold leftovers. Raises in `to` only. */
static bool copy_value(struct copying *c, int index, int depth) {
  size_t len;
  const char *s;
  if (c->values-- == 0) {
    c->values = 0;
    c->refused = "too many values";
    return false;
  }
  switch (lua_type(c->from, index)) {
  case LUA_TNIL:
    lua_pushnil(c->to);
    return true;
  case LUA_TBOOLEAN:
    lua_pushboolean(c->to, lua_toboolean(c->from, index));
    return true;
  case LUA_TNUMBER:
    if (lua_isinteger(c->from, index))
      lua_pushinteger(c->to, lua_tointeger(c->from, index));
    else
      lua_pushnumber(c->to, lua_tonumber(c->from, index));
    return true;
  case LUA_TSTRING:
    s = lua_tolstring(c->from, index, &len);
    if (len > c->bytes) {
      c->refused = "too many bytes";
      return false;
    }
    c->bytes -= len;
    lua_pushlstring(c->to, s, len);
    return true;
  case LUA_TTABLE:
    return copy_table(c, index, depth);
  default:
    c->refused = "not a plain value";
    return false;
  }
}

/* ---- entering the box ---- */

struct entry {
  lua_State *L;
  int first; /* arguments of the host from here to its top */
  const char *name, *chunk, *text;
  size_t len;
  lua_Integer id;
  const char *kind; /* what a failure is, when it is no plain error */
};

/* Pushes the host's arguments; runs inside, so that their memory counts. */
static int enter_arguments(lua_State *B, struct entry *e) {
  struct copying c = {e->L, B, SIZE_MAX, SIZE_MAX, NULL};
  int n = 0;
  for (int i = e->first; i <= lua_gettop(e->L); i++, n++) {
    luaL_checkstack(B, 4, NULL);
    int top = lua_gettop(e->L);
    bool ok = copy_value(&c, i, 0);
    lua_settop(e->L, top);
    if (!ok) {
      e->kind = "value";
      luaL_error(B, "argument %d: %s", n + 1, c.refused);
    }
  }
  return n;
}

static int enter_define(lua_State *B) {
  struct entry *e = lua_touserdata(B, 1);
  if (luaL_loadbufferx(B, e->text, e->len, e->name, "b") != LUA_OK)
    return lua_error(B);
  lua_setglobal(B, e->name);
  return 0;
}

static int enter_setup(lua_State *B) {
  struct entry *e = lua_touserdata(B, 1);
  lua_getglobal(B, e->name);
  lua_getfield(B, LUA_REGISTRYINDEX, "environment");
  lua_call(B, 1 + enter_arguments(B, e), LUA_MULTRET);
  return lua_gettop(B) - 1;
}

static int enter_run(lua_State *B) {
  struct entry *e = lua_touserdata(B, 1);
  if (luaL_loadbufferx(B, e->text, e->len, e->chunk, "t") != LUA_OK) {
    e->kind = "syntax";
    return lua_error(B);
  }
  lua_getfield(B, LUA_REGISTRYINDEX, "environment");
  lua_setupvalue(B, -2, 1);
  lua_call(B, 0, 0);
  return 0;
}

static int enter_call(lua_State *B) {
  struct entry *e = lua_touserdata(B, 1);
  lua_getfield(B, LUA_REGISTRYINDEX, "kept");
  if (lua_rawgeti(B, -1, e->id) != LUA_TFUNCTION)
    return luaL_error(B, "no function %I", e->id);
  lua_remove(B, 2);
  lua_call(B, enter_arguments(B, e), LUA_MULTRET);
  return lua_gettop(B) - 1;
}

static int push_failure(lua_State *L, const char *kind, const char *text) {
  lua_pushnil(L);
  lua_createtable(L, 0, 2);
  lua_pushstring(L, kind);
  lua_setfield(L, -2, "kind");
  lua_pushstring(L, text);
  lua_setfield(L, -2, "message");
  return 2;
}

/* The error value on B's stack as nil, {kind, message} for the host. Only a
 * string is looked at: nothing of the policy runs again for its error. */
static int push_error(lua_State *L, struct box *box, int rc, const char *kind) {
  char text[BOX_MAX_TEXT];
  if (rc == LUA_ERRMEM)
    kind = "memory";
  else if (box->over)
    kind = box->over;
  else if (!kind)
    kind = "error";
  const char *s = "an error value that is no text";
  size_t len = strlen(s);
  if (lua_type(box->B, -1) == LUA_TSTRING)
    s = lua_tolstring(box->B, -1, &len);
  if (len >= sizeof(text))
    len = sizeof(text) - 1;
  memcpy(text, s, len);
  text[len] = '\0';
  lua_settop(box->B, 0);
  return push_failure(L, kind, text);
}

/* Runs `f` inside and hands out copies of what it returned. An error of L can
 * only happen outside of B's protected call, so both states stay sound. */
static int box_enter(lua_State *L, struct box *box, lua_CFunction f,
                     struct entry *e) {
  lua_settop(box->B, 0);
  box_start(box);
  lua_pushcfunction(box->B, f);
  lua_pushlightuserdata(box->B, e);
  int rc = lua_pcall(box->B, 1, LUA_MULTRET, 0);
  if (rc != LUA_OK)
    return push_error(L, box, rc, e->kind);
  struct copying c = {box->B, L, BOX_MAX_VALUES, box->limit, NULL};
  int results = lua_gettop(box->B);
  lua_pushboolean(L, 1);
  for (int i = 1; i <= results; i++) {
    luaL_checkstack(L, 4, NULL);
    if (!copy_value(&c, i, 0)) {
      lua_settop(box->B, 0);
      return push_failure(L, "value", c.refused);
    }
  }
  lua_settop(box->B, 0);
  return 1 + results;
}

/* ---- the class ---- */

static struct box *check_box(lua_State *L) {
  struct box *box = luaL_checkudata(L, 1, BOX_CLASS);
  if (!box->B)
    luaL_error(L, "the box is closed");
  return box;
}

static lua_Integer check_option(lua_State *L, const char *name,
                                lua_Integer least) {
  int isnum;
  lua_getfield(L, 1, name);
  lua_Integer n = lua_tointegerx(L, -1, &isnum);
  if (!isnum || n < least)
    luaL_error(L, "option '%s' must be an integer of at least %I", name, least);
  lua_pop(L, 1);
  return n;
}

/* box.new{memory_bytes, instructions, cpu_ms} -> box */
static int l_box_new(lua_State *L) {
  luaL_checktype(L, 1, LUA_TTABLE);
  lua_Integer memory = check_option(L, "memory_bytes", BOX_MIN_MEMORY);
  lua_Integer instructions = check_option(L, "instructions", 1);
  lua_Integer cpu_ms = check_option(L, "cpu_ms", 1);
  struct box *box = lua_newuserdatauv(L, sizeof(*box), 0);
  *box = (struct box){.limit = (size_t)memory,
                      .instructions = instructions,
                      .cpu_ns = (uint64_t)cpu_ms * 1000000u};
  luaL_setmetatable(L, BOX_CLASS);
  box->B = lua_newstate(box_alloc, box);
  if (!box->B)
    return luaL_error(L, "not enough memory for a box");
  lua_pushcfunction(box->B, b_open);
  if (lua_pcall(box->B, 0, 0, 0) != LUA_OK)
    return luaL_error(L, "not enough memory for a box");
  return 1;
}

static int l_box_define(lua_State *L) {
  struct box *box = check_box(L);
  struct entry e = {.name = luaL_checkstring(L, 2)};
  e.text = luaL_checklstring(L, 3, &e.len);
  return box_enter(L, box, enter_define, &e);
}

static int l_box_setup(lua_State *L) {
  struct box *box = check_box(L);
  struct entry e = {.L = L, .first = 3, .name = luaL_checkstring(L, 2)};
  return box_enter(L, box, enter_setup, &e);
}

static int l_box_run(lua_State *L) {
  struct box *box = check_box(L);
  struct entry e = {0};
  e.text = luaL_checklstring(L, 2, &e.len);
  e.chunk = luaL_checkstring(L, 3);
  return box_enter(L, box, enter_run, &e);
}

static int l_box_call(lua_State *L) {
  struct box *box = check_box(L);
  struct entry e = {.L = L, .first = 3, .id = luaL_checkinteger(L, 2)};
  return box_enter(L, box, enter_call, &e);
}

static int l_box_budget(lua_State *L) {
  struct box *box = check_box(L);
  lua_Integer instructions = luaL_checkinteger(L, 2);
  lua_Integer cpu_ms = luaL_checkinteger(L, 3);
  luaL_argcheck(L, instructions >= 1, 2, "must be positive");
  luaL_argcheck(L, cpu_ms >= 1 && cpu_ms < 1000000000, 3, "out of range");
  box->instructions = instructions;
  box->cpu_ns = (uint64_t)cpu_ms * 1000000u;
  return 0;
}

static int l_box_usage(lua_State *L) {
  struct box *box = check_box(L);
  int64_t left = box->left > 0 ? box->left : 0;
  lua_createtable(L, 0, 3);
  lua_pushinteger(L, (lua_Integer)box->used);
  lua_setfield(L, -2, "memory_bytes");
  lua_pushinteger(L, (lua_Integer)box->peak);
  lua_setfield(L, -2, "peak_bytes");
  lua_pushinteger(L, box->instructions - left); /* of the last run */
  lua_setfield(L, -2, "instructions");
  return 1;
}

/* Also __gc: may come after close(). No finalizer can exist inside. */
static int l_box_close(lua_State *L) {
  struct box *box = luaL_checkudata(L, 1, BOX_CLASS);
  lua_State *B = box->B;
  box->B = NULL;
  if (B)
    lua_close(B);
  return 0;
}

int sbx_box_open(lua_State *L) {
  static const luaL_Reg methods[] = {
      {"define", l_box_define}, {"setup", l_box_setup},
      {"run", l_box_run},       {"call", l_box_call},
      {"budget", l_box_budget}, {"usage", l_box_usage},
      {"close", l_box_close},   {NULL, NULL},
  };
  if (luaL_newmetatable(L, BOX_CLASS)) {
    luaL_newlib(L, methods);
    lua_setfield(L, -2, "__index");
    lua_pushcfunction(L, l_box_close);
    lua_setfield(L, -2, "__gc");
    lua_pushcfunction(L, l_box_close);
    lua_setfield(L, -2, "__close");
  }
  lua_pop(L, 1);
  lua_createtable(L, 0, 1);
  lua_pushcfunction(L, l_box_new);
  lua_setfield(L, -2, "new");
  return 1;
}
