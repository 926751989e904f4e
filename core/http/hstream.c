/* SPDX-License-Identifier: MIT */
#include "http/hstream.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "http/watchdog.h"

/* Input that is written before the connection stands. */
#define EARLY_MAX ((size_t)64 * 1024 * 1024)

/* -- the end ------------------------------------------------------------------
 */

static void release(struct sbx_hstream *hs) {
  sbx_buf_fini(&hs->early);
  sbx_request_unref(hs->request);
  free(hs);
}

void sbx_hstream_leave(struct sbx_hstream *hs) {
  if (--hs->depth == 0 && hs->gone)
    release(hs);
}

void sbx_hstream_disconnect(struct sbx_hstream *hs) {
  if (hs->conn != NULL)
    sbx_conn_close(hs->conn);
  hs->conn = NULL;
}

/* Out of the runtime. The depth is at least 1. */
static void depart(struct sbx_hstream *hs) {
  if (hs->gone)
    return;
  hs->gone = true;
  if (hs->call != NULL)
    sbx_call_cancel(hs->call);
  hs->call = NULL;
  sbx_hstream_disconnect(hs);
  if (hs->watched)
    sbx_watchdog_leave(hs->rt);
  hs->watched = false;
  sbx_events_leave(&hs->listener);
  sbx_timer_free(hs->timer);
  sbx_runtime_leave(hs->rt, &hs->tenant);
}

static void tell_end(struct sbx_hstream *hs) {
  const struct sbx_stream_events *events = hs->stream.events;

  hs->stream.events = NULL;
  depart(hs);
  if (events != NULL)
    events->on_end(hs->stream.arg, &hs->end);
}

void sbx_hstream_finish(struct sbx_hstream *hs, int exit_code) {
  if (hs->phase == SBX_HS_OVER)
    return;
  hs->phase = SBX_HS_OVER;
  hs->end = (struct sbx_stream_end){.status_known = exit_code >= 0,
                                    .exit_code = exit_code};
  sbx_timer_start(hs->timer, 0);
}

static void on_timer(void *arg) {
  struct sbx_hstream *hs = arg;

  sbx_hstream_enter(hs);
  if (hs->phase == SBX_HS_OVER)
    tell_end(hs);
  else
    sbx_flow_timer(hs);
  sbx_hstream_leave(hs);
}

/* -- output -------------------------------------------------------------------
 */

static void deliver(struct sbx_hstream *hs, enum sbx_fd fd, const uint8_t *data,
                    size_t len) {
  if (len > 0 && hs->stream.events != NULL)
    hs->stream.events->on_data(hs->stream.arg, fd, data, len);
}

void sbx_hstream_say(struct sbx_hstream *hs, const char *fmt, ...) {
  char text[640];
  va_list ap;
  int n;

  va_start(ap, fmt);
  n = vsnprintf(text, sizeof(text) - 1, fmt, ap);
  va_end(ap);
  if (n < 0)
    return;
  if ((size_t)n > sizeof(text) - 2)
    n = (int)sizeof(text) - 2;
  text[n] = '\n';
  deliver(hs, SBX_ERR, (uint8_t *)text, (size_t)n + 1);
}

static void lost(struct sbx_hstream *hs, const char *why) {
  sbx_hstream_say(hs, "%s", why);
  sbx_hstream_disconnect(hs);
  sbx_flow_ended(hs);
}

static void on_data(void *arg, const uint8_t *data, size_t len) {
  struct sbx_hstream *hs = arg;

  sbx_hstream_enter(hs);
  while (len > 0 && hs->conn != NULL && !hs->gone) {
    struct sbx_stdcopy_piece piece;
    ssize_t used = sbx_stdcopy_feed(&hs->frames, data, len, &piece);

    if (used < 0) {
      lost(hs, "the engine's stream is not understood");
      break;
    }
    deliver(hs, piece.stream == SBX_STDCOPY_OUT ? SBX_OUT : SBX_ERR, piece.data,
            piece.len);
    data += used;
    len -= (size_t)used;
  }
  sbx_hstream_leave(hs);
}

static void on_conn_end(void *arg, const struct sbx_err *err) {
  struct sbx_hstream *hs = arg;
  const struct sbx_stream_events *events = hs->stream.events;

  sbx_hstream_enter(hs);
  if (err != NULL)
    sbx_hstream_say(hs, "%s", err->message);
  sbx_hstream_disconnect(hs);
  if (events != NULL && events->on_eof != NULL) {
    events->on_eof(hs->stream.arg, SBX_OUT);
    if (hs->stream.events != NULL)
      events->on_eof(hs->stream.arg, SBX_ERR);
  }
  if (!hs->gone)
    sbx_flow_ended(hs);
  sbx_hstream_leave(hs);
}

static void on_conn_drain(void *arg) {
  struct sbx_hstream *hs = arg;

  sbx_hstream_enter(hs);
  if (hs->stream.events != NULL && hs->stream.events->on_drain != NULL)
    hs->stream.events->on_drain(hs->stream.arg);
  sbx_hstream_leave(hs);
}

static void on_conn_stop(void *arg, enum sbx_stop step) {
  (void)arg;
  (void)step; /* the stream is a tenant itself */
}

void sbx_hstream_connect(struct sbx_hstream *hs, struct sbx_call *call) {
  static const struct sbx_conn_events events = {
      .on_data = on_data,
      .on_end = on_conn_end,
      .on_drain = on_conn_drain,
      .on_stop = on_conn_stop,
  };
  const uint8_t *rest;
  size_t rest_len;

  hs->conn = sbx_call_take(call, &rest, &rest_len);
  sbx_conn_own(hs->conn, &events, hs);
  sbx_stdcopy_init(&hs->frames);
  if (hs->early.len > 0)
    (void)sbx_conn_write(hs->conn, hs->early.data, hs->early.len);
  sbx_buf_fini(&hs->early);
  if (hs->ending)
    sbx_conn_shutdown(hs->conn);
  if (hs->paused != 0)
    sbx_conn_pause(hs->conn);
  on_data(hs, rest, rest_len);
}

static void on_note(struct sbx_event_listener *l, enum sbx_note note,
                    int status) {
  struct sbx_hstream *hs = SBX_LIST_OWNER(l, struct sbx_hstream, listener);

  sbx_hstream_enter(hs);
  if (note == SBX_NOTE_DIED)
    hs->died = status;
  if (hs->stream.events != NULL && hs->stream.events->on_note != NULL)
    hs->stream.events->on_note(hs->stream.arg, note, status);
  if (note == SBX_NOTE_REMOVED && hs->phase == SBX_HS_STATUS)
    sbx_flow_removed(hs);
  sbx_hstream_leave(hs);
}

void sbx_hstream_listen(struct sbx_hstream *hs) {
  if (hs->stream.events == NULL || hs->stream.events->on_note == NULL)
    return;
  memcpy(hs->listener.id, hs->id, sizeof(hs->id));
  hs->listener.on_note = on_note;
  sbx_events_join(&hs->listener, hs->rt, hs->plan);
}

/* -- what the owner does ------------------------------------------------------
 */

static int hs_write(struct sbx_stream *s, const void *data, size_t len) {
  struct sbx_hstream *hs = (struct sbx_hstream *)s;

  if (hs->gone || hs->ending)
    return -EPIPE;
  if (hs->conn != NULL)
    return sbx_conn_write(hs->conn, data, len);
  if (hs->phase > SBX_HS_START)
    return -EPIPE;
  return sbx_buf_append(&hs->early, data, len) < 0 ? -ENOMEM : 0;
}

static void hs_shutdown(struct sbx_stream *s) {
  struct sbx_hstream *hs = (struct sbx_hstream *)s;

  if (hs->gone || hs->ending)
    return;
  hs->ending = true;
  if (hs->conn != NULL)
    sbx_conn_shutdown(hs->conn);
}

static void hs_pause(struct sbx_stream *s, enum sbx_fd fd) {
  struct sbx_hstream *hs = (struct sbx_hstream *)s;

  hs->paused |= (unsigned)fd;
  if (hs->conn != NULL)
    sbx_conn_pause(hs->conn);
}

static void hs_resume(struct sbx_stream *s, enum sbx_fd fd) {
  struct sbx_hstream *hs = (struct sbx_hstream *)s;

  hs->paused &= ~(unsigned)fd;
  if (hs->conn != NULL && hs->paused == 0)
    sbx_conn_resume(hs->conn);
}

static void stop_now(struct sbx_hstream *hs) {
  hs->ending = true;
  sbx_flow_stop(hs);
}

static void hs_kill(struct sbx_stream *s) {
  struct sbx_hstream *hs = (struct sbx_hstream *)s;

  if (hs->gone)
    return;
  sbx_hstream_enter(hs);
  stop_now(hs);
  sbx_hstream_leave(hs);
}

/* A run goes on by itself, to its end: what it created must not stay behind. An
 * exec needs nobody: the engine forgets it with its connection. */
static void hs_close(struct sbx_stream *s, bool kill) {
  struct sbx_hstream *hs = (struct sbx_hstream *)s;

  hs->stream.events = NULL;
  if (hs->gone)
    return;
  sbx_hstream_enter(hs);
  if (hs->plan->flow == SBX_PLAN_EXEC) {
    depart(hs);
  } else {
    hs_resume(s, SBX_OUT);
    hs_resume(s, SBX_ERR);
    if (kill)
      stop_now(hs);
    else
      hs_shutdown(s);
  }
  sbx_hstream_leave(hs);
}

static void on_stop(struct sbx_tenant *tenant, enum sbx_stop step) {
  struct sbx_hstream *hs = SBX_LIST_OWNER(tenant, struct sbx_hstream, tenant);

  sbx_hstream_enter(hs);
  if (step == SBX_STOP_ASK) {
    hs_resume(&hs->stream, SBX_OUT);
    hs_resume(&hs->stream, SBX_ERR);
    hs_shutdown(&hs->stream);
  } else if (step == SBX_STOP_ABANDON || hs->phase >= SBX_HS_LIVE ||
             hs->plan->flow == SBX_PLAN_EXEC) {
    /* the engine sees the end of the connection, whatever we wait for */
    hs->end = (struct sbx_stream_end){.exit_code = -1};
    tell_end(hs);
  }
  sbx_hstream_leave(hs);
}

int sbx_hstream_open(struct sbx_runtime *rt, const struct sbx_request *request,
                     const struct sbx_stream_events *events, void *arg,
                     struct sbx_stream **out, struct sbx_err *err) {
  static const struct sbx_stream_ops ops = {
      .write = hs_write,
      .shutdown = hs_shutdown,
      .pause = hs_pause,
      .resume = hs_resume,
      .kill = hs_kill,
      .close = hs_close,
  };
  struct sbx_hstream *hs = calloc(1, sizeof(*hs));
  int rc;

  if (hs == NULL)
    return sbx_fail(err, -ENOMEM, "a request to the engine");
  hs->stream = (struct sbx_stream){.ops = &ops, .events = events, .arg = arg};
  hs->rt = rt;
  hs->died = -1;
  hs->request = sbx_request_ref(request);
  hs->plan = request->plan;
  hs->tenant.stop = on_stop;
  sbx_buf_init(&hs->early, EARLY_MAX);
  rc = sbx_timer_new(&hs->timer, rt, on_timer, hs);
  if (rc < 0) {
    sbx_fail(err, rc, "a request to the engine");
    release(hs);
    return rc;
  }
  rc = sbx_runtime_enter(rt, &hs->tenant);
  if (rc < 0) {
    sbx_fail(err, rc, "the library is being closed");
    sbx_timer_free(hs->timer);
    release(hs);
    return rc;
  }
  rc = sbx_flow_begin(hs, err);
  if (rc < 0) {
    sbx_hstream_enter(hs);
    depart(hs);
    sbx_hstream_leave(hs);
    return rc;
  }
  *out = &hs->stream;
  return 0;
}
