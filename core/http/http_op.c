/* SPDX-License-Identifier: MIT */
#include "http/http_op.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "http/watchdog.h"

static void take(struct sbx_buf *to, const struct sbx_buf *from, int *rc) {
  sbx_buf_init(to, SIZE_MAX);
  if (*rc == 0 && from->len > 0)
    *rc = sbx_buf_append(to, from->data, from->len);
}

static int push_line(struct sbx_http_op *h, const uint8_t *data, size_t len) {
  ssize_t queued = sbx_op_push(&h->op, 1, data, len);

  if (queued < 0)
    return (int)queued;
  if (queued >= (ssize_t)SBX_OP_HIGH_WATER)
    sbx_call_pause(h->call);
  return 0;
}

static void on_head(void *arg, struct sbx_call *call) {
  struct sbx_http_op *h = arg;

  h->streaming = h->lines && sbx_call_status(call) / 100 == 2;
}

/* Whole lines go on, what is left waits for its end. */
static int on_body(void *arg, const uint8_t *data, size_t len) {
  struct sbx_http_op *h = arg;
  const uint8_t *end;
  int rc = 0;

  if (!h->streaming)
    return sbx_buf_append(&h->answer, data, len);
  while (rc == 0 && (end = memchr(data, '\n', len)) != NULL) {
    size_t n = (size_t)(end - data) + 1;

    rc = sbx_buf_append(&h->line, data, n - 1);
    if (rc == 0 && h->line.len > 0)
      rc = push_line(h, h->line.data, h->line.len);
    sbx_buf_clear(&h->line);
    data += n;
    len -= n;
  }
  return rc == 0 ? sbx_buf_append(&h->line, data, len) : rc;
}

/* status: of the answer; 0: nobody knows what the engine does. A container
 * that may be there and is not wanted is the watchdog's from now on. */
static void settle_watch(struct sbx_http_op *h, int status) {
  struct sbx_runtime *rt = sbx_mailbox_runtime(h->op.mailbox);
  bool good = status >= 200 && status < 300;

  if (!h->armed || (h->watch == SBX_HTTP_ARMS && good))
    return;
  h->armed = false;
  if (h->watch == SBX_HTTP_ARMS ? status >= 400 : good || status == 404)
    sbx_watchdog_disarm(rt, h->watched);
  else
    sbx_watchdog_leave(rt);
}

static void on_done(void *arg, struct sbx_call *call, int rc,
                    const struct sbx_err *err) {
  struct sbx_http_op *h = arg;

  h->call = NULL;
  h->status = sbx_call_status(call);
  if (rc == 0 && h->line.len > 0)
    rc = push_line(h, h->line.data, h->line.len);
  if (rc == -EMSGSIZE) {
    rc = SBX_EPROTO;
    err = NULL;
  }
  take(&h->answer_headers, sbx_call_headers(call), &rc);
  settle_watch(h, rc == 0 ? h->status : 0);
  sbx_op_complete(&h->op, rc, err);
}

static void start(struct sbx_op *op) {
  static const struct sbx_call_events events = {on_head, on_body, on_done};
  struct sbx_http_op *h = (struct sbx_http_op *)op;
  struct sbx_call_request request = {
      .method = h->method,
      .target = h->target,
      .headers = h->headers,
      .type = h->type,
      .body = h->body,
      .body_len = h->body_len,
      .timeout_ms = h->timeout_ms,
      .max_body = h->max_body,
  };
  struct sbx_runtime *rt = sbx_mailbox_runtime(op->mailbox);
  struct sbx_err err = {0};
  int rc;

  sbx_buf_init(&h->answer, h->max_body);
  h->armed =
      h->watch == SBX_HTTP_DISARMS ||
      (h->watch == SBX_HTTP_ARMS && sbx_watchdog_arm(rt, h->watched) == 0);
  rc = sbx_call_start(&h->call, rt, h->endpoint, &request, &events, h, &err);
  if (rc < 0) {
    settle_watch(h, 0);
    sbx_op_complete(op, rc, &err);
  }
}

static void cancel(struct sbx_op *op) {
  struct sbx_http_op *h = (struct sbx_http_op *)op;

  sbx_call_cancel(h->call);
  h->call = NULL;
  settle_watch(h, 0);
  sbx_op_complete(op, SBX_ECANCELLED, NULL);
}

static void window(struct sbx_op *op) {
  struct sbx_http_op *h = (struct sbx_http_op *)op;

  if (h->call != NULL)
    sbx_call_resume(h->call);
}

static void free_op(struct sbx_op *op) {
  struct sbx_http_op *h = (struct sbx_http_op *)op;

  sbx_endpoint_unref(h->endpoint);
  sbx_plan_free(h->watched);
  free(h->method);
  free(h->target);
  free(h->headers);
  free(h->type);
  free(h->body);
  sbx_buf_fini(&h->line);
  sbx_buf_fini(&h->answer_headers);
  sbx_buf_fini(&h->answer);
  free(h);
}

int sbx_http_op_new(struct sbx_http_op **out, struct sbx_mailbox *mailbox) {
  static const struct sbx_op_class class = {
      .name = "http",
      .start = start,
      .cancel = cancel,
      .window = window,
      .free = free_op,
  };
  struct sbx_http_op *h = calloc(1, sizeof(*h));

  if (h == NULL)
    return -ENOMEM;
  sbx_op_init(&h->op, &class, mailbox);
  sbx_buf_init(&h->line, SBX_HTTP_MAX_LINE);
  h->max_body = SBX_HTTP_MAX_BODY;
  *out = h;
  return 0;
}
