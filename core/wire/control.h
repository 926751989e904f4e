/* SPDX-License-Identifier: MIT */
/* control.h - splits PID 1's stdout into the replies of its control channel.
 *
 *   <nonce: 32 lower-case hex digits> <payload>\n
 *
 * Every process in the container can write to that stream, so lines that are
 * not of this form, longer than SBX_CONTROL_LINE or with a NUL in them are
 * dropped; the caller drops those whose nonce it did not ask for. Noise that
 * does not end in a newline spoils the line that follows it, so the sender
 * puts a newline in front of each reply; empty lines cost nothing.
 *
 * No allocation, one line of memory; belongs to one thread. */
#ifndef SBX_WIRE_CONTROL_H
#define SBX_WIRE_CONTROL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SBX_CONTROL_LINE 4096 /* without the newline */
#define SBX_NONCE_LEN    32

struct sbx_control {
  size_t len;
  bool skip;        /* drop everything up to the next newline */
  uint64_t dropped; /* lines that were not replies, empty ones not counted */
  char line[SBX_CONTROL_LINE + 1];
};

struct sbx_control_line {
  const char *nonce;   /* NUL-terminated; NULL: no line yet */
  const char *payload; /* NUL-terminated, may be empty */
  size_t payload_len;
};

void sbx_control_init(struct sbx_control *c);

/* Takes bytes until a line is complete (out->nonce is set; the pointers are
 * valid until the next call) or the input ends. Returns how many it took: at
 * least 1 when len > 0, so call it again with the rest. */
size_t sbx_control_feed(struct sbx_control *c, const uint8_t *in, size_t len,
                        struct sbx_control_line *out);

#endif
