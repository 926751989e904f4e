/* SPDX-License-Identifier: MIT */
/* stdcopy.h - the engine's framing of a program's two outputs on one
 * connection: 8 bytes (stream, three zeros, length as big-endian 32 bits), then
 * that many bytes.
 *
 * Pure and resumable: keeps at most a part of a header, whatever lengths the
 * peer writes. Owned by whoever reads the connection. */
#ifndef SBX_WIRE_STDCOPY_H
#define SBX_WIRE_STDCOPY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"

#define SBX_STDCOPY_HEAD 8

enum sbx_stdcopy_stream {
  SBX_STDCOPY_OUT = 1, /* the engine's 0 ("stdin") means this one, too */
  SBX_STDCOPY_ERR = 2,
  SBX_STDCOPY_ENGINE = 3 /* the engine itself has something to say */
};

struct sbx_stdcopy {
  uint8_t head[SBX_STDCOPY_HEAD];
  uint8_t have;  /* bytes of head */
  uint32_t left; /* bytes of the payload that are still to come */
  bool broken;
};

struct sbx_stdcopy_piece {
  enum sbx_stdcopy_stream stream;
  const uint8_t *data; /* points into the input */
  size_t len;          /* 0: no payload in what was consumed */
};

void sbx_stdcopy_init(struct sbx_stdcopy *s);

/* Consumes input up to the end of one piece of payload. Returns the bytes
 * consumed, more than 0 for len > 0, or SBX_EPROTO for a header that cannot be
 * one, from then on always. */
ssize_t sbx_stdcopy_feed(struct sbx_stdcopy *s, const uint8_t *in, size_t len,
                         struct sbx_stdcopy_piece *piece);

/* Is the input so far a sequence of whole frames? */
bool sbx_stdcopy_at_end(const struct sbx_stdcopy *s);

#endif
