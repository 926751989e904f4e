/* SPDX-License-Identifier: MIT */
/* http_op.h - the operation "one request to an engine".
 *
 * Made by the consumer, who fills in the first part before the submit and reads
 * the last part once it is done. A status of 400 and more is a result (rc 0);
 * no answer, half an answer or one that is too long is a failure. */
#ifndef SBX_HTTP_HTTP_OP_H
#define SBX_HTTP_HTTP_OP_H

#include "base/buf.h"
#include "http/call.h"
#include "http/plan.h"
#include "io/op.h"

#define SBX_HTTP_MAX_BODY ((size_t)16 * 1024 * 1024)
#define SBX_HTTP_MAX_LINE ((size_t)256 * 1024)

/* What a request is to the watchdog, which removes containers that nobody has
 * started when this process dies (see watchdog.h). */
enum sbx_http_watch {
  SBX_HTTP_UNWATCHED,
  SBX_HTTP_ARMS,   /* it creates one, which stays armed if it succeeds */
  SBX_HTTP_DISARMS /* it removes one that is armed */
};

struct sbx_http_op {
  struct sbx_op op;

  /* set by the consumer; owned by the operation */
  struct sbx_endpoint *endpoint;
  char *method, *target, *headers, *type;
  uint8_t *body;
  size_t body_len;
  uint64_t timeout_ms; /* 0: none */
  size_t max_body;
  bool lines; /* a good answer (2xx) is read by lines, as they come */
  enum sbx_http_watch watch;
  struct sbx_plan *watched; /* its endpoint, prefix and mark count */

  /* I/O thread */
  struct sbx_call *call;
  struct sbx_buf line;
  bool streaming;

  /* results */
  int status;
  bool armed; /* SBX_HTTP_ARMS: it is, until another request disarms it */
  struct sbx_buf answer_headers; /* see parse.h */
  struct sbx_buf answer;
};

/* 0 or -ENOMEM. The caller owns one reference to the operation. */
int sbx_http_op_new(struct sbx_http_op **out, struct sbx_mailbox *mailbox);

#endif
