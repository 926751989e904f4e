/* SPDX-License-Identifier: MIT */
/* frame.h - the framing between the owner of a session and the supervisor in
 * its container. PROTOCOL.md has the whole of it.
 *
 *   u32 length of the payload | u32 id | u8 type | u8 0, 0, 0 | payload
 *
 * little-endian. Pure and resumable; keeps at most one frame, and never more
 * than `max` bytes of it. Owned by whoever reads the stream. */
#ifndef SBX_WIRE_FRAME_H
#define SBX_WIRE_FRAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/buf.h"
#include "base/err.h"

#define SBX_FRAME_HEAD 12
/* Most bytes of a payload: to the supervisor (a command with all of its
 * arguments), and from it. */
#define SBX_FRAME_DOWN_MAX (4u * 1024 * 1024)
#define SBX_FRAME_UP_MAX   (128u * 1024)
/* A DATA frame carries at most this. */
#define SBX_FRAME_DATA_MAX (64u * 1024)

struct sbx_frame {
  uint32_t id;
  uint8_t type;
  const uint8_t *data; /* the payload; valid until the next feed */
  size_t len;
  bool skipped; /* there was no memory for it: len is right, data is NULL */
};

struct sbx_framer {
  uint8_t head[SBX_FRAME_HEAD];
  size_t have;        /* bytes of head */
  struct sbx_buf buf; /* a payload that did not come in one piece */
  uint32_t max;
  uint32_t left; /* bytes of a skipped payload that are still to come */
  bool broken;
};

void sbx_framer_init(struct sbx_framer *f, uint32_t max);
void sbx_framer_fini(struct sbx_framer *f);

/* Consumes input up to the end of one frame. Returns the bytes consumed, more
 * than 0 for len > 0; *done tells whether *frame is a whole one. SBX_EPROTO for
 * a header that cannot be one (told as soon as its bytes are there), from then
 * on always. A payload that lies in `in` as a whole is not copied. */
ssize_t sbx_framer_feed(struct sbx_framer *f, const uint8_t *in, size_t len,
                        struct sbx_frame *frame, bool *done);

/* Writes a header. */
void sbx_frame_head(uint8_t out[SBX_FRAME_HEAD], uint32_t id, uint8_t type,
                    uint32_t len);

/* Appends a whole frame. 0, -ENOMEM, -EMSGSIZE; b is as before on failure. */
int sbx_frame_append(struct sbx_buf *b, uint32_t id, uint8_t type,
                     const void *data, size_t len);

#endif
