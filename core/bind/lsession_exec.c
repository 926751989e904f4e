/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "bind/lsession.h"

const char *sbx_signal_name(int number) {
  static const char *const names[] = {
      NULL,      "SIGHUP",  "SIGINT",    "SIGQUIT", "SIGILL",    "SIGTRAP",
      "SIGABRT", "SIGBUS",  "SIGFPE",    "SIGKILL", "SIGUSR1",   "SIGSEGV",
      "SIGUSR2", "SIGPIPE", "SIGALRM",   "SIGTERM", "SIGSTKFLT", "SIGCHLD",
      "SIGCONT", "SIGSTOP", "SIGTSTP",   "SIGTTIN", "SIGTTOU",   "SIGURG",
      "SIGXCPU", "SIGXFSZ", "SIGVTALRM", "SIGPROF", "SIGWINCH",  "SIGIO",
      "SIGPWR",  "SIGSYS",
  };

  if (number <= 0 || number >= (int)(sizeof(names) / sizeof(names[0])))
    return NULL;
  return names[number];
}

/* strdup of the string on the top; a NUL inside would cut it. */
static char *copy_text(lua_State *L, const char *field) {
  size_t len;
  const char *text;
  char *copy;

  if (lua_type(L, -1) != LUA_TSTRING)
    luaL_error(L, "option '%s' must be a string", field);
  text = lua_tolstring(L, -1, &len);
  if (memchr(text, '\0', len) != NULL)
    luaL_error(L, "option '%s' must not contain a NUL byte", field);
  copy = malloc(len + 1);
  if (copy == NULL)
    luaL_error(L, "not enough memory");
  memcpy(copy, text, len + 1);
  return copy;
}

static void read_args(lua_State *L, int index, struct sbx_command_copy *c) {
  lua_Integer i, n = 0;
  char field[48];
  int type = lua_getfield(L, index, "args");

  if (type == LUA_TTABLE)
    n = (lua_Integer)lua_rawlen(L, -1);
  else if (type != LUA_TNIL)
    sbx_field_error(L, "args", "must be an array of strings");
  c->argv = calloc((size_t)n + 2, sizeof(*c->argv));
  if (c->argv == NULL)
    luaL_error(L, "not enough memory");
  lua_getfield(L, index, "command");
  c->argv[0] = copy_text(L, "command");
  c->argc = 1;
  lua_pop(L, 1);
  for (i = 1; i <= n; i++) {
    lua_rawgeti(L, -1, i);
    snprintf(field, sizeof(field), "args[%lld]", (long long)i);
    c->argv[c->argc] = copy_text(L, field);
    c->argc++;
    lua_pop(L, 1);
  }
  lua_pop(L, 1);
}

static void read_env(lua_State *L, int index, struct sbx_command_copy *c) {
  size_t n = 0;

  if (lua_getfield(L, index, "env") == LUA_TNIL) {
    lua_pop(L, 1);
    return;
  }
  if (lua_type(L, -1) != LUA_TTABLE)
    sbx_field_error(L, "env", "must be a table of strings");
  lua_pushnil(L);
  while (lua_next(L, -2)) {
    lua_pop(L, 1);
    n++;
  }
  c->env = calloc(n + 1, sizeof(*c->env));
  if (c->env == NULL)
    luaL_error(L, "not enough memory");
  lua_pushnil(L);
  while (lua_next(L, -2)) {
    char field[80];
    struct sbx_env *env = &c->env[c->envc];

    lua_pushvalue(L, -2);
    if (lua_type(L, -1) != LUA_TSTRING)
      sbx_field_error(L, "env", "must have strings as names");
    c->envc++;
    env->name = copy_text(L, "env");
    lua_pop(L, 1);
    snprintf(field, sizeof(field), "env.%.60s", env->name);
    env->value = copy_text(L, field);
    lua_pop(L, 1);
  }
  lua_pop(L, 1);
}

void sbx_fields_command(lua_State *L, int index, struct sbx_command_copy *c) {
  read_args(L, index, c);
  read_env(L, index, c);
  if (lua_getfield(L, index, "cwd") != LUA_TNIL)
    c->cwd = copy_text(L, "cwd");
  lua_pop(L, 1);
}

static uint16_t read_size(lua_State *L, int at) {
  lua_Integer n;

  lua_rawgeti(L, -1, at);
  n = lua_isinteger(L, -1) ? lua_tointeger(L, -1) : 0;
  if (n < 1 || n > UINT16_MAX)
    sbx_field_error(L, "pty", "must be {rows, cols}, from 1 to 65535");
  lua_pop(L, 1);
  return (uint16_t)n;
}

void sbx_fields_pty(lua_State *L, int index, struct sbx_job_options *how) {
  if (lua_getfield(L, index, "pty") != LUA_TNIL) {
    if (lua_type(L, -1) != LUA_TTABLE)
      sbx_field_error(L, "pty", "must be {rows, cols}, from 1 to 65535");
    how->pty = true;
    how->rows = read_size(L, 1);
    how->cols = read_size(L, 2);
  }
  lua_pop(L, 1);
}

static lua_Integer integer_of(uint64_t n) {
  return n > (uint64_t)SBX_MAX_INTEGER ? SBX_MAX_INTEGER : (lua_Integer)n;
}

void sbx_push_usage(lua_State *L, bool known, const struct sbx_usage *usage,
                    bool oom) {
  lua_pushboolean(L, oom);
  lua_setfield(L, -2, "oom_killed");
  if (!known)
    return;
  lua_createtable(L, 0, 3);
  lua_pushinteger(L, integer_of(usage->user_us / 1000));
  lua_setfield(L, -2, "user_ms");
  lua_pushinteger(L, integer_of(usage->system_us / 1000));
  lua_setfield(L, -2, "system_ms");
  lua_pushinteger(L, usage->max_rss_kib > (uint64_t)SBX_MAX_INTEGER / 1024
                         ? SBX_MAX_INTEGER
                         : (lua_Integer)usage->max_rss_kib * 1024);
  lua_setfield(L, -2, "max_rss_bytes");
  lua_setfield(L, -2, "usage");
}

static void push_output(lua_State *L, const struct sbx_captured *captured,
                        const char *name) {
  static const char *const suffix[] = {"_truncated", "_omitted_bytes",
                                       "_cut_at"};
  char field[40];

  lua_pushlstring(L, captured->data ? (const char *)captured->data : "",
                  captured->len);
  lua_setfield(L, -2, name);
  snprintf(field, sizeof(field), "%s%s", name, suffix[0]);
  lua_pushboolean(L, captured->truncated);
  lua_setfield(L, -2, field);
  snprintf(field, sizeof(field), "%s%s", name, suffix[1]);
  lua_pushinteger(L, (lua_Integer)captured->omitted);
  lua_setfield(L, -2, field);
  if (captured->truncated) {
    snprintf(field, sizeof(field), "%s%s", name, suffix[2]);
    lua_pushinteger(L, (lua_Integer)captured->cut_at);
    lua_setfield(L, -2, field);
  }
}

/* Also for an error: what was printed so far is part of it. */
static void push_exec(lua_State *L, struct sbx_op *base) {
  struct sbx_exec_op *op = (struct sbx_exec_op *)base;

  lua_createtable(L, 0, 16);
  push_output(L, &op->out, "stdout");
  push_output(L, &op->errout, "stderr");
  if (op->exit_known) {
    lua_pushinteger(L, op->exit_code);
    lua_setfield(L, -2, "exit_code");
  }
  if (sbx_signal_name(op->signal) != NULL) {
    lua_pushstring(L, sbx_signal_name(op->signal));
    lua_setfield(L, -2, "signal");
  }
  lua_pushinteger(L, (lua_Integer)op->duration_ms);
  lua_setfield(L, -2, "duration_ms");
  lua_pushboolean(L, op->timed_out);
  lua_setfield(L, -2, "timed_out");
  lua_pushboolean(L, op->cancelled);
  lua_setfield(L, -2, "cancelled");
  sbx_push_usage(L, op->usage_known, &op->usage, op->oom);
  if (op->could_not_start) {
    lua_pushboolean(L, 1);
    lua_setfield(L, -2, "could_not_start");
  }
}

static void read_exec(lua_State *L, struct sbx_exec_options *o) {
  const char *text;
  size_t len;

  sbx_fields_command(L, 2, &o->command);
  text = sbx_field_string(L, 2, "input", &len);
  if (text != NULL) {
    o->has_input = true;
    o->input_len = len;
    o->input = malloc(len + 1);
    if (o->input == NULL)
      luaL_error(L, "not enough memory");
    memcpy(o->input, text, len);
  }
  lua_pop(L, 1);
  o->timeout_ms = (uint64_t)sbx_field_timeout(L, 2, "timeout_ms", 30000);
  o->grace_ms = (uint64_t)sbx_field_integer(L, 2, "grace_period_ms", 0,
                                            SBX_MAX_INTEGER, 500);
  o->how.max_output = (size_t)sbx_field_integer(L, 2, "max_output_bytes", 0,
                                                (lua_Integer)1 << 40, 1 << 20);
  o->how.keep = sbx_field_keep(L, 2);
  o->stream = sbx_field_boolean(L, 2, "stream");
  o->how.root = sbx_field_boolean(L, 2, "root");
  sbx_fields_pty(L, 2, &o->how);
}

/* session:exec{command, args, cwd, env, input, timeout_ms, grace_period_ms,
 *   max_output_bytes, keep, stream, root, pty = {rows, cols}} -> op
 *
 * With stream, op:read() gives the output as it comes. */
static int l_session_exec(lua_State *L) {
  static const char *const known[] = {"command",
                                      "args",
                                      "cwd",
                                      "env",
                                      "input",
                                      "timeout_ms",
                                      "grace_period_ms",
                                      "max_output_bytes",
                                      "keep",
                                      "stream",
                                      "root",
                                      "pty",
                                      NULL};
  struct sbx_lsession *ls = sbx_check_lsession(L);
  struct sbx_exec_options empty = {0};
  struct sbx_exec_op *op;
  struct sbx_lop *lop;

  lua_settop(L, 2);
  sbx_check_fields(L, 2, known);
  lop = sbx_lop_new(L, push_exec);
  op = sbx_exec_op_new(ls->mailbox, ls->session, &empty);
  if (op == NULL)
    return luaL_error(L, "not enough memory");
  lop->op = &op->base.op;
  read_exec(L, &op->options);
  if (op->options.how.root && !ls->session->options.supervisor &&
      ls->session->options.root == NULL)
    sbx_field_error(L, "root", "needs a session with a root_exec request");
  return sbx_lop_submit(L, lop);
}

void sbx_lsession_exec_open(lua_State *L) {
  lua_pushcfunction(L, l_session_exec);
  lua_setfield(L, -2, "exec");
}
