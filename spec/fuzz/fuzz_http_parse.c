/* SPDX-License-Identifier: MIT */
/* fuzz_http_parse.c - one response of an engine, fed in chunks and at once:
 * both must come to the same end. What it says is then read as JSON.
 *
 * Input: a byte of chunk sizes, a byte of flags, the response. */
#include <stdlib.h>
#include <string.h>

#include "http/parse.h"
#include "http/reply.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

struct result {
  struct sbx_http_parser p;
  struct sbx_buf body;
  size_t consumed;
  int rc;
};

static int on_body(void *arg, const uint8_t *data, size_t len) {
  struct result *r = arg;

  if (r->p.stage != SBX_HTTP_BODY || len == 0)
    abort();
  return sbx_buf_append(&r->body, data, len);
}

static const struct sbx_http_parser_events events = {NULL, on_body};

static void run(struct result *r, const uint8_t *in, size_t len, size_t step,
                unsigned flags) {
  memset(r, 0, sizeof(*r));
  sbx_buf_init(&r->body, SIZE_MAX);
  sbx_http_parser_init(&r->p, &events, r, (flags & 1) != 0, (flags & 2) != 0);
  while (r->rc == 0 && r->consumed < len && r->p.stage < SBX_HTTP_DONE) {
    size_t chunk = step < len - r->consumed ? step : len - r->consumed, used;
    uint8_t *copy = malloc(chunk);

    if (!copy)
      abort();
    memcpy(copy, in + r->consumed, chunk);
    r->rc = sbx_http_parser_feed(&r->p, copy, chunk, &used, NULL);
    free(copy);
    if (used > chunk || (r->rc == 0 && used == 0))
      abort();
    r->consumed += used;
  }
  if ((flags & 4) != 0 && r->rc == 0)
    r->rc = sbx_http_parser_eof(&r->p, NULL);
  if (r->p.headers.len > SBX_HTTP_HEADERS_MAX)
    abort();
}

static void finish(struct result *r) {
  char id[SBX_ID_MAX + 1], text[100];
  long n;
  bool b;

  (void)sbx_http_parser_header(&r->p, "api-version");
  (void)sbx_reply_id(&r->body, "Id", id);
  (void)sbx_reply_integer(&r->body, "ExitCode", &n);
  (void)sbx_reply_boolean(&r->body, "Running", &b);
  sbx_reply_message(&r->body, r->p.status, text, sizeof(text));
  if (strlen(text) >= sizeof(text))
    abort();
  sbx_http_parser_fini(&r->p);
  sbx_buf_fini(&r->body);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len) {
  struct result a, b;

  if (len < 2)
    return 0;
  run(&a, data + 2, len - 2, (size_t)data[0] + 1, data[1]);
  run(&b, data + 2, len - 2, len, data[1]);
  if ((a.rc == 0) != (b.rc == 0) || (a.rc == 0 && a.p.stage != b.p.stage))
    abort();
  if (a.rc == 0 &&
      (a.p.status != b.p.status || a.consumed != b.consumed ||
       a.body.len != b.body.len ||
       (a.body.len > 0 && memcmp(a.body.data, b.body.data, a.body.len) != 0)))
    abort();
  finish(&a);
  finish(&b);
  return 0;
}
