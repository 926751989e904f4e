/* SPDX-License-Identifier: MIT */
#include "proc/sup_open.h"

#include <string.h>

#include "base/clock.h"
#include "proc/sup_runner.h"

#define LAZY_MS  5
#define TOUCH_MS 1000

/* What was said is lost; the lease is closed by what follows. */
static void on_broken(void *arg, const struct sbx_err *err) {
  struct sbx_session *s = arg;

  if (s->opening != NULL) {
    sbx_open_op_fail(s->opening, err->code, err->message);
    return;
  }
  s->broken = *err;
  sbx_session_end(s, SBX_CLOSE_BROKEN);
}

static void on_ready(void *arg, const struct sbx_msg_ready *ready) {
  struct sbx_session *s = arg;
  struct sbx_open_op *op = s->opening;

  if (op == NULL)
    return;
  op->uid = (long)ready->uid;
  op->gid = (long)ready->gid;
  op->writable = ready->writable != 0;
  sbx_open_op_ready(op);
}

static void on_refused(void *arg, const struct sbx_msg_done *done) {
  struct sbx_session *s = arg;
  struct sbx_err err = {0};

  if (s->opening == NULL)
    return;
  if (done->code == SBX_DONE_PATH)
    sbx_fail(&err, SBX_ECOMMAND, "the workspace '%s' cannot be used: %s",
             s->options.workdir, strerror((int)done->error));
  else if (done->code == SBX_DONE_FAILED)
    sbx_fail(&err, SBX_ECOMMAND,
             "the session's user '%s' cannot be used: %.200s",
             s->options.user != NULL ? s->options.user : "",
             (const char *)done->text.data);
  else
    sbx_fail(&err, SBX_EPROTO, "the supervisor refuses the session: %.200s",
             (const char *)done->text.data);
  sbx_open_op_fail(s->opening, err.code, err.message);
}

static void on_bye(void *arg, enum sbx_bye why) {
  struct sbx_session *s = arg;

  if (why == SBX_BYE_TTL) {
    sbx_session_end(s, SBX_CLOSE_TTL);
  } else if (why == SBX_BYE_IDLE) {
    sbx_session_end(s, SBX_CLOSE_IDLE);
  } else if (why == SBX_BYE_PROTOCOL) {
    struct sbx_err err = {0};

    sbx_fail(&err, SBX_EPROTO, "the supervisor does not understand its owner");
    on_broken(s, &err);
  } else {
    sbx_session_end(s, SBX_CLOSE_LOST);
  }
}

static void on_lazy(void *arg) {
  struct sbx_session *s = arg;

  if (!sbx_timer_active(s->mux_timer))
    sbx_timer_start(s->mux_timer, LAZY_MS);
}

static void on_lazy_time(void *arg) {
  sbx_mux_flush(((struct sbx_session *)arg)->mux);
}

static void on_late(void *arg) {
  sbx_open_op_fail(arg, SBX_ETIMEOUT, "the container was not ready in time");
}

static uint64_t later(uint64_t ms) {
  return ms == 0 || ms > UINT64_MAX - SBX_SUP_SLACK_MS ? ms
                                                       : ms + SBX_SUP_SLACK_MS;
}

static struct sbx_str text(const char *s) {
  return (struct sbx_str){(const uint8_t *)s, s != NULL ? strlen(s) : 0};
}

static int say_hello(struct sbx_session *s) {
  const struct sbx_session_options *o = &s->options;
  struct sbx_msg_hello hello = {
      .version = SBX_MSG_VERSION,
      .no_new_privileges = o->no_new_privileges,
      .capabilities = o->capabilities,
      .ttl_ms = later(o->ttl_ms),
      .idle_ms = later(o->idle_ms),
      .workdir = text(o->workdir),
      .user = text(o->user),
  };

  return sbx_mux_hello(s->mux, &hello);
}

static void drop(struct sbx_session *s) {
  sbx_timer_free(s->mux_timer);
  s->mux_timer = NULL;
  sbx_mux_free(s->mux);
  s->mux = NULL;
}

int sbx_sup_open(struct sbx_open_op *op) {
  static const struct sbx_mux_events events = {
      .on_ready = on_ready,
      .on_refused = on_refused,
      .on_bye = on_bye,
      .on_broken = on_broken,
      .on_lazy = on_lazy,
  };
  struct sbx_session *s = op->base.session;

  if (sbx_timer_new(&s->mux_timer, s->runtime, on_lazy_time, s) < 0)
    return -1;
  if (sbx_timer_new(&op->timer, s->runtime, on_late, op) < 0 ||
      sbx_mux_new(&s->mux, s->lease, &events, s) < 0 || say_hello(s) < 0 ||
      sbx_sup_runner_new(&s->runner, s->runtime, s->mux) < 0) {
    drop(s);
    return -1;
  }
  sbx_timer_start(op->timer, op->timeout_ms);
  s->opening = op;
  return 0;
}

void sbx_sup_opened(struct sbx_session *s) {
  s->opening = NULL;
}

void sbx_sup_close(struct sbx_session *s) {
  if (s->mux == NULL)
    return;
  sbx_mux_tell(s->mux, SBX_MSG_SHUTDOWN);
  sbx_mux_flush(s->mux);
  drop(s);
}

void sbx_sup_touch(struct sbx_session *s) {
  uint64_t now = sbx_now_ms();

  if (s->mux == NULL || now - s->touched_ms < TOUCH_MS)
    return;
  s->touched_ms = now;
  sbx_mux_tell(s->mux, SBX_MSG_TOUCH);
}
