/* SPDX-License-Identifier: MIT */
/* lifetime.h - how long a program lives that nobody may be left to end: at
 * most a ttl, and not idle for longer than some time. In the loop's thread. */
#ifndef SBX_OS_LIFETIME_H
#define SBX_OS_LIFETIME_H

#include "os/loop.h"

struct sbx_lifetime {
  struct sbx_alarm ttl, idle;
  uint64_t idle_ms, last_ms;
  bool (*busy)(void);      /* it is not idle now */
  void (*over)(bool idle); /* idle, or else the ttl */
};

/* Begins, or begins anew, with both; 0: none. */
void sbx_lifetime_start(struct sbx_lifetime *l, uint64_t ttl_ms,
                        uint64_t idle_ms);
/* The idle time begins anew. */
void sbx_lifetime_touch(struct sbx_lifetime *l);

#endif
