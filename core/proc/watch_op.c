/* SPDX-License-Identifier: MIT */
#include "proc/watch_op.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "proc/file_op.h"

/* Longer than any path of Linux. */
#define EVENT_MAX (8u * 1024u)

static void settle(struct sbx_watch_op *op) {
  sbx_mux_forget(op->channel);
  op->channel = NULL;
  sbx_timer_free(op->timer);
  op->timer = NULL;
}

static void finish(struct sbx_watch_op *op, const struct sbx_err *err) {
  settle(op);
  sbx_session_op_complete(&op->base, err != NULL ? err->code : 0, err);
}

static void fail(struct sbx_watch_op *op, int code, const char *text) {
  struct sbx_err err = {0};

  sbx_fail(&err, code, "%s", text);
  finish(op, &err);
}

static void abandon(struct sbx_session_op *sop, const struct sbx_err *err) {
  finish((struct sbx_watch_op *)sop, err);
}

static void cancel(struct sbx_op *base) {
  fail((struct sbx_watch_op *)base, SBX_ECANCELLED, "cancelled");
}

static void on_timer(void *arg) {
  fail(arg, SBX_ETIMEOUT, "the supervisor did not answer in time");
}

static void on_lost(void *arg) {
  struct sbx_watch_op *op = arg;
  struct sbx_err err = {0};

  sbx_session_explain(op->base.session, &err);
  finish(op, &err);
}

/* Queues an event; false: there is no memory, and the operation is over. */
static bool push(struct sbx_watch_op *op, const struct sbx_msg_event *event) {
  struct sbx_buf text;
  ssize_t queued = -1;

  sbx_buf_init(&text, EVENT_MAX);
  if (sbx_buf_appendf(&text, "%c%" PRIu64 " ", event->kind, event->cursor) ==
          0 &&
      sbx_buf_append(&text, event->path.data, event->path.len) == 0)
    queued = sbx_op_push(&op->base.op, 1, text.data, text.len);
  sbx_buf_fini(&text);
  if (queued < 0) {
    fail(op, SBX_EINTERNAL, "out of memory");
    return false;
  }
  if (queued >= (ssize_t)SBX_OP_HIGH_WATER) { /* until on_window */
    sbx_mux_forget(op->channel);
    op->channel = NULL;
  }
  return true;
}

static void on_event(struct sbx_watch_op *op,
                     const struct sbx_msg_event *event) {
  bool again = event->kind == 'r' && op->began;

  if (event->path.len > EVENT_MAX - 32 || event->cursor > INT64_MAX) {
    sbx_mux_blame(op->channel, "EVENT that cannot be one");
    fail(op, SBX_EPROTO, "the supervisor sent an event that cannot be one");
    return;
  }
  if (event->kind == 'r') {
    op->began = true;
    sbx_timer_stop(op->timer);
  }
  op->since = event->cursor;
  if (!again)
    (void)push(op, event);
}

static void on_msg(void *arg, const struct sbx_mux_msg *msg) {
  struct sbx_watch_op *op = arg;
  struct sbx_err err = {0};

  if (msg->type == SBX_MSG_EVENT) {
    on_event(op, &msg->event);
  } else if (msg->type == SBX_MSG_DONE) {
    if (sbx_file_explain(&msg->done, &err) < 0)
      op->error = msg->done.error;
    else
      sbx_fail(&err, SBX_ENOTFOUND, "the directory is not there any more");
    finish(op, &err);
  }
}

/* Opens the channel from the cursor on. */
static void open_channel(struct sbx_watch_op *op) {
  static const struct sbx_mux_channel_events events = {
      .on_msg = on_msg,
      .on_lost = on_lost,
  };
  struct sbx_msg_file file = {
      .verb = SBX_FILE_WATCH,
      .flags = op->recursive ? SBX_FILE_RECURSIVE : 0u,
      .offset = op->since,
      .path = {(const uint8_t *)op->path, strlen(op->path)},
  };

  if (sbx_mux_file(op->base.session->mux, &file, &events, op, &op->channel) < 0)
    fail(op, SBX_EINTERNAL, "the operation could not be sent");
}

static void on_window(struct sbx_op *base) {
  struct sbx_watch_op *op = (struct sbx_watch_op *)base;

  if (op->channel == NULL)
    open_channel(op);
}

static void start(struct sbx_op *base) {
  struct sbx_watch_op *op = (struct sbx_watch_op *)base;
  struct sbx_session *s = op->base.session;

  op->base.abandon = abandon;
  if (!sbx_session_op_enter(&op->base))
    return;
  if (s->mux == NULL) {
    fail(op, SBX_EINTERNAL, "watching files needs the supervisor");
    return;
  }
  if (sbx_timer_new(&op->timer, s->runtime, on_timer, op) < 0) {
    fail(op, SBX_EINTERNAL, "out of memory");
    return;
  }
  sbx_timer_start(op->timer, op->timeout_ms);
  open_channel(op);
}

static void free_op(struct sbx_op *base) {
  struct sbx_watch_op *op = (struct sbx_watch_op *)base;

  free(op->path);
  sbx_session_op_fini(&op->base);
  free(op);
}

const struct sbx_op_class sbx_watch_op_class = {
    .name = "watch",
    .start = start,
    .cancel = cancel,
    .window = on_window,
    .free = free_op,
};

struct sbx_watch_op *sbx_watch_op_new(struct sbx_mailbox *mb,
                                      struct sbx_session *s) {
  struct sbx_watch_op *op = calloc(1, sizeof(*op));

  if (op != NULL)
    sbx_session_op_init(&op->base, &sbx_watch_op_class, mb, s);
  return op;
}
