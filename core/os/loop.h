/* SPDX-License-Identifier: MIT */
/* loop.h - a small program's one loop: descriptors, timers, turns.
 *
 * Without libuv, for the supervisor. One loop in a process, one thread. */
#ifndef SBX_OS_LOOP_H
#define SBX_OS_LOOP_H

#include <stdbool.h>
#include <stdint.h>

#include "base/list.h"

/* One descriptor in the epoll set, edge-triggered: after a call read (write)
 * until EAGAIN, or queue a turn and go on there. Embedded by its user. */
struct sbx_handler {
  int fd; /* -1: none */
  void (*ready)(struct sbx_handler *h, uint32_t epoll_events);
};

/* 0 or -errno. Takes fd, which does not block any more and is closed by drop;
 * on failure it is still the caller's. `events` are EPOLLIN, EPOLLOUT. */
int sbx_loop_watch(struct sbx_handler *h, int fd, uint32_t events);
/* Closes the descriptor; `ready` is not called any more. May be repeated. */
void sbx_loop_drop(struct sbx_handler *h);

struct sbx_alarm {
  struct sbx_list link; /* all zero: not set */
  uint64_t at_ms;
  void (*fire)(struct sbx_alarm *t);
};

void sbx_alarm_set(struct sbx_alarm *t, uint64_t at_ms); /* sbx_now_ms() */
void sbx_alarm_stop(struct sbx_alarm *t);

/* Work in portions. A queued turn is taken once, in the order of queueing,
 * between two looks at the descriptors; `take` does one portion (say 64 KiB)
 * and queues itself again for more. One with `sends` is taken only while
 * there is room to send. */
struct sbx_turn {
  struct sbx_list link; /* all zero: not queued */
  bool sends;
  void (*take)(struct sbx_turn *t);
};

void sbx_turn_queue(struct sbx_turn *t); /* queued already: no change */
void sbx_turn_drop(struct sbx_turn *t);

int sbx_loop_init(void); /* 0 or -errno */

/* Never returns. `flush` writes what waits to be sent and tells, as has_room
 * does, whether there is room for more. */
void sbx_loop_run(bool (*flush)(void), bool (*has_room)(void))
    __attribute__((noreturn));

/* Is it in a list? Members start as all zero. */
static inline bool sbx_list_is_linked(const struct sbx_list *l) {
  return l->next && l->next != l;
}

#endif
