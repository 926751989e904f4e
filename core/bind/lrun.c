/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "bind/bind.h"
#include "io/run_op.h"

static void push_output(lua_State *L, const struct sbx_captured *captured,
                        const char *text, const char *truncated,
                        const char *omitted) {
  lua_pushlstring(L, captured->data ? (char *)captured->data : "",
                  captured->len);
  lua_setfield(L, -2, text);
  lua_pushboolean(L, captured->truncated);
  lua_setfield(L, -2, truncated);
  lua_pushinteger(L, (lua_Integer)captured->omitted);
  lua_setfield(L, -2, omitted);
}

static void push_run_result(lua_State *L, struct sbx_op *op) {
  struct sbx_run_op *run = (struct sbx_run_op *)op;
  if (op->rc != 0) {
    lua_pushnil(L);
    return;
  }
  lua_createtable(L, 0, 11);
  if (run->end.status_known && run->end.signal == 0) {
    lua_pushinteger(L, run->end.exit_code);
    lua_setfield(L, -2, "exit_code");
  } else if (run->end.status_known) {
    lua_pushinteger(L, run->end.signal);
    lua_setfield(L, -2, "signal");
  }
  push_output(L, &run->output[0], "stdout", "stdout_truncated",
              "stdout_omitted_bytes");
  push_output(L, &run->output[1], "stderr", "stderr_truncated",
              "stderr_omitted_bytes");
  lua_pushboolean(L, run->timed_out);
  lua_setfield(L, -2, "timed_out");
  lua_pushboolean(L, run->cancelled);
  lua_setfield(L, -2, "cancelled");
  lua_pushinteger(L, (lua_Integer)run->duration_ms);
  lua_setfield(L, -2, "duration_ms");
}

static void read_input(lua_State *L, struct sbx_run_op *run) {
  const char *input = sbx_field_string(L, 1, "input", &run->input_len);
  if (run->input_len > 0) {
    run->input = malloc(run->input_len);
    if (!run->input)
      sbx_check_rc(L, -ENOMEM);
    memcpy(run->input, input, run->input_len);
  }
  lua_pop(L, 1);
}

/* core.run{argv, env, input, timeout_ms, max_output_bytes, keep} -> op */
static int l_core_run(lua_State *L) {
  static const char *const known[] = {
      "argv", "env", "input", "timeout_ms", "max_output_bytes", "keep", NULL};
  lua_settop(L, 1);
  sbx_check_fields(L, 1, known);
  struct sbx_mailbox *mb = sbx_lua_mailbox(L);
  if (!mb)
    return 2;
  struct sbx_lop *lop = sbx_lop_new(L, push_run_result);
  struct sbx_run_op *run;
  sbx_check_rc(L, sbx_run_op_new(&run, mb));
  lop->op = &run->op;

  sbx_fields_request(L, 1, run->request);
  read_input(L, run);
  run->timeout_ms = (uint64_t)sbx_field_timeout(L, 1, "timeout_ms", 0);
  run->max_output_bytes =
      (size_t)sbx_field_integer(L, 1, "max_output_bytes", 0, SBX_MAX_INTEGER,
                                (lua_Integer)SBX_RUN_MAX_OUTPUT);
  run->keep = sbx_field_keep(L, 1);
  return sbx_lop_submit(L, lop);
}

void sbx_lrun_open(lua_State *L) {
  lua_pushcfunction(L, l_core_run);
  lua_setfield(L, -2, "run");
}
