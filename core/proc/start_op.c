/* SPDX-License-Identifier: MIT */
/* start_op.c - the operation that starts a managed process: makes room in the
 * table, launches, and leaves neither a process nor a record when it fails. */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "proc/process_op.h"

/* Ended records whose trees are looked at get this long. */
#define ROOM_MS      3000
#define ROOM_POLL_MS 20

static void fail_full(struct sbx_process_op *op) {
  struct sbx_session *s = op->base.session;

  sbx_process_op_fail(op, SBX_EPROCESS,
                      "%zu processes are tracked and the limit is %zu: stop "
                      "one first",
                      s->process_count, s->options.max_processes);
}

static void launch(struct sbx_process_op *op) {
  struct sbx_session *s = op->base.session;
  struct sbx_err err = {0};
  struct sbx_process *p;
  char *id = strdup(op->id);
  int rc;

  if (id == NULL ||
      sbx_process_new(&p, s, id, &op->command, &op->how, op->has_stdin) < 0) {
    sbx_process_op_fail(op, SBX_EINTERNAL, "out of memory");
    return;
  }
  sbx_process_op_attach(op, p, &p->starter);
  sbx_timer_start(op->timer, op->time_ms);
  rc = sbx_process_launch(p, &err);
  if (rc < 0) {
    sbx_process_op_finish(op, rc, &err);
    sbx_process_remove(p);
  }
}

/* Drops what has ended; a record whose tree may still be there is looked at
 * first. */
static void make_room(struct sbx_process_op *op) {
  struct sbx_session *s = op->base.session;
  struct sbx_process *p;

  while (s->process_count >= s->options.max_processes)
    if (!sbx_process_make_room(s))
      break;
  if (s->process_count < s->options.max_processes) {
    launch(op);
    return;
  }
  p = sbx_process_unconfirmed(s);
  if (p == NULL || sbx_now_ms() >= op->room_until) {
    fail_full(op);
    return;
  }
  sbx_process_recheck(p);
  sbx_timer_start(op->timer, ROOM_POLL_MS);
}

static void on_timer(void *arg) {
  struct sbx_process_op *op = arg;

  if (op->process == NULL) {
    make_room(op);
    return;
  }
  op->timed_out = true;
  sbx_process_kill(op->process, 0);
}

static void start(struct sbx_op *base) {
  struct sbx_process_op *op = (struct sbx_process_op *)base;

  op->base.abandon = sbx_process_op_abandon;
  if (!sbx_session_op_enter(&op->base))
    return;
  op->room_until = sbx_now_ms() + ROOM_MS;
  if (sbx_process_find(op->base.session, op->id) != NULL)
    sbx_process_op_fail(op, SBX_EPROCESS, "the process id '%s' is in use",
                        op->id);
  else if (sbx_timer_new(&op->timer, op->base.session->runtime, on_timer, op) <
           0)
    sbx_process_op_fail(op, SBX_EINTERNAL, "out of memory");
  else
    make_room(op);
}

static void cancel(struct sbx_op *base) {
  struct sbx_process_op *op = (struct sbx_process_op *)base;

  if (op->timed_out)
    return; /* it ends soon */
  if (op->process == NULL) {
    sbx_process_op_fail(op, SBX_ECANCELLED, "the start was cancelled");
    return;
  }
  op->cancelled = true;
  sbx_timer_stop(op->timer);
  sbx_process_kill(op->process, 0);
}

static struct sbx_process_op *starter_of(struct sbx_process *p) {
  if (sbx_list_empty(&p->starter))
    return NULL;
  return SBX_LIST_OWNER(p->starter.next, struct sbx_process_op, link);
}

void sbx_process_on_started(struct sbx_process *p) {
  struct sbx_process_op *op = starter_of(p);

  if (op != NULL && !op->timed_out && !op->cancelled)
    sbx_process_op_finish_info(op, p);
}

void sbx_process_on_failed(struct sbx_process *p,
                           const struct sbx_job_loss *loss) {
  struct sbx_process_op *op = starter_of(p);

  if (p->killing)
    return; /* the kill reports */
  if (op != NULL) {
    op->could_not_start = loss->err.code == SBX_EPROCESS;
    op->exit_known = loss->status_known;
    op->exit_code = loss->exit_code;
    (void)sbx_buf_append(&op->text[0], loss->out, loss->out_len);
    (void)sbx_buf_append(&op->text[1], loss->errout, loss->errout_len);
    sbx_process_op_finish(op, loss->err.code, &loss->err);
  }
  sbx_process_remove(p);
}

void sbx_start_op_on_killed(struct sbx_process_op *op,
                            const struct sbx_err *err) {
  struct sbx_process *p = op->process;
  struct sbx_err why = {0};

  if (err != NULL)
    sbx_fail(&why, err->code, "the start was given up, and %s", err->message);
  else if (op->cancelled)
    sbx_fail(&why, SBX_ECANCELLED, "the start was cancelled");
  else
    sbx_fail(&why, SBX_ETIMEOUT, "'%s' did not start within %llu ms",
             p->command.argv[0], (unsigned long long)op->time_ms);
  sbx_process_op_finish(op, why.code, &why);
  /* What could not be confirmed dead stays visible until it is. */
  if (err == NULL) {
    sbx_process_remove(p);
    return;
  }
  p->given_up = true;
  if (p->status == SBX_PROCESS_STARTING) {
    p->status = SBX_PROCESS_RUNNING;
    p->session->running_count++;
  }
}

const struct sbx_op_class sbx_start_op_class = {
    .name = "process.start",
    .start = start,
    .cancel = cancel,
    .free = sbx_process_op_free,
};
