/* SPDX-License-Identifier: MIT */
#include "base/utf8.h"

#include <stdbool.h>

#include "check.h"

/* Every proper beginning of every character, by brute force. */
static bool begins1[1 << 8];
static bool begins2[1 << 16];
static bool begins3[1 << 24];
static uint8_t length1[1 << 8];  /* 1 when the byte is a character */
static uint8_t length2[1 << 16]; /* 2 when the two bytes are one */
static bool length3[1 << 24];    /* the three bytes are one */

static size_t encode(uint32_t cp, uint8_t out[4]) {
  if (cp < 0x80) {
    out[0] = (uint8_t)cp;
    return 1;
  }
  size_t n = cp < 0x800 ? 2 : cp < 0x10000 ? 3 : 4;
  for (size_t i = n - 1; i > 0; i--, cp >>= 6)
    out[i] = (uint8_t)(0x80 | (cp & 0x3f));
  out[0] = (uint8_t)((0xf00 >> n & 0xff) | cp);
  return n;
}

static void prepare(void) {
  for (uint32_t cp = 0; cp <= 0x10ffff; cp++) {
    if (cp >= 0xd800 && cp <= 0xdfff)
      continue;
    uint8_t c[4];
    size_t n = encode(cp, c);
    if (n > 1)
      begins1[c[0]] = true;
    if (n > 2)
      begins2[c[0] << 8 | c[1]] = true;
    if (n > 3)
      begins3[c[0] << 16 | c[1] << 8 | c[2]] = true;
    if (n == 1)
      length1[c[0]] = 1;
    if (n == 2)
      length2[c[0] << 8 | c[1]] = 2;
    if (n == 3)
      length3[c[0] << 16 | c[1] << 8 | c[2]] = true;
    CHECK(sbx_utf8_char(c, n) == n && sbx_utf8_char(c, n - 1) == 0);
  }
}

/* All strings of three bytes that can matter. */
static void test_exhaustive(void) {
  long wrong_char = 0, wrong_trim = 0;
  for (unsigned i = 0; i < 1u << 24; i++) {
    unsigned a = i >> 16, b = i >> 8 & 0xff, c = i & 0xff;
    /* within a class of bytes that no rule tells apart, a few will do */
    if ((a < 0xc0 && (a & 0x1f)) || (c < 0x80 && (c & 0x1f)))
      continue;
    uint8_t s[3] = {(uint8_t)a, (uint8_t)b, (uint8_t)c};
    size_t want = length1[a]                      ? 1u
                  : length2[a << 8 | b]           ? 2u
                  : length3[a << 16 | b << 8 | c] ? 3u
                                                  : 0u;
    wrong_char += sbx_utf8_char(s, 3) != want;
    want = begins3[i] ? 0u : begins2[b << 8 | c] ? 1u : begins1[c] ? 2u : 3u;
    wrong_trim += sbx_utf8_trim_end(s, 3) != want;
  }
  CHECK_INT(wrong_char, 0);
  CHECK_INT(wrong_trim, 0);
}

static void test_trim_end(void) {
  static const struct {
    const char *text;
    size_t want;
  } cases[] = {
      {"", 0},
      {"abc", 3},
      {"ab\xc3", 2},
      {"ab\xc3\xa9", 4},
      {"\xe6\x97\xa5\xe6\x97", 3},
      {"\xe6\x97\xa5\xe6", 3},
      {"\xe6", 0},
      {"\xf0\x9f\x98", 0},
      {"x\xf0\x9f\x98\x80", 5},
      {"x\xf0\x9f\x98\x80\x80", 6}, /* one continuation byte too many */
      {"\x80\x80\x80\x80", 4},      /* not UTF-8 at all */
      {"x\xc0", 2},                 /* never a lead byte */
      {"x\xff", 2},
      {"x\xed\xa0", 3}, /* a surrogate */
      {"x\xe0\x80", 3}, /* overlong */
      {"x\xf4\x90", 3}, /* above U+10FFFF */
      {"x\xf4\x8f\xbf", 1},
  };
  for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
    size_t len = strlen(cases[i].text);
    struct check_guard g = check_guard_new(cases[i].text, len);
    CHECK_INT(sbx_utf8_trim_end(g.data, len), cases[i].want);
    check_guard_free(&g);
  }
}

static void test_skip_start(void) {
  static const struct {
    const char *text;
    size_t want;
  } cases[] = {
      {"", 0},
      {"abc", 0},
      {"\xa5\xe6\x97\xa5", 1},
      {"\x97\xa5\xe6\x97\xa5", 2},
      {"\x9f\x98\x80x", 3},
      {"\x9f\x98\x80", 3},
      {"\x80\x80\x80\x80", 0},
      {"\x80\x80\x80\x80\x80x", 0},
      {"\xff\x80", 0},
  };
  for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
    size_t len = strlen(cases[i].text);
    struct check_guard g = check_guard_new(cases[i].text, len);
    CHECK_INT(sbx_utf8_skip_start(g.data, len), cases[i].want);
    check_guard_free(&g);
  }
}

static void test_around(void) {
  /*                    0   1..2    3   4..6        7   8..11 */
  static const char text[] = "a\xc3\xa9"
                             "b\xe6\x97\xa5"
                             "c\xf0\x9f\x98\x80";
  static const size_t start[] = {0, 1, 1, 3, 4, 4, 4, 7, 8, 8, 8, 8, 12};
  static const size_t stop[] = {0, 1, 3, 3, 4, 7, 7, 7, 8, 12, 12, 12, 12};
  size_t end;
  struct check_guard g = check_guard_new(text, 12);
  for (size_t at = 0; at <= 12; at++) {
    CHECK_INT(sbx_utf8_around(g.data, 12, at, &end), start[at]);
    CHECK_INT(end, stop[at]);
  }
  check_guard_free(&g);

  /* What is not a character is not in one. */
  static const char *const broken[] = {"\xe6\x97",     "\xe6\x97x",
                                       "\x80\x80\x80", "\xc3\xc3",
                                       "\xed\xa0\x80", "\xc3\xa9\xa9"};
  for (size_t i = 0; i < sizeof(broken) / sizeof(broken[0]); i++) {
    size_t len = strlen(broken[i]);
    size_t at = len - 1;
    CHECK_INT(sbx_utf8_around((const uint8_t *)broken[i], len, at, &end), at);
    CHECK_INT(end, at);
  }
}

int main(void) {
  prepare();
  test_exhaustive();
  test_trim_end();
  test_skip_start();
  test_around();
  return check_done();
}
