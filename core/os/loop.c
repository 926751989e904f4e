/* SPDX-License-Identifier: MIT */
#include "os/loop.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "base/clock.h"

#define BATCH 64

static int epoll_fd = -1;
static struct epoll_event batch[BATCH];
static int
    batch_len; /* events of it that were not handled yet are at its end */
static struct sbx_list timers, turns, senders;

int sbx_loop_init(void) {
  sbx_list_init(&timers);
  sbx_list_init(&turns);
  sbx_list_init(&senders);
  epoll_fd = epoll_create1(EPOLL_CLOEXEC);
  return epoll_fd < 0 ? -errno : 0;
}

int sbx_loop_watch(struct sbx_handler *h, int fd, uint32_t events) {
  struct epoll_event e = {.events = events | EPOLLET, .data.ptr = h};
  int flags = fcntl(fd, F_GETFL);
  h->fd = -1;
  if (flags < 0 || fcntl(fd, F_SETFL, flags | O_NONBLOCK) < 0 ||
      epoll_ctl(epoll_fd, EPOLL_CTL_ADD, fd, &e) < 0)
    return -errno;
  h->fd = fd;
  return 0;
}

void sbx_loop_drop(struct sbx_handler *h) {
  if (h->fd < 0)
    return;
  /* A child that was not yet executed holds a copy: closing is not enough. */
  epoll_ctl(epoll_fd, EPOLL_CTL_DEL, h->fd, NULL);
  close(h->fd);
  h->fd = -1;
  for (int i = 0; i < batch_len; i++)
    if (batch[i].data.ptr == h)
      batch[i].data.ptr = NULL;
}

void sbx_alarm_set(struct sbx_alarm *t, uint64_t at_ms) {
  sbx_alarm_stop(t);
  struct sbx_list *at = timers.prev;
  t->at_ms = at_ms;
  while (at != &timers &&
         SBX_LIST_OWNER(at, struct sbx_alarm, link)->at_ms > at_ms)
    at = at->prev;
  sbx_list_insert(at, &t->link);
}

void sbx_alarm_stop(struct sbx_alarm *t) {
  if (sbx_list_is_linked(&t->link))
    sbx_list_remove(&t->link);
}

void sbx_turn_queue(struct sbx_turn *t) {
  if (!sbx_list_is_linked(&t->link))
    sbx_list_append(t->sends ? &senders : &turns, &t->link);
}

void sbx_turn_drop(struct sbx_turn *t) {
  if (sbx_list_is_linked(&t->link))
    sbx_list_remove(&t->link);
}

static void fire_timers(void) {
  uint64_t now = sbx_now_ms();
  while (!sbx_list_empty(&timers)) {
    struct sbx_alarm *t = SBX_LIST_OWNER(timers.next, struct sbx_alarm, link);
    if (t->at_ms > now)
      return;
    sbx_list_remove(&t->link);
    t->fire(t);
  }
}

/* Everybody who is waiting now gets one turn. */
static void take_turns(struct sbx_list *queue, bool (*may)(void)) {
  struct sbx_list now;
  sbx_list_init(&now);
  sbx_list_splice(&now, queue);
  while (!sbx_list_empty(&now) && (!may || may())) {
    struct sbx_list *first = sbx_list_shift(&now);
    struct sbx_turn *t = SBX_LIST_OWNER(first, struct sbx_turn, link);
    t->take(t);
  }
  sbx_list_splice(&now, queue); /* who had none is first the next time */
  sbx_list_splice(queue, &now);
}

static int wait_ms(bool room) {
  if (!sbx_list_empty(&turns) || (room && !sbx_list_empty(&senders)))
    return 0;
  if (sbx_list_empty(&timers))
    return -1;
  uint64_t now = sbx_now_ms();
  uint64_t at = SBX_LIST_OWNER(timers.next, struct sbx_alarm, link)->at_ms;
  uint64_t wait = at > now ? at - now : 0;
  return wait > 60000 ? 60000 : (int)wait;
}

void sbx_loop_run(bool (*flush)(void), bool (*has_room)(void)) {
  for (;;) {
    int timeout = wait_ms(flush());
    int n = epoll_wait(epoll_fd, batch, BATCH, timeout);
    batch_len = n < 0 ? 0 : n;
    for (int i = 0; i < batch_len; i++) {
      struct sbx_handler *h = batch[i].data.ptr;
      if (h)
        h->ready(h, batch[i].events);
    }
    batch_len = 0;
    fire_timers();
    take_turns(&turns, NULL);
    take_turns(&senders, has_room);
  }
}
