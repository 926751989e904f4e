/* SPDX-License-Identifier: MIT */
/* session_op.h - the operations that open a session and wait for its end. */
#ifndef SBX_PROC_SESSION_OP_H
#define SBX_PROC_SESSION_OP_H

#include "proc/session.h"

/* Starts the lease and waits for PID 1's first answer. On failure the lease is
 * closed; the client may still be at work, see wait_closed. */
struct sbx_open_op {
  struct sbx_session_op base;
  uint64_t timeout_ms;
  struct sbx_timer *timer;
  /* results; the texts are the client's, also after a failure */
  long uid, gid;
  bool writable; /* the workspace, for the session's user */
  bool greeted;
  struct sbx_buf out, errout;
  struct sbx_stream_end end; /* status_known: the client has ended */
};

/* Completes when the client has ended, which is after the engine has removed
 * the container; SBX_ETIMEOUT when that takes too long. */
struct sbx_closed_op {
  struct sbx_session_op base;
  uint64_t timeout_ms;
  struct sbx_timer *timer;
  struct sbx_stream_end end;
};

extern const struct sbx_op_class sbx_open_op_class;
extern const struct sbx_op_class sbx_closed_op_class;

/* Between session_op.c and sup_open.c; the operation is over. */
void sbx_open_op_ready(struct sbx_open_op *op);
void sbx_open_op_fail(struct sbx_open_op *op, int code, const char *why);

/* Consumer thread. NULL when out of memory. */
struct sbx_open_op *sbx_open_op_new(struct sbx_mailbox *mb,
                                    struct sbx_session *s, uint64_t timeout_ms);
struct sbx_closed_op *sbx_closed_op_new(struct sbx_mailbox *mb,
                                        struct sbx_session *s,
                                        uint64_t timeout_ms);

#endif
