/* SPDX-License-Identifier: MIT */
#include "wire/control.h"

#include "base/buf.h"
#include "feed.h"

#define A "0123456789abcdef0123456789abcdef"
#define B "ffffffffffffffffffffffffffffffff"

/* Renders the lines as `<first digit of the nonce>[payload]`. */
struct run {
  const char *want;
  uint64_t dropped;
  struct sbx_control c;
  struct sbx_buf trace;
};

static void begin(void *ctx) {
  struct run *r = ctx;
  sbx_control_init(&r->c);
  sbx_buf_init(&r->trace, SIZE_MAX);
}

static void feed(void *ctx, const uint8_t *in, size_t len) {
  struct run *r = ctx;
  struct sbx_control_line line;
  do {
    size_t n = sbx_control_feed(&r->c, in, len, &line);
    REQUIRE((n > 0 || len == 0) && n <= len);
    if (line.nonce) {
      CHECK_INT(strlen(line.nonce), SBX_NONCE_LEN);
      CHECK_INT(strlen(line.payload), line.payload_len);
      sbx_buf_appendf(&r->trace, "%c[%s]", line.nonce[0], line.payload);
    }
    in += n;
    len -= n;
  } while (len > 0);
}

static void end(void *ctx) {
  struct run *r = ctx;
  CHECK_MEM(r->trace.data, r->trace.len, r->want, strlen(r->want));
  CHECK_INT(r->c.dropped, r->dropped);
  sbx_buf_fini(&r->trace);
}

static void check_lines(const void *in, size_t len, const char *want,
                        uint64_t dropped) {
  struct run r = {.want = want, .dropped = dropped};
  struct feed_parser p = {begin, feed, end, &r};
  feed_every_way(&p, in, len);
}

#define LINES(in, want, dropped) check_lines(in, sizeof(in) - 1, want, dropped)

static void test_lines(void) {
  LINES("", "", 0);
  LINES(A " .\n", "0[.]", 0);
  LINES(A " hello 0 0 yes\n" B " .\n", "0[hello 0 0 yes]f[.]", 0);
  LINES("\n" A " .\n\n\n" B " x\n", "0[.]f[x]", 0);
  LINES(A " \n", "0[]", 0);
  LINES(A "  two  blanks \n", "0[ two  blanks ]", 0);
  LINES(A " p 12 \xff\x1b\r\n", "0[p 12 \xff\x1b\r]", 0);
  LINES(A " not complete", "", 0);
  LINES("x\n" A " .\n", "0[.]", 1);
}

static void test_noise(void) {
  LINES(A "\n", "", 1);
  LINES(A ".\n", "", 1);
  LINES(A "0 .\n", "", 1);
  LINES(" " A " .\n", "", 1);
  LINES("0123456789ABCDEF0123456789abcdef .\n", "", 1);
  LINES("0123456789abcdef0123456789abcde .\n", "", 1);
  LINES("0123456789abcdeg0123456789abcdef .\n", "", 1);
  LINES(A " a\0b\n" B " .\n", "f[.]", 1);
  LINES("noise" A " lost\n" A " .\n", "0[.]", 1);
  LINES("\0\0\n\xff\n" A " .\n", "0[.]", 2);
}

static void test_long_lines(void) {
  static char in[3 * SBX_CONTROL_LINE];
  static char want[SBX_CONTROL_LINE];
  size_t fits = SBX_CONTROL_LINE - SBX_NONCE_LEN - 1;
  for (size_t over = 0; over < 2; over++) {
    size_t len = 0;
    memcpy(in, A " ", 33);
    len += 33;
    memset(in + len, 'x', fits + over);
    len += fits + over;
    memcpy(in + len, "\n" B " .\n", 36);
    len += 36;
    int n =
        over ? 0 : snprintf(want, sizeof(want), "0[%.*s]", (int)fits, in + 33);
    snprintf(want + n, sizeof(want) - (size_t)n, "f[.]");
    check_lines(in, len, want, over);
  }
}

/* A line without end costs no memory and no time; then all is well again. */
static void test_endless_line(void) {
  struct run r = {.want = "0[.]", .dropped = 1};
  struct sbx_control_line line;
  static uint8_t in[65536];
  memset(in, '0', sizeof(in));
  begin(&r);
  for (int i = 0; i < 100; i++)
    CHECK_INT(sbx_control_feed(&r.c, in, sizeof(in), &line), sizeof(in));
  feed(&r, (const uint8_t *)"\n" A " .\n", 36);
  end(&r);
}

int main(void) {
  test_lines();
  test_noise();
  test_long_lines();
  test_endless_line();
  return check_done();
}
