/* SPDX-License-Identifier: MIT */
/* feeder.h - bytes on their way into a descriptor that may not take them at
 * once. All memory is there from the start. In the loop's thread. */
#ifndef SBX_BASE_FEEDER_H
#define SBX_BASE_FEEDER_H

#include "base/buf.h"
#include "base/loop.h"

struct sbx_feeder {
  struct sbx_handler handler;
  struct sbx_buf buf;
  bool ending;
  /* So many bytes are gone: written, or thrown away since nobody reads. */
  void (*gone)(struct sbx_feeder *f, size_t n);
};

/* One that is not open. */
void sbx_feeder_init(struct sbx_feeder *f);
/* Takes fd and closes it later; on failure it is still the caller's. 0 or
 * -errno. */
int sbx_feeder_open(struct sbx_feeder *f, int fd, size_t cap,
                    void (*gone)(struct sbx_feeder *f, size_t n));
/* len is at most cap less what is not gone. */
void sbx_feeder_push(struct sbx_feeder *f, const void *data, size_t len);
/* Closes the descriptor when all is written. */
void sbx_feeder_end(struct sbx_feeder *f);
/* Closes it now, and throws away what is left and what comes. */
void sbx_feeder_close(struct sbx_feeder *f);
/* Closes it, and frees the memory; nothing is gone any more. */
void sbx_feeder_fini(struct sbx_feeder *f);

#endif
