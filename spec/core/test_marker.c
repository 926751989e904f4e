/* SPDX-License-Identifier: MIT */
#include "wire/marker.h"

#include "base/buf.h"
#include "base/err.h"
#include "feed.h"

#define ID    "6f1c2a70-3b4d-4e5f-8a9b-0c1d2e3f4a5b"
#define OTHER "6f1c2a70-3b4d-4e5f-8a9b-0c1d2e3f4a5c"
#define RS    "\x1e"
#define START RS "ANVIA_PROCESS:" ID ":7:42:42" RS
#define EXIT0 RS "ANVIA_EXIT:" ID ":0" RS
#define BOTH  (SBX_EXPECT_START | SBX_EXPECT_EXIT)

/* Renders what the scanner says as text: the output as it is, <S 7 42 42>,
 * <F 127 reason>, <E 0> for the markers, <!> for a refusal. */
struct run {
  const char *want;
  size_t want_len;
  unsigned expect;
  struct sbx_marker m;
  struct sbx_buf trace;
  int failed;
};

static void show(struct run *r, const struct sbx_marker_event *ev) {
  sbx_buf_append(&r->trace, ev->out, ev->out_len);
  switch (ev->kind) {
  case SBX_MARKER_NONE:
    break;
  case SBX_MARKER_START:
    sbx_buf_appendf(&r->trace, "<S %ld %ld %ld>", ev->wrapper, ev->child,
                    ev->group);
    break;
  case SBX_MARKER_FAILED:
    sbx_buf_appendf(&r->trace, "<F %d %s>", ev->status, ev->reason);
    break;
  case SBX_MARKER_EXIT:
    sbx_buf_appendf(&r->trace, "<E %d>", ev->status);
    break;
  }
}

static void begin(void *ctx) {
  struct run *r = ctx;
  sbx_marker_init(&r->m, ID, r->expect);
  sbx_buf_init(&r->trace, SIZE_MAX);
  r->failed = 0;
}

static void feed(void *ctx, const uint8_t *in, size_t len) {
  struct run *r = ctx;
  struct sbx_marker_event ev;
  do {
    ssize_t n = sbx_marker_feed(&r->m, in, len, &ev);
    if (n < 0 && r->failed) {
      CHECK_INT(ev.out_len, 0);
      return;
    }
    show(r, &ev);
    if (n < 0) {
      CHECK_INT(n, SBX_EPROTO);
      CHECK_INT(ev.kind, SBX_MARKER_NONE);
      CHECK_INT(ev.child + ev.group + ev.wrapper + ev.status, 0);
      sbx_buf_append(&r->trace, "<!>", 3);
      r->failed = 1;
      return;
    }
    int good =
        (n > 0 || len == 0) && (size_t)n <= len && r->m.held <= SBX_MARKER_HOLD;
    if (!good)
      REQUIRE(good);
    in += n;
    len -= (size_t)n;
  } while (len > 0);
}

static void end(void *ctx) {
  struct run *r = ctx;
  struct sbx_marker_event ev;
  for (int i = 0; i < 2; i++) { /* the second time there is nothing left */
    sbx_marker_finish(&r->m, &ev);
    CHECK_INT(ev.kind, SBX_MARKER_NONE);
    show(r, &ev);
  }
  CHECK_MEM(r->trace.data, r->trace.len, r->want, r->want_len);
  sbx_buf_fini(&r->trace);
}

static void check_scan(unsigned expect, const char *in, size_t in_len,
                       const char *want, size_t want_len) {
  struct run r = {.want = want, .want_len = want_len, .expect = expect};
  struct feed_parser p = {begin, feed, end, &r};
  feed_every_way(&p, in, in_len);
}

#define SCAN(expect, in, want)                                                 \
  check_scan(expect, in, sizeof(in) - 1, want, sizeof(want) - 1)
#define SAME(expect, in) SCAN(expect, in, in)

static void test_markers(void) {
  SCAN(BOTH, START, "<S 7 42 42>");
  SCAN(BOTH, START EXIT0, "<S 7 42 42><E 0>");
  SCAN(BOTH, "early" START RS "late", "early<S 7 42 42>" RS "late");
  SCAN(BOTH, "a" START "b\0c\n" RS "ANVIA d" EXIT0 "tail\n",
       "a<S 7 42 42>b\0c\n" RS "ANVIA d<E 0>tail\n");
  SCAN(BOTH, RS RS RS START RS RS EXIT0 RS,
       RS RS RS "<S 7 42 42>" RS RS "<E 0>" RS);
  SCAN(BOTH, RS "ANVIA_FAILED:" ID ":127:not_found" RS, "<F 127 not_found>");
  SCAN(BOTH, RS "ANVIA_FAILED:" ID ":125:cwd" RS EXIT0, "<F 125 cwd><E 0>");
  SCAN(BOTH, RS "ANVIA_FAILED:" ID ":1:abcdefghijklmnopqrstuvwxyz01234" RS,
       "<F 1 abcdefghijklmnopqrstuvwxyz01234>");
  SCAN(BOTH, RS "ANVIA_PROCESS:" ID ":4194304:4194303:2" RS,
       "<S 4194304 4194303 2>");
  SCAN(SBX_EXPECT_EXIT, "err" EXIT0, "err<E 0>");
  SCAN(SBX_EXPECT_EXIT, RS "ANVIA_EXIT:" ID ":255" RS, "<E 255>");
  SCAN(SBX_EXPECT_EXIT, RS "ANVIA_EXIT:" ID ":10" RS, "<E 10>");
  SCAN(SBX_EXPECT_START, "x" START "y" EXIT0, "x<S 7 42 42>y" EXIT0);
}

/* The right bytes at the wrong time are output. */
static void test_not_expected(void) {
  SCAN(BOTH, START START, "<S 7 42 42>" START);
  SCAN(BOTH, START RS "ANVIA_FAILED:" ID ":1:x" RS,
       "<S 7 42 42>" RS "ANVIA_FAILED:" ID ":1:x" RS);
  SCAN(BOTH, START RS "ANVIA_PROCESS:" ID ":0:bad", /* not even looked at */
       "<S 7 42 42>" RS "ANVIA_PROCESS:" ID ":0:bad");
  SCAN(BOTH, START EXIT0 EXIT0 START, "<S 7 42 42><E 0>" EXIT0 START);
  SAME(SBX_EXPECT_EXIT, START);
  SAME(SBX_EXPECT_START, EXIT0);
  SAME(0, START EXIT0);
}

static void test_not_ours(void) {
  SAME(BOTH, "");
  SAME(BOTH, RS);
  SAME(BOTH, "plain text\n\xff\xfe");
  SAME(BOTH, RS "ANVIA_PROCESS:" OTHER ":7:42:42" RS);
  SAME(BOTH, RS "ANVIA_PROCESS:" OTHER ":0:x" RS);
  SAME(BOTH, RS "ANVIA_PROCESS:" ID "0:7:42:42" RS);
  SAME(BOTH, RS "ANVIA_PROCESSES:" ID ":7:42:42" RS);
  SAME(BOTH, "ANVIA_PROCESS:" ID ":7:42:42" RS);
  SAME(BOTH, RS " ANVIA_EXIT:" ID ":0" RS);
  SAME(BOTH, RS "anvia_exit:" ID ":0" RS);
  SCAN(BOTH, RS "ANVIA_PROCESS:" START, RS "ANVIA_PROCESS:<S 7 42 42>");
  SCAN(BOTH, RS "ANVIA_PROCESS:6f1c" START RS "ANVIA_" EXIT0,
       RS "ANVIA_PROCESS:6f1c<S 7 42 42>" RS "ANVIA_<E 0>");
  /* two markers begin alike up to here */
  SCAN(BOTH, START RS "ANVIA_E" EXIT0 RS, "<S 7 42 42>" RS "ANVIA_E<E 0>" RS);
}

static void test_cut_short(void) {
  static const char start[] = "x" START;
  for (size_t n = 0; n < sizeof(start) - 1; n++)
    check_scan(BOTH, start, n, start, n);
  static const char stop[] = "x" EXIT0;
  for (size_t n = 0; n < sizeof(stop) - 1; n++)
    check_scan(SBX_EXPECT_EXIT, stop, n, stop, n);
}

static void test_refused(void) {
#define BAD_START(ids) SCAN(BOTH, "x" RS "ANVIA_PROCESS:" ID ":" ids, "x<!>")
  BAD_START("abc:42:42" RS);
  BAD_START("-1:42:42" RS);
  BAD_START("+7:42:42" RS);
  BAD_START("0:42:42" RS);
  BAD_START("1:42:42" RS);
  BAD_START("7:1:42" RS);
  BAD_START("7:42:1" RS);
  BAD_START("7:42:0" RS);
  BAD_START("7:42:-1" RS);
  BAD_START("07:42:42" RS);
  BAD_START("7:042:42" RS);
  BAD_START(" 7:42:42" RS);
  BAD_START("7:42 :42" RS);
  BAD_START("7:42:42:9" RS);
  BAD_START("7:42" RS);
  BAD_START(":42:42" RS);
  BAD_START("7::42" RS);
  BAD_START("7:42:" RS);
  BAD_START("7:42:42\n" RS);
  BAD_START("7:42:4194305" RS);
  BAD_START("99999999999999999999:42:42" RS);
  BAD_START("7:42:18446744073709551618" RS);
#define BAD_FAILED(end) SCAN(BOTH, "x" RS "ANVIA_FAILED:" ID ":" end, "x<!>")
  BAD_FAILED("0:x" RS);
  BAD_FAILED("256:x" RS);
  BAD_FAILED("127" RS);
  BAD_FAILED("127:" RS);
  BAD_FAILED("127:Not" RS);
  BAD_FAILED("127:a b" RS);
  BAD_FAILED("127:abcdefghijklmnopqrstuvwxyz012345" RS);
#define BAD_EXIT(end)                                                          \
  SCAN(SBX_EXPECT_EXIT, "x" RS "ANVIA_EXIT:" ID ":" end, "x<!>")
  BAD_EXIT(RS);
  BAD_EXIT("256" RS);
  BAD_EXIT("00" RS);
  BAD_EXIT("-1" RS);
  BAD_EXIT("0x" RS);
  BAD_EXIT("0:" RS);
  BAD_EXIT("99999999999999999999" RS);
  /* an exit before the start; nothing is said after a refusal */
  SCAN(BOTH, "x" EXIT0 "y" START, "x<!>");
}

/* What cannot become a marker any more is not held back. */
static void test_releases_at_once(void) {
  static const char text[] = RS "ANVIA_PROCESS:" ID ":7:42:42" RS;
  for (size_t n = 1; n <= 15 + 36; n++) {
    struct run r = {.expect = BOTH};
    begin(&r);
    for (size_t i = 0; i < n; i++)
      feed(&r, (const uint8_t *)text + i, 1);
    CHECK_INT(r.trace.len, 0);
    CHECK_INT(r.m.held, n);
    feed(&r, (const uint8_t *)"#", 1);
    CHECK_INT(r.trace.len, n + 1);
    CHECK_MEM(r.trace.data, n, text, n);
    sbx_buf_fini(&r.trace);

    begin(&r);
    feed(&r, (const uint8_t *)text, n);
    feed(&r, (const uint8_t *)RS "#", 2);
    CHECK_INT(r.trace.len, n + 2);
    sbx_buf_fini(&r.trace);
  }
}

static void check_flood(const char *unit, unsigned expect, const char *before) {
  size_t unit_len = strlen(unit), len = 0, before_len = strlen(before);
  size_t cap = (size_t)1 << 20;
  uint8_t *in = malloc(cap + before_len);
  REQUIRE(in != NULL);
  memcpy(in, before, before_len);
  len = before_len;
  while (len + unit_len <= cap) {
    memcpy(in + len, unit, unit_len);
    len += unit_len;
  }
  static const size_t sizes[] = {1,  2,  3,  13,    14,     15,
                                 16, 17, 97, 65536, 1 << 21};
  for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
    struct run r = {.expect = expect};
    begin(&r);
    struct feed_parser p = {begin, feed, end, &r};
    size_t skip = before_len ? strlen("<S 7 42 42>") : 0;
    uint8_t *want = malloc(len + 16);
    REQUIRE(want != NULL);
    memcpy(want, "<S 7 42 42>", skip);
    memcpy(want + skip, in + before_len, len - before_len);
    r.want = (const char *)want;
    r.want_len = len - before_len + skip;
    feed_pieces(&p, in, len, sizes[i] < len ? sizes[i] : len);
    free(want);
  }
  free(in);
}

/* A megabyte of almost-markers passes, in linear time and fixed memory. */
static void test_floods(void) {
  check_flood(RS "ANVIA_PROCESS:", BOTH, "");
  check_flood(RS "ANVIA_PROCESS:", BOTH, START);
  check_flood(RS "ANVIA_EXIT:" OTHER ":", BOTH, START);
  check_flood(RS "ANVIA_EXIT:6f1c2a70", SBX_EXPECT_EXIT, "");
  check_flood(RS, BOTH, "");
  check_flood(RS "A", BOTH, START);
}

int main(void) {
  test_markers();
  test_not_expected();
  test_not_ours();
  test_cut_short();
  test_refused();
  test_releases_at_once();
  test_floods();
  return check_done();
}
