/* SPDX-License-Identifier: MIT */
/* fuzz_stdcopy.c - the frame reader, fed in chunks, against one that has the
 * whole stream in memory.
 *
 * Input: one byte of chunk sizes, then the stream. */
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "wire/stdcopy.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

struct result {
  struct sbx_buf out[4]; /* by stream */
  bool broken, at_end;
};

static void put(struct sbx_buf *b, const void *data, size_t len) {
  if (sbx_buf_append(b, data, len) < 0)
    abort();
}

static void feed(const uint8_t *in, size_t len, size_t step,
                 struct result *res) {
  struct sbx_stdcopy s;
  struct sbx_stdcopy_piece piece;

  sbx_stdcopy_init(&s);
  for (size_t at = 0; at < len && !res->broken;) {
    size_t chunk = 1 + (step * 31 + at * 7) % (step * step + 1);
    if (chunk > len - at)
      chunk = len - at;
    uint8_t *copy = malloc(chunk);
    if (!copy)
      abort();
    memcpy(copy, in + at, chunk);
    for (size_t used = 0; used < chunk;) {
      ssize_t n = sbx_stdcopy_feed(&s, copy + used, chunk - used, &piece);
      if (n < 0) {
        res->broken = true;
        if (sbx_stdcopy_feed(&s, copy, 1, &piece) != SBX_EPROTO)
          abort();
        break;
      }
      if (n == 0 || (size_t)n > chunk - used)
        abort();
      if (piece.len > 0) {
        if (piece.data < copy || piece.data + piece.len > copy + chunk)
          abort();
        put(&res->out[piece.stream], piece.data, piece.len);
      }
      used += (size_t)n;
    }
    free(copy);
    at += chunk;
  }
  res->at_end = sbx_stdcopy_at_end(&s);
}

static void simple(const uint8_t *in, size_t len, struct result *res) {
  size_t at = 0;

  while (at < len) {
    const uint8_t *h = in + at;
    size_t have = len - at;
    if (h[0] > 3 || (have > 1 && h[1]) || (have > 2 && h[2]) ||
        (have > 3 && h[3])) {
      res->broken = true;
      return;
    }
    if (have < 8)
      return;
    size_t n = (size_t)h[4] << 24 | (size_t)h[5] << 16 | (size_t)h[6] << 8 |
               (size_t)h[7];
    size_t there = n < have - 8 ? n : have - 8;
    put(&res->out[h[0] ? h[0] : 1], h + 8, there);
    at += 8 + there;
    if (there < n)
      return;
  }
  res->at_end = true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len) {
  struct result a = {0}, b = {0};

  if (len == 0)
    return 0;
  for (int i = 0; i < 4; i++) {
    sbx_buf_init(&a.out[i], SIZE_MAX);
    sbx_buf_init(&b.out[i], SIZE_MAX);
  }
  feed(data + 1, len - 1, data[0], &a);
  simple(data + 1, len - 1, &b);
  if (a.broken != b.broken || (!a.broken && a.at_end != b.at_end))
    abort();
  for (int i = 0; i < 4; i++) {
    if (a.out[i].len != b.out[i].len ||
        (a.out[i].len > 0 &&
         memcmp(a.out[i].data, b.out[i].data, a.out[i].len) != 0))
      abort();
    sbx_buf_fini(&a.out[i]);
    sbx_buf_fini(&b.out[i]);
  }
  return 0;
}
