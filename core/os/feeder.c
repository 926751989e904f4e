/* SPDX-License-Identifier: MIT */
#include "os/feeder.h"

#include <errno.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#define LAST_MAX 16

static void drain(struct sbx_feeder *f) {
  size_t done = 0;
  while (f->handler.fd >= 0 && done < f->buf.len) {
    ssize_t n = write(f->handler.fd, f->buf.data + done, f->buf.len - done);
    if (n < 0 && errno == EINTR)
      continue;
    if (n < 0 && errno == EAGAIN)
      break;
    if (n < 0)
      sbx_loop_drop(&f->handler); /* nobody reads */
    else
      done += (size_t)n;
  }
  if (f->handler.fd < 0)
    done = f->buf.len;
  sbx_buf_consume(&f->buf, done);
  if (f->ending && f->buf.len == 0)
    sbx_loop_drop(&f->handler);
  f->owed += done;
  if (f->owed < (f->buf.max - LAST_MAX) / 4 || f->ending)
    return;
  f->credit += f->owed;
  done = f->owed;
  f->owed = 0;
  f->more(f, done);
}

static void on_writable(struct sbx_handler *h, uint32_t events) {
  struct sbx_feeder *f = SBX_LIST_OWNER(h, struct sbx_feeder, handler);
  if (events & EPOLLERR)
    sbx_loop_drop(h);
  drain(f);
}

void sbx_feeder_init(struct sbx_feeder *f) {
  memset(f, 0, sizeof(*f));
  f->handler.fd = -1;
}

int sbx_feeder_open(struct sbx_feeder *f, int fd, size_t cap,
                    void (*more)(struct sbx_feeder *f, size_t credit)) {
  sbx_buf_init(&f->buf, cap + LAST_MAX);
  f->handler.ready = on_writable;
  f->more = more;
  f->credit = cap;
  int rc = sbx_buf_reserve(&f->buf, f->buf.max);
  return rc < 0 ? rc : sbx_loop_watch(&f->handler, fd, EPOLLOUT);
}

bool sbx_feeder_push(struct sbx_feeder *f, const void *data, size_t len) {
  if (len > f->credit || f->ending || f->buf.cap == 0)
    return false;
  f->credit -= len;
  sbx_buf_append(&f->buf, data, len); /* has the memory */
  drain(f);
  return true;
}

void sbx_feeder_end(struct sbx_feeder *f, const char *last) {
  size_t len = strnlen(last, LAST_MAX);
  f->ending = true;
  sbx_buf_append(&f->buf, last, len);
  drain(f);
}

void sbx_feeder_close(struct sbx_feeder *f) {
  sbx_loop_drop(&f->handler);
  if (f->buf.cap > 0)
    drain(f);
}

void sbx_feeder_fini(struct sbx_feeder *f) {
  sbx_loop_drop(&f->handler);
  sbx_buf_fini(&f->buf);
}
