/* SPDX-License-Identifier: MIT */
/* fuzz_frame.c - the framer, fed in chunks, against one that has the whole
 * stream in memory.
 *
 * Input: one byte of chunk sizes, then the stream. */
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "wire/frame.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

#define MAX 1000

static void put(struct sbx_buf *b, const void *data, size_t len) {
  if (sbx_buf_append(b, data, len) < 0)
    abort();
}

static void show(struct sbx_buf *b, const struct sbx_frame *f) {
  if (f->len > MAX || f->skipped || !f->data)
    abort();
  if (sbx_frame_append(b, f->id, f->type, f->data, f->len) < 0)
    abort();
}

static void feed(const uint8_t *in, size_t len, size_t step,
                 struct sbx_buf *out) {
  struct sbx_framer f;
  struct sbx_frame frame;
  bool done;

  sbx_framer_init(&f, MAX);
  for (size_t at = 0; at < len;) {
    size_t chunk = 1 + (step * 31 + at * 7) % (step * step + 1);
    if (chunk > len - at)
      chunk = len - at;
    uint8_t *copy = malloc(chunk);
    if (!copy)
      abort();
    memcpy(copy, in + at, chunk);
    for (size_t used = 0; used < chunk;) {
      ssize_t n = sbx_framer_feed(&f, copy + used, chunk - used, &frame, &done);
      if (n < 0) {
        put(out, "!", 1);
        if (sbx_framer_feed(&f, copy, 1, &frame, &done) != SBX_EPROTO)
          abort();
        len = at; /* ends both loops */
        break;
      }
      if (n == 0 || (size_t)n > chunk - used || f.buf.cap > MAX)
        abort();
      if (done)
        show(out, &frame);
      used += (size_t)n;
    }
    free(copy);
    at += chunk;
  }
  sbx_framer_fini(&f);
}

static uint32_t number(const uint8_t *p) {
  return p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 |
         (uint32_t)p[3] << 24;
}

static void simple(const uint8_t *in, size_t len, struct sbx_buf *out) {
  for (size_t at = 0; at < len;) {
    const uint8_t *h = in + at;
    size_t have = len - at;
    if ((have >= 4 && number(h) > MAX) || (have > 9 && h[9]) ||
        (have > 10 && h[10]) || (have > 11 && h[11])) {
      put(out, "!", 1);
      return;
    }
    if (have < 12 || have - 12 < number(h))
      return;
    struct sbx_frame f = {
        .id = number(h + 4), .type = h[8], .data = h + 12, .len = number(h)};
    show(out, &f);
    at += 12 + f.len;
  }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len) {
  struct sbx_buf a, b;

  if (len == 0)
    return 0;
  sbx_buf_init(&a, SIZE_MAX);
  sbx_buf_init(&b, SIZE_MAX);
  feed(data + 1, len - 1, data[0], &a);
  simple(data + 1, len - 1, &b);
  if (a.len != b.len || (a.len > 0 && memcmp(a.data, b.data, a.len) != 0))
    abort();
  sbx_buf_fini(&a);
  sbx_buf_fini(&b);
  return 0;
}
