/* SPDX-License-Identifier: MIT */
/* tap.h - reads what a program writes, from a pipe or a terminal, in turns and
 * as much as its owner wants, until the program has ended: what is there then
 * is the rest, whoever else holds the other end. */
#ifndef SBX_OS_TAP_H
#define SBX_OS_TAP_H

#include <stddef.h>
#include <sys/types.h>

#include "os/loop.h"

struct sbx_tap;

struct sbx_tap_ops {
  /* How many bytes are wanted now; sbx_tap_wake() when there are more. */
  size_t (*wants)(struct sbx_tap *t);
  /* Reads at most len from handler.fd; the result of read(), with errno. */
  ssize_t (*take)(struct sbx_tap *t, size_t len);
  /* The last call: the descriptor is closed. */
  void (*closed)(struct sbx_tap *t);
};

struct sbx_tap {
  struct sbx_handler handler; /* fd < 0: not open */
  struct sbx_turn turn;
  const struct sbx_tap_ops *ops;
  bool last;     /* the program has ended */
  uint64_t left; /* of the rest */
};

/* One that is not open. */
void sbx_tap_init(struct sbx_tap *t);
/* Takes fd; on failure it is still the caller's. 0 or -errno. Its turns are
 * such that send, or not. */
int sbx_tap_open(struct sbx_tap *t, int fd, const struct sbx_tap_ops *ops,
                 bool sends);
/* The following do nothing with one that is not open. */
void sbx_tap_wake(struct sbx_tap *t);
void sbx_tap_finish(struct sbx_tap *t);
/* Its turns do not send any more. */
void sbx_tap_mute(struct sbx_tap *t);
/* Without a call of `closed`. */
void sbx_tap_drop(struct sbx_tap *t);

#endif
