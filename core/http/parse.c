/* SPDX-License-Identifier: MIT */
#include "http/parse.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>

static struct sbx_http_parser *owner(http_parser *lib) {
  return lib->data;
}

/* Stops the library; sbx_http_parser_feed() returns the failure. */
static int fail(struct sbx_http_parser *p, int rc) {
  p->failure = rc;
  return -1;
}

static int append(struct sbx_http_parser *p, const char *data, size_t len) {
  int rc = sbx_buf_append(&p->headers, data, len);

  if (rc == -EMSGSIZE)
    rc = SBX_EPROTO;
  return rc < 0 ? fail(p, rc) : 0;
}

/* Ends a name or a value. */
static int end_text(struct sbx_http_parser *p) {
  return append(p, "", 1);
}

static int on_field(http_parser *lib, const char *at, size_t len) {
  struct sbx_http_parser *p = owner(lib);

  if (p->stage != SBX_HTTP_HEAD)
    return 0; /* a trailer */
  if (p->in_value && end_text(p) < 0)
    return -1;
  p->in_value = false;
  for (size_t i = 0; i < len; i++) {
    char c = (char)tolower((unsigned char)at[i]);
    if (append(p, &c, 1) < 0)
      return -1;
  }
  return 0;
}

static int on_value(http_parser *lib, const char *at, size_t len) {
  struct sbx_http_parser *p = owner(lib);

  if (p->stage != SBX_HTTP_HEAD)
    return 0;
  if (!p->in_value && end_text(p) < 0)
    return -1;
  p->in_value = true;
  for (size_t i = 0; i < len; i++) /* the library is lax */
    if ((unsigned char)at[i] < ' ' && at[i] != '\t')
      return fail(p, SBX_EPROTO);
  return append(p, at, len);
}

/* The library's answers: 1, no body; 2, no body and no HTTP behind it. */
static int on_headers_complete(http_parser *lib) {
  struct sbx_http_parser *p = owner(lib);
  bool sized;

  if (p->headers.len > 0 && end_text(p) < 0)
    return -1;
  p->status = (int)lib->status_code;
  if (p->status < 100 || p->status > 599 ||
      (p->status < 200 && (p->status != 101 || !p->want_upgrade)))
    return fail(p, SBX_EPROTO);
  sized = lib->content_length != UINT64_MAX || (lib->flags & F_CHUNKED) != 0;
  p->stage = SBX_HTTP_BODY;
  if (p->want_upgrade && (p->status == 101 || (p->status == 200 && !sized)))
    p->stage = SBX_HTTP_UPGRADED;
  if (p->events->on_head != NULL)
    p->events->on_head(p->arg);
  if (p->stage == SBX_HTTP_UPGRADED)
    return 2;
  lib->upgrade = 0; /* a header that nobody asked for */
  return p->no_body ? 1 : 0;
}

static int on_body(http_parser *lib, const char *at, size_t len) {
  struct sbx_http_parser *p = owner(lib);
  int rc = p->events->on_body(p->arg, (const uint8_t *)at, len);

  return rc < 0 ? fail(p, rc) : 0;
}

static int on_complete(http_parser *lib) {
  struct sbx_http_parser *p = owner(lib);

  if (p->stage != SBX_HTTP_BODY)
    return 0;
  p->stage = SBX_HTTP_DONE;
  p->keep_alive = http_should_keep_alive(lib) != 0;
  http_parser_pause(lib, 1); /* another response is nobody's */
  return 0;
}

static const http_parser_settings settings = {
    .on_header_field = on_field,
    .on_header_value = on_value,
    .on_headers_complete = on_headers_complete,
    .on_body = on_body,
    .on_message_complete = on_complete,
};

void sbx_http_parser_init(struct sbx_http_parser *p,
                          const struct sbx_http_parser_events *events,
                          void *arg, bool want_upgrade, bool no_body) {
  memset(p, 0, sizeof(*p));
  http_parser_init(&p->lib, HTTP_RESPONSE);
  p->lib.data = p;
  p->events = events;
  p->arg = arg;
  p->want_upgrade = want_upgrade;
  p->no_body = no_body;
  sbx_buf_init(&p->headers, SBX_HTTP_HEADERS_MAX);
}

void sbx_http_parser_fini(struct sbx_http_parser *p) {
  sbx_buf_fini(&p->headers);
}

static int broken(struct sbx_http_parser *p, struct sbx_err *err) {
  enum http_errno why = HTTP_PARSER_ERRNO(&p->lib);
  int rc = p->failure;

  p->stage = SBX_HTTP_BROKEN;
  if (rc < 0 && rc != SBX_EPROTO)
    return rc;
  if (rc == SBX_EPROTO)
    return sbx_fail(err, rc,
                    "the engine's answer is not understood (status "
                    "%d)",
                    p->status);
  if (why == HPE_HEADER_OVERFLOW)
    return sbx_fail(err, SBX_EPROTO,
                    "the head of the engine's answer is too long");
  return sbx_fail(err, SBX_EPROTO, "the engine's answer is not HTTP: %s",
                  http_errno_description(why));
}

int sbx_http_parser_feed(struct sbx_http_parser *p, const uint8_t *in,
                         size_t len, size_t *used, struct sbx_err *err) {
  enum http_errno why;

  *used = 0;
  if (p->stage != SBX_HTTP_HEAD && p->stage != SBX_HTTP_BODY)
    return p->stage == SBX_HTTP_BROKEN ? broken(p, err) : 0;
  if (len == 0)
    return 0; /* the end, to the library */
  p->any = true;
  *used = http_parser_execute(&p->lib, &settings, (const char *)in, len);
  why = HTTP_PARSER_ERRNO(&p->lib);
  if (p->failure < 0 || (why != HPE_OK && why != HPE_PAUSED))
    return broken(p, err);
  return 0;
}

int sbx_http_parser_eof(struct sbx_http_parser *p, struct sbx_err *err) {
  if (p->stage == SBX_HTTP_BODY)
    http_parser_execute(&p->lib, &settings, NULL, 0);
  if (p->stage == SBX_HTTP_DONE || p->stage == SBX_HTTP_UPGRADED)
    return 0;
  p->stage = SBX_HTTP_BROKEN;
  return sbx_fail(err, SBX_EUNAVAILABLE, "the engine closed the connection %s",
                  p->any ? "in the middle of its answer" : "without an answer");
}

const char *sbx_http_parser_header(const struct sbx_http_parser *p,
                                   const char *name) {
  const char *at = (const char *)p->headers.data;
  const char *end = at != NULL ? at + p->headers.len : NULL;

  if (p->stage == SBX_HTTP_HEAD || p->stage == SBX_HTTP_BROKEN)
    return NULL; /* the last line may have no end */
  while (at != NULL && at < end) {
    const char *value = at + strlen(at) + 1;
    if (value >= end)
      break;
    if (strcmp(at, name) == 0)
      return value;
    at = value + strlen(value) + 1;
  }
  return NULL;
}
