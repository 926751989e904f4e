/* SPDX-License-Identifier: MIT */
#include <errno.h>

#include "supervisor/super.h"

static int open_ports(const struct sbx_frame *f) {
  struct sbx_msg_port m = {0};
  if (f->type == SBX_MSG_PORTS
          ? f->len > 0
          : sbx_port_decode(&m, f->data, f->len) < 0 || m.port == 0)
    return SBX_EPROTO;
  sbx_ports_start(f->id, m.port);
  return 0;
}

static int open_channel(const struct sbx_frame *f) {
  struct sbx_msg_spawn spawn;
  struct sbx_msg_file file;
  int rc;

  if (!sbx_super.greeted || !sbx_channel_claim(f->id))
    return SBX_EPROTO;
  if (f->skipped || sbx_channel_count() >= SBX_CHANNELS_MAX) {
    int error = f->skipped ? ENOMEM : EMFILE;
    if (f->type == SBX_MSG_SPAWN)
      sbx_link_failed(f->id, SBX_FAILED_REFUSED, error);
    else
      sbx_link_done(f->id, SBX_DONE_REFUSED, error, "");
    return 0;
  }
  if (f->type == SBX_MSG_SPAWN) {
    if ((rc = sbx_spawn_decode(&spawn, f->data, f->len)) == 0)
      sbx_spawn_start(f->id, &spawn);
    return rc;
  }
  if (f->type == SBX_MSG_FILE) {
    if ((rc = sbx_file_decode(&file, f->data, f->len)) == 0)
      sbx_files_start(f->id, &file);
    return rc;
  }
  return open_ports(f);
}

static int forward(const struct sbx_frame *f) {
  struct sbx_channel *c;
  int rc = sbx_channel_find(f->id, &c);
  if (!c) /* it may have ended while this frame was on its way */
    return rc;
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
  if (f->type == SBX_MSG_HELLO || f->type == SBX_MSG_TOUCH ||
      f->type == SBX_MSG_SHUTDOWN)
    return f->id == 0 ? sbx_lease_frame(f) : SBX_EPROTO;
  if (f->type == SBX_MSG_SPAWN || f->type == SBX_MSG_PORTS ||
      f->type == SBX_MSG_PORT || f->type == SBX_MSG_FILE)
    return open_channel(f);
  if (f->type >= SBX_MSG_DATA && f->type <= SBX_MSG_FORGET)
    return forward(f);
  return SBX_EPROTO;
}
