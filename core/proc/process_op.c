/* SPDX-License-Identifier: MIT */
#include "proc/process_op.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"

/* After a confirmed kill: how long the report of the end may take. */
#define END_MS 1000

static void leave(struct sbx_process_op *op) {
  sbx_list_remove(&op->link);
  sbx_timer_free(op->timer);
  op->timer = NULL;
  op->process = NULL;
}

void sbx_process_op_finish(struct sbx_process_op *op, int rc,
                           const struct sbx_err *err) {
  leave(op);
  sbx_session_op_complete(&op->base, rc, err);
}

void sbx_process_op_fail(struct sbx_process_op *op, int code, const char *fmt,
                         ...) {
  struct sbx_err err = {0};
  va_list ap;

  va_start(ap, fmt);
  sbx_vfail(&err, code, fmt, ap);
  va_end(ap);
  sbx_process_op_finish(op, code, &err);
}

void sbx_process_op_finish_info(struct sbx_process_op *op,
                                const struct sbx_process *p) {
  op->infos = calloc(1, sizeof(*op->infos));
  if (op->infos == NULL || sbx_process_info_copy(op->infos, p) < 0) {
    sbx_process_op_fail(op, SBX_EINTERNAL, "out of memory");
    return;
  }
  op->info_count = 1;
  sbx_process_op_finish(op, 0, NULL);
}

void sbx_process_op_attach(struct sbx_process_op *op, struct sbx_process *p,
                           struct sbx_list *list) {
  op->process = p;
  sbx_list_append(list, &op->link);
}

void sbx_process_op_abandon(struct sbx_session_op *sop,
                            const struct sbx_err *err) {
  sbx_process_op_finish((struct sbx_process_op *)sop, err->code, err);
}

void sbx_process_op_free(struct sbx_op *base) {
  struct sbx_process_op *op = (struct sbx_process_op *)base;
  size_t i;

  for (i = 0; i < op->info_count; i++)
    sbx_process_info_fini(&op->infos[i]);
  free(op->infos);
  free(op->id);
  free(op->data);
  sbx_command_copy_fini(&op->command);
  sbx_buf_fini(&op->text[0]);
  sbx_buf_fini(&op->text[1]);
  sbx_session_op_fini(&op->base);
  free(op);
}

struct sbx_process_op *sbx_process_op_new(const struct sbx_op_class *cls,
                                          struct sbx_mailbox *mb,
                                          struct sbx_session *s,
                                          const char *id) {
  struct sbx_process_op *op = calloc(1, sizeof(*op));
  size_t max = s->options.max_output;

  if (op == NULL)
    return NULL;
  if (id != NULL && (op->id = strdup(id)) == NULL) {
    free(op);
    return NULL;
  }
  sbx_session_op_init(&op->base, cls, mb, s);
  sbx_list_init(&op->link);
  sbx_buf_init(&op->text[0], max > 65536 ? max : 65536);
  sbx_buf_init(&op->text[1], max > 65536 ? max : 65536);
  return op;
}

/* Enters the session and finds the process; NULL: the operation is over. */
static struct sbx_process *enter(struct sbx_op *base) {
  struct sbx_process_op *op = (struct sbx_process_op *)base;
  struct sbx_process *p;

  op->base.abandon = sbx_process_op_abandon;
  if (!sbx_session_op_enter(&op->base))
    return NULL;
  p = sbx_process_find(op->base.session, op->id);
  if (p == NULL || p->status == SBX_PROCESS_STARTING) {
    sbx_process_op_fail(op, SBX_ENOTFOUND, "there is no process '%s'", op->id);
    return NULL;
  }
  return p;
}

static void start_info(struct sbx_op *base) {
  struct sbx_process *p = enter(base);

  if (p != NULL)
    sbx_process_op_finish_info((struct sbx_process_op *)base, p);
}

static void start_list(struct sbx_op *base) {
  struct sbx_process_op *op = (struct sbx_process_op *)base;
  struct sbx_session *s = op->base.session;
  struct sbx_list *it, *tmp;

  op->base.abandon = sbx_process_op_abandon;
  if (!sbx_session_op_enter(&op->base))
    return;
  op->infos = calloc(s->process_count + 1, sizeof(*op->infos));
  SBX_LIST_EACH (it, tmp, &s->processes) {
    struct sbx_process *p = SBX_LIST_OWNER(it, struct sbx_process, link);

    if (p->status == SBX_PROCESS_STARTING)
      continue;
    if (op->infos == NULL ||
        sbx_process_info_copy(&op->infos[op->info_count], p) < 0) {
      sbx_process_op_fail(op, SBX_EINTERNAL, "out of memory");
      return;
    }
    op->info_count++;
  }
  sbx_process_op_finish(op, 0, NULL);
}

/* Copies from one ring. A text never begins or ends inside a character: what
 * is unfinished at the end of a running process's output comes next time. */
static int read_log(struct sbx_process_op *op, const struct sbx_process *p,
                    int i) {
  const struct sbx_ring *ring = p->ring[i];
  uint64_t start = sbx_ring_start(ring);
  uint64_t total = sbx_ring_total(ring);
  uint64_t from = start;
  size_t len, skip, keep;

  if (op->has_since) {
    from = op->since[i] > total ? total : op->since[i];
    op->lost[i] = from < start ? start - from : 0;
    from = from < start ? start : from;
    len =
        total - from < op->tail_bytes ? (size_t)(total - from) : op->tail_bytes;
  } else {
    if (total - start > op->tail_bytes)
      from = total - op->tail_bytes;
    len = (size_t)(total - from);
    op->lost[i] = start;
  }
  if (sbx_buf_reserve(&op->text[i], len) < 0)
    return -ENOMEM;
  if (len > 0)
    sbx_ring_copy(ring, from, op->text[i].data, len, NULL);
  op->text[i].len = len;

  keep = len;
  if (!sbx_process_ended(p) || from + len < total)
    keep = sbx_utf8_trim_end(op->text[i].data, len);
  if (keep == 0 && from + len < total) /* a bound below one character */
    keep = len;
  op->text[i].len = keep;
  op->cursor[i] = from + keep;
  /* A cursor is at a character's beginning unless bytes before it were lost. */
  skip = 0;
  if (from > 0 && (!op->has_since || op->lost[i] > 0))
    skip = sbx_utf8_skip_start(op->text[i].data, op->text[i].len);
  sbx_buf_consume(&op->text[i], skip);
  op->truncated[i] = op->has_since ? op->lost[i] > 0 : from + skip > 0;
  return 0;
}

static void start_logs(struct sbx_op *base) {
  struct sbx_process_op *op = (struct sbx_process_op *)base;
  struct sbx_process *p = enter(base);

  if (p == NULL)
    return;
  if (read_log(op, p, 0) < 0 || read_log(op, p, 1) < 0)
    sbx_process_op_fail(op, SBX_EINTERNAL, "out of memory");
  else
    sbx_process_op_finish(op, 0, NULL);
}

static bool must_run(struct sbx_process_op *op, const struct sbx_process *p) {
  if (p->status == SBX_PROCESS_RUNNING)
    return true;
  sbx_process_op_fail(op, SBX_EPROCESS, "the process '%s' is not running",
                      op->id);
  return false;
}

static void on_signalled(void *arg, const struct sbx_err *err) {
  struct sbx_process_op *op = arg;

  if (err != NULL)
    sbx_process_op_finish(op, err->code, err);
  else
    sbx_process_op_finish_info(op, op->process);
}

static void start_signal(struct sbx_op *base) {
  struct sbx_process_op *op = (struct sbx_process_op *)base;
  struct sbx_process *p = enter(base);

  if (p == NULL || !must_run(op, p))
    return;
  sbx_process_op_attach(op, p, &p->signallers);
  if (p->job->runner->ops->signal(p->job, op->signal, on_signalled, op) < 0)
    sbx_process_op_fail(op, SBX_EINTERNAL, "out of memory");
}

static void start_write(struct sbx_op *base) {
  struct sbx_process_op *op = (struct sbx_process_op *)base;
  struct sbx_process *p = enter(base);

  if (p == NULL || !must_run(op, p))
    return;
  if (!p->has_stdin) {
    sbx_process_op_fail(op, SBX_EPROCESS, "the process '%s' has no open stdin",
                        op->id);
    return;
  }
  if (op->data_len == 0) {
    sbx_process_op_finish_info(op, p);
    return;
  }
  sbx_process_op_attach(op, p, &p->writers);
  if (p->job->runner->ops->write(p->job, op->data, op->data_len) < 0)
    sbx_process_op_fail(op, SBX_EPROCESS,
                        "the process '%s' takes no more input", op->id);
}

void sbx_process_on_drained(struct sbx_process *p) {
  struct sbx_list *it, *tmp;

  SBX_LIST_EACH (it, tmp, &p->writers)
    sbx_process_op_finish_info(SBX_LIST_OWNER(it, struct sbx_process_op, link),
                               p);
}

static void start_close_stdin(struct sbx_op *base) {
  struct sbx_process_op *op = (struct sbx_process_op *)base;
  struct sbx_process *p = enter(base);

  if (p == NULL)
    return;
  p->has_stdin = false;
  p->job->runner->ops->close_input(p->job);
  sbx_process_op_finish_info(op, p);
}

static void start_resize(struct sbx_op *base) {
  struct sbx_process_op *op = (struct sbx_process_op *)base;
  struct sbx_process *p = enter(base);

  if (p == NULL || !must_run(op, p))
    return;
  if (!p->how.pty ||
      p->job->runner->ops->resize(p->job, op->rows, op->cols) < 0)
    sbx_process_op_fail(op, SBX_EPROCESS, "the process '%s' has no terminal",
                        op->id);
  else
    sbx_process_op_finish_info(op, p);
}

static void on_wait_over(void *arg) {
  struct sbx_process_op *op = arg;

  sbx_process_op_fail(op, SBX_ETIMEOUT,
                      "the process '%s' is still running after %llu ms", op->id,
                      (unsigned long long)op->time_ms);
}

static void start_wait(struct sbx_op *base) {
  struct sbx_process_op *op = (struct sbx_process_op *)base;
  struct sbx_process *p = enter(base);

  if (p == NULL)
    return;
  if (sbx_process_ended(p)) {
    sbx_process_op_finish_info(op, p);
    return;
  }
  if (sbx_timer_new(&op->timer, p->session->runtime, on_wait_over, op) < 0) {
    sbx_process_op_fail(op, SBX_EINTERNAL, "out of memory");
    return;
  }
  sbx_timer_start(op->timer, op->time_ms);
  sbx_process_op_attach(op, p, &p->waiters);
}

/* stop and drop */
static void start_stop(struct sbx_op *base) {
  struct sbx_process_op *op = (struct sbx_process_op *)base;
  struct sbx_process *p = enter(base);

  if (p == NULL)
    return;
  if (sbx_process_ended(p) && p->group_gone) {
    bool drop = base->cls == &sbx_drop_op_class;

    sbx_process_op_finish_info(op, p);
    if (drop)
      sbx_process_remove(p);
    return;
  }
  sbx_process_op_attach(op, p, &p->stoppers);
  sbx_process_kill(p, op->time_ms);
}

/* A stop that the consumer gave up goes on without it. */
static void cancel(struct sbx_op *base) {
  sbx_process_op_fail((struct sbx_process_op *)base, SBX_ECANCELLED,
                      "cancelled");
}

static void cancel_signal(struct sbx_op *base) {
  (void)base; /* the answer comes soon and finds the operation */
}

/* Completes the stop operations of an ended process. */
static void finish_stoppers(struct sbx_process *p) {
  bool drop = false;

  while (!sbx_list_empty(&p->stoppers)) {
    struct sbx_process_op *op =
        SBX_LIST_OWNER(p->stoppers.next, struct sbx_process_op, link);

    drop = drop || op->base.op.cls == &sbx_drop_op_class;
    sbx_process_op_finish_info(op, p);
  }
  if (drop)
    sbx_process_remove(p);
}

void sbx_process_on_ended(struct sbx_process *p) {
  struct sbx_list *it, *tmp;

  SBX_LIST_EACH (it, tmp, &p->writers)
    sbx_process_op_fail(SBX_LIST_OWNER(it, struct sbx_process_op, link),
                        SBX_EPROCESS, "the process '%s' has ended", p->id);
  SBX_LIST_EACH (it, tmp, &p->waiters)
    sbx_process_op_finish_info(SBX_LIST_OWNER(it, struct sbx_process_op, link),
                               p);
  if (!p->killing && p->group_gone)
    finish_stoppers(p);
}

/* Its answer will not come any more: the job is closed. */
void sbx_process_on_removed(struct sbx_process *p) {
  struct sbx_list *it, *tmp;

  SBX_LIST_EACH (it, tmp, &p->signallers)
    sbx_process_op_fail(SBX_LIST_OWNER(it, struct sbx_process_op, link),
                        SBX_EPROCESS, "the process '%s' was dropped", p->id);
}

static void on_end_over(void *arg) {
  struct sbx_process_op *op = arg;

  sbx_process_op_fail(op, SBX_EPROCESS,
                      "the processes of '%s' are gone, but the engine does not "
                      "report its end",
                      op->id);
}

void sbx_process_on_killed(struct sbx_process *p, const struct sbx_err *err) {
  struct sbx_list *it, *tmp;

  if (!sbx_list_empty(&p->starter)) {
    sbx_start_op_on_killed(
        SBX_LIST_OWNER(p->starter.next, struct sbx_process_op, link), err);
    return;
  }
  if (err == NULL && sbx_process_ended(p)) {
    finish_stoppers(p);
    return;
  }
  SBX_LIST_EACH (it, tmp, &p->stoppers) {
    struct sbx_process_op *op = SBX_LIST_OWNER(it, struct sbx_process_op, link);

    if (err != NULL)
      sbx_process_op_finish(op, err->code, err);
    else if (sbx_timer_new(&op->timer, p->session->runtime, on_end_over, op) ==
             0)
      sbx_timer_start(op->timer, END_MS);
  }
}

#define CLASS(variable, text, on_start, on_cancel)                             \
  const struct sbx_op_class variable = {                                       \
      .name = (text),                                                          \
      .start = (on_start),                                                     \
      .cancel = (on_cancel),                                                   \
      .free = sbx_process_op_free,                                             \
  }

CLASS(sbx_list_op_class, "process.list", start_list, cancel);
CLASS(sbx_info_op_class, "process.info", start_info, cancel);
CLASS(sbx_logs_op_class, "process.logs", start_logs, cancel);
CLASS(sbx_signal_op_class, "process.signal", start_signal, cancel_signal);
CLASS(sbx_write_op_class, "process.write", start_write, cancel);
CLASS(sbx_close_stdin_op_class, "process.close_stdin", start_close_stdin,
      cancel);
CLASS(sbx_resize_op_class, "process.resize", start_resize, cancel);
CLASS(sbx_wait_op_class, "process.wait", start_wait, cancel);
CLASS(sbx_stop_op_class, "process.stop", start_stop, cancel);
CLASS(sbx_drop_op_class, "process.drop", start_stop, cancel);
