/* SPDX-License-Identifier: MIT */
#include "io/op.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ---- jobs, on the I/O thread; each holds a reference ---- */

static void run_submit(struct sbx_job *job) {
  struct sbx_op *op = SBX_LIST_OWNER(job, struct sbx_op, submit_job);
  sbx_mailbox_lock(op->mailbox);
  bool cancelled = op->cancel_posted;
  sbx_mailbox_unlock(op->mailbox);
  op->started = !cancelled;
  if (!cancelled)
    op->cls->start(op);
  else if (op->cls->skip)
    op->cls->skip(op);
  else
    sbx_op_complete(op, SBX_ECANCELLED, NULL);
}

static void run_cancel(struct sbx_job *job) {
  struct sbx_op *op = SBX_LIST_OWNER(job, struct sbx_op, cancel_job);
  if (op->started && !op->completed) {
    if (op->cls->cancel)
      op->cls->cancel(op);
    else
      sbx_op_complete(op, SBX_ECANCELLED, NULL);
  }
  sbx_op_unref(op);
}

static void run_window(struct sbx_job *job) {
  struct sbx_op *op = SBX_LIST_OWNER(job, struct sbx_op, window_job);
  sbx_mailbox_lock(op->mailbox);
  op->window_posted = false;
  sbx_mailbox_unlock(op->mailbox);
  if (!op->completed)
    op->cls->window(op);
  sbx_op_unref(op);
}

void sbx_op_complete(struct sbx_op *op, int rc, const struct sbx_err *err) {
  op->completed = true;
  op->rc = rc;
  if (rc != 0) {
    if (err && err->code != 0)
      op->err = *err;
    else
      sbx_fail(&op->err, rc, "%s", rc > -5000 ? "" : sbx_err_text(rc));
  }
  sbx_mailbox_lock(op->mailbox);
  op->done = true;
  sbx_list_remove(&op->live_link);
  sbx_mailbox_post_locked(op->mailbox, op);
  sbx_mailbox_unlock(op->mailbox);
  sbx_op_unref(op);
}

ssize_t sbx_op_push(struct sbx_op *op, int which, const void *data,
                    size_t len) {
  struct sbx_chunk *chunk = NULL;
  if (len > 0) {
    chunk = malloc(sizeof(*chunk) + len);
    if (!chunk)
      return -ENOMEM;
    chunk->which = which;
    chunk->len = len;
    memcpy(chunk->data, data, len);
  }
  sbx_mailbox_lock(op->mailbox);
  if (chunk && !sbx_mailbox_is_closed(op->mailbox)) {
    sbx_list_append(&op->chunks, &chunk->link);
    op->chunk_bytes += len;
    if (op->chunk_bytes >= SBX_OP_HIGH_WATER)
      op->was_full = true;
    sbx_mailbox_post_locked(op->mailbox, op);
    chunk = NULL;
  }
  ssize_t queued = (ssize_t)op->chunk_bytes;
  sbx_mailbox_unlock(op->mailbox);
  free(chunk); /* nobody reads any more */
  return queued;
}

/* ---- the consumer's side ---- */

void sbx_op_init(struct sbx_op *op, const struct sbx_op_class *cls,
                 struct sbx_mailbox *mailbox) {
  memset(op, 0, sizeof(*op));
  op->cls = cls;
  op->mailbox = mailbox;
  sbx_mailbox_ref(mailbox);
  atomic_init(&op->refs, 1);
  sbx_list_init(&op->queue_link);
  sbx_list_init(&op->live_link);
  sbx_list_init(&op->chunks);
  op->submit_job.run = run_submit;
  op->cancel_job.run = run_cancel;
  op->window_job.run = run_window;
}

void sbx_op_ref(struct sbx_op *op) {
  atomic_fetch_add(&op->refs, 1);
}

void sbx_op_unref(struct sbx_op *op) {
  /* a forked child has no I/O thread to agree with: it leaves the memory */
  if (atomic_fetch_sub(&op->refs, 1) != 1 || sbx_op_lost(op))
    return;
  struct sbx_list *it;
  while ((it = sbx_list_shift(&op->chunks)) != NULL)
    free(SBX_LIST_OWNER(it, struct sbx_chunk, link));
  struct sbx_mailbox *mailbox = op->mailbox;
  op->cls->free(op);
  sbx_mailbox_unref(mailbox);
}

bool sbx_op_lost(const struct sbx_op *op) {
  return sbx_mailbox_stale(op->mailbox);
}

void sbx_op_submit(struct sbx_op *op) {
  if (sbx_op_lost(op))
    return;
  sbx_op_ref(op); /* the I/O thread's, until complete */
  sbx_mailbox_lock(op->mailbox);
  if (!sbx_mailbox_is_closed(op->mailbox)) {
    op->submitted = true;
    sbx_mailbox_add_live(op->mailbox, op);
    sbx_runtime_post(sbx_mailbox_runtime(op->mailbox), &op->submit_job);
    sbx_mailbox_unlock(op->mailbox);
    return;
  }
  sbx_mailbox_unlock(op->mailbox);
  sbx_op_complete(op, SBX_ECANCELLED, NULL);
}

void sbx_op_cancel(struct sbx_op *op) {
  if (sbx_op_lost(op))
    return;
  sbx_mailbox_lock(op->mailbox);
  /* posted under the lock: close, which takes it, releases the runtime */
  if (op->submitted && !op->done && !op->cancel_posted &&
      !sbx_mailbox_is_closed(op->mailbox)) {
    op->cancel_posted = true;
    sbx_op_ref(op);
    sbx_runtime_post(sbx_mailbox_runtime(op->mailbox), &op->cancel_job);
  }
  sbx_mailbox_unlock(op->mailbox);
}

bool sbx_op_done(struct sbx_op *op) {
  if (sbx_op_lost(op)) {
    op->err.code = 0;
    op->rc = sbx_fail(&op->err, SBX_EINTERNAL,
                      "the operation belongs to the parent process");
    return true;
  }
  sbx_mailbox_lock(op->mailbox);
  bool done = op->done;
  sbx_mailbox_unlock(op->mailbox);
  return done;
}

struct sbx_chunk *sbx_op_read(struct sbx_op *op) {
  if (sbx_op_lost(op))
    return NULL;
  sbx_mailbox_lock(op->mailbox);
  struct sbx_list *it = sbx_list_shift(&op->chunks);
  struct sbx_chunk *chunk = NULL;
  if (it) {
    chunk = SBX_LIST_OWNER(it, struct sbx_chunk, link);
    op->chunk_bytes -= chunk->len;
    if (op->was_full && op->chunk_bytes <= SBX_OP_LOW_WATER) {
      op->was_full = false;
      if (op->cls->window && !op->done && !op->window_posted &&
          !sbx_mailbox_is_closed(op->mailbox)) {
        op->window_posted = true;
        sbx_op_ref(op);
        sbx_runtime_post(sbx_mailbox_runtime(op->mailbox), &op->window_job);
      }
    }
  }
  sbx_mailbox_unlock(op->mailbox);
  return chunk;
}
