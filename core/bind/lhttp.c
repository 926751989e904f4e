/* SPDX-License-Identifier: MIT */
#include "bind/lhttp.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "http/http_op.h"
#include "http/plan.h"

#define PLAN_CLASS "anvia.sandbox.core.HttpPlan"

/* -- what both kinds of requests are made of --------------------------------
 */

static char *copy_text(lua_State *L, int index, const char *name,
                       const char *absent) {
  const char *text = absent;
  char *copy;

  if (lua_getfield(L, index, name) != LUA_TNIL || absent == NULL) {
    lua_pop(L, 1);
    text = sbx_field_text(L, index, name);
  }
  copy = strdup(text);
  if (copy == NULL)
    sbx_check_rc(L, -ENOMEM);
  lua_pop(L, 1);
  return copy;
}

static void read_endpoint(lua_State *L, int index, struct sbx_endpoint **out) {
  struct sbx_err err = {0};
  const char *text = sbx_field_text(L, index, "endpoint");
  int rc = sbx_endpoint_new(out, text, &err);

  if (rc == -EINVAL)
    luaL_error(L, "option 'endpoint': %s", err.message);
  sbx_check_rc(L, rc);
  lua_pop(L, 1);
}

/* A path that is sent as it is, so it must be encoded already. */
static char *copy_path(lua_State *L, int index, const char *name) {
  const char *text = sbx_field_text(L, index, name);

  if (text[0] != '/' || strpbrk(text, " \r\n") != NULL)
    sbx_field_error(L, name, "must be an encoded path that begins with '/'");
  lua_pop(L, 1);
  return copy_text(L, index, name, NULL);
}

/* -- core.http ---------------------------------------------------------------
 */

static void push_headers(lua_State *L, const struct sbx_buf *b) {
  const char *at = (const char *)b->data;
  const char *end = at != NULL ? at + b->len : NULL;

  lua_newtable(L);
  while (at != NULL && at < end) {
    const char *value = at + strlen(at) + 1;

    if (value >= end)
      break;
    lua_pushstring(L, value);
    lua_setfield(L, -2, at);
    at = value + strlen(value) + 1;
  }
}

static void push_response(lua_State *L, struct sbx_op *op) {
  struct sbx_http_op *h = (struct sbx_http_op *)op;

  if (op->rc != 0) {
    lua_pushnil(L);
    return;
  }
  lua_createtable(L, 0, 4);
  if (h->watch == SBX_HTTP_ARMS) {
    lua_pushboolean(L, h->armed);
    lua_setfield(L, -2, "armed");
  }
  lua_pushinteger(L, h->status);
  lua_setfield(L, -2, "status");
  push_headers(L, &h->answer_headers);
  lua_setfield(L, -2, "headers");
  lua_pushlstring(L, h->answer.len > 0 ? (const char *)h->answer.data : "",
                  h->answer.len);
  lua_setfield(L, -2, "body");
}

/* Header lines, from {name = value}. The buffer is on the stack below as a
 * string: nothing is owned while Lua may raise. */
static char *read_headers(lua_State *L) {
  luaL_Buffer b;
  char *copy;

  if (lua_getfield(L, 1, "headers") == LUA_TNIL) {
    lua_pop(L, 1);
    return NULL;
  }
  if (lua_type(L, -1) != LUA_TTABLE)
    sbx_field_error(L, "headers", "must be a table of strings");
  lua_pushliteral(L, "");
  lua_pushnil(L);
  while (lua_next(L, -3)) {
    size_t n, v;
    const char *name, *value;

    if (lua_type(L, -2) != LUA_TSTRING || lua_type(L, -1) != LUA_TSTRING)
      sbx_field_error(L, "headers", "must be a table of strings");
    name = lua_tolstring(L, -2, &n);
    value = lua_tolstring(L, -1, &v);
    if (n == 0 || strcspn(name, "\r\n: ") != n || strcspn(value, "\r\n") != v)
      sbx_field_error(L, "headers", "must not contain line ends");
    luaL_buffinit(L, &b);
    lua_pushvalue(L, -3);
    luaL_addvalue(&b);
    luaL_addstring(&b, name);
    luaL_addstring(&b, ": ");
    luaL_addstring(&b, value);
    luaL_addstring(&b, "\r\n");
    luaL_pushresult(&b);
    lua_replace(L, -4);
    lua_pop(L, 1);
  }
  copy = strdup(lua_tostring(L, -1));
  if (copy == NULL)
    sbx_check_rc(L, -ENOMEM);
  lua_pop(L, 2);
  return copy;
}

static void read_body(lua_State *L, struct sbx_http_op *h) {
  const char *body = sbx_field_string(L, 1, "body", &h->body_len);

  if (h->body_len > 0) {
    h->body = malloc(h->body_len);
    if (h->body == NULL)
      sbx_check_rc(L, -ENOMEM);
    memcpy(h->body, body, h->body_len);
  }
  lua_pop(L, 1);
}

static char *read_method(lua_State *L) {
  const char *m = sbx_field_text(L, 1, "method");

  if (m[0] == '\0' || strspn(m, "ABCDEFGHIJKLMNOPQRSTUVWXYZ") != strlen(m))
    sbx_field_error(L, "method", "must be in upper case");
  lua_pop(L, 1);
  return copy_text(L, 1, "method", NULL);
}

/* The label of a container that the request creates (`arms`) or removes
 * (`disarms`), for the watchdog, and the prefix of its own requests. */
static void read_watch(lua_State *L, struct sbx_http_op *h) {
  const char *name = "arms";
  int top = lua_gettop(L);

  if (lua_getfield(L, 1, "arms") != LUA_TNIL) {
    h->watch = SBX_HTTP_ARMS;
  } else if (lua_getfield(L, 1, "disarms") != LUA_TNIL) {
    h->watch = SBX_HTTP_DISARMS;
    name = "disarms";
  }
  lua_settop(L, top);
  if (h->watch == SBX_HTTP_UNWATCHED)
    return;
  sbx_check_rc(L, sbx_plan_new(&h->watched));
  h->watched->endpoint = sbx_endpoint_ref(h->endpoint);
  h->watched->mark = copy_text(L, 1, name, NULL);
  h->watched->prefix = copy_text(L, 1, "prefix", "");
}

/* core.http{endpoint, method, path, headers, content_type, body, timeout_ms,
 *   max_body_bytes, lines, arms, disarms, prefix} -> op
 *
 * The result is {status, headers, body, armed}, whatever the status. With
 * `lines` a good answer is not kept: op:read() gives its lines, as they come.
 */
static int l_core_http(lua_State *L) {
  static const char *const known[] = {
      "endpoint", "method",     "path",  "headers",        "content_type",
      "body",     "timeout_ms", "lines", "max_body_bytes", "arms",
      "disarms",  "prefix",     NULL};
  struct sbx_mailbox *mb;
  struct sbx_lop *lop;
  struct sbx_http_op *h;

  lua_settop(L, 1);
  sbx_check_fields(L, 1, known);
  mb = sbx_lua_mailbox(L);
  if (mb == NULL)
    return 2;
  lop = sbx_lop_new(L, push_response);
  sbx_check_rc(L, sbx_http_op_new(&h, mb));
  lop->op = &h->op;

  read_endpoint(L, 1, &h->endpoint);
  h->method = read_method(L);
  h->target = copy_path(L, 1, "path");
  h->headers = read_headers(L);
  h->type = copy_text(L, 1, "content_type", "application/json");
  read_body(L, h);
  h->timeout_ms = (uint64_t)sbx_field_timeout(L, 1, "timeout_ms", 0);
  h->max_body =
      (size_t)sbx_field_integer(L, 1, "max_body_bytes", 0, SBX_MAX_INTEGER,
                                (lua_Integer)SBX_HTTP_MAX_BODY);
  h->lines = sbx_field_boolean(L, 1, "lines");
  read_watch(L, h);
  return sbx_lop_submit(L, lop);
}

/* -- stream requests ----------------------------------------------------------
 */

bool sbx_is_http_request(lua_State *L, int index) {
  bool is = lua_getfield(L, index, "kind") == LUA_TSTRING &&
            strcmp(lua_tostring(L, -1), "http") == 0;

  lua_pop(L, 1);
  return is;
}

static int l_plan_gc(lua_State *L) {
  struct sbx_plan **box = luaL_checkudata(L, 1, PLAN_CLASS);

  sbx_plan_free(*box);
  *box = NULL;
  return 0;
}

static enum sbx_plan_flow read_flow(lua_State *L, int index) {
  static const char *const names[] = {
      [SBX_PLAN_RUN] = "run",
      [SBX_PLAN_EXEC] = "exec",
      [SBX_PLAN_REMOVE] = "remove",
  };
  const char *flow = sbx_field_text(L, index, "flow");
  int i = SBX_PLAN_REMOVE;

  while (i >= 0 && strcmp(flow, names[i]) != 0)
    i--;
  if (i < 0)
    sbx_field_error(L, "flow", "must be \"run\", \"exec\" or \"remove\"");
  lua_pop(L, 1);
  return (enum sbx_plan_flow)i;
}

void sbx_fields_http_request(lua_State *L, int index,
                             struct sbx_request **out) {
  static const char *const known[] = {"kind", "flow", "endpoint", "prefix",
                                      "path", "body", "label",    NULL};
  struct sbx_plan **box = lua_newuserdatauv(L, sizeof(*box), 0);

  *box = NULL;
  luaL_setmetatable(L, PLAN_CLASS);
  sbx_check_fields(L, index, known);
  sbx_check_rc(L, sbx_plan_new(box));
  (*box)->flow = read_flow(L, index);
  read_endpoint(L, index, &(*box)->endpoint);
  (*box)->prefix = copy_text(L, index, "prefix", "");
  (*box)->target = copy_path(L, index, "path");
  if ((*box)->flow != SBX_PLAN_REMOVE)
    (*box)->body = copy_text(L, index, "body", NULL);
  if ((*box)->flow == SBX_PLAN_RUN)
    (*box)->mark = copy_text(L, index, "label", NULL);
  sbx_check_rc(L, sbx_plan_request(out, *box));
  *box = NULL;
  lua_pop(L, 1);
}

void sbx_lhttp_open(lua_State *L) {
  luaL_newmetatable(L, PLAN_CLASS);
  lua_pushcfunction(L, l_plan_gc);
  lua_setfield(L, -2, "__gc");
  lua_pop(L, 1);
  lua_pushcfunction(L, l_core_http);
  lua_setfield(L, -2, "http");
}
