/* SPDX-License-Identifier: MIT */
/* fuzz_ring.c - a ring and a capture of each kind against the whole stream.
 *
 * Input: two bytes of capacity, then operations of two bytes: how much to push
 * (taken from the rest of the input) and what to read. */
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/capture.h"
#include "base/ring.h"
#include "base/utf8.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static void require(bool ok) {
  if (!ok)
    abort();
}

static void check_ring(const struct sbx_ring *r, size_t cap,
                       const struct sbx_buf *all, uint64_t from,
                       size_t dst_cap) {
  uint64_t start = all->len > cap ? all->len - cap : 0, next;
  require(sbx_ring_total(r) == all->len && sbx_ring_start(r) == start);
  uint8_t *dst = malloc(dst_cap ? dst_cap : 1);
  require(dst != NULL);
  size_t n = sbx_ring_copy(r, from, dst, dst_cap, &next);
  if (from < start)
    from = start;
  if (from > all->len)
    from = all->len;
  size_t want = all->len - (size_t)from;
  if (want > dst_cap)
    want = dst_cap;
  require(n == want && next == from + n);
  require(n == 0 || memcmp(dst, all->data + from, n) == 0);
  free(dst);
}

/* Is there a character that lies on both sides of `at`? */
static bool cuts(const struct sbx_buf *all, size_t at) {
  size_t end;
  sbx_utf8_around(all->data, all->len, at, &end);
  return end != at;
}

static void check_capture(const struct sbx_capture *c, size_t cap,
                          enum sbx_keep keep, const struct sbx_buf *all) {
  struct sbx_captured got;
  require(sbx_capture_finish(c, &got) == 0);
  require(sbx_capture_total(c) == all->len && got.len <= cap);
  require(got.len + got.omitted == all->len && got.cut_at <= got.len);
  require(got.truncated == (all->len > cap));
  size_t head = got.cut_at, tail = got.len - head, from = all->len - tail;
  require(head == 0 || memcmp(got.data, all->data, head) == 0);
  require(tail == 0 || memcmp(got.data + head, all->data + from, tail) == 0);
  if (got.truncated) {
    size_t head_cap = keep == SBX_KEEP_HEAD   ? cap
                      : keep == SBX_KEEP_BOTH ? cap - cap / 2
                                              : 0;
    /* at most 3 bytes less than there is room for, and only when needed */
    require(!cuts(all, head) && !cuts(all, from));
    require(head <= head_cap && tail <= cap - head_cap);
    require(head + 3 >= head_cap && tail + 3 >= cap - head_cap);
    require(head == head_cap || cuts(all, head_cap));
    size_t start = all->len - (cap - head_cap);
    require(from == start || cuts(all, start));
  }
  free(got.data);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len) {
  if (len < 2)
    return 0;
  size_t cap = (size_t)(data[0] | data[1] << 8) % 5000, at = 2;
  struct sbx_buf all;
  struct sbx_ring *r;
  struct sbx_capture *c[3];
  sbx_buf_init(&all, SIZE_MAX);
  require(sbx_ring_new(&r, cap) == 0);
  for (int k = 0; k < 3; k++)
    require(sbx_capture_new(&c[k], cap, (enum sbx_keep)k) == 0);

  for (int ops = 0; ops < 200 && len - at >= 2; ops++) {
    size_t n = data[at], what = data[at + 1];
    at += 2;
    if (n > 250) /* sometimes much at once */
      n = (n - 250) * 1000;
    if (n > len - at)
      n = len - at;
    uint8_t *copy = malloc(n ? n : 1);
    require(copy != NULL);
    if (n)
      memcpy(copy, data + at, n);
    require(sbx_ring_push(r, copy, n) == 0);
    require(sbx_buf_append(&all, copy, n) == 0);
    for (int k = 0; k < 3; k++)
      require(sbx_capture_push(c[k], copy, n) == 0);
    free(copy);
    at += n;
    check_ring(r, cap, &all, all.len * what / 240, what * what);
    if (what % 4 < 3)
      check_capture(c[what % 4], cap, (enum sbx_keep)(what % 4), &all);
  }
  check_ring(r, cap, &all, 0, all.len + 1);
  for (int k = 0; k < 3; k++) {
    check_capture(c[k], cap, (enum sbx_keep)k, &all);
    sbx_capture_free(c[k]);
  }
  sbx_ring_free(r);
  sbx_buf_fini(&all);
  return 0;
}
