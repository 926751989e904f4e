/* SPDX-License-Identifier: MIT */
/* parse.h - reads one HTTP/1 response, with http-parser for the grammar.
 *
 * Resumable; keeps the header lines (the library refuses more than 80 KiB of
 * them) and hands the body on as it comes. I/O thread, or any one thread. */
#ifndef SBX_HTTP_PARSE_H
#define SBX_HTTP_PARSE_H

#include <http_parser.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"

#define SBX_HTTP_HEADERS_MAX ((size_t)96 * 1024)

enum sbx_http_stage {
  SBX_HTTP_HEAD,
  SBX_HTTP_BODY,
  SBX_HTTP_DONE,
  SBX_HTTP_UPGRADED, /* what follows is no HTTP any more */
  SBX_HTTP_BROKEN
};

struct sbx_http_parser_events {
  /* The head is complete: status and headers can be read. May be NULL. */
  void (*on_head)(void *arg);
  /* A piece of the body. 0, or a negative code that ends the parsing. */
  int (*on_body)(void *arg, const uint8_t *data, size_t len);
};

struct sbx_http_parser {
  http_parser lib;
  const struct sbx_http_parser_events *events;
  void *arg;
  enum sbx_http_stage stage;
  int status;
  bool want_upgrade;
  bool no_body;           /* the answer to a HEAD request */
  bool keep_alive;        /* once done: the connection can be used again */
  bool any;               /* a byte was read */
  bool in_value;          /* of a header line */
  int failure;            /* what a callback returned */
  struct sbx_buf headers; /* "name\0value\0" each, names in lower case */
};

/* want_upgrade: the request asked for the connection itself, for which both
 * 101 and a 200 without length are a yes. */
void sbx_http_parser_init(struct sbx_http_parser *p,
                          const struct sbx_http_parser_events *events,
                          void *arg, bool want_upgrade, bool no_body);
void sbx_http_parser_fini(struct sbx_http_parser *p);

/* Consumes input up to the end of the response (or to the upgrade): *used says
 * how much. 0; SBX_EPROTO with a message; or what on_body returned. */
int sbx_http_parser_feed(struct sbx_http_parser *p, const uint8_t *in,
                         size_t len, size_t *used, struct sbx_err *err);
/* The connection has ended. 0 when that is the end of the response, otherwise
 * SBX_EUNAVAILABLE. */
int sbx_http_parser_eof(struct sbx_http_parser *p, struct sbx_err *err);

/* The value of a header (name in lower case), or NULL; also NULL while the head
 * is not complete. Valid until fini. */
const char *sbx_http_parser_header(const struct sbx_http_parser *p,
                                   const char *name);

#endif
