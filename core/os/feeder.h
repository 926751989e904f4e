/* SPDX-License-Identifier: MIT */
/* feeder.h - bytes on their way into a descriptor that may not take them at
 * once. All memory is there from the start. In the loop's thread. */
#ifndef SBX_OS_FEEDER_H
#define SBX_OS_FEEDER_H

#include "base/buf.h"
#include "os/loop.h"

struct sbx_feeder {
  struct sbx_handler handler;
  struct sbx_buf buf;
  bool ending;
  size_t credit; /* bytes that may be pushed */
  size_t owed;   /* that are gone, for which there was no more credit yet */
  /* There is so much more. It comes in portions of a quarter of all. */
  void (*more)(struct sbx_feeder *f, size_t credit);
};

/* One that is not open. */
void sbx_feeder_init(struct sbx_feeder *f);
/* Takes fd and closes it later; on failure it is still the caller's. The first
 * credit is cap. 0 or -errno. */
int sbx_feeder_open(struct sbx_feeder *f, int fd, size_t cap,
                    void (*more)(struct sbx_feeder *f, size_t credit));
/* False: that is more than the credit, or behind the end, or it was never open.
 * What nobody reads is gone like what was written. */
bool sbx_feeder_push(struct sbx_feeder *f, const void *data, size_t len);
/* Closes the descriptor when all is written, and `last` behind it: at most a
 * few bytes. */
void sbx_feeder_end(struct sbx_feeder *f, const char *last);
/* Closes it now, and throws away what is left and what comes. */
void sbx_feeder_close(struct sbx_feeder *f);
/* Closes it, and frees the memory; nothing is gone any more. */
void sbx_feeder_fini(struct sbx_feeder *f);

#endif
