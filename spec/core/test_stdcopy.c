/* SPDX-License-Identifier: MIT */
#include "wire/stdcopy.h"

#include "base/buf.h"
#include "feed.h"

/* Renders the payload as `<stream>` before each change of the stream, then the
 * bytes; `!` is the refusal. */
struct run {
  const char *want;
  bool at_end;
  struct sbx_stdcopy s;
  int stream;
  bool broken;
  struct sbx_buf trace;
};

static void begin(void *ctx) {
  struct run *r = ctx;
  sbx_stdcopy_init(&r->s);
  r->stream = 0;
  r->broken = false;
  sbx_buf_init(&r->trace, SIZE_MAX);
}

static void feed(void *ctx, const uint8_t *in, size_t len) {
  struct run *r = ctx;
  struct sbx_stdcopy_piece piece;

  while (len > 0) {
    ssize_t n = sbx_stdcopy_feed(&r->s, in, len, &piece);
    if (n < 0) {
      CHECK_INT(n, SBX_EPROTO);
      if (!r->broken)
        sbx_buf_append(&r->trace, "!", 1);
      r->broken = true;
      return;
    }
    REQUIRE(n > 0 && (size_t)n <= len && !r->broken);
    if (piece.len > 0 && (int)piece.stream != r->stream) {
      r->stream = (int)piece.stream;
      sbx_buf_appendf(&r->trace, "<%d>", r->stream);
    }
    sbx_buf_append(&r->trace, piece.data, piece.len);
    in += n;
    len -= (size_t)n;
  }
}

static void end(void *ctx) {
  struct run *r = ctx;
  CHECK_MEM(r->trace.data, r->trace.len, r->want, strlen(r->want));
  if (!r->broken)
    CHECK_INT(sbx_stdcopy_at_end(&r->s), r->at_end);
  sbx_buf_fini(&r->trace);
}

static void check_frames(const void *in, size_t len, const char *want,
                         bool at_end) {
  struct run r = {.want = want, .at_end = at_end};
  struct feed_parser p = {begin, feed, end, &r};
  feed_every_way(&p, in, len);
}

#define FRAMES(in, want, at_end) check_frames(in, sizeof(in) - 1, want, at_end)

#define OUT(n)                   "\1\0\0\0\0\0\0" n
#define ERR(n)                   "\2\0\0\0\0\0\0" n

static void test_frames(void) {
  FRAMES("", "", true);
  FRAMES(OUT("\5") "hello", "<1>hello", true);
  FRAMES(ERR("\5") "hello", "<2>hello", true);
  FRAMES("\0\0\0\0\0\0\0\2"
         "in",
         "<1>in", true);
  FRAMES("\3\0\0\0\0\0\0\3"
         "why",
         "<3>why", true);
  FRAMES(OUT("\1") "a" ERR("\2") "bc" OUT("\1") "d", "<1>a<2>bc<1>d", true);
  FRAMES(OUT("\0") OUT("\1") "x" ERR("\0"), "<1>x", true);
  FRAMES(OUT("\11") "\1\1\2\3\4\5\6\7x", "<1>\1\1\2\3\4\5\6\7x", true);
}

static void test_unfinished(void) {
  FRAMES("\1", "", false);
  FRAMES("\1\0\0\0\0\0\0", "", false);
  FRAMES(OUT("\5") "hel", "<1>hel", false);
  FRAMES("\2\0\0\0\377\377\377\377"
         "x",
         "<2>x", false);
}

static void test_refused(void) {
  FRAMES("\4\0\0\0\0\0\0\1x", "!", false);
  FRAMES("H", "!", false);
  FRAMES("\1\1", "!", false);
  FRAMES("\1\0\0\1", "!", false);
  FRAMES(OUT("\1") "aHTTP/1.1 500", "<1>a!", false);
}

static void test_long(void) {
  static uint8_t text[8 + 1000];
  struct run r = {.want = (char *)text + 8};
  struct sbx_stdcopy_piece piece;

  memcpy(text, "\1\0\0\0\0\0\3\347", 8); /* 999 */
  memset(text + 8, 'x', 999);
  sbx_stdcopy_init(&r.s);
  CHECK_INT(sbx_stdcopy_feed(&r.s, text, 1007, &piece), 1007);
  CHECK_INT(piece.len, 999);
  CHECK(piece.data == text + 8);
  CHECK(sbx_stdcopy_at_end(&r.s));
}

int main(void) {
  test_frames();
  test_unfinished();
  test_refused();
  test_long();
  return check_done();
}
