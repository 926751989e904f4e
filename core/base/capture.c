/* SPDX-License-Identifier: MIT */
#include "base/capture.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/ring.h"
#include "base/utf8.h"

/* Bytes kept beyond a cut, to see whether it falls inside a character. */
#define MARGIN (SBX_UTF8_MAX - 1)

struct sbx_capture {
  size_t head_cap;
  size_t tail_cap;
  uint64_t total;
  struct sbx_buf head;   /* the first head_cap + MARGIN bytes */
  struct sbx_ring *tail; /* the last tail_cap + MARGIN of those that came
                            after head_cap; NULL when tail_cap is 0 */
  /* Bytes were left out before they came here: the head is what it is, and
   * the tail begins at this offset of the ring. */
  bool gap;
  size_t head_len;
  uint64_t tail_from;
};

int sbx_capture_new(struct sbx_capture **out, size_t cap, enum sbx_keep keep) {
  if (cap > SIZE_MAX / 2)
    cap = SIZE_MAX / 2;
  struct sbx_capture *c = calloc(1, sizeof(*c));
  if (!c)
    return -ENOMEM;
  if (keep == SBX_KEEP_HEAD)
    c->head_cap = cap;
  else if (keep == SBX_KEEP_BOTH)
    c->head_cap = cap - cap / 2;
  c->tail_cap = cap - c->head_cap;

  sbx_buf_init(&c->head, c->head_cap > 0 ? c->head_cap + MARGIN : 0);
  if (c->tail_cap > 0) {
    int rc = sbx_ring_new(&c->tail, c->tail_cap + MARGIN);
    if (rc < 0) {
      sbx_capture_free(c);
      return rc;
    }
  }
  *out = c;
  return 0;
}

void sbx_capture_free(struct sbx_capture *c) {
  if (!c)
    return;
  sbx_buf_fini(&c->head);
  sbx_ring_free(c->tail);
  free(c);
}

int sbx_capture_push(struct sbx_capture *c, const uint8_t *data, size_t len) {
  if (len == 0)
    return 0;
  size_t to_head = c->gap ? 0 : c->head.max - c->head.len;
  if (to_head > len)
    to_head = len;
  /* The margin of the head belongs to the tail as well. */
  size_t skip = 0;
  if (!c->gap && c->total < c->head_cap) {
    skip = c->head_cap - (size_t)c->total;
    if (skip > len)
      skip = len;
  }

  int rc = sbx_buf_reserve(&c->head, to_head);
  if (rc < 0)
    return rc;
  if (c->tail) {
    rc = sbx_ring_push(c->tail, data + skip, len - skip);
    if (rc < 0)
      return rc;
  }
  sbx_buf_append(&c->head, data, to_head); /* there is room */
  c->total += len;
  return 0;
}

uint64_t sbx_capture_total(const struct sbx_capture *c) {
  return c->total;
}

static size_t head_end(const struct sbx_capture *c);

void sbx_capture_omit(struct sbx_capture *c, uint64_t n) {
  if (n == 0)
    return;
  if (!c->gap)
    c->head_len = c->total <= c->head_cap ? (size_t)c->total : head_end(c);
  c->gap = true;
  c->tail_from = c->tail ? sbx_ring_total(c->tail) : 0;
  c->total += n;
}

size_t sbx_capture_head(const struct sbx_capture *c, const uint8_t **data) {
  size_t safe = c->head_cap > MARGIN ? c->head_cap - MARGIN : 0;
  *data = c->head.data;
  return c->head.len < safe ? c->head.len : safe;
}

/* Copies stream bytes from offset `from` on, which must be kept. */
static size_t copy_from(const struct sbx_capture *c, uint64_t from,
                        uint8_t *dst, size_t cap) {
  size_t n = 0;
  if (from < c->head_cap) {
    size_t at = (size_t)from;
    size_t end = c->head.len < c->head_cap ? c->head.len : c->head_cap;
    if (at < end) {
      n = end - at < cap ? end - at : cap;
      memcpy(dst, c->head.data + at, n);
      from += n;
    }
  }
  if (n < cap && c->tail && from >= c->head_cap)
    n += sbx_ring_copy(c->tail, from - c->head_cap, dst + n, cap - n, NULL);
  return n;
}

/* The end of the head: head_cap, or earlier, so that no character is cut. */
static size_t head_end(const struct sbx_capture *c) {
  size_t end;
  if (c->head_cap == 0)
    return 0;
  return sbx_utf8_around(c->head.data, c->head.len, c->head_cap, &end);
}

/* The start of the tail, likewise. */
static uint64_t tail_start(const struct sbx_capture *c) {
  uint64_t start = c->total - c->tail_cap;
  uint8_t near[2 * MARGIN];
  size_t before = start < MARGIN ? (size_t)start : MARGIN;
  if (c->tail_cap == 0)
    return start;
  size_t len = copy_from(c, start - before, near, before + MARGIN);
  size_t end;
  sbx_utf8_around(near, len, before, &end);
  return start + (end - before);
}

/* After a gap: what came behind it is the tail, or its end is. Returns the
 * tail's length and where it starts in the ring. */
static size_t tail_after_gap(const struct sbx_capture *c, uint64_t *from) {
  *from = c->tail_from;
  if (!c->tail)
    return 0;
  uint64_t end = sbx_ring_total(c->tail), start = end - c->tail_cap;
  if (end - c->tail_from > c->tail_cap) {
    uint8_t near[2 * MARGIN];
    size_t before =
        start - c->tail_from < MARGIN ? (size_t)(start - c->tail_from) : MARGIN;
    size_t len =
        sbx_ring_copy(c->tail, start - before, near, before + MARGIN, NULL);
    size_t at;
    sbx_utf8_around(near, len, before, &at);
    *from = start + (at - before);
  }
  return (size_t)(end - *from);
}

static int finish_with_gap(const struct sbx_capture *c,
                           struct sbx_captured *out) {
  uint64_t from;
  size_t tail = tail_after_gap(c, &from);
  size_t len = c->head_len + tail;

  if (len > 0) {
    out->data = malloc(len);
    if (!out->data)
      return -ENOMEM;
    if (c->head_len > 0)
      memcpy(out->data, c->head.data, c->head_len);
    if (tail > 0)
      sbx_ring_copy(c->tail, from, out->data + c->head_len, tail, NULL);
  }
  out->len = len;
  out->omitted = c->total - len;
  out->truncated = true;
  out->cut_at = c->head_len;
  return 0;
}

int sbx_capture_finish(const struct sbx_capture *c, struct sbx_captured *out) {
  memset(out, 0, sizeof(*out));
  if (c->gap)
    return finish_with_gap(c, out);
  size_t head;
  uint64_t tail;
  if (c->total <= (uint64_t)c->head_cap + c->tail_cap) {
    head = c->total < c->head_cap ? (size_t)c->total : c->head_cap;
    tail = head;
  } else {
    head = head_end(c);
    tail = tail_start(c);
  }

  size_t len = head + (size_t)(c->total - tail);
  if (len > 0) {
    out->data = malloc(len);
    if (!out->data)
      return -ENOMEM;
    copy_from(c, 0, out->data, head);
    copy_from(c, tail, out->data + head, len - head);
  }
  out->len = len;
  out->omitted = c->total - len;
  out->truncated = out->omitted > 0;
  out->cut_at = out->truncated ? head : len;
  return 0;
}
