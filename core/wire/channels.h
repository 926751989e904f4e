/* SPDX-License-Identifier: MIT */
/* channels.h - the channels that a supervisor has open, by id. Pure; one table
 * in a process, one thread. */
#ifndef SBX_WIRE_CHANNELS_H
#define SBX_WIRE_CHANNELS_H

#include "base/list.h"
#include "wire/frame.h"

#define SBX_CHANNELS_MAX 4096 /* for the caller to check */

struct sbx_channel;

struct sbx_channel_ops {
  /* A frame for this channel, not FORGET: 0, or SBX_EPROTO for one that it
   * cannot get; then the program ends. frame->data is NULL and
   * frame->skipped set when there was no memory for it. May close. */
  int (*frame)(struct sbx_channel *c, const struct sbx_frame *frame);
  /* FORGET. The channel is closed already; frees it, or lets it end. */
  void (*forget)(struct sbx_channel *c);
};

/* Embedded in what the channel is about. */
struct sbx_channel {
  struct sbx_list link;
  uint32_t id; /* 0: not open */
  const struct sbx_channel_ops *ops;
};

void sbx_channel_open(struct sbx_channel *c, uint32_t id,
                      const struct sbx_channel_ops *ops);
void sbx_channel_close(struct sbx_channel *c); /* may be repeated */
unsigned sbx_channel_count(void);

/* Is it a new id: greater than all before? Then it was used from now on. */
bool sbx_channel_claim(uint32_t id);
/* 0, or SBX_EPROTO for an id that was never claimed. *out is NULL for one that
 * has ended. */
int sbx_channel_find(uint32_t id, struct sbx_channel **out);

/* For channels that get no frame but FORGET. */
int sbx_channel_no_frame(struct sbx_channel *c, const struct sbx_frame *frame);

/* DATA and EOF: the stream, and in frame->data what follows it. */
int sbx_read_stream(const struct sbx_frame *frame, uint8_t *stream);
int sbx_read_credit(const struct sbx_frame *frame, uint8_t *stream,
                    uint32_t *bytes);

#endif
