/* SPDX-License-Identifier: MIT */
/* op.h - one asynchronous request: submitted once, completed once.
 *
 * A concrete operation embeds struct sbx_op as its first member and has a
 * class. The consumer creates and submits it; the I/O thread starts it, feeds
 * it and completes it; after sbx_op_done() is true the consumer reads the
 * results, which the I/O thread then no longer touches. */
#ifndef SBX_IO_OP_H
#define SBX_IO_OP_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "base/list.h"
#include "io/mailbox.h"
#include "io/runtime.h"

/* Data queued for a consumer beyond which the producer must stop reading, and
 * below which it may go on (see sbx_op_class.window). */
#define SBX_OP_HIGH_WATER (256u * 1024u)
#define SBX_OP_LOW_WATER  (64u * 1024u)

struct sbx_op;

struct sbx_op_class {
  const char *name;
  /* I/O thread. May complete the operation before it returns. */
  void (*start)(struct sbx_op *op);
  /* I/O thread, instead of start: it was cancelled before. Completes the
   * operation. NULL: it completes with SBX_ECANCELLED. */
  void (*skip)(struct sbx_op *op);
  /* I/O thread, between start and completion only, at most once. NULL:
   * cancelling just completes with SBX_ECANCELLED. Must lead to the completion
   * within a bounded time. */
  void (*cancel)(struct sbx_op *op);
  /* I/O thread: the consumer has read the queue down to the low water, after
   * it had been at the high water. May be NULL. */
  void (*window)(struct sbx_op *op);
  /* Last reference gone, any thread: frees what the concrete part owns and the
   * operation itself. */
  void (*free)(struct sbx_op *op);
};

struct sbx_chunk {
  struct sbx_list link;
  int which; /* 1 stdout, 2 stderr */
  size_t len;
  uint8_t data[];
};

struct sbx_op {
  const struct sbx_op_class *cls;
  struct sbx_mailbox *mailbox; /* one reference */
  atomic_int refs;
  struct sbx_job submit_job;
  struct sbx_job cancel_job;
  struct sbx_job window_job;

  /* guarded by the mailbox's lock */
  bool submitted;
  bool done;
  bool queued;
  bool cancel_posted;
  bool window_posted;
  bool was_full; /* at the high water since the last window */
  struct sbx_list queue_link;
  struct sbx_list live_link;
  struct sbx_list chunks;
  size_t chunk_bytes;

  /* written by the I/O thread before done */
  int rc; /* 0 or a negative code; err says why */
  struct sbx_err err;

  /* I/O thread only */
  bool started;
  bool completed;

  void *user; /* consumer's, e.g. its Lua reference */
};

/* Consumer thread. The caller owns one reference (the operation's own is taken
 * by submit and dropped by complete). */
void sbx_op_init(struct sbx_op *op, const struct sbx_op_class *cls,
                 struct sbx_mailbox *mailbox);
void sbx_op_ref(struct sbx_op *op);
void sbx_op_unref(struct sbx_op *op);

/* Consumer thread. */
void sbx_op_submit(struct sbx_op *op);
void sbx_op_cancel(struct sbx_op *op); /* no effect once done */
/* In a forked child an inherited operation counts as done, and is lost: of its
 * results only rc and err may be read. */
bool sbx_op_done(struct sbx_op *op);
bool sbx_op_lost(const struct sbx_op *op);
/* Takes the oldest chunk, which the caller frees with free(); NULL if none. */
struct sbx_chunk *sbx_op_read(struct sbx_op *op);

/* I/O thread. rc is 0 or a negative code; with err, err->code and message are
 * copied. Exactly once; drops the I/O thread's reference. */
void sbx_op_complete(struct sbx_op *op, int rc, const struct sbx_err *err);
/* I/O thread. Queues a copy for the consumer. Returns the bytes queued now (the
 * caller pauses its source at SBX_OP_HIGH_WATER) or -ENOMEM. */
ssize_t sbx_op_push(struct sbx_op *op, int which, const void *data, size_t len);

#endif
