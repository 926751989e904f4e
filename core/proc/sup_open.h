/* SPDX-License-Identifier: MIT */
/* sup_open.h - a session whose PID 1 is our supervisor: how its stream begins
 * and ends. I/O thread only. */
#ifndef SBX_PROC_SUP_OPEN_H
#define SBX_PROC_SUP_OPEN_H

#include "proc/session_op.h"

/* The supervisor gives the session up by itself that much later than we do: a
 * container must not outlive an owner who was stopped. */
#define SBX_SUP_SLACK_MS 5000

/* The lease has been opened: says hello and waits for the answer. 0 or -ENOMEM;
 * then nothing was made. */
int sbx_sup_open(struct sbx_open_op *op);
/* All of these do nothing for a session without a supervisor. The open
 * operation is over, however it ended: */
void sbx_sup_opened(struct sbx_session *s);
/* SHUTDOWN, and no more of the mux. The runner must have lost it before. */
void sbx_sup_close(struct sbx_session *s);
/* Activity; the supervisor is told at most once a second. */
void sbx_sup_touch(struct sbx_session *s);

#endif
