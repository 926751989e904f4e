/* SPDX-License-Identifier: MIT */
/* feed.h - gives a parser its input in every way it can be cut: whole, byte by
 * byte, in two pieces at every place, and, when it is short, in three. Each
 * piece ends where readable memory ends. */
#ifndef SBX_FEED_H
#define SBX_FEED_H

#include "check.h"

#define FEED_THREE 110 /* longest input that is cut in three */

struct feed_parser {
  void (*begin)(void *ctx);
  void (*feed)(void *ctx, const uint8_t *in, size_t len);
  void (*end)(void *ctx); /* compares the result */
  void *ctx;
};

static inline void feed_piece(const struct feed_parser *p,
                              struct check_guard *g, const uint8_t *in,
                              size_t len) {
  uint8_t *at = g->data + g->len - len;
  memcpy(at, in, len);
  p->feed(p->ctx, at, len);
}

static inline void feed_pieces(const struct feed_parser *p, const void *data,
                               size_t len, size_t size) {
  const uint8_t *in = data;
  struct check_guard g = check_guard_new(NULL, size);
  p->begin(p->ctx);
  for (size_t at = 0; at < len; at += size)
    feed_piece(p, &g, in + at, len - at < size ? len - at : size);
  p->end(p->ctx);
  check_guard_free(&g);
}

static inline void feed_every_way(const struct feed_parser *p, const void *data,
                                  size_t len) {
  const uint8_t *in = data;
  feed_pieces(p, data, len, len ? len : 1);
  feed_pieces(p, data, len, 1);
  struct check_guard g = check_guard_new(NULL, len);
  for (size_t a = 0; a <= len; a++) {
    for (size_t b = len <= FEED_THREE ? a : len; b <= len; b++) {
      p->begin(p->ctx);
      feed_piece(p, &g, in, a);
      feed_piece(p, &g, in + a, b - a);
      feed_piece(p, &g, in + b, len - b);
      p->end(p->ctx);
    }
  }
  check_guard_free(&g);
}

#endif
