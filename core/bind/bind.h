/* SPDX-License-Identifier: MIT */
/* bind.h - what the files of the Lua module share. Lua thread only.
 *
 * Box first, fill second: whatever C owns hangs on a userdata with __gc before
 * a Lua function that may raise is called. */
#ifndef SBX_BIND_BIND_H
#define SBX_BIND_BIND_H

#include <lauxlib.h>
#include <lua.h>

#include "base/capture.h"
#include "base/err.h"
#include "io/op.h"
#include "io/request.h"

/* 2^53: up to here every integer is a Lua integer, a Lua float and a number of
 * JSON alike. */
#define SBX_MAX_INTEGER ((lua_Integer)1 << 53)

/* ---- lerr.c: failures as values ---- */

/* Pushes nil and {code=, message=}; returns 2, for `return`. */
int sbx_push_failure(lua_State *L, const struct sbx_err *err);
/* Pushes the table alone. */
void sbx_push_error(lua_State *L, const struct sbx_err *err);

/* ---- lruntime.c: the state's mailbox ---- */

/* The mailbox of this state, opened when it is first needed. NULL on failure:
 * then nil and an error were pushed, and the caller returns 2. Raises while
 * the state is being closed. */
struct sbx_mailbox *sbx_lua_mailbox(lua_State *L);

/* ---- lop.c: operations ---- */

/* Pushes exactly one value: the result of an operation that is done. It is also
 * called for one that failed (op->rc != 0): then nil, or what becomes the field
 * `result` of the error. Called at most once for each operation. */
typedef void (*sbx_push_result)(lua_State *L, struct sbx_op *op);

struct sbx_lop {
  struct sbx_op *op; /* one reference; NULL before it is made and once the
                        result was taken */
  sbx_push_result push_result;
  struct sbx_chunk *chunk; /* being turned into a string */
};

/* Pushes an empty userdata. The caller makes the operation, stores it at once
 * in `op`, fills it in and ends with
 *   return sbx_lop_submit(L, lop);
 * with the userdata on the top. */
struct sbx_lop *sbx_lop_new(lua_State *L, sbx_push_result push_result);
int sbx_lop_submit(lua_State *L, struct sbx_lop *lop); /* returns 1 */

/* The state is being closed: what a finalizer makes now gets no finalizer any
 * more, so all operations are let go here. */
void sbx_lop_close_all(lua_State *L);

/* ---- lfield.c: fields of an options table ---- */

/* All raise "option 'name' ..." at the caller of the running C function.
 * `index` is the absolute index of the table. */

/* Raises unless every key is one of `known`, which ends with NULL. */
void sbx_check_fields(lua_State *L, int index, const char *const *known);
/* An integer (or a float of integral value) in min..max; `absent` for nil. */
lua_Integer sbx_field_integer(lua_State *L, int index, const char *name,
                              lua_Integer min, lua_Integer max,
                              lua_Integer absent);
bool sbx_field_boolean(lua_State *L, int index, const char *name);
/* Pushes the string and returns it, it lives as long as it is on the stack;
 * NULL (and nil pushed) for nil. */
const char *sbx_field_string(lua_State *L, int index, const char *name,
                             size_t *len);
/* The same, required, and without a NUL inside. */
const char *sbx_field_text(lua_State *L, int index, const char *name);
/* head, tail or both [both]. */
enum sbx_keep sbx_field_keep(lua_State *L, int index);
/* {argv = {...}, env = {NAME = value | false}}: reads both fields of the table
 * into an empty request, and seals it. */
void sbx_fields_request(lua_State *L, int index, struct sbx_request *request);
/* "option 'name' <text>" */
int sbx_field_error(lua_State *L, const char *name, const char *text);
/* Raises for -ENOMEM and the like. */
void sbx_check_rc(lua_State *L, int rc);

/* A timeout: 1..2^53 milliseconds. */
#define sbx_field_timeout(L, index, name, absent)                              \
  sbx_field_integer(L, index, name, 1, SBX_MAX_INTEGER, absent)

/* ---- parts of the module: each adds to the table on the top ---- */

void sbx_lop_open(lua_State *L);      /* class of operations, nothing else */
void sbx_lruntime_open(lua_State *L); /* next, fd, sleep, clocks, random */
void sbx_lrun_open(lua_State *L);     /* run */
void sbx_lhttp_open(lua_State *L);    /* http */
void sbx_ljson_open(lua_State *L);    /* json_encode ... null */
void sbx_lsession_open(lua_State *L); /* session; with lsession.c only */
void sbx_lsupervisor_open(lua_State *L);

#endif
