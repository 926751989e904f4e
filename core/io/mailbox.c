/* SPDX-License-Identifier: MIT */
#include "io/mailbox.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "io/forkguard.h"
#include "io/op.h"

struct sbx_mailbox {
  atomic_int refs;
  unsigned generation;
  struct sbx_runtime *runtime;
  int fd; /* an eventfd: not 0 exactly while the queue is not empty */

  pthread_mutex_t lock;
  /* guarded by lock */
  bool closed;
  struct sbx_list queue; /* operations with news, one reference each */
  struct sbx_list live;  /* submitted and not completed */
};

int sbx_mailbox_new(struct sbx_mailbox **out, struct sbx_err *err) {
  struct sbx_mailbox *mb = calloc(1, sizeof(*mb));
  if (!mb)
    return sbx_fail(err, -ENOMEM, "open a mailbox");
  int rc;
  mb->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (mb->fd < 0) {
    rc = sbx_fail(err, -errno, "open a mailbox");
    goto fail;
  }
  rc = sbx_runtime_acquire(&mb->runtime, err);
  if (rc < 0)
    goto fail;
  atomic_init(&mb->refs, 1);
  mb->generation = sbx_forkguard_generation();
  pthread_mutex_init(&mb->lock, NULL);
  sbx_list_init(&mb->queue);
  sbx_list_init(&mb->live);
  *out = mb;
  return 0;

fail:
  if (mb->fd >= 0)
    close(mb->fd);
  free(mb);
  return rc;
}

void sbx_mailbox_ref(struct sbx_mailbox *mb) {
  atomic_fetch_add(&mb->refs, 1);
}

void sbx_mailbox_unref(struct sbx_mailbox *mb) {
  if (atomic_fetch_sub(&mb->refs, 1) != 1 || sbx_mailbox_stale(mb))
    return;
  pthread_mutex_destroy(&mb->lock);
  free(mb);
}

bool sbx_mailbox_stale(const struct sbx_mailbox *mb) {
  return mb->generation != sbx_forkguard_generation();
}

static void signal_fd(struct sbx_mailbox *mb) {
  uint64_t one = 1;
  while (write(mb->fd, &one, sizeof(one)) < 0 && errno == EINTR)
    ;
}

static void clear_fd(struct sbx_mailbox *mb) {
  uint64_t count;
  while (read(mb->fd, &count, sizeof(count)) < 0 && errno == EINTR)
    ;
}

/* Lock held. */
static struct sbx_op *take(struct sbx_mailbox *mb) {
  struct sbx_list *it = sbx_list_shift(&mb->queue);
  if (!it)
    return NULL;
  struct sbx_op *op = SBX_LIST_OWNER(it, struct sbx_op, queue_link);
  op->queued = false;
  if (sbx_list_empty(&mb->queue))
    clear_fd(mb);
  return op;
}

/* A job that cancels needs the lock, and so does the loop over `live`: take
 * them over one by one. sbx_op_cancel() posts at most once for each. */
static void cancel_live(struct sbx_mailbox *mb) {
  for (;;) {
    struct sbx_op *op = NULL;
    sbx_mailbox_lock(mb);
    struct sbx_list *it = sbx_list_shift(&mb->live);
    if (it) {
      op = SBX_LIST_OWNER(it, struct sbx_op, live_link);
      sbx_op_ref(op);
    }
    sbx_mailbox_unlock(mb);
    if (!op)
      return;
    sbx_op_cancel(op);
    sbx_op_unref(op);
  }
}

void sbx_mailbox_close(struct sbx_mailbox *mb) {
  if (mb->closed)
    return; /* only this thread sets it */
  if (sbx_mailbox_stale(mb)) {
    mb->closed = true;
    close(mb->fd);
    mb->fd = -1;
    return;
  }
  cancel_live(mb);
  struct sbx_list queue;
  sbx_list_init(&queue);
  sbx_mailbox_lock(mb);
  mb->closed = true; /* nothing is posted or signalled from here on */
  sbx_list_splice(&queue, &mb->queue);
  sbx_mailbox_unlock(mb);

  struct sbx_list *it;
  while ((it = sbx_list_shift(&queue)) != NULL)
    sbx_op_unref(SBX_LIST_OWNER(it, struct sbx_op, queue_link));
  close(mb->fd);
  mb->fd = -1;
  sbx_runtime_release(mb->runtime);
}

struct sbx_runtime *sbx_mailbox_runtime(struct sbx_mailbox *mb) {
  return mb->runtime;
}

int sbx_mailbox_fd(struct sbx_mailbox *mb) {
  return mb->fd;
}

struct sbx_op *sbx_mailbox_next(struct sbx_mailbox *mb, int timeout_ms) {
  uint64_t deadline =
      sbx_now_ms() + (timeout_ms > 0 ? (uint64_t)timeout_ms : 0);
  for (;;) {
    if (sbx_mailbox_stale(mb) || mb->closed)
      return NULL;
    sbx_mailbox_lock(mb);
    struct sbx_op *op = take(mb);
    sbx_mailbox_unlock(mb);
    if (op || timeout_ms == 0)
      return op;

    int wait = -1;
    if (timeout_ms > 0) {
      uint64_t now = sbx_now_ms();
      if (now >= deadline)
        return NULL;
      wait = (int)(deadline - now);
    }
    struct pollfd p = {.fd = mb->fd, .events = POLLIN};
    if (poll(&p, 1, wait) < 0)
      return NULL; /* EINTR: the host's handler wants its turn */
  }
}

void sbx_mailbox_post(struct sbx_mailbox *mb, struct sbx_op *op) {
  if (sbx_mailbox_stale(mb))
    return;
  sbx_mailbox_lock(mb);
  sbx_mailbox_post_locked(mb, op);
  sbx_mailbox_unlock(mb);
}

void sbx_mailbox_lock(struct sbx_mailbox *mb) {
  pthread_mutex_lock(&mb->lock);
}

void sbx_mailbox_unlock(struct sbx_mailbox *mb) {
  pthread_mutex_unlock(&mb->lock);
}

bool sbx_mailbox_is_closed(const struct sbx_mailbox *mb) {
  return mb->closed;
}

void sbx_mailbox_post_locked(struct sbx_mailbox *mb, struct sbx_op *op) {
  if (mb->closed || op->queued)
    return;
  op->queued = true;
  sbx_op_ref(op);
  bool was_empty = sbx_list_empty(&mb->queue);
  sbx_list_append(&mb->queue, &op->queue_link);
  if (was_empty)
    signal_fd(mb);
}

void sbx_mailbox_add_live(struct sbx_mailbox *mb, struct sbx_op *op) {
  sbx_list_append(&mb->live, &op->live_link);
}
