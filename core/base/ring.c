/* SPDX-License-Identifier: MIT */
#include "base/ring.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define RING_FIRST 1024

/* While size < cap nothing was ever dropped, so the content is data[0..total)
 * and growing it is a plain realloc. From size == cap on, the byte with offset
 * o is at data[o % cap]; `head` is total % cap, kept to spare the division. */
struct sbx_ring {
  uint8_t *data;
  size_t size; /* allocated */
  size_t cap;
  size_t head; /* where the next byte goes */
  uint64_t total;
};

int sbx_ring_new(struct sbx_ring **out, size_t cap) {
  struct sbx_ring *r = calloc(1, sizeof(*r));
  if (!r)
    return -ENOMEM;
  r->cap = cap;
  *out = r;
  return 0;
}

void sbx_ring_free(struct sbx_ring *r) {
  if (!r)
    return;
  free(r->data);
  free(r);
}

/* Makes the ring as large as it needs to be for `len` more bytes. */
static int grow(struct sbx_ring *r, size_t len) {
  size_t used = (size_t)r->total; /* < cap, or nothing would be left to grow */
  if (len <= r->size - used)
    return 0;
  size_t need = len < r->cap - used ? used + len : r->cap;
  size_t size = r->size ? r->size : RING_FIRST;
  while (size < need)
    size = size <= SIZE_MAX / 2 ? size * 2 : r->cap;
  if (size > r->cap)
    size = r->cap;
  uint8_t *data = realloc(r->data, size);
  if (!data)
    return -ENOMEM;
  r->data = data;
  r->size = size;
  return 0;
}

int sbx_ring_push(struct sbx_ring *r, const uint8_t *data, size_t len) {
  if (len == 0)
    return 0;
  if (r->size < r->cap) {
    int rc = grow(r, len);
    if (rc < 0)
      return rc;
  }
  r->total += len;
  if (r->cap == 0)
    return 0;
  if (len > r->cap) { /* the beginning would be overwritten at once */
    size_t skip = len - r->cap;
    data += skip;
    len -= skip;
    r->head = (size_t)((r->head + (uint64_t)skip) % r->cap);
  }
  size_t first = r->cap - r->head;
  if (first > len)
    first = len;
  memcpy(r->data + r->head, data, first);
  if (len > first)
    memcpy(r->data, data + first, len - first);
  r->head = first < r->cap - r->head ? r->head + first : len - first;
  return 0;
}

uint64_t sbx_ring_total(const struct sbx_ring *r) {
  return r->total;
}

uint64_t sbx_ring_start(const struct sbx_ring *r) {
  return r->total > r->cap ? r->total - r->cap : 0;
}

size_t sbx_ring_copy(const struct sbx_ring *r, uint64_t from, uint8_t *dst,
                     size_t dst_cap, uint64_t *next) {
  uint64_t start = sbx_ring_start(r);
  if (from < start)
    from = start;
  if (from > r->total)
    from = r->total;
  size_t len = (size_t)(r->total - from); /* <= cap */
  size_t back = len;                      /* how far behind head it begins */
  if (len > dst_cap)
    len = dst_cap;
  if (next)
    *next = from + len;
  if (len == 0)
    return 0;
  size_t at = back <= r->head ? r->head - back : r->head + (r->cap - back);
  size_t first = r->cap - at;
  if (first > len)
    first = len;
  memcpy(dst, r->data + at, first);
  if (len > first)
    memcpy(dst + first, r->data, len - first);
  return len;
}
