/* SPDX-License-Identifier: MIT */
/* mailbox.h - the completion queue of one consumer (one Lua state).
 *
 * The I/O thread posts operations that have news (data to read, or completed);
 * the consumer takes them one by one. An operation is in the queue at most
 * once. The descriptor is readable exactly while the queue is not empty, so a
 * foreign event loop can watch it.
 *
 * After a fork the child must not use what it inherited: there every call on an
 * inherited mailbox does nothing, and every operation of it counts as failed.
 */
#ifndef SBX_IO_MAILBOX_H
#define SBX_IO_MAILBOX_H

#include "base/err.h"
#include "io/runtime.h"

struct sbx_mailbox;
struct sbx_op;

/* Consumer thread. Acquires the runtime. The caller owns one reference. */
int sbx_mailbox_new(struct sbx_mailbox **out, struct sbx_err *err);
void sbx_mailbox_ref(struct sbx_mailbox *mb);
/* Operations hold a reference of their own. The last one frees the memory; the
 * runtime is released by close, which has to come first. */
void sbx_mailbox_unref(struct sbx_mailbox *mb);
/* Consumer thread, once: no more news is wanted. Cancels the operations that
 * are still running and releases the runtime (joins the I/O thread if this was
 * its last user). The descriptor is closed. */
void sbx_mailbox_close(struct sbx_mailbox *mb);

/* Only before close, and on the I/O thread. */
struct sbx_runtime *sbx_mailbox_runtime(struct sbx_mailbox *mb);
int sbx_mailbox_fd(struct sbx_mailbox *mb);           /* -1 once closed */
bool sbx_mailbox_stale(const struct sbx_mailbox *mb); /* this is a fork */

/* Consumer thread. Takes the next operation with news and passes one reference
 * to the caller. NULL when timeout_ms passed (-1 waits without end, 0 does not
 * wait) or when a signal interrupted the wait. */
struct sbx_op *sbx_mailbox_next(struct sbx_mailbox *mb, int timeout_ms);

/* Any thread: puts op into the queue if it is not there yet. */
void sbx_mailbox_post(struct sbx_mailbox *mb, struct sbx_op *op);

/* For op.c: the lock that also guards the fields of the operations. */
void sbx_mailbox_lock(struct sbx_mailbox *mb);
void sbx_mailbox_unlock(struct sbx_mailbox *mb);
/* Lock held. */
bool sbx_mailbox_is_closed(const struct sbx_mailbox *mb);
void sbx_mailbox_post_locked(struct sbx_mailbox *mb, struct sbx_op *op);
void sbx_mailbox_add_live(struct sbx_mailbox *mb, struct sbx_op *op);

#endif
