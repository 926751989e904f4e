/* SPDX-License-Identifier: MIT */
/* lsession.h - between the files that bind a session. Lua thread only. */
#ifndef SBX_BIND_LSESSION_H
#define SBX_BIND_LSESSION_H

#include "bind/bind.h"
#include "proc/exec_op.h"
#include "proc/session.h"

#define SBX_LSESSION_CLASS "anvia.sandbox.core.Session"

struct sbx_lsession {
  struct sbx_session *session; /* one reference; NULL before it is made */
  struct sbx_mailbox *mailbox; /* one reference */
};

struct sbx_lsession *sbx_check_lsession(lua_State *L);

/* Reads command, args, cwd and env of the table at `index` into an empty copy
 * that something with a finalizer owns. Raises "option 'args[2]' ...". */
void sbx_fields_command(lua_State *L, int index, struct sbx_command_copy *c);

/* The field pty of the table at `index`: {rows, cols}, or absent. */
void sbx_fields_pty(lua_State *L, int index, struct sbx_job_options *how);
/* Sets `usage` and `oom_killed` in the table on the top. */
void sbx_push_usage(lua_State *L, bool known, const struct sbx_usage *usage,
                    bool oom);

/* Name of a signal number, "SIGTERM"; NULL when it has none here. */
const char *sbx_signal_name(int number);

/* Each adds its methods to the table on the top. */
void sbx_lsession_exec_open(lua_State *L);
void sbx_lprocess_open(lua_State *L);
void sbx_lfile_open(lua_State *L);

#endif
