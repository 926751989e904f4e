/* SPDX-License-Identifier: MIT */
#include "proc/session_op.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "proc/exec_runner.h"
#include "proc/sup_open.h"

static void lease_on_data(void *arg, enum sbx_fd fd, const uint8_t *data,
                          size_t len) {
  struct sbx_session *s = arg;
  struct sbx_buf *text = fd == SBX_OUT ? &s->client_out : &s->client_err;
  size_t room = text->max - text->len;

  /* PID 1's stdout is open to the workload: kept is what a client says that
   * cannot open, and no more than the cap. */
  if (fd == SBX_ERR || atomic_load(&s->state) == SBX_SESSION_OPENING)
    (void)sbx_buf_append(text, data, len < room ? len : room);
  if (fd == SBX_OUT && s->channel != NULL)
    sbx_channel_feed(s->channel, data, len);
  if (fd == SBX_OUT && s->mux != NULL)
    sbx_mux_feed(s->mux, data, len);
}

static void lease_on_drain(void *arg) {
  struct sbx_session *s = arg;

  if (s->mux != NULL)
    sbx_mux_drained(s->mux);
}

static void finish_waiters(struct sbx_session *s) {
  while (!sbx_list_empty(&s->waiters)) {
    struct sbx_list *node = s->waiters.next;
    struct sbx_closed_op *op = (struct sbx_closed_op *)SBX_LIST_OWNER(
        node, struct sbx_session_op, link);

    sbx_list_remove(node);
    sbx_timer_free(op->timer);
    op->timer = NULL;
    op->end = s->client_end;
    sbx_op_complete(&op->base.op, 0, NULL);
  }
}

static void lease_on_end(void *arg, const struct sbx_stream_end *end) {
  struct sbx_session *s = arg;

  s->lease = NULL;
  s->client_end = *end;
  sbx_session_stop_linger(s);
  sbx_session_end(s, atomic_load(&s->state) == SBX_SESSION_OPENING
                         ? SBX_CLOSE_FAILED
                         : SBX_CLOSE_LOST);
  atomic_store(&s->state, SBX_SESSION_CLOSED);
  finish_waiters(s);
  sbx_session_unref(s); /* the lease's */
}

/* The first word counts: a container that ran out of memory then dies, and is
 * removed then. */
static void lease_on_note(void *arg, enum sbx_note note, int status) {
  struct sbx_session *s = arg;
  int state = atomic_load(&s->state);
  int before = atomic_load(&s->note);

  if (state == SBX_SESSION_CLOSING || state == SBX_SESSION_CLOSED)
    return;
  if (before != SBX_NOTE_OOM || note == SBX_NOTE_PAUSED) {
    atomic_store(&s->note_status, status);
    atomic_store(&s->note, (int)note);
  }
  /* one that is still being opened has more to say when its stream ends */
  if (state == SBX_SESSION_OPEN &&
      (note == SBX_NOTE_DIED || note == SBX_NOTE_REMOVED))
    sbx_session_end(s, SBX_CLOSE_LOST);
}

static const struct sbx_stream_events lease_events = {
    .on_note = lease_on_note,
    .on_data = lease_on_data,
    .on_drain = lease_on_drain,
    .on_end = lease_on_end,
};

static void on_ttl(void *arg) {
  sbx_session_end(arg, SBX_CLOSE_TTL);
}

static void on_idle(void *arg) {
  sbx_session_end(arg, SBX_CLOSE_IDLE);
}

static int start_clocks(struct sbx_session *s) {
  if (s->options.ttl_ms > 0) {
    if (sbx_timer_new(&s->ttl, s->runtime, on_ttl, s) < 0)
      return -1;
    sbx_timer_start(s->ttl, s->options.ttl_ms);
  }
  if (s->options.idle_ms > 0 &&
      sbx_timer_new(&s->idle, s->runtime, on_idle, s) < 0)
    return -1;
  return 0;
}

static void take_texts(struct sbx_open_op *op) {
  struct sbx_session *s = op->base.session;

  op->end = s->client_end;
  (void)sbx_buf_append(&op->out, s->client_out.data, s->client_out.len);
  (void)sbx_buf_append(&op->errout, s->client_err.data, s->client_err.len);
}

static void finish_open(struct sbx_open_op *op, int rc,
                        const struct sbx_err *err) {
  take_texts(op);
  sbx_sup_opened(op->base.session);
  sbx_timer_free(op->timer);
  op->timer = NULL;
  sbx_session_op_complete(&op->base, rc, err);
}

void sbx_open_op_fail(struct sbx_open_op *op, int code, const char *why) {
  struct sbx_session *s = op->base.session;
  struct sbx_err err = {0};

  sbx_fail(&err, code, "%s", why);
  sbx_list_remove(&op->base.link); /* not to be abandoned as well */
  sbx_session_end(s, SBX_CLOSE_FAILED);
  finish_open(op, code, &err);
}

static void abandon_open(struct sbx_session_op *sop,
                         const struct sbx_err *err) {
  struct sbx_open_op *op = (struct sbx_open_op *)sop;
  struct sbx_err lost = {0};

  if (sop->session->channel != NULL)
    sbx_channel_forget(sop->session->channel, op);
  if (atomic_load(&sop->session->reason) == SBX_CLOSE_FAILED)
    sbx_fail(&lost, SBX_ECOMMAND, "the container ended before it was ready");
  finish_open(op, lost.code != 0 ? lost.code : err->code,
              lost.code != 0 ? &lost : err);
}

static void on_hello_line(void *arg, const char *line, size_t len) {
  struct sbx_open_op *op = arg;
  char writable[4];

  (void)len;
  if (sscanf(line, "hello %ld %ld %3s", &op->uid, &op->gid, writable) != 3)
    return;
  op->greeted = true;
  op->writable = strcmp(writable, "yes") == 0;
}

void sbx_open_op_ready(struct sbx_open_op *op) {
  struct sbx_session *s = op->base.session;

  if (start_clocks(s) < 0) {
    sbx_open_op_fail(op, SBX_EINTERNAL, "out of memory");
    return;
  }
  atomic_store(&s->state, SBX_SESSION_OPEN);
  finish_open(op, 0, NULL);
}

static void on_hello_done(void *arg, int rc) {
  struct sbx_open_op *op = arg;

  if (rc < 0)
    sbx_open_op_fail(op, SBX_ETIMEOUT, "the container was not ready in time");
  else if (!op->greeted)
    sbx_open_op_fail(op, SBX_EPROTO,
                     "the container answered something unexpected");
  else
    sbx_open_op_ready(op);
}

static int open_channel(struct sbx_open_op *op) {
  static const struct sbx_answer_events events = {on_hello_line, on_hello_done};
  struct sbx_session *s = op->base.session;
  struct sbx_exec_runner_options runner = {
      .exec = s->options.exec,
      .root = s->options.root,
      .agent = s->options.agent,
  };
  char text[4200];

  if (sbx_channel_new(&s->channel, s->runtime, s->lease) < 0)
    return -1;
  if (sbx_exec_runner_new(&s->runner, s->runtime, &runner, s->channel) < 0) {
    sbx_channel_free(s->channel);
    s->channel = NULL;
    return -1;
  }
  snprintf(text, sizeof(text), "hello %s", s->options.workdir);
  return sbx_channel_ask(s->channel, text, op->timeout_ms, &events, op);
}

static void start_open(struct sbx_op *base) {
  struct sbx_open_op *op = (struct sbx_open_op *)base;
  struct sbx_session *s = op->base.session;
  struct sbx_err err = {0};
  int rc;

  op->base.abandon = abandon_open;
  if (atomic_load(&s->state) != SBX_SESSION_NEW) {
    sbx_session_explain(s, &err);
    sbx_op_complete(base, err.code, &err);
    return;
  }
  atomic_store(&s->state, SBX_SESSION_OPENING);
  sbx_list_append(&s->ops, &op->base.link);
  rc = sbx_stream_open(s->runtime, s->options.attach, &lease_events, s,
                       &s->lease, &err);
  if (rc < 0) {
    s->lease = NULL;
    /* the message ends with the system's own words already */
    sbx_open_op_fail(op, rc > -5000 ? SBX_EINTERNAL : rc, err.message);
    return;
  }
  sbx_session_ref(s); /* the lease's */
  rc = s->options.supervisor ? sbx_sup_open(op) : open_channel(op);
  if (rc < 0)
    sbx_open_op_fail(op, SBX_EINTERNAL, "out of memory");
}

static void cancel_open(struct sbx_op *base) {
  struct sbx_open_op *op = (struct sbx_open_op *)base;

  if (op->base.session->channel != NULL)
    sbx_channel_forget(op->base.session->channel, op);
  sbx_open_op_fail(op, SBX_ECANCELLED, "cancelled");
}

static void free_open(struct sbx_op *base) {
  struct sbx_open_op *op = (struct sbx_open_op *)base;

  sbx_buf_fini(&op->out);
  sbx_buf_fini(&op->errout);
  sbx_session_op_fini(&op->base);
  free(op);
}

const struct sbx_op_class sbx_open_op_class = {
    .name = "session.open",
    .start = start_open,
    .cancel = cancel_open,
    .free = free_open,
};

struct sbx_open_op *sbx_open_op_new(struct sbx_mailbox *mb,
                                    struct sbx_session *s,
                                    uint64_t timeout_ms) {
  struct sbx_open_op *op = calloc(1, sizeof(*op));

  if (op == NULL)
    return NULL;
  sbx_session_op_init(&op->base, &sbx_open_op_class, mb, s);
  sbx_buf_init(&op->out, s->client_out.max);
  sbx_buf_init(&op->errout, s->client_err.max);
  op->timeout_ms = timeout_ms;
  return op;
}

static void stop_waiting(struct sbx_closed_op *op, int rc, const char *why) {
  struct sbx_err err = {0};

  sbx_fail(&err, rc, "%s", why);
  sbx_list_remove(&op->base.link);
  sbx_timer_free(op->timer);
  op->timer = NULL;
  sbx_op_complete(&op->base.op, rc, &err);
}

static void on_wait_over(void *arg) {
  stop_waiting(arg, SBX_ETIMEOUT, "the container did not end in time");
}

static void start_closed(struct sbx_op *base) {
  struct sbx_closed_op *op = (struct sbx_closed_op *)base;
  struct sbx_session *s = op->base.session;
  int state = atomic_load(&s->state);

  if (state == SBX_SESSION_CLOSED || state == SBX_SESSION_NEW) {
    op->end = s->client_end;
    sbx_op_complete(base, 0, NULL);
    return;
  }
  if (sbx_timer_new(&op->timer, s->runtime, on_wait_over, op) < 0) {
    stop_waiting(op, SBX_EINTERNAL, "out of memory");
    return;
  }
  sbx_list_append(&s->waiters, &op->base.link);
  sbx_timer_start(op->timer, op->timeout_ms);
}

static void cancel_closed(struct sbx_op *base) {
  stop_waiting((struct sbx_closed_op *)base, SBX_ECANCELLED, "cancelled");
}

static void free_closed(struct sbx_op *base) {
  struct sbx_closed_op *op = (struct sbx_closed_op *)base;

  sbx_session_op_fini(&op->base);
  free(op);
}

const struct sbx_op_class sbx_closed_op_class = {
    .name = "session.wait_closed",
    .start = start_closed,
    .cancel = cancel_closed,
    .free = free_closed,
};

struct sbx_closed_op *sbx_closed_op_new(struct sbx_mailbox *mb,
                                        struct sbx_session *s,
                                        uint64_t timeout_ms) {
  struct sbx_closed_op *op = calloc(1, sizeof(*op));

  if (op == NULL)
    return NULL;
  sbx_session_op_init(&op->base, &sbx_closed_op_class, mb, s);
  op->timeout_ms = timeout_ms;
  return op;
}
