/* SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "bind/lsession.h"
#include "proc/process_op.h"

static void push_info(lua_State *L, const struct sbx_process_info *info) {
  static const char *const status[] = {
      [SBX_PROCESS_STARTING] = "running",
      [SBX_PROCESS_RUNNING] = "running",
      [SBX_PROCESS_EXITED] = "exited",
      [SBX_PROCESS_STOPPED] = "stopped",
  };
  size_t i;

  lua_createtable(L, 0, 9);
  lua_pushstring(L, info->id);
  lua_setfield(L, -2, "id");
  lua_pushstring(L, info->command.argv[0]);
  lua_setfield(L, -2, "command");
  lua_createtable(L, (int)info->command.argc, 0);
  for (i = 1; i < info->command.argc; i++) {
    lua_pushstring(L, info->command.argv[i]);
    lua_rawseti(L, -2, (lua_Integer)i);
  }
  lua_setfield(L, -2, "args");
  lua_pushstring(L, info->command.cwd);
  lua_setfield(L, -2, "cwd");
  lua_pushstring(L, status[info->status]);
  lua_setfield(L, -2, "status");
  if (info->exit_known) {
    lua_pushinteger(L, info->exit_code);
    lua_setfield(L, -2, "exit_code");
    lua_pushstring(L, sbx_signal_name(info->signal));
    lua_setfield(L, -2, "signal");
    sbx_push_usage(L, info->usage_known, &info->usage, info->oom);
  }
  if (info->started_at != 0) {
    lua_pushinteger(L, info->started_at);
    lua_setfield(L, -2, "started_at");
  }
  if (info->ended_at != 0) {
    lua_pushinteger(L, info->ended_at);
    lua_setfield(L, -2, "ended_at");
  }
}

static void push_one(lua_State *L, struct sbx_op *base) {
  struct sbx_process_op *op = (struct sbx_process_op *)base;

  if (base->rc == 0 && op->info_count == 1)
    push_info(L, op->infos);
  else
    lua_pushnil(L);
}

static void push_all(lua_State *L, struct sbx_op *base) {
  struct sbx_process_op *op = (struct sbx_process_op *)base;
  size_t i;

  lua_createtable(L, (int)op->info_count, 0);
  for (i = 0; i < op->info_count; i++) {
    push_info(L, &op->infos[i]);
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
}

static void push_text(lua_State *L, const struct sbx_buf *text,
                      const char *field) {
  lua_pushlstring(L, text->len ? (const char *)text->data : "", text->len);
  lua_setfield(L, -2, field);
}

/* A failed start: what the client said. */
static void push_start(lua_State *L, struct sbx_op *base) {
  struct sbx_process_op *op = (struct sbx_process_op *)base;

  if (base->rc == 0) {
    push_one(L, base);
    return;
  }
  lua_createtable(L, 0, 4);
  push_text(L, &op->text[0], "stdout");
  push_text(L, &op->text[1], "stderr");
  if (op->exit_known) {
    lua_pushinteger(L, op->exit_code);
    lua_setfield(L, -2, "exit_code");
  }
  lua_pushboolean(L, op->could_not_start);
  lua_setfield(L, -2, "could_not_start");
}

static void push_logs(lua_State *L, struct sbx_op *base) {
  struct sbx_process_op *op = (struct sbx_process_op *)base;
  char cursor[48];

  lua_createtable(L, 0, 7);
  push_text(L, &op->text[0], "stdout");
  push_text(L, &op->text[1], "stderr");
  lua_pushboolean(L, op->truncated[0]);
  lua_setfield(L, -2, "stdout_truncated");
  lua_pushboolean(L, op->truncated[1]);
  lua_setfield(L, -2, "stderr_truncated");
  lua_pushinteger(L, (lua_Integer)op->lost[0]);
  lua_setfield(L, -2, "stdout_lost_bytes");
  lua_pushinteger(L, (lua_Integer)op->lost[1]);
  lua_setfield(L, -2, "stderr_lost_bytes");
  snprintf(cursor, sizeof(cursor), "%" PRIu64 ":%" PRIu64, op->cursor[0],
           op->cursor[1]);
  lua_pushstring(L, cursor);
  lua_setfield(L, -2, "cursor");
}

/* Pushes a box with a new operation on the process that argument 2 names. */
static struct sbx_process_op *new_op(lua_State *L,
                                     const struct sbx_op_class *cls,
                                     sbx_push_result push, const char *id,
                                     struct sbx_lop **lop) {
  struct sbx_lsession *ls = sbx_check_lsession(L);
  struct sbx_process_op *op;

  *lop = sbx_lop_new(L, push);
  op = sbx_process_op_new(cls, ls->mailbox, ls->session, id);
  if (op == NULL)
    luaL_error(L, "not enough memory");
  (*lop)->op = &op->base.op;
  return op;
}

static const char *check_id(lua_State *L) {
  size_t len;
  const char *id = luaL_checklstring(L, 2, &len);

  luaL_argcheck(L, memchr(id, '\0', len) == NULL, 2, "must not contain NUL");
  return id;
}

/* session:start{id, command, args, cwd, env, stdin, timeout_ms,
 *   pty = {rows, cols}} -> op */
static int l_session_start(lua_State *L) {
  static const char *const known[] = {"id",         "command", "args",
                                      "cwd",        "env",     "stdin",
                                      "timeout_ms", "pty",     NULL};
  struct sbx_lop *lop;
  struct sbx_process_op *op;
  const char *id;

  lua_settop(L, 2);
  sbx_check_fields(L, 2, known);
  id = sbx_field_text(L, 2, "id");
  op = new_op(L, &sbx_start_op_class, push_start, id, &lop);
  sbx_fields_command(L, 2, &op->command);
  op->has_stdin = sbx_field_boolean(L, 2, "stdin");
  sbx_fields_pty(L, 2, &op->how);
  op->time_ms = (uint64_t)sbx_field_timeout(L, 2, "timeout_ms", 30000);
  return sbx_lop_submit(L, lop);
}

/* session:list() -> op; result array of info */
static int l_session_list(lua_State *L) {
  struct sbx_lop *lop;

  new_op(L, &sbx_list_op_class, push_all, NULL, &lop);
  return sbx_lop_submit(L, lop);
}

/* Operations of an id alone. */
static int simple(lua_State *L, const struct sbx_op_class *cls) {
  struct sbx_lop *lop;

  new_op(L, cls, push_one, check_id(L), &lop);
  return sbx_lop_submit(L, lop);
}

/* session:info(id) -> op */
static int l_session_info(lua_State *L) {
  return simple(L, &sbx_info_op_class);
}

/* session:close_stdin(id) -> op */
static int l_session_close_stdin(lua_State *L) {
  return simple(L, &sbx_close_stdin_op_class);
}

/* Operations of an id and a time in milliseconds. */
static int timed(lua_State *L, const struct sbx_op_class *cls,
                 lua_Integer min) {
  const char *id = check_id(L);
  lua_Integer ms = luaL_checkinteger(L, 3);
  struct sbx_lop *lop;

  luaL_argcheck(L, ms >= min, 3, "is too small");
  new_op(L, cls, push_one, id, &lop)->time_ms = (uint64_t)ms;
  return sbx_lop_submit(L, lop);
}

/* session:wait(id, timeout_ms) -> op; result info of the ended process */
static int l_session_wait(lua_State *L) {
  return timed(L, &sbx_wait_op_class, 1);
}

/* session:stop(id, grace_ms) -> op; result info */
static int l_session_stop(lua_State *L) {
  return timed(L, &sbx_stop_op_class, 0);
}

/* session:drop(id, grace_ms) -> op: stops it and forgets its record */
static int l_session_drop(lua_State *L) {
  return timed(L, &sbx_drop_op_class, 0);
}

/* session:resize(id, rows, cols) -> op; of a process with a terminal */
static int l_session_resize(lua_State *L) {
  const char *id = check_id(L);
  lua_Integer rows = luaL_checkinteger(L, 3);
  lua_Integer cols = luaL_checkinteger(L, 4);
  struct sbx_lop *lop;
  struct sbx_process_op *op;

  luaL_argcheck(L, rows >= 1 && rows <= UINT16_MAX, 3, "must be 1 to 65535");
  luaL_argcheck(L, cols >= 1 && cols <= UINT16_MAX, 4, "must be 1 to 65535");
  op = new_op(L, &sbx_resize_op_class, push_one, id, &lop);
  op->rows = (uint16_t)rows;
  op->cols = (uint16_t)cols;
  return sbx_lop_submit(L, lop);
}

/* session:signal(id, name) -> op; name like "TERM", without SIG */
static int l_session_signal(lua_State *L) {
  static const char *const names[] = {
      "HUP",  "INT",  "QUIT", "KILL", "USR1", "USR2", "PIPE",  "ALRM",
      "TERM", "CONT", "STOP", "TSTP", "TTIN", "TTOU", "WINCH", NULL};
  const char *id = check_id(L);
  const char *name = names[luaL_checkoption(L, 3, NULL, names)];
  struct sbx_lop *lop;
  struct sbx_process_op *op =
      new_op(L, &sbx_signal_op_class, push_one, id, &lop);

  snprintf(op->signal, sizeof(op->signal), "%s", name);
  return sbx_lop_submit(L, lop);
}

/* session:write(id, data) -> op: completes when the client has taken it */
static int l_session_write(lua_State *L) {
  const char *id = check_id(L);
  size_t len;
  const char *data = luaL_checklstring(L, 3, &len);
  struct sbx_lop *lop;
  struct sbx_process_op *op =
      new_op(L, &sbx_write_op_class, push_one, id, &lop);

  op->data = malloc(len + 1);
  if (op->data == NULL)
    return luaL_error(L, "not enough memory");
  memcpy(op->data, data, len);
  op->data_len = len;
  return sbx_lop_submit(L, lop);
}

static void read_cursor(lua_State *L, struct sbx_process_op *op) {
  const char *text = sbx_field_string(L, 3, "since", NULL);
  int used = 0;

  if (text != NULL) {
    if (sscanf(text, "%" SCNu64 ":%" SCNu64 "%n", &op->since[0], &op->since[1],
               &used) != 2 ||
        text[used] != '\0' || text[0] == '-')
      sbx_field_error(L, "since", "must be a cursor of an earlier call");
    op->has_since = true;
  }
  lua_pop(L, 1);
}

/* session:logs(id, {tail_bytes, since}) -> op; result {stdout, stderr,
 *   stdout_truncated, stdout_lost_bytes, ..., cursor} */
static int l_session_logs(lua_State *L) {
  static const char *const known[] = {"tail_bytes", "since", NULL};
  const char *id = check_id(L);
  struct sbx_lop *lop;
  struct sbx_process_op *op;
  lua_Integer most =
      (lua_Integer)sbx_check_lsession(L)->session->options.max_output;

  lua_settop(L, 3);
  sbx_check_fields(L, 3, known);
  op = new_op(L, &sbx_logs_op_class, push_logs, id, &lop);
  op->tail_bytes =
      (size_t)sbx_field_integer(L, 3, "tail_bytes", 0, SBX_MAX_INTEGER, most);
  if (op->tail_bytes > (size_t)most)
    op->tail_bytes = (size_t)most;
  read_cursor(L, op);
  return sbx_lop_submit(L, lop);
}

void sbx_lprocess_open(lua_State *L) {
  static const luaL_Reg methods[] = {
      {"start", l_session_start},   {"list", l_session_list},
      {"info", l_session_info},     {"close_stdin", l_session_close_stdin},
      {"wait", l_session_wait},     {"stop", l_session_stop},
      {"drop", l_session_drop},     {"resize", l_session_resize},
      {"signal", l_session_signal}, {"write", l_session_write},
      {"logs", l_session_logs},     {NULL, NULL},
  };

  luaL_setfuncs(L, methods, 0);
}
