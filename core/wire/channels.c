/* SPDX-License-Identifier: MIT */
#include "wire/channels.h"

#include "wire/msg.h"

#define BUCKETS 1024

static struct sbx_list buckets[BUCKETS];
static unsigned open_count;
static uint32_t last_id;

static struct sbx_list *bucket_of(uint32_t id) {
  struct sbx_list *b = &buckets[id % BUCKETS];
  if (!b->next)
    sbx_list_init(b);
  return b;
}

void sbx_channel_open(struct sbx_channel *c, uint32_t id,
                      const struct sbx_channel_ops *ops) {
  c->id = id;
  c->ops = ops;
  sbx_list_append(bucket_of(id), &c->link);
  open_count++;
}

void sbx_channel_close(struct sbx_channel *c) {
  if (c->id == 0)
    return;
  sbx_list_remove(&c->link);
  c->id = 0;
  open_count--;
}

unsigned sbx_channel_count(void) {
  return open_count;
}

bool sbx_channel_claim(uint32_t id) {
  if (id <= last_id)
    return false;
  last_id = id;
  return true;
}

int sbx_channel_find(uint32_t id, struct sbx_channel **out) {
  struct sbx_list *it, *tmp;

  *out = NULL;
  if (id == 0 || id > last_id)
    return SBX_EPROTO;
  SBX_LIST_EACH (it, tmp, bucket_of(id)) {
    struct sbx_channel *c = SBX_LIST_OWNER(it, struct sbx_channel, link);
    if (c->id == id)
      *out = c;
  }
  return 0;
}

int sbx_channel_no_frame(struct sbx_channel *c, const struct sbx_frame *frame) {
  (void)c;
  (void)frame;
  return SBX_EPROTO;
}

int sbx_read_stream(const struct sbx_frame *frame, uint8_t *stream) {
  if (frame->len > 1 + SBX_FRAME_DATA_MAX ||
      (frame->type == SBX_MSG_EOF ? frame->len != 1 : frame->len < 2))
    return SBX_EPROTO;
  *stream = frame->data ? frame->data[0] : (uint8_t)SBX_MSG_STDIN;
  return 0;
}

int sbx_read_credit(const struct sbx_frame *frame, uint8_t *stream,
                    uint32_t *bytes) {
  if (frame->len != 5 || !frame->data)
    return SBX_EPROTO;
  *stream = frame->data[0];
  *bytes = sbx_get_u32(frame->data + 1);
  return 0;
}
