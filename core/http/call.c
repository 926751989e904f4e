/* SPDX-License-Identifier: MIT */
#include "http/call.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "http/pool.h"

/* Beyond this a head is somebody's mistake. */
#define HEAD_MAX ((size_t)128 * 1024)

struct sbx_call {
  struct sbx_runtime *rt;
  struct sbx_endpoint *endpoint;
  const struct sbx_call_events *events;
  void *arg;
  struct sbx_conn *conn;
  struct sbx_http_parser parser;
  struct sbx_timer *timer; /* NULL: no deadline */
  struct sbx_buf wire;     /* the request, as long as it may be sent again */
  struct sbx_buf body;
  uint64_t timeout_ms;
  const uint8_t *rest;
  size_t rest_len;
  int depth; /* callbacks on the stack */
  bool safe; /* the request changes nothing */
  bool upgrade, no_body;
  bool reused; /* the connection served another call before */
  bool sent;   /* there was a connection to send the request on */
  bool finished;
};

/* -- the end ------------------------------------------------------------------
 */

static void release(struct sbx_call *call) {
  sbx_http_parser_fini(&call->parser);
  sbx_buf_fini(&call->wire);
  sbx_buf_fini(&call->body);
  sbx_endpoint_unref(call->endpoint);
  free(call);
}

static void leave(struct sbx_call *call) {
  if (--call->depth == 0 && call->finished)
    release(call);
}

/* Lets go of the connection: back to the pool when it is as good as new. */
static void drop_conn(struct sbx_call *call, bool keep) {
  struct sbx_conn *c = call->conn;

  call->conn = NULL;
  if (c != NULL && sbx_conn_stood(c))
    call->sent = true;
  if (c != NULL && keep)
    sbx_pool_put(c);
  else if (c != NULL)
    sbx_conn_close(c);
}

/* The depth is at least 1. */
static void finish(struct sbx_call *call, int rc, const struct sbx_err *err) {
  struct sbx_err plain = {0};
  bool upgraded = call->parser.stage == SBX_HTTP_UPGRADED;

  if (call->finished)
    return;
  call->finished = true;
  sbx_timer_free(call->timer);
  call->timer = NULL;
  if (rc < 0 && (err == NULL || err->code == 0)) {
    sbx_fail(&plain, rc, "%s",
             rc > -5000 ? "a request to the engine" : sbx_err_text(rc));
    err = &plain;
  }
  if (rc < 0 || !upgraded)
    drop_conn(call, rc == 0 && call->parser.keep_alive && call->rest_len == 0);
  call->events->on_done(call->arg, call, rc, err);
  drop_conn(call, false); /* nobody took it */
}

static void on_deadline(void *arg) {
  struct sbx_call *call = arg;
  struct sbx_err err = {0};

  call->depth++;
  sbx_fail(&err, SBX_ETIMEOUT, "the engine did not answer within %llu ms",
           (unsigned long long)call->timeout_ms);
  finish(call, SBX_ETIMEOUT, &err);
  leave(call);
}

void sbx_call_cancel(struct sbx_call *call) {
  if (call->finished)
    return;
  call->depth++;
  call->finished = true;
  sbx_timer_free(call->timer);
  call->timer = NULL;
  drop_conn(call, false);
  leave(call);
}

/* -- the response -------------------------------------------------------------
 */

static void on_head(void *arg) {
  struct sbx_call *call = arg;

  if (call->events->on_head != NULL)
    call->events->on_head(call->arg, call);
}

static int on_body(void *arg, const uint8_t *data, size_t len) {
  struct sbx_call *call = arg;
  int rc;

  if (call->finished)
    return SBX_ECANCELLED; /* by the event before */
  if (call->events->on_body != NULL) {
    rc = call->events->on_body(call->arg, data, len);
    return call->finished ? SBX_ECANCELLED : rc;
  }
  return sbx_buf_append(&call->body, data, len);
}

static void on_data(void *arg, const uint8_t *data, size_t len) {
  struct sbx_call *call = arg;
  struct sbx_err err = {0};
  size_t used;
  int rc;

  call->depth++;
  rc = sbx_http_parser_feed(&call->parser, data, len, &used, &err);
  if (call->finished) {
    leave(call);
    return;
  }
  if (rc == -EMSGSIZE)
    rc = sbx_fail(&err, SBX_EPROTO,
                  "the engine's answer is longer than %zu bytes",
                  call->body.max);
  if (rc < 0) {
    finish(call, rc, &err);
  } else if (call->parser.stage == SBX_HTTP_DONE ||
             call->parser.stage == SBX_HTTP_UPGRADED) {
    call->rest = data + used;
    call->rest_len = len - used;
    finish(call, 0, NULL);
  }
  leave(call);
}

static int send_request(struct sbx_call *call, bool fresh, struct sbx_err *err);

static void on_end(void *arg, const struct sbx_err *why) {
  struct sbx_call *call = arg;
  struct sbx_err err = {0};
  int rc;

  call->depth++;
  if (call->reused && call->safe && !call->parser.any) {
    drop_conn(call, false);
    rc = send_request(call, true, &err);
    if (rc < 0)
      finish(call, rc, &err);
  } else if (why != NULL) {
    finish(call, why->code, why);
  } else {
    rc = sbx_http_parser_eof(&call->parser, &err);
    call->parser.keep_alive = false;
    if (!call->finished)
      finish(call, rc, &err);
  }
  leave(call);
}

/* Most callers have an end of their own when the thread stops; the others get
 * their time. */
static void on_stop(void *arg, enum sbx_stop step) {
  struct sbx_call *call = arg;

  if (step == SBX_STOP_ASK)
    return;
  call->depth++;
  finish(call, SBX_ECANCELLED, NULL);
  leave(call);
}

/* -- the request --------------------------------------------------------------
 */

static int encode(struct sbx_call *call, const struct sbx_call_request *r) {
  const struct sbx_endpoint *e = call->endpoint;
  struct sbx_buf *b = &call->wire;
  int rc;

  sbx_buf_init(b, HEAD_MAX + r->body_len);
  if (strpbrk(r->method, "\r\n ") != NULL || r->target[0] != '/' ||
      strpbrk(r->target, "\r\n ") != NULL)
    return -EINVAL;
  rc = sbx_buf_appendf(b, "%s %s HTTP/1.1\r\n", r->method, r->target);
  if (rc == 0 && e->is_unix)
    rc = sbx_buf_appendf(b, "Host: docker\r\n");
  else if (rc == 0)
    rc = sbx_buf_appendf(
        b, strchr(e->host, ':') ? "Host: [%s]:%u\r\n" : "Host: %s:%u\r\n",
        e->host, e->port);
  if (rc == 0)
    rc = sbx_buf_appendf(b, "User-Agent: anvia.sandbox/%s\r\n%s", SBX_VERSION,
                         r->headers != NULL ? r->headers : "");
  if (rc == 0 && r->upgrade)
    rc = sbx_buf_appendf(b, "Connection: Upgrade\r\nUpgrade: tcp\r\n");
  if (rc == 0 && r->body_len > 0)
    rc = sbx_buf_appendf(b, "Content-Type: %s\r\n",
                         r->type != NULL ? r->type : "application/json");
  if (rc == 0 && (r->body_len > 0 || strcmp(r->method, "GET") != 0))
    rc = sbx_buf_appendf(b, "Content-Length: %zu\r\n", r->body_len);
  if (rc == 0)
    rc = sbx_buf_append(b, "\r\n", 2);
  return rc == 0 ? sbx_buf_append(b, r->body, r->body_len) : rc;
}

static int send_request(struct sbx_call *call, bool fresh,
                        struct sbx_err *err) {
  static const struct sbx_http_parser_events parser_events = {on_head, on_body};
  static const struct sbx_conn_events conn_events = {
      .on_data = on_data,
      .on_end = on_end,
      .on_stop = on_stop,
  };
  int rc = 0;

  sbx_http_parser_fini(&call->parser);
  sbx_http_parser_init(&call->parser, &parser_events, call, call->upgrade,
                       call->no_body);
  call->conn = fresh ? NULL : sbx_pool_take(call->rt, call->endpoint);
  call->reused = call->conn != NULL;
  if (call->conn != NULL)
    sbx_conn_own(call->conn, &conn_events, call);
  else
    rc = sbx_conn_open(&call->conn, call->rt, call->endpoint, &conn_events,
                       call, err);
  if (rc == 0)
    rc = sbx_conn_write(call->conn, call->wire.data, call->wire.len);
  if (rc == 0 && !(call->reused && call->safe))
    sbx_buf_fini(&call->wire); /* it is sent once */
  return rc;
}

int sbx_call_start(struct sbx_call **out, struct sbx_runtime *rt,
                   struct sbx_endpoint *endpoint,
                   const struct sbx_call_request *request,
                   const struct sbx_call_events *events, void *arg,
                   struct sbx_err *err) {
  struct sbx_call *call = calloc(1, sizeof(*call));
  int rc;

  if (call == NULL)
    return sbx_fail(err, -ENOMEM, "a request to the engine");
  call->rt = rt;
  call->endpoint = sbx_endpoint_ref(endpoint);
  call->events = events;
  call->arg = arg;
  call->timeout_ms = request->timeout_ms;
  call->upgrade = request->upgrade;
  call->no_body = strcmp(request->method, "HEAD") == 0;
  call->safe = call->no_body || strcmp(request->method, "GET") == 0 ||
               strcmp(request->method, "DELETE") == 0;
  sbx_buf_init(&call->body, request->max_body);
  rc = encode(call, request);
  if (rc == 0 && call->timeout_ms > 0)
    rc = sbx_timer_new(&call->timer, rt, on_deadline, call);
  if (rc == 0)
    rc = send_request(call, false, err);
  if (rc < 0) {
    sbx_fail(err, rc, "a request to the engine");
    sbx_timer_free(call->timer);
    drop_conn(call, false);
    release(call);
    return rc;
  }
  if (call->timer != NULL)
    sbx_timer_start(call->timer, call->timeout_ms);
  *out = call;
  return 0;
}

void sbx_call_pause(struct sbx_call *call) {
  if (call->conn != NULL)
    sbx_conn_pause(call->conn);
}

void sbx_call_resume(struct sbx_call *call) {
  if (call->conn != NULL)
    sbx_conn_resume(call->conn);
}

int sbx_call_status(const struct sbx_call *call) {
  return call->parser.status;
}

const char *sbx_call_header(const struct sbx_call *call, const char *name) {
  return sbx_http_parser_header(&call->parser, name);
}

const struct sbx_buf *sbx_call_headers(const struct sbx_call *call) {
  return &call->parser.headers;
}

struct sbx_buf *sbx_call_body(struct sbx_call *call) {
  return &call->body;
}

bool sbx_call_was_sent(const struct sbx_call *call) {
  return call->sent;
}

bool sbx_call_upgraded(const struct sbx_call *call) {
  return call->parser.stage == SBX_HTTP_UPGRADED;
}

struct sbx_conn *sbx_call_take(struct sbx_call *call, const uint8_t **rest,
                               size_t *rest_len) {
  struct sbx_conn *c = call->conn;

  call->conn = NULL;
  *rest = call->rest;
  *rest_len = call->rest_len;
  return c;
}
