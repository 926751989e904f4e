/* SPDX-License-Identifier: MIT */
#include "base/ring.h"

#include "check.h"

#define STREAM 400

static uint8_t stream[STREAM];

/* The kept part must be the last `cap` bytes, read from anywhere. */
static void check_content(const struct sbx_ring *r, size_t cap, size_t pushed) {
  uint8_t got[STREAM + 1];
  uint64_t next;
  size_t start = pushed > cap ? pushed - cap : 0;
  CHECK_INT(sbx_ring_total(r), pushed);
  CHECK_INT(sbx_ring_start(r), start);
  size_t n = sbx_ring_copy(r, 0, got, sizeof(got), &next);
  CHECK_INT(next, pushed);
  CHECK_MEM(got, n, stream + start, pushed - start);

  for (size_t from = 0; from <= pushed + 2; from++) {
    size_t at = from < start ? start : from > pushed ? pushed : from;
    size_t part = (pushed - at + 1) / 2;
    n = sbx_ring_copy(r, from, got, part, &next);
    CHECK_INT(next, at + part);
    CHECK_MEM(got, n, stream + at, part);
    n = sbx_ring_copy(r, from, got, sizeof(got), NULL);
    CHECK_MEM(got, n, stream + at, pushed - at);
  }
}

static void test_against_the_stream(void) {
  static const size_t caps[] = {0, 1, 2, 3, 7, 16, 50, 399, 400, 401, 5000};
  static const size_t sizes[] = {1, 2, 3, 5, 7, 16, 49, 50, 51, 100, 150, 400};
  for (size_t c = 0; c < sizeof(caps) / sizeof(caps[0]); c++) {
    for (size_t s = 0; s < sizeof(sizes) / sizeof(sizes[0]); s++) {
      struct sbx_ring *r;
      REQUIRE(sbx_ring_new(&r, caps[c]) == 0);
      for (size_t at = 0; at < STREAM; at += sizes[s]) {
        size_t n = STREAM - at < sizes[s] ? STREAM - at : sizes[s];
        CHECK_INT(sbx_ring_push(r, stream + at, n), 0);
        if (sizes[s] > 40 || at + n == STREAM)
          check_content(r, caps[c], at + n);
      }
      sbx_ring_free(r);
    }
  }
}

static void test_odd_calls(void) {
  struct sbx_ring *r;
  uint8_t got[8];
  uint64_t next = 99;
  REQUIRE(sbx_ring_new(&r, 8) == 0);
  CHECK_INT(sbx_ring_copy(r, 5, got, sizeof(got), &next), 0);
  CHECK_INT(next, 0);
  CHECK_INT(sbx_ring_push(r, NULL, 0), 0);
  CHECK_INT(sbx_ring_push(r, (const uint8_t *)"abc", 3), 0);
  CHECK_INT(sbx_ring_copy(r, 0, NULL, 0, &next), 0);
  CHECK_INT(next, 0);
  CHECK_INT(sbx_ring_copy(r, UINT64_MAX, got, sizeof(got), &next), 0);
  CHECK_INT(next, 3);
  sbx_ring_free(r);
  sbx_ring_free(NULL);
}

/* A large maximum costs nothing until it is used. */
static void test_grows_lazily(void) {
  struct sbx_ring *r;
  uint8_t got[10];
  REQUIRE(sbx_ring_new(&r, SIZE_MAX) == 0);
  for (int i = 0; i < 5000; i++)
    CHECK_INT(sbx_ring_push(r, (const uint8_t *)"0123456789", 10), 0);
  CHECK_INT(sbx_ring_total(r), 50000);
  CHECK_INT(sbx_ring_start(r), 0);
  CHECK_MEM(got, sbx_ring_copy(r, 12345, got, 10, NULL), "5678901234", 10);
  sbx_ring_free(r);
}

/* Pages through a ring as a reader of logs does, and sees what it lost. */
static void test_cursor(void) {
  struct sbx_ring *r;
  uint8_t got[4];
  uint64_t next = 0;
  REQUIRE(sbx_ring_new(&r, 10) == 0);
  sbx_ring_push(r, stream, 6);
  size_t n = sbx_ring_copy(r, next, got, 4, &next);
  CHECK_MEM(got, n, stream, 4);
  sbx_ring_push(r, stream + 6, 20);
  uint64_t before = next;
  n = sbx_ring_copy(r, next, got, 4, &next);
  CHECK_MEM(got, n, stream + 16, 4);
  CHECK_INT(next - n - before, 12); /* lost */
  CHECK_INT(sbx_ring_copy(r, next, got, 4, &next), 4);
  n = sbx_ring_copy(r, next, got, 4, &next);
  CHECK_MEM(got, n, stream + 24, 2);
  CHECK_INT(next, 26);
  sbx_ring_free(r);
}

int main(void) {
  for (size_t i = 0; i < STREAM; i++)
    stream[i] = (uint8_t)(i * 7 + i / 256);
  test_against_the_stream();
  test_odd_calls();
  test_grows_lazily();
  test_cursor();
  return check_done();
}
