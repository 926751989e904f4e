/* SPDX-License-Identifier: MIT */
/* runtime.h - the I/O thread: one per process, owner of the libuv loop.
 *
 * The thread starts with the first acquire and ends with the last release.
 * Everything that touches a libuv handle runs on it, as a job. It blocks all
 * signals, so that a broken pipe is an EPIPE and the host's handlers run on the
 * host's threads. After a fork the child has no I/O thread: its first acquire
 * starts a new one, and what it inherited is never used. */
#ifndef SBX_IO_RUNTIME_H
#define SBX_IO_RUNTIME_H

#include <stdbool.h>
#include <uv.h>

#include "base/err.h"
#include "base/list.h"

struct sbx_runtime;

/* A closure for the I/O thread. Embedded in what it works on; must stay valid
 * until it has run. */
struct sbx_job {
  void (*run)(struct sbx_job *job);
  struct sbx_list link; /* guarded by the runtime's lock */
};

/* Any thread. On success the caller owns one reference to *out. */
int sbx_runtime_acquire(struct sbx_runtime **out, struct sbx_err *err);

/* Any thread but the I/O thread. The last release stops the thread and joins
 * it: tenants (streams) that are still there get SBX_STOP_GRACE_MS to end,
 * then their processes are killed and reaped. */
void sbx_runtime_release(struct sbx_runtime *rt);

/* Any thread. Jobs run once each, in the order of their posting. */
void sbx_runtime_post(struct sbx_runtime *rt, struct sbx_job *job);

/* I/O thread only. */
uv_loop_t *sbx_runtime_loop(struct sbx_runtime *rt);
bool sbx_runtime_on_thread(struct sbx_runtime *rt);

/* True when this process forked after rt was started: nothing of rt may be
 * used any more, and releasing it does nothing. */
bool sbx_runtime_stale(const struct sbx_runtime *rt);

/* I/O thread. One buffer for reads that are consumed before the callback
 * returns (no stream keeps a read buffer of its own). */
#define SBX_SCRATCH_SIZE ((size_t)64 * 1024)
void *sbx_runtime_scratch(struct sbx_runtime *rt);

/* I/O thread. Pointers for the layer above, NULL at the start of the thread;
 * whoever sets one lets go of it, as a tenant, before the thread ends. */
enum sbx_slot {
  SBX_SLOT_POOL,     /* core/http: idle connections */
  SBX_SLOT_WATCHDOG, /* core/http: the watchdog process */
  SBX_SLOT_EVENTS,   /* core/http: what the engines report */
  SBX_SLOTS
};
void **sbx_runtime_slot(struct sbx_runtime *rt, enum sbx_slot which);

/* What has to come to its end before the thread does. All on the I/O thread.
 * stop() is called once for each step, in this order, until it has left. */
enum sbx_stop {
  SBX_STOP_ASK,    /* end by yourself: no more input will come */
  SBX_STOP_FORCE,  /* SBX_STOP_GRACE_MS later */
  SBX_STOP_ABANDON /* SBX_STOP_FORCE_MS later: leave now */
};
#define SBX_STOP_GRACE_MS 1500
#define SBX_STOP_FORCE_MS 400

struct sbx_tenant {
  void (*stop)(struct sbx_tenant *tenant, enum sbx_stop step);
  struct sbx_list link;
};

/* 0, or SBX_ECANCELLED when the thread is stopping. */
int sbx_runtime_enter(struct sbx_runtime *rt, struct sbx_tenant *tenant);
void sbx_runtime_leave(struct sbx_runtime *rt, struct sbx_tenant *tenant);
bool sbx_runtime_stopping(const struct sbx_runtime *rt);

#endif
