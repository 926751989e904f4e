/* SPDX-License-Identifier: MIT */
#include "base/capture.h"

#include "base/utf8.h"
#include "check.h"

/* What the capture must give, made from the whole stream: characters are read
 * from the front, a byte that begins none counts as one of its own. */
static void expect(const uint8_t *in, size_t len, size_t cap,
                   enum sbx_keep keep, struct sbx_captured *want) {
  size_t head = keep == SBX_KEEP_TAIL   ? 0
                : keep == SBX_KEEP_HEAD ? cap
                                        : (cap + 1) / 2;
  size_t start = len - (cap - head);
  memset(want, 0, sizeof(*want));
  want->data = malloc(len + 1);
  if (!want->data)
    abort();
  if (len <= cap) {
    memcpy(want->data, in, len);
    want->len = want->cut_at = len;
    return;
  }
  size_t new_head = head, new_start = start;
  for (size_t at = 0, n; at < len; at += n) {
    n = sbx_utf8_char(in + at, len - at);
    if (n == 0)
      n = 1;
    if (at < head && at + n > head)
      new_head = at;
    if (at < start && at + n > start)
      new_start = at + n;
  }
  memcpy(want->data, in, new_head);
  memcpy(want->data + new_head, in + new_start, len - new_start);
  want->len = new_head + len - new_start;
  want->cut_at = new_head;
  want->omitted = len - want->len;
  want->truncated = true;
}

static void check_result(struct sbx_capture *c,
                         const struct sbx_captured *want) {
  struct sbx_captured got;
  REQUIRE(sbx_capture_finish(c, &got) == 0);
  CHECK_MEM(got.data, got.len, want->data, want->len);
  CHECK_INT(got.omitted, want->omitted);
  CHECK_INT(got.cut_at, want->cut_at);
  CHECK_INT(got.truncated, want->truncated);
  CHECK((got.data == NULL) == (got.len == 0));
  free(got.data);
}

static struct sbx_capture *fresh(size_t cap, enum sbx_keep keep) {
  struct sbx_capture *c = NULL;
  REQUIRE(sbx_capture_new(&c, cap, keep) == 0);
  return c;
}

static void check_every_way(const void *text, size_t len, size_t cap,
                            enum sbx_keep keep) {
  const uint8_t *in = text;
  struct sbx_captured want;
  expect(in, len, cap, keep, &want);
  CHECK(want.len <= cap);

  struct sbx_capture *c = fresh(cap, keep);
  for (size_t i = 0; i < len; i++) {
    CHECK_INT(sbx_capture_push(c, in + i, 1), 0);
    CHECK_INT(sbx_capture_total(c), i + 1);
  }
  check_result(c, &want);
  check_result(c, &want); /* asking changes nothing */
  sbx_capture_free(c);

  for (size_t split = 0; split <= len; split++) {
    c = fresh(cap, keep);
    CHECK_INT(sbx_capture_push(c, in, split), 0);
    CHECK_INT(sbx_capture_push(c, in + split, len - split), 0);
    check_result(c, &want);
    sbx_capture_free(c);
  }
  free(want.data);
}

static void test_against_the_stream(void) {
  static const struct {
    const char *text;
    size_t len;
  } cases[] = {
#define TEXT(s) {s, sizeof(s) - 1}
      TEXT(""),
      TEXT("a"),
      TEXT("0123456789abcdefghij"),
      TEXT("日本語日本語"),
      TEXT("éèêëéèêëéè"),
      TEXT("😀😁😂😀😁"),
      TEXT("aé日😀bè本😁c"),
      TEXT("caf\xe9 cr\xe8me br\xfbl\xe9"
           "e \xe9\xe9\xe9\xe9"), /* Latin-1 */
      TEXT("\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80"),
      TEXT("\xff\xfe\x00z\x00\x00\xc0\x80\xf0\x9f\x98\xed\xa0\x80"),
      TEXT("\xe6\x97\xe6\x97\xe6\x97\xa5\xe6\x97"),
      TEXT("\xf0\x9f\xf0\x9f\x98\xf0\x9f\x98\x80\x80\xf0"),
#undef TEXT
  };
  for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
    for (size_t cap = 0; cap <= cases[i].len + 2; cap++) {
      check_every_way(cases[i].text, cases[i].len, cap, SBX_KEEP_HEAD);
      check_every_way(cases[i].text, cases[i].len, cap, SBX_KEEP_TAIL);
      check_every_way(cases[i].text, cases[i].len, cap, SBX_KEEP_BOTH);
    }
}

static void test_examples(void) {
  static const struct {
    enum sbx_keep keep;
    size_t cap;
    const char *want;
    size_t cut_at;
  } cases[] = {
      {SBX_KEEP_HEAD, 10, "日本語", 9},
      {SBX_KEEP_HEAD, 2, "", 0},
      {SBX_KEEP_TAIL, 10, "日本語", 0},
      {SBX_KEEP_TAIL, 1, "", 0},
      {SBX_KEEP_BOTH, 10, "日語", 3},
      {SBX_KEEP_BOTH, 18, "日本語日本語", 18},
      {SBX_KEEP_BOTH, 17, "日本語本語", 9},
      {SBX_KEEP_BOTH, 0, "", 0},
  };
  const char *text = "日本語日本語";
  for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
    struct sbx_capture *c = fresh(cases[i].cap, cases[i].keep);
    struct sbx_captured got;
    CHECK_INT(sbx_capture_push(c, (const uint8_t *)text, 18), 0);
    REQUIRE(sbx_capture_finish(c, &got) == 0);
    CHECK_MEM(got.data, got.len, cases[i].want, strlen(cases[i].want));
    CHECK_INT(got.omitted, 18 - strlen(cases[i].want));
    CHECK_INT(got.truncated, cases[i].cap < 18);
    CHECK_INT(got.cut_at, cases[i].cut_at);
    free(got.data);
    sbx_capture_free(c);
  }
}

/* Much more than the cap, in pieces of many sizes; and then more of it. */
static void test_long_stream(void) {
  static uint8_t stream[300000];
  for (size_t i = 0; i < sizeof(stream); i++)
    stream[i] = (uint8_t)(i % 251 % 128);
  for (int keep = SBX_KEEP_HEAD; keep <= SBX_KEEP_BOTH; keep++) {
    struct sbx_capture *c = fresh(20001, (enum sbx_keep)keep);
    struct sbx_captured want;
    size_t at = 0;
    for (size_t n = 1; at < sizeof(stream); n = n * 3 % 40009) {
      size_t len = sizeof(stream) - at < n ? sizeof(stream) - at : n;
      CHECK_INT(sbx_capture_push(c, stream + at, len), 0);
      at += len;
      expect(stream, at, 20001, (enum sbx_keep)keep, &want);
      check_result(c, &want);
      free(want.data);
    }
    sbx_capture_free(c);
  }
}

static void test_odd_calls(void) {
  static const enum sbx_keep keeps[] = {SBX_KEEP_HEAD, SBX_KEEP_TAIL,
                                        SBX_KEEP_BOTH};
  for (size_t i = 0; i < 3; i++) {
    struct sbx_capture *c = fresh(SIZE_MAX, keeps[i]);
    CHECK_INT(sbx_capture_push(c, NULL, 0), 0);
    CHECK_INT(sbx_capture_push(c, (const uint8_t *)"abc", 3), 0);
    check_result(c, &(struct sbx_captured){(uint8_t *)"abc", 3, 0, 3, false});
    sbx_capture_free(c);
  }
  sbx_capture_free(NULL);
}

static uint32_t seed = 1;

static uint32_t pick(uint32_t below) {
  seed = seed * 1664525u + 1013904223u;
  return below ? (seed >> 8) % below : 0;
}

/* Text with characters of every length, and with bytes that are none. */
static size_t make_text(uint8_t *out, size_t cap) {
  static const char *const words[] = {"a",    "\n",   "é",        "日",   "😀",
                                      "\x80", "\xe6", "\xf0\x9f", "\xff", "bc"};
  size_t len = 0, want = pick((uint32_t)cap - 8);
  while (len < want) {
    const char *word = words[pick(sizeof(words) / sizeof(words[0]))];
    memcpy(out + len, word, strlen(word));
    len += strlen(word);
  }
  return len;
}

static void push_in_pieces(struct sbx_capture *c, const uint8_t *in,
                           size_t len) {
  while (len > 0) {
    size_t n = 1 + pick((uint32_t)len);
    CHECK_INT(sbx_capture_push(c, in, n), 0);
    in += n;
    len -= n;
  }
}

/* What was captured where it came from, and then here, is as if it had been
 * captured here only. */
static void test_captured_before(void) {
  uint8_t text[400];
  for (int round = 0; round < 20000; round++) {
    size_t len = make_text(text, sizeof(text)), cap = pick(200);
    enum sbx_keep keep = (enum sbx_keep)pick(3);
    struct sbx_capture *there = fresh(cap, keep), *here = fresh(cap, keep);
    struct sbx_captured want, shipped;

    push_in_pieces(there, text, len);
    REQUIRE(sbx_capture_finish(there, &shipped) == 0);
    push_in_pieces(here, shipped.data, shipped.cut_at);
    sbx_capture_omit(here, shipped.omitted);
    if (shipped.len > shipped.cut_at)
      push_in_pieces(here, shipped.data + shipped.cut_at,
                     shipped.len - shipped.cut_at);
    expect(text, len, cap, keep, &want);
    check_result(here, &want);
    CHECK_INT(sbx_capture_total(here), len);
    free(want.data);
    free(shipped.data);
    sbx_capture_free(there);
    sbx_capture_free(here);
  }
}

/* Whoever captured before us may have done it wrongly: the cap holds, and every
 * byte is kept or counted. */
static void test_omitted_anywhere(void) {
  uint8_t text[400];
  for (int round = 0; round < 5000; round++) {
    size_t cap = pick(100);
    struct sbx_capture *c = fresh(cap, (enum sbx_keep)pick(3));
    struct sbx_captured got;
    uint64_t total = 0;
    bool gap = false;

    for (int i = 0; i < 5; i++) {
      size_t len = make_text(text, sizeof(text));
      uint64_t omitted = pick(2) ? pick(1000) : 0;
      push_in_pieces(c, text, len);
      sbx_capture_omit(c, omitted);
      total += len + omitted;
      gap = gap || omitted > 0;
    }
    REQUIRE(sbx_capture_finish(c, &got) == 0);
    CHECK(got.len <= cap);
    CHECK(got.cut_at <= got.len);
    CHECK_INT(got.len + got.omitted, total);
    CHECK(got.truncated || !gap);
    free(got.data);
    sbx_capture_free(c);
  }
}

int main(void) {
  test_captured_before();
  test_omitted_anywhere();
  test_against_the_stream();
  test_examples();
  test_long_stream();
  test_odd_calls();
  return check_done();
}
