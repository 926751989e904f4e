/* SPDX-License-Identifier: MIT */
#include "http/parse.h"

#include "feed.h"

/* Renders a response as `status[body]` and what is behind it: `+` kept alive,
 * `-` not, `^` and the rest for an upgrade, `!` refused, `?` unfinished. */
struct run {
  const char *want;
  bool upgrade, head, eof;
  struct sbx_http_parser p;
  struct sbx_buf trace;
  bool broken;
};

static int on_body(void *arg, const uint8_t *data, size_t len) {
  struct run *r = arg;
  return sbx_buf_append(&r->trace, data, len);
}

static void on_head(void *arg) {
  struct run *r = arg;
  sbx_buf_appendf(&r->trace, "%d[", r->p.status);
}

static void begin(void *ctx) {
  static const struct sbx_http_parser_events events = {on_head, on_body};
  struct run *r = ctx;

  sbx_buf_init(&r->trace, SIZE_MAX);
  r->broken = false;
  sbx_http_parser_init(&r->p, &events, r, r->upgrade, r->head);
}

static void feed(void *ctx, const uint8_t *in, size_t len) {
  struct run *r = ctx;
  struct sbx_err err = {0};
  size_t used;
  int rc;

  if (r->p.stage == SBX_HTTP_UPGRADED) {
    sbx_buf_append(&r->trace, in, len);
    return;
  }
  rc = sbx_http_parser_feed(&r->p, in, len, &used, &err);
  CHECK(used <= len);
  if (rc < 0) {
    CHECK_INT(rc, SBX_EPROTO);
    CHECK(err.message[0] != '\0');
    r->broken = true;
  } else if (r->p.stage == SBX_HTTP_UPGRADED) {
    sbx_buf_append(&r->trace, "]^", 2);
    sbx_buf_append(&r->trace, in + used, len - used);
  }
}

static void end(void *ctx) {
  struct run *r = ctx;
  struct sbx_err err = {0};

  if (r->eof && !r->broken && sbx_http_parser_eof(&r->p, &err) < 0)
    CHECK_INT(err.code, SBX_EUNAVAILABLE);
  if (r->broken)
    sbx_buf_append(&r->trace, "!", 1);
  else if (r->p.stage == SBX_HTTP_DONE)
    sbx_buf_appendf(&r->trace, "]%c", r->p.keep_alive && !r->eof ? '+' : '-');
  else if (r->p.stage != SBX_HTTP_UPGRADED)
    sbx_buf_append(&r->trace, "?", 1);
  CHECK_MEM(r->trace.data, r->trace.len, r->want, strlen(r->want));
  sbx_buf_fini(&r->trace);
  sbx_http_parser_fini(&r->p);
}

static void check(const char *in, const char *want, struct run r) {
  struct feed_parser p = {begin, feed, end, &r};

  r.want = want;
  feed_every_way(&p, in, strlen(in));
}

#define PLAIN(in, want)   check(in, want, (struct run){0})
#define UPGRADE(in, want) check(in, want, (struct run){.upgrade = true})
#define CLOSED(in, want)  check(in, want, (struct run){.eof = true})

#define OK                "HTTP/1.1 200 OK\r\n"

static void test_bodies(void) {
  PLAIN(OK "Content-Length: 2\r\n\r\nhi", "200[hi]+");
  PLAIN(OK "Content-Length: 0\r\n\r\n", "200[]+");
  PLAIN("HTTP/1.1 204 No Content\r\n\r\n", "204[]+");
  PLAIN("HTTP/1.1 404 Not Found\r\nContent-Length: 1\r\n\r\n\n", "404[\n]+");
  PLAIN(OK "Connection: close\r\nContent-Length: 2\r\n\r\nhi", "200[hi]-");
  PLAIN(OK "Transfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n3;x=y\r\nyou\r\n0\r\n"
           "Trailer: 1\r\n\r\n",
        "200[hiyou]+");
  CLOSED("HTTP/1.0 200 OK\r\n\r\nhi", "200[hi]-");
  check(OK "Content-Length: 5\r\n\r\n", "200[]+", (struct run){.head = true});
}

static void test_unfinished(void) {
  CLOSED("", "?");
  CLOSED("HTTP/1.1 200", "?");
  CLOSED(OK "Content-Length: 3\r\n\r\nhi", "200[hi?");
  CLOSED(OK "Transfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n", "200[hi?");
  PLAIN(OK "\r\nhi", "200[hi?");
}

static void test_refused(void) {
  PLAIN("garbage", "!");
  PLAIN("HTTP/1.1 999 No\r\n\r\n", "!");
  PLAIN("HTTP/1.1 100 Continue\r\n\r\n", "!");
  PLAIN("HTTP/1.1 101 Switching\r\nConnection: Upgrade\r\nUpgrade: tcp\r\n\r\n",
        "!");
  PLAIN(OK "Content-Length: 2\r\nContent-Length: 3\r\n\r\nhi", "!");
  PLAIN(OK "Content-Length: -1\r\n\r\n", "!");
  PLAIN(OK "Content-Length: 99999999999999999999999\r\n\r\n", "!");
  PLAIN(OK "Transfer-Encoding: chunked\r\nContent-Length: 2\r\n\r\n", "!");
  PLAIN(OK "Transfer-Encoding: chunked\r\n\r\nxyz\r\n", "200[!");
}

static void test_upgrades(void) {
  UPGRADE("HTTP/1.1 101 UPGRADED\r\nConnection: Upgrade\r\nUpgrade: tcp\r\n\r\n"
          "HTTP/1.1 200",
          "101[]^HTTP/1.1 200");
  UPGRADE(OK "Content-Type: application/vnd.docker.raw-stream\r\n\r\nraw",
          "200[]^raw");
  UPGRADE("HTTP/1.1 409 Conflict\r\nContent-Length: 2\r\n\r\nno", "409[no]+");
}

static void test_headers(void) {
  static const struct sbx_http_parser_events events = {NULL, on_body};
  static const char in[] = "HTTP/1.1 200 OK\r\nApi-Version: 1.41\r\nEmpty:\r\n"
                           "X: a\r\n b\r\nContent-Length: 0\r\n\r\n";
  struct sbx_http_parser p;
  size_t used;

  sbx_http_parser_init(&p, &events, NULL, false, false);
  for (size_t i = 0; i < sizeof(in) - 1; i++)
    CHECK_INT(sbx_http_parser_feed(&p, (const uint8_t *)in + i, 1, &used, NULL),
              0);
  CHECK_INT(p.stage, SBX_HTTP_DONE);
  CHECK_STR(sbx_http_parser_header(&p, "api-version"), "1.41");
  CHECK_STR(sbx_http_parser_header(&p, "empty"), "");
  CHECK_STR(sbx_http_parser_header(&p, "content-length"), "0");
  CHECK(sbx_http_parser_header(&p, "x") != NULL);
  CHECK(sbx_http_parser_header(&p, "1.41") == NULL);
  CHECK(sbx_http_parser_header(&p, "none") == NULL);
  sbx_http_parser_fini(&p);
}

static void test_endless_head(void) {
  static const struct sbx_http_parser_events events = {NULL, on_body};
  struct sbx_http_parser p;
  struct sbx_err err = {0};
  static char line[1024];
  size_t used, fed = 0;
  int rc;

  memset(line, 'x', sizeof(line));
  memcpy(line, "\r\nX: ", 5);
  sbx_http_parser_init(&p, &events, NULL, false, false);
  rc = sbx_http_parser_feed(&p, (const uint8_t *)"HTTP/1.1 200 OK", 15, &used,
                            &err);
  for (; rc == 0 && fed < 1000; fed++)
    rc = sbx_http_parser_feed(&p, (uint8_t *)line, sizeof(line), &used, &err);
  CHECK_INT(rc, SBX_EPROTO);
  CHECK(fed < 128);
  CHECK(strstr(err.message, "too long") != NULL);
  CHECK(p.headers.len <= SBX_HTTP_HEADERS_MAX);
  sbx_http_parser_fini(&p);
}

int main(void) {
  test_bodies();
  test_unfinished();
  test_refused();
  test_upgrades();
  test_headers();
  test_endless_head();
  return check_done();
}
