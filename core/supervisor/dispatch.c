/* SPDX-License-Identifier: MIT */
#include <errno.h>

#include "supervisor/super.h"

#define BUCKETS 1024

static struct sbx_list buckets[BUCKETS];
static unsigned open_count;
static uint32_t last_id; /* the greatest that was ever opened */

unsigned sbx_channel_count(void) {
  return open_count;
}

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
  sbx_lease_touch();
}

static struct sbx_channel *find(uint32_t id) {
  struct sbx_list *b = bucket_of(id), *it, *tmp;
  SBX_LIST_EACH (it, tmp, b) {
    struct sbx_channel *c = SBX_LIST_OWNER(it, struct sbx_channel, link);
    if (c->id == id)
      return c;
  }
  return NULL;
}

int sbx_read_stream(const struct sbx_frame *frame, uint8_t *stream) {
  if (frame->len > 1 + SBX_FRAME_DATA_MAX ||
      (frame->type == SBX_MSG_EOF ? frame->len != 1 : frame->len < 2))
    return SBX_EPROTO;
  *stream = frame->data ? frame->data[0] : SBX_MSG_STDIN;
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

static int open_ports(const struct sbx_frame *f) {
  struct sbx_msg_port m = {0};
  if (f->type == SBX_MSG_PORTS && f->len > 0)
    return SBX_EPROTO;
  if (f->type == SBX_MSG_PORT &&
      (sbx_port_decode(&m, f->data, f->len) < 0 || m.port == 0))
    return SBX_EPROTO;
  sbx_ports_start(f->id, m.port);
  return 0;
}

static int open_channel(const struct sbx_frame *f) {
  struct sbx_msg_spawn spawn;
  struct sbx_msg_file file;

  if (f->id <= last_id)
    return SBX_EPROTO;
  last_id = f->id;
  if (f->skipped || open_count >= SBX_CHANNELS_MAX) {
    int error = f->skipped ? ENOMEM : EMFILE;
    if (f->type == SBX_MSG_SPAWN)
      sbx_link_failed(f->id, SBX_FAILED_REFUSED, error, "");
    else
      sbx_link_done(f->id, SBX_DONE_REFUSED, error, "");
    return 0;
  }
  if (f->type == SBX_MSG_SPAWN) {
    int rc = sbx_spawn_decode(&spawn, f->data, f->len);
    if (rc == 0)
      sbx_spawn_start(f->id, &spawn);
    return rc;
  }
  if (f->type == SBX_MSG_FILE) {
    int rc = sbx_file_decode(&file, f->data, f->len);
    if (rc == 0)
      sbx_files_start(f->id, &file);
    return rc;
  }
  return open_ports(f);
}

static int forward(const struct sbx_frame *f) {
  struct sbx_channel *c = find(f->id);
  if (!c) /* it may have ended while this frame was on its way */
    return f->id <= last_id ? 0 : SBX_EPROTO;
  if (f->type != SBX_MSG_FORGET)
    return c->ops->frame(c, f);
  if (f->len > 0)
    return SBX_EPROTO;
  sbx_channel_close(c);
  c->ops->forget(c);
  return 0;
}

int sbx_dispatch(const struct sbx_frame *f) {
  sbx_lease_touch();
  switch (f->type) {
  case SBX_MSG_HELLO:
  case SBX_MSG_TOUCH:
  case SBX_MSG_SHUTDOWN:
    return f->id == 0 ? sbx_lease_frame(f) : SBX_EPROTO;
  case SBX_MSG_SPAWN:
  case SBX_MSG_FILE:
  case SBX_MSG_PORT:
  case SBX_MSG_PORTS:
    return sbx_super.greeted ? open_channel(f) : SBX_EPROTO;
  case SBX_MSG_DATA:
  case SBX_MSG_EOF:
  case SBX_MSG_CREDIT:
  case SBX_MSG_SIGNAL:
  case SBX_MSG_KILL:
  case SBX_MSG_COUNT:
  case SBX_MSG_RESIZE:
  case SBX_MSG_FORGET:
    return f->id != 0 ? forward(f) : SBX_EPROTO;
  default:
    return SBX_EPROTO;
  }
}
