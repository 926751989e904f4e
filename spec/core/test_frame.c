/* SPDX-License-Identifier: MIT */
#include "wire/frame.h"

#include <errno.h>

#include "feed.h"
#include "wire/msg.h"

#define MAX 300

/* Renders frames as `<id:type>payload`; `!` is the refusal. */
struct run {
  const char *want;
  size_t want_len;
  uint32_t max;
  struct sbx_framer f;
  bool broken;
  struct sbx_buf trace;
};

static void begin(void *ctx) {
  struct run *r = ctx;
  sbx_framer_init(&r->f, r->max);
  r->broken = false;
  sbx_buf_init(&r->trace, SIZE_MAX);
}

static void feed(void *ctx, const uint8_t *in, size_t len) {
  struct run *r = ctx;
  struct sbx_frame frame;
  bool done;

  while (len > 0) {
    ssize_t n = sbx_framer_feed(&r->f, in, len, &frame, &done);
    if (n < 0) {
      CHECK_INT(n, SBX_EPROTO);
      CHECK(!done);
      if (!r->broken)
        sbx_buf_append(&r->trace, "!", 1);
      r->broken = true;
      return;
    }
    REQUIRE(n > 0 && (size_t)n <= len && !r->broken);
    if (done) {
      REQUIRE(frame.data != NULL && !frame.skipped);
      sbx_buf_appendf(&r->trace, "<%u:%u>", frame.id, frame.type);
      sbx_buf_append(&r->trace, frame.data, frame.len);
    }
    in += n;
    len -= (size_t)n;
  }
}

static void end(void *ctx) {
  struct run *r = ctx;
  CHECK_MEM(r->trace.data, r->trace.len, r->want, r->want_len);
  sbx_framer_fini(&r->f);
  sbx_buf_fini(&r->trace);
}

static void check_frames(const void *in, size_t len, const char *want,
                         size_t want_len) {
  struct run r = {.want = want, .want_len = want_len, .max = MAX};
  struct feed_parser p = {begin, feed, end, &r};
  feed_every_way(&p, in, len);
}

#define FRAMES(in, want)                                                       \
  check_frames(in, sizeof(in) - 1, want, sizeof(want) - 1)

#define HEAD(n, id, type) n "\0\0\0" id "\0\0\0" type "\0\0\0"

static void test_frames(void) {
  FRAMES("", "");
  FRAMES(HEAD("\0", "\1", "\2"), "<1:2>");
  FRAMES(HEAD("\5", "\0", "\1") "hello", "<0:1>hello");
  FRAMES(HEAD("\0", "\1", "\2") HEAD("\0", "\2", "\3"), "<1:2><2:3>");
  FRAMES(HEAD("\1", "\1", "\2") "a" HEAD("\2", "\1", "\4") "bc" HEAD("\0", "\3",
                                                                     "\5"),
         "<1:2>a<1:4>bc<3:5>");
  FRAMES("\1\0\0\0\1\2\3\4\377\0\0\0x", "<67305985:255>x");
  FRAMES("\1\0\0\0\377\377\377\377\0\0\0\0\0", "<4294967295:0>\0");
  /* a header as a payload */
  FRAMES(HEAD("\14", "\1", "\3") HEAD("\5", "\1", "\3"),
         "<1:3>" HEAD("\5", "\1", "\3"));
}

static void test_unfinished(void) {
  FRAMES("\0", "");
  FRAMES("\0\0\0\0\1\0\0\0\2\0\0", "");
  FRAMES(HEAD("\3", "\1", "\2"), "");
  FRAMES(HEAD("\3", "\1", "\2") "ab", "");
  FRAMES(HEAD("\0", "\1", "\2") HEAD("\3", "\1", "\2") "ab", "<1:2>");
}

static void test_refused(void) {
  FRAMES("\55\1\0\0", "!"); /* 301 */
  FRAMES("\0\0\1\0", "!");
  FRAMES("\0\0\0\1", "!");
  FRAMES("\377\377\377\377", "!");
  FRAMES("\0\0\0\0\1\0\0\0\2\1", "!");
  FRAMES("\0\0\0\0\1\0\0\0\2\0\1", "!");
  FRAMES("\0\0\0\0\1\0\0\0\2\0\0\1", "!");
  FRAMES("\0\0\0\0\1\0\0\0\2\0\0\1more", "!");
  FRAMES(HEAD("\1", "\1", "\2") "aHTTP/1.1 500 ", "<1:2>a!");
  FRAMES("/bin/sh: 1: not found\n", "!");
}

/* Payloads of the greatest size, of one more, and after each other. */
static void test_long(void) {
  uint8_t in[2 * (SBX_FRAME_HEAD + MAX)], want[2 * (5 + MAX)];

  for (int i = 0; i < 2; i++) {
    uint8_t *frame = in + i * (SBX_FRAME_HEAD + MAX);
    uint8_t *text = want + i * (5 + MAX);
    sbx_frame_head(frame, 7, 3, MAX);
    memset(frame + SBX_FRAME_HEAD, 'a' + i, MAX);
    memcpy(text, "<7:3>", 5);
    memset(text + 5, 'a' + i, MAX);
  }
  check_frames(in, sizeof(in), (char *)want, sizeof(want));
  check_frames(in, sizeof(in) - 1, (char *)want, 5 + MAX);
  sbx_frame_head(in, 7, 3, MAX + 1);
  check_frames(in, sizeof(in), "!", 1);
}

/* What lies in one piece is not copied, and nothing is allocated for it. */
static void test_in_place(void) {
  static const uint8_t in[] = HEAD("\3", "\1", "\2") "abc";
  struct sbx_framer f;
  struct sbx_frame frame;
  bool done;

  sbx_framer_init(&f, MAX);
  CHECK_INT(sbx_framer_feed(&f, in, 15, &frame, &done), 15);
  CHECK(done && frame.data == in + SBX_FRAME_HEAD);
  CHECK_INT(sbx_framer_feed(&f, in, 12, &frame, &done), 12);
  CHECK(!done);
  CHECK_INT(sbx_framer_feed(&f, in, 0, &frame, &done), 0);
  CHECK(!done);
  CHECK_INT(sbx_framer_feed(&f, in + 12, 3, &frame, &done), 3);
  CHECK(done && frame.data == in + SBX_FRAME_HEAD);
  CHECK_INT(f.buf.cap, 0);
  CHECK_INT(sbx_framer_feed(&f, NULL, 0, &frame, &done), 0);
  sbx_framer_fini(&f);
}

/* Memory for a large payload is given back at the next one. */
static void test_memory(void) {
  size_t len = SBX_FRAME_UP_MAX + 1;
  uint8_t *in = calloc(1, SBX_FRAME_HEAD + len);
  struct sbx_framer f;
  struct sbx_frame frame;
  bool done;

  REQUIRE(in != NULL);
  sbx_framer_init(&f, SBX_FRAME_DOWN_MAX);
  sbx_frame_head(in, 1, 2, (uint32_t)len);
  CHECK_INT(sbx_framer_feed(&f, in, 13, &frame, &done), 13);
  CHECK_INT(sbx_framer_feed(&f, in + 13, len - 1, &frame, &done), len - 1);
  CHECK(done && frame.len == len && f.buf.cap >= len);
  CHECK_INT(sbx_framer_feed(&f, in, 1, &frame, &done), 1);
  CHECK_INT(f.buf.cap, 0);
  sbx_framer_fini(&f);
  free(in);
}

/* There is no memory for a payload that comes in parts. */

static void skip_feed(void *ctx, const uint8_t *in, size_t len) {
  struct run *r = ctx;
  struct sbx_frame frame;
  bool done;

  while (len > 0) {
    /* as if the allocation failed, but only for what comes in parts */
    r->f.buf.max = 4;
    ssize_t n = sbx_framer_feed(&r->f, in, len, &frame, &done);
    REQUIRE(n > 0 && (size_t)n <= len);
    if (done) {
      CHECK_INT(frame.skipped, frame.data == NULL);
      CHECK(!frame.skipped || frame.len > 4);
      sbx_buf_appendf(&r->trace, "<%u:%zu>", frame.id, frame.len);
    }
    in += n;
    len -= (size_t)n;
  }
}

static void test_skipped(void) {
  static const char in[] =
      HEAD("\2", "\1", "\2") "ab" HEAD("\6", "\2", "\2") "abcdef" HEAD(
          "\1", "\3", "\2") "x" HEAD("\0", "\4", "\2");
  static const char want[] = "<1:2><2:6><3:1><4:0>";
  struct run r = {.want = want, .want_len = sizeof(want) - 1, .max = MAX};
  struct feed_parser p = {begin, skip_feed, end, &r};

  feed_every_way(&p, in, sizeof(in) - 1);
}

static void test_append(void) {
  struct sbx_buf b;

  sbx_buf_init(&b, 30);
  CHECK_INT(sbx_frame_append(&b, 0x01020304, 5, "abc", 3), 0);
  CHECK_MEM(b.data, b.len, "\3\0\0\0\4\3\2\1\5\0\0\0abc", 15);
  CHECK_INT(sbx_frame_append(&b, 1, 5, "abcd", 4), -EMSGSIZE);
  CHECK_INT(b.len, 15);
  CHECK_INT(sbx_frame_append(&b, 1, 6, NULL, 0), 0);
  CHECK_MEM(b.data + 15, b.len - 15, "\0\0\0\0\1\0\0\0\6\0\0\0", 12);
  CHECK_INT(sbx_frame_append(&b, 1, 6, NULL, SIZE_MAX), -EMSGSIZE);
  CHECK_INT(b.len, 27);
  sbx_buf_fini(&b);
}

int main(void) {
  test_frames();
  test_unfinished();
  test_refused();
  test_long();
  test_in_place();
  test_memory();
  test_skipped();
  test_append();
  return check_done();
}
