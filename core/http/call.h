/* SPDX-License-Identifier: MIT */
/* call.h - one request to an engine and its response.
 *
 * Any number of calls run at once, each on a connection of its own; connections
 * are kept and used again. I/O thread only. */
#ifndef SBX_HTTP_CALL_H
#define SBX_HTTP_CALL_H

#include "http/conn.h"
#include "http/parse.h"

struct sbx_call_request {
  const char *method;  /* in upper case */
  const char *target;  /* path and query, encoded */
  const char *headers; /* lines that end with \r\n; may be NULL */
  const char *type;    /* of the body; NULL: application/json */
  const void *body;    /* copied */
  size_t body_len;
  bool upgrade;        /* the connection is wanted, not a response */
  uint64_t timeout_ms; /* 0: none; for the whole call */
  size_t max_body;     /* a longer response fails, unless on_body takes it */
};

struct sbx_call;

struct sbx_call_events {
  /* The head of the response is there; may be NULL. */
  void (*on_head)(void *arg, struct sbx_call *call);
  /* A piece of the body, instead of keeping it; may be NULL. 0, or a code with
   * which the call ends. */
  int (*on_body)(void *arg, const uint8_t *data, size_t len);
  /* Exactly once: 0, whatever the status of the response; or a code, and err.
   * The call can still be read, and is gone afterwards. */
  void (*on_done)(void *arg, struct sbx_call *call, int rc,
                  const struct sbx_err *err);
};

/* No event comes before this returns. A request that changes nothing is sent
 * again when a kept connection turns out to be closed. */
int sbx_call_start(struct sbx_call **out, struct sbx_runtime *rt,
                   struct sbx_endpoint *endpoint,
                   const struct sbx_call_request *request,
                   const struct sbx_call_events *events, void *arg,
                   struct sbx_err *err);
/* No more events; call is gone. Not from inside on_done. */
void sbx_call_cancel(struct sbx_call *call);
void sbx_call_pause(struct sbx_call *call);
void sbx_call_resume(struct sbx_call *call);

/* From on_head on. */
int sbx_call_status(const struct sbx_call *call);
const char *sbx_call_header(const struct sbx_call *call, const char *name);
const struct sbx_buf *sbx_call_headers(const struct sbx_call *call);
/* In on_done: what on_body did not take. */
struct sbx_buf *sbx_call_body(struct sbx_call *call);
/* In on_done: may the engine have read the request? */
bool sbx_call_was_sent(const struct sbx_call *call);
bool sbx_call_upgraded(const struct sbx_call *call);
/* In on_done of an upgraded call: the connection, now the caller's, and what
 * was already read behind the head. NULL: it is gone. */
struct sbx_conn *sbx_call_take(struct sbx_call *call, const uint8_t **rest,
                               size_t *rest_len);

#endif
