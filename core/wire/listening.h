/* SPDX-License-Identifier: MIT */
/* listening.h - the listening sockets of a container, as its tables say, and
 * as LISTENER tells them. Pure; no memory for a socket: it is left out. */
#ifndef SBX_WIRE_LISTENING_H
#define SBX_WIRE_LISTENING_H

#include "wire/msg.h"
#include "wire/nettab.h"

struct sbx_listening {
  struct sbx_nettab table;
  struct sbx_buf sockets; /* 19 bytes each */
};

void sbx_listening_init(struct sbx_listening *l);
/* All anew: clear, then feed each table and finish it. */
void sbx_listening_clear(struct sbx_listening *l);
void sbx_listening_feed(struct sbx_listening *l, const char *in, size_t len);
void sbx_listening_finish(struct sbx_listening *l);

/* Those on one port, or all for 0. The sum is never 0, is the same whatever
 * their order, and another when there are others. */
uint64_t sbx_listening_sum(const struct sbx_listening *l, uint16_t port);
/* Appends the payload of LISTENER. */
void sbx_listening_encode(const struct sbx_listening *l, uint16_t port,
                          struct sbx_buf *b);

#endif
