/* SPDX-License-Identifier: MIT */
#include "proc/probe_op.h"

#include <stdlib.h>

#include "base/clock.h"
#include "proc/knock.h"
#include "proc/process.h"

static void look(struct sbx_probe_op *op);

static void finish(struct sbx_probe_op *op, int rc, const struct sbx_err *err) {
  sbx_timer_free(op->timer);
  op->timer = NULL;
  sbx_knock_cancel(op->knock);
  op->knock = NULL;
  if (op->watch != NULL)
    op->base.session->runner->ops->unwatch_port(op->watch);
  op->watch = NULL;
  sbx_list_remove(&op->waiting);
  op->over = true;
  if (op->looking) /* the runner still has a pointer to it */
    sbx_op_ref(&op->base.op);
  sbx_session_op_complete(&op->base, rc, err);
}

static const char *verdict(enum sbx_listen best) {
  switch (best) {
  case SBX_LISTEN_LOOPBACK:
    return "a server listens, but on a loopback address only: it must listen "
           "on 0.0.0.0";
  case SBX_LISTEN_OTHER:
    return "a server listens, but on an address that the published port does "
           "not reach: it must listen on 0.0.0.0";
  case SBX_LISTEN_V6_ANY:
    return "a server listens, but on IPv6 only: it must listen on 0.0.0.0";
  default:
    return "nothing listens";
  }
}

static void fail_timeout(struct sbx_probe_op *op) {
  struct sbx_err err = {0};

  sbx_fail(&err, SBX_ETIMEOUT, "port %u is not ready after %llu ms: %s",
           op->port, (unsigned long long)op->timeout_ms, verdict(op->best));
  finish(op, err.code, &err);
}

/* The server that was to listen has ended: there is nothing to wait for. What
 * an exec left in the background is not known, so an exec after the start
 * keeps the wait going. */
static bool server_has_ended(const struct sbx_session *s) {
  return s->last_was_process && s->running_count == 0 &&
         !sbx_list_empty(&s->processes) &&
         SBX_LIST_OWNER(s->processes.prev, struct sbx_process, link)
             ->group_gone;
}

static void fail_ended(struct sbx_probe_op *op) {
  const struct sbx_process *p = SBX_LIST_OWNER(op->base.session->processes.prev,
                                               struct sbx_process, link);
  struct sbx_err err = {0};

  if (p->exit_known)
    sbx_fail(&err, SBX_EPROCESS,
             "nothing listens on port %u, and the process '%s' has ended with "
             "exit code %d",
             op->port, p->id, p->exit_code);
  else
    sbx_fail(&err, SBX_EPROCESS,
             "nothing listens on port %u, and the process '%s' has ended",
             op->port, p->id);
  finish(op, err.code, &err);
}

static bool nothing_will_come(const struct sbx_probe_op *op) {
  return op->best == SBX_LISTEN_NONE && server_has_ended(op->base.session);
}

static void look_later(struct sbx_probe_op *op) {
  uint64_t now = sbx_now_ms();

  if (now >= op->deadline)
    fail_timeout(op);
  else if (nothing_will_come(op))
    fail_ended(op);
  else if (op->watch != NULL && op->best != SBX_LISTEN_V6_ANY)
    sbx_timer_start(op->timer, op->deadline - now);
  else
    sbx_timer_start(op->timer, op->interval_ms < op->deadline - now
                                   ? op->interval_ms
                                   : op->deadline - now);
}

static void on_knocked(void *arg, bool served) {
  struct sbx_probe_op *op = arg;

  op->knock = NULL;
  if (served)
    finish(op, 0, NULL);
  else
    look_later(op);
}

static void on_listener(void *arg, const struct sbx_listener *l) {
  struct sbx_probe_op *op = arg;
  enum sbx_listen kind;

  if (l->port != op->port)
    return;
  kind = sbx_nettab_classify(l, op->own, op->own_len);
  if (kind > op->best)
    op->best = kind;
}

/* All sockets of the port were seen. */
static void judge(struct sbx_probe_op *op) {
  if (op->best == SBX_LISTEN_REACHABLE ||
      (op->best == SBX_LISTEN_V6_ANY && op->host_port == 0))
    finish(op, 0, NULL);
  else if (op->best != SBX_LISTEN_V6_ANY || op->knock != NULL ||
           sbx_knock_start(&op->knock, op->base.session->runtime, op->host_port,
                           on_knocked, op) < 0)
    look_later(op);
}

static void on_looked(void *arg, int rc) {
  struct sbx_probe_op *op = arg;
  struct sbx_err err = {0};

  op->looking = false;
  if (op->over) {
    sbx_op_unref(&op->base.op);
    return;
  }
  if (rc == SBX_ETIMEOUT) {
    look_later(op); /* a busy container; the deadline decides */
  } else if (rc < 0) {
    sbx_session_explain(op->base.session, &err);
    finish(op, err.code, &err);
  } else {
    judge(op);
  }
}

static void look(struct sbx_probe_op *op) {
  static const struct sbx_listeners_events events = {on_listener, on_looked};
  struct sbx_runner *runner = op->base.session->runner;
  struct sbx_err err = {0};

  op->best = SBX_LISTEN_NONE;
  op->looking = true;
  if (runner->ops->listeners(runner, &events, op) < 0) {
    op->looking = false;
    sbx_fail(&err, SBX_EINTERNAL, "the socket tables cannot be read");
    finish(op, err.code, &err);
  }
}

static void on_timer(void *arg) {
  struct sbx_probe_op *op = arg;

  if (sbx_now_ms() >= op->deadline)
    fail_timeout(op);
  else if (op->watch != NULL)
    judge(op);
  else
    look(op);
}

static void on_watched(void *arg, const struct sbx_listener *all, size_t n) {
  struct sbx_probe_op *op = arg;
  size_t i;

  op->watched = true;
  op->best = SBX_LISTEN_NONE;
  for (i = 0; i < n; i++)
    on_listener(op, &all[i]);
  judge(op);
}

/* The supervisor cannot, for now: it is asked as any other runner. A session
 * that ends abandons its operations before. */
static void on_unwatched(void *arg, int rc) {
  struct sbx_probe_op *op = arg;

  (void)rc;
  op->base.session->runner->ops->unwatch_port(op->watch);
  op->watch = NULL;
  op->best = SBX_LISTEN_NONE;
  look_later(op);
}

void sbx_probe_process_gone(struct sbx_session *s) {
  struct sbx_list *it, *tmp;

  SBX_LIST_EACH (it, tmp, &s->probes) {
    struct sbx_probe_op *op = SBX_LIST_OWNER(it, struct sbx_probe_op, waiting);

    if (op->watched && op->knock == NULL && nothing_will_come(op))
      fail_ended(op);
  }
}

/* False: it has to be asked. */
static bool watch(struct sbx_probe_op *op) {
  static const struct sbx_port_watch_events events = {on_watched, on_unwatched};
  struct sbx_session *s = op->base.session;

  if (s->runner->ops->watch_port == NULL ||
      s->runner->ops->watch_port(s->runner, op->port, &events, op, &op->watch) <
          0)
    return false;
  sbx_list_append(&s->probes, &op->waiting);
  sbx_timer_start(op->timer, op->timeout_ms);
  return true;
}

static void abandon(struct sbx_session_op *sop, const struct sbx_err *err) {
  finish((struct sbx_probe_op *)sop, err->code, err);
}

static void cancel(struct sbx_op *base) {
  struct sbx_err err = {0};

  sbx_fail(&err, SBX_ECANCELLED, "the wait was cancelled");
  finish((struct sbx_probe_op *)base, err.code, &err);
}

static void start(struct sbx_op *base) {
  struct sbx_probe_op *op = (struct sbx_probe_op *)base;
  struct sbx_err err = {0};

  op->base.abandon = abandon;
  if (!sbx_session_op_enter(&op->base))
    return;
  op->deadline = sbx_now_ms() + op->timeout_ms;
  if (sbx_timer_new(&op->timer, op->base.session->runtime, on_timer, op) < 0) {
    sbx_fail(&err, SBX_EINTERNAL, "out of memory");
    finish(op, err.code, &err);
    return;
  }
  if (!watch(op))
    look(op);
}

static void free_op(struct sbx_op *base) {
  sbx_session_op_fini((struct sbx_session_op *)base);
  free(base);
}

const struct sbx_op_class sbx_probe_op_class = {
    .name = "probe",
    .start = start,
    .cancel = cancel,
    .free = free_op,
};

struct sbx_probe_op *sbx_probe_op_new(struct sbx_mailbox *mb,
                                      struct sbx_session *s) {
  struct sbx_probe_op *op = calloc(1, sizeof(*op));

  if (op == NULL)
    return NULL;
  sbx_session_op_init(&op->base, &sbx_probe_op_class, mb, s);
  sbx_list_init(&op->waiting);
  return op;
}
