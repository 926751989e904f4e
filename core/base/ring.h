/* SPDX-License-Identifier: MIT */
/* ring.h - keeps the last `cap` bytes of a stream and counts what it dropped.
 *
 * Every byte has an offset: the number of bytes pushed before it. The kept
 * ones are those from sbx_ring_start() to sbx_ring_total().
 *
 * Belongs to one thread (the I/O thread). Memory grows with the content up to
 * cap, so a quiet process costs little; it never shrinks. cap may be 0: then
 * everything is dropped and counted. */
#ifndef SBX_BASE_RING_H
#define SBX_BASE_RING_H

#include <stddef.h>
#include <stdint.h>

struct sbx_ring;

/* 0 or -ENOMEM. On success the caller owns *out. */
int sbx_ring_new(struct sbx_ring **out, size_t cap);
void sbx_ring_free(struct sbx_ring *r); /* r may be NULL */

/* 0, or -ENOMEM: then nothing was pushed or counted. It cannot fail any more
 * once the ring has reached its full size. */
int sbx_ring_push(struct sbx_ring *r, const uint8_t *data, size_t len);

/* Bytes ever pushed: the offset behind the newest byte. */
uint64_t sbx_ring_total(const struct sbx_ring *r);

/* Offset of the oldest byte that is kept (== total when none is). */
uint64_t sbx_ring_start(const struct sbx_ring *r);

/* Copies kept bytes from offset `from` on, at most dst_cap of them, and
 * returns how many. A `from` that is not kept any more is moved up to start,
 * one beyond the end down to total. *next (may be NULL) is the offset behind
 * the last byte copied, so *next - returned is where the copy really began. */
size_t sbx_ring_copy(const struct sbx_ring *r, uint64_t from, uint8_t *dst,
                     size_t dst_cap, uint64_t *next);

#endif
