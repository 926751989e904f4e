/* SPDX-License-Identifier: MIT */
#include "wire/outbox.h"

#include <string.h>

void sbx_outbox_init(struct sbx_outbox *o, void *memory, size_t size) {
  memset(o, 0, sizeof(*o));
  o->buf.data = memory;
  o->buf.cap = o->buf.max = size;
}

size_t sbx_outbox_used(const struct sbx_outbox *o) {
  return o->buf.len - o->sent;
}

const uint8_t *sbx_outbox_next(const struct sbx_outbox *o) {
  return o->buf.data + o->sent;
}

void sbx_outbox_took(struct sbx_outbox *o, size_t n) {
  o->sent += n;
  if (o->sent == o->buf.len)
    o->sent = o->buf.len = o->peak = 0;
}

struct sbx_buf *sbx_outbox_begin(struct sbx_outbox *o, size_t max) {
  static const uint8_t head[SBX_FRAME_HEAD];

  if (o->sent > 0 && o->buf.max - o->buf.len < sizeof(head) + max) {
    sbx_buf_consume(&o->buf, o->sent);
    o->sent = 0;
  }
  o->frame_at = o->buf.len;
  sbx_buf_append(&o->buf, head, sizeof(head));
  return &o->buf;
}

void sbx_outbox_end(struct sbx_outbox *o, uint32_t id, uint8_t type,
                    size_t max) {
  size_t body = o->frame_at + SBX_FRAME_HEAD;

  if (o->buf.len < body || o->buf.len - body > max) {
    sbx_outbox_cancel(o);
    return;
  }
  sbx_frame_head(o->buf.data + o->frame_at, id, type,
                 (uint32_t)(o->buf.len - body));
  if (o->buf.len > o->peak)
    o->peak = o->buf.len;
}

void sbx_outbox_cancel(struct sbx_outbox *o) {
  o->buf.len = o->frame_at;
}
