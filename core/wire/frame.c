/* SPDX-License-Identifier: MIT */
#include "wire/frame.h"

#include <errno.h>
#include <string.h>

#include "wire/msg.h"

/* Memory for a payload beyond this is given back after it. */
#define FRAME_KEEP SBX_FRAME_UP_MAX

void sbx_framer_init(struct sbx_framer *f, uint32_t max) {
  memset(f, 0, sizeof(*f));
  f->max = max;
  sbx_buf_init(&f->buf, max);
}

void sbx_framer_fini(struct sbx_framer *f) {
  sbx_buf_fini(&f->buf);
}

/* Of the bytes that are there: told at the first that is wrong, so that it does
 * not matter how the input is cut. */
static bool head_is_possible(const struct sbx_framer *f) {
  for (size_t i = SBX_FRAME_HEAD - 3; i < f->have; i++)
    if (f->head[i] != 0)
      return false;
  return f->have < 4 || sbx_get_u32(f->head) <= f->max;
}

/* Takes what there is of the payload of a whole header; *data is where it is
 * when it is complete, or NULL when it was skipped. Returns what it used. */
static size_t take_payload(struct sbx_framer *f, const uint8_t *in, size_t len,
                           const uint8_t **data, bool *done) {
  uint32_t total = sbx_get_u32(f->head);

  if (f->left == 0 && f->buf.len == 0) {
    if (len >= total) {
      *data = in;
      *done = true;
      return total;
    }
    if (len > 0 && sbx_buf_reserve(&f->buf, total) < 0)
      f->left = total;
  }
  size_t want = f->left > 0 ? f->left : total - f->buf.len;
  size_t n = len < want ? len : want;
  if (f->left > 0)
    f->left -= (uint32_t)n;
  else
    sbx_buf_append(&f->buf, in, n); /* has the room */
  *done = n == want;
  *data = f->buf.len > 0 ? f->buf.data : NULL;
  return n;
}

ssize_t sbx_framer_feed(struct sbx_framer *f, const uint8_t *in, size_t len,
                        struct sbx_frame *frame, bool *done) {
  size_t used = 0;

  *done = false;
  memset(frame, 0, sizeof(*frame));
  if (f->broken)
    return SBX_EPROTO;
  if (len == 0)
    return 0;
  if (f->have < SBX_FRAME_HEAD) {
    if (f->buf.cap > FRAME_KEEP)
      sbx_buf_fini(&f->buf);
    sbx_buf_clear(&f->buf);
  }
  while (used < len && f->have < SBX_FRAME_HEAD)
    f->head[f->have++] = in[used++];
  if (!head_is_possible(f)) {
    f->broken = true;
    return SBX_EPROTO;
  }
  if (f->have < SBX_FRAME_HEAD)
    return (ssize_t)used;

  used += take_payload(f, in + used, len - used, &frame->data, done);
  if (*done) {
    f->have = 0;
    frame->len = sbx_get_u32(f->head);
    frame->id = sbx_get_u32(f->head + 4);
    frame->type = f->head[8];
    frame->skipped = frame->data == NULL;
  }
  return (ssize_t)used;
}

void sbx_frame_head(uint8_t out[SBX_FRAME_HEAD], uint32_t id, uint8_t type,
                    uint32_t len) {
  sbx_put_u32(out, len);
  sbx_put_u32(out + 4, id);
  sbx_put_u32(out + 8, type);
}

int sbx_frame_append(struct sbx_buf *b, uint32_t id, uint8_t type,
                     const void *data, size_t len) {
  if (len > SBX_FRAME_DOWN_MAX)
    return -EMSGSIZE;
  int rc = sbx_buf_reserve(b, SBX_FRAME_HEAD + len);
  if (rc < 0)
    return rc;
  sbx_frame_head(b->data + b->len, id, type, (uint32_t)len);
  b->len += SBX_FRAME_HEAD;
  return sbx_buf_append(b, data, len);
}
