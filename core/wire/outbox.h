/* SPDX-License-Identifier: MIT */
/* outbox.h - frames on their way out, written in place into memory that its
 * owner gave: nothing here can fail for want of memory. Pure. */
#ifndef SBX_WIRE_OUTBOX_H
#define SBX_WIRE_OUTBOX_H

#include "wire/frame.h"

struct sbx_outbox {
  struct sbx_buf buf;
  size_t sent;     /* of buf */
  size_t frame_at; /* where the frame that is being written begins */
  size_t peak;     /* of buf.len, since it was empty */
};

/* memory is the owner's, and of size bytes. */
void sbx_outbox_init(struct sbx_outbox *o, void *memory, size_t size);

size_t sbx_outbox_used(const struct sbx_outbox *o);
const uint8_t *sbx_outbox_next(const struct sbx_outbox *o);
/* n more bytes are out. */
void sbx_outbox_took(struct sbx_outbox *o, size_t n);

/* The payload is appended to what begin returns; then end, or cancel. One that
 * is longer than max, or had no room, is left out. */
struct sbx_buf *sbx_outbox_begin(struct sbx_outbox *o, size_t max);
void sbx_outbox_end(struct sbx_outbox *o, uint32_t id, uint8_t type,
                    size_t max);
void sbx_outbox_cancel(struct sbx_outbox *o);

#endif
