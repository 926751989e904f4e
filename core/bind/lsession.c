/* SPDX-License-Identifier: MIT */
#include "bind/lsession.h"

#include <stdlib.h>
#include <string.h>

#include "bind/lhttp.h"
#include "proc/exec_runner.h"
#include "proc/probe_op.h"
#include "proc/session_op.h"

struct sbx_lsession *sbx_check_lsession(lua_State *L) {
  struct sbx_lsession *ls = luaL_checkudata(L, 1, SBX_LSESSION_CLASS);

  if (ls->session == NULL) /* a finalizer that runs later than ours */
    luaL_error(L, "the session has been collected");
  return ls;
}

static int l_session_gc(lua_State *L) {
  struct sbx_lsession *ls = luaL_checkudata(L, 1, SBX_LSESSION_CLASS);

  if (ls->session != NULL) {
    (void)sbx_session_close(ls->session);
    sbx_session_unref(ls->session);
    ls->session = NULL;
  }
  if (ls->mailbox != NULL) {
    sbx_mailbox_unref(ls->mailbox);
    ls->mailbox = NULL;
  }
  return 0;
}

/* A field that is {argv, env} or {kind = "http", ...}; absent is fine when it
 * is optional. */
static void read_request(lua_State *L, const char *name, bool required,
                         struct sbx_request **out) {
  if (lua_getfield(L, 1, name) == LUA_TNIL && !required) {
    lua_pop(L, 1);
    return;
  }
  if (lua_type(L, -1) != LUA_TTABLE)
    sbx_field_error(L, name, "must be a request: {argv = {...}}");
  if (sbx_is_http_request(L, lua_gettop(L))) {
    sbx_fields_http_request(L, lua_gettop(L), out);
  } else {
    sbx_check_rc(L, sbx_request_new(out));
    sbx_fields_request(L, lua_gettop(L), *out);
  }
  lua_pop(L, 1);
}

/* A box for what is read before the session exists. */
#define OPTIONS_CLASS "anvia.sandbox.core.SessionOptions"

static int l_options_gc(lua_State *L) {
  sbx_session_options_fini(luaL_checkudata(L, 1, OPTIONS_CLASS));
  return 0;
}

static void read_runner(lua_State *L, struct sbx_session_options *o) {
  const char *runner = sbx_field_string(L, 1, "runner", NULL);
  const char *user;
  size_t len;

  o->supervisor = runner != NULL && strcmp(runner, "supervisor") == 0;
  if (runner != NULL && !o->supervisor && strcmp(runner, "exec") != 0)
    sbx_field_error(L, "runner", "must be \"exec\" or \"supervisor\"");
  lua_pop(L, 1);
  read_request(L, "exec", !o->supervisor, &o->exec);
  read_request(L, "root_exec", false, &o->root);
  read_request(L, "agent", false, &o->agent);
  if (!o->supervisor)
    return;
  user = sbx_field_string(L, 1, "user", &len);
  if (user != NULL && memchr(user, '\0', len) != NULL)
    sbx_field_error(L, "user", "must not contain a NUL byte");
  o->user = strdup(user != NULL ? user : "");
  lua_pop(L, 1);
  if (o->user == NULL)
    luaL_error(L, "not enough memory");
  o->capabilities =
      (uint64_t)sbx_field_integer(L, 1, "capabilities", 0, SBX_MAX_INTEGER, 0);
  o->no_new_privileges = sbx_field_boolean(L, 1, "no_new_privileges");
}

static void read_options(lua_State *L, struct sbx_session_options *o) {
  read_request(L, "attach", true, &o->attach);
  o->attach->lease = true; /* it may outlive this process, to clean up */
  read_runner(L, o);
  read_request(L, "remove", false, &o->remove);
  o->workdir = strdup(sbx_field_text(L, 1, "workdir"));
  lua_pop(L, 1);
  if (o->workdir == NULL)
    luaL_error(L, "not enough memory");
  o->ttl_ms = (uint64_t)sbx_field_timeout(L, 1, "ttl_ms", 0);
  o->idle_ms = (uint64_t)sbx_field_timeout(L, 1, "idle_timeout_ms", 0);
  o->max_processes =
      (size_t)sbx_field_integer(L, 1, "max_processes", 1, 1000000, 4);
  o->max_output = (size_t)sbx_field_integer(L, 1, "max_output_bytes", 0,
                                            (lua_Integer)1 << 40, 1 << 20);
}

/* core.session{attach, exec, root_exec, agent, remove, workdir, ttl_ms,
 *   idle_timeout_ms, max_processes, max_output_bytes, runner, user,
 *   capabilities, no_new_privileges} -> session
 *
 * attach, exec, root_exec, agent and remove are requests, {argv, env} or those
 * of lhttp.h; nothing is started yet. With runner = "supervisor" there are no
 * exec, root_exec and agent: the program in the container is told who the
 * commands are (user, as in an image's USER) and what they may
 * (capabilities: a mask by number; no_new_privileges). */
static int l_core_session(lua_State *L) {
  static const char *const known[] = {"attach",
                                      "exec",
                                      "root_exec",
                                      "agent",
                                      "remove",
                                      "workdir",
                                      "ttl_ms",
                                      "idle_timeout_ms",
                                      "max_processes",
                                      "max_output_bytes",
                                      "runner",
                                      "user",
                                      "capabilities",
                                      "no_new_privileges",
                                      NULL};
  struct sbx_mailbox *mb;
  struct sbx_session_options *options;
  struct sbx_lsession *ls;
  struct sbx_err err = {0};

  lua_settop(L, 1);
  sbx_check_fields(L, 1, known);
  mb = sbx_lua_mailbox(L);
  if (mb == NULL)
    return 2;
  options = lua_newuserdatauv(L, sizeof(*options), 0);
  memset(options, 0, sizeof(*options));
  luaL_setmetatable(L, OPTIONS_CLASS);
  read_options(L, options);

  ls = lua_newuserdatauv(L, sizeof(*ls), 0);
  memset(ls, 0, sizeof(*ls));
  luaL_setmetatable(L, SBX_LSESSION_CLASS);
  sbx_mailbox_ref(mb);
  ls->mailbox = mb;
  if (sbx_session_new(&ls->session, mb, options, &err) < 0)
    return sbx_push_failure(L, &err);
  return 1;
}

static void push_end(lua_State *L, const struct sbx_stream_end *end) {
  if (end->status_known && end->signal == 0) {
    lua_pushinteger(L, end->exit_code);
    lua_setfield(L, -2, "exit_code");
  }
}

static void push_open(lua_State *L, struct sbx_op *base) {
  struct sbx_open_op *op = (struct sbx_open_op *)base;

  lua_createtable(L, 0, 3);
  if (base->rc != 0) {
    lua_pushlstring(L, op->out.len ? (const char *)op->out.data : "",
                    op->out.len);
    lua_setfield(L, -2, "stdout");
    lua_pushlstring(L, op->errout.len ? (const char *)op->errout.data : "",
                    op->errout.len);
    lua_setfield(L, -2, "stderr");
    push_end(L, &op->end);
    return;
  }
  lua_pushinteger(L, op->uid);
  lua_setfield(L, -2, "uid");
  lua_pushinteger(L, op->gid);
  lua_setfield(L, -2, "gid");
  lua_pushboolean(L, op->writable);
  lua_setfield(L, -2, "writable");
}

/* session:open(timeout_ms) -> op; result {uid, gid, writable}, or an error
 * whose result is {stdout, stderr, exit_code} of the engine's client */
static int l_session_open(lua_State *L) {
  struct sbx_lsession *ls = sbx_check_lsession(L);
  lua_Integer timeout = luaL_checkinteger(L, 2);
  struct sbx_lop *lop;
  struct sbx_open_op *op;

  luaL_argcheck(L, timeout > 0, 2, "must be positive");
  lop = sbx_lop_new(L, push_open);
  op = sbx_open_op_new(ls->mailbox, ls->session, (uint64_t)timeout);
  if (op == NULL)
    return luaL_error(L, "not enough memory");
  lop->op = &op->base.op;
  return sbx_lop_submit(L, lop);
}

static void push_closed(lua_State *L, struct sbx_op *base) {
  lua_createtable(L, 0, 1);
  push_end(L, &((struct sbx_closed_op *)base)->end);
}

/* session:wait_closed(timeout_ms) -> op; result {exit_code} of the client */
static int l_session_wait_closed(lua_State *L) {
  struct sbx_lsession *ls = sbx_check_lsession(L);
  lua_Integer timeout = luaL_checkinteger(L, 2);
  struct sbx_lop *lop;
  struct sbx_closed_op *op;

  luaL_argcheck(L, timeout > 0, 2, "must be positive");
  lop = sbx_lop_new(L, push_closed);
  op = sbx_closed_op_new(ls->mailbox, ls->session, (uint64_t)timeout);
  if (op == NULL)
    return luaL_error(L, "not enough memory");
  lop->op = &op->base.op;
  return sbx_lop_submit(L, lop);
}

/* session:close(): closes the lease, soon */
static int l_session_close(lua_State *L) {
  sbx_check_rc(L, sbx_session_close(sbx_check_lsession(L)->session));
  return 0;
}

/* session:touch() */
static int l_session_touch(lua_State *L) {
  sbx_check_rc(L, sbx_session_touch(sbx_check_lsession(L)->session));
  return 0;
}

static void push_note(lua_State *L, int note, int status) {
  switch (note) {
  case SBX_NOTE_PAUSED:
    lua_pushliteral(L, "the container is paused");
    break;
  case SBX_NOTE_OOM:
    lua_pushliteral(L, "the container ran out of memory");
    break;
  case SBX_NOTE_DIED:
    lua_pushfstring(L, "the container ended with status %d", status);
    break;
  case SBX_NOTE_REMOVED:
    lua_pushliteral(L, "the container was removed");
    break;
  default:
    lua_pushnil(L);
  }
}

/* session:state() -> "new" | "opening" | "open" | "closing" | "closed",
 *   nil | "destroy" | "ttl" | "idle" | "lost" | "failed" | "protocol",
 *   nil | what the engine said of the container, for people */
static int l_session_state(lua_State *L) {
  static const char *const states[] = {
      [SBX_SESSION_NEW] = "new",       [SBX_SESSION_OPENING] = "opening",
      [SBX_SESSION_OPEN] = "open",     [SBX_SESSION_CLOSING] = "closing",
      [SBX_SESSION_CLOSED] = "closed",
  };
  static const char *const reasons[] = {
      [SBX_CLOSE_NONE] = NULL,         [SBX_CLOSE_DESTROY] = "destroy",
      [SBX_CLOSE_TTL] = "ttl",         [SBX_CLOSE_IDLE] = "idle",
      [SBX_CLOSE_LOST] = "lost",       [SBX_CLOSE_FAILED] = "failed",
      [SBX_CLOSE_BROKEN] = "protocol",
  };
  struct sbx_session *s = sbx_check_lsession(L)->session;
  int state = atomic_load(&s->state);

  lua_pushstring(L, states[state]);
  lua_pushstring(L, reasons[atomic_load(&s->reason)]); /* NULL pushes nil */
  push_note(L, atomic_load(&s->note), atomic_load(&s->note_status));
  return 3;
}

static void push_ready(lua_State *L, struct sbx_op *base) {
  if (base->rc == 0)
    lua_pushboolean(L, 1);
  else
    lua_pushnil(L);
}

static void read_addresses(lua_State *L, struct sbx_probe_op *op) {
  lua_Integer i, n;

  if (lua_getfield(L, 3, "addresses") == LUA_TNIL) {
    lua_pop(L, 1);
    return;
  }
  if (lua_type(L, -1) != LUA_TTABLE)
    sbx_field_error(L, "addresses", "must be an array of IPv4 addresses");
  n = (lua_Integer)lua_rawlen(L, -1);
  for (i = 1; i <= n && op->own_len < SBX_PROBE_ADDRESSES; i++) {
    lua_rawgeti(L, -1, i);
    if (lua_type(L, -1) != LUA_TSTRING ||
        !sbx_ip4_parse(lua_tostring(L, -1), &op->own[op->own_len]))
      sbx_field_error(L, "addresses", "must be an array of IPv4 addresses");
    op->own_len++;
    lua_pop(L, 1);
  }
  lua_pop(L, 1);
}

/* session:probe(port, {timeout_ms, interval_ms, addresses, host_port}) -> op;
 * result true */
static int l_session_probe(lua_State *L) {
  static const char *const known[] = {"timeout_ms", "interval_ms", "addresses",
                                      "host_port", NULL};
  struct sbx_lsession *ls = sbx_check_lsession(L);
  lua_Integer port = luaL_checkinteger(L, 2);
  struct sbx_lop *lop;
  struct sbx_probe_op *op;

  luaL_argcheck(L, port >= 1 && port <= 65535, 2, "must be a port");
  lua_settop(L, 3);
  sbx_check_fields(L, 3, known);
  lop = sbx_lop_new(L, push_ready);
  op = sbx_probe_op_new(ls->mailbox, ls->session);
  if (op == NULL)
    return luaL_error(L, "not enough memory");
  lop->op = &op->base.op;
  op->port = (uint16_t)port;
  op->host_port = (uint16_t)sbx_field_integer(L, 3, "host_port", 0, 65535, 0);
  op->timeout_ms = (uint64_t)sbx_field_timeout(L, 3, "timeout_ms", 30000);
  op->interval_ms = (uint64_t)sbx_field_timeout(L, 3, "interval_ms", 100);
  read_addresses(L, op);
  return sbx_lop_submit(L, lop);
}

static void new_class(lua_State *L, const char *name, lua_CFunction gc) {
  luaL_newmetatable(L, name);
  lua_pushcfunction(L, gc);
  lua_setfield(L, -2, "__gc");
  lua_pushboolean(L, 0);
  lua_setfield(L, -2, "__metatable");
}

void sbx_lsession_open(lua_State *L) {
  static const luaL_Reg methods[] = {
      {"open", l_session_open},
      {"wait_closed", l_session_wait_closed},
      {"close", l_session_close},
      {"touch", l_session_touch},
      {"state", l_session_state},
      {"probe", l_session_probe},
      {NULL, NULL},
  };

  new_class(L, OPTIONS_CLASS, l_options_gc);
  lua_pop(L, 1);
  new_class(L, SBX_LSESSION_CLASS, l_session_gc);
  luaL_newlib(L, methods);
  sbx_lsession_exec_open(L);
  sbx_lprocess_open(L);
  sbx_lfile_open(L);
  lua_setfield(L, -2, "__index");
  lua_pop(L, 1);
  lua_pushcfunction(L, l_core_session);
  lua_setfield(L, -2, "session");
}
