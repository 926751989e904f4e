/* SPDX-License-Identifier: MIT */
#include "os/tap.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define TERMINAL_REST (256u * 1024) /* FIONREAD does not see all of it */

static bool has_input(int fd) {
  struct pollfd p = {.fd = fd, .events = POLLIN};
  return poll(&p, 1, 0) == 1 && (p.revents & POLLIN);
}

static void close_tap(struct sbx_tap *t) {
  sbx_tap_drop(t);
  t->ops->closed(t);
}

static void take_turn(struct sbx_turn *turn) {
  struct sbx_tap *t = SBX_LIST_OWNER(turn, struct sbx_tap, turn);
  size_t len = t->ops->wants(t);

  if (t->last && (t->left == 0 || (len == 0 && !has_input(t->handler.fd)))) {
    close_tap(t);
    return;
  }
  if (len == 0)
    return;
  if (t->last && len > t->left)
    len = (size_t)t->left;
  ssize_t n = t->ops->take(t, len);
  if (n > 0 && t->last)
    t->left -= (uint64_t)n;
  if (n > 0 || (n < 0 && errno == EINTR))
    sbx_turn_queue(turn);
  else if (t->last || n == 0)
    close_tap(t);
  /* else EAGAIN; or EIO, of a terminal that nobody has open at this time */
}

static void on_readable(struct sbx_handler *h, uint32_t events) {
  (void)events;
  sbx_turn_queue(&SBX_LIST_OWNER(h, struct sbx_tap, handler)->turn);
}

void sbx_tap_init(struct sbx_tap *t) {
  memset(t, 0, sizeof(*t));
  t->handler.fd = -1;
}

int sbx_tap_open(struct sbx_tap *t, int fd, const struct sbx_tap_ops *ops,
                 bool sends) {
  t->ops = ops;
  t->handler.ready = on_readable;
  t->turn.take = take_turn;
  t->turn.sends = sends;
  return sbx_loop_watch(&t->handler, fd, EPOLLIN);
}

void sbx_tap_wake(struct sbx_tap *t) {
  if (t->handler.fd >= 0)
    sbx_turn_queue(&t->turn);
}

void sbx_tap_finish(struct sbx_tap *t) {
  int there = 0;
  if (t->handler.fd < 0)
    return;
  t->last = true;
  if (isatty(t->handler.fd))
    t->left = has_input(t->handler.fd) ? TERMINAL_REST : 0;
  else if (ioctl(t->handler.fd, FIONREAD, &there) == 0)
    t->left = (uint64_t)there;
  sbx_tap_wake(t);
}

void sbx_tap_mute(struct sbx_tap *t) {
  sbx_turn_drop(&t->turn);
  t->turn.sends = false;
  sbx_tap_wake(t);
}

void sbx_tap_drop(struct sbx_tap *t) {
  sbx_turn_drop(&t->turn);
  sbx_loop_drop(&t->handler);
}
