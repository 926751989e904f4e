/* SPDX-License-Identifier: MIT */
#include "proc/knock.h"

#include <errno.h>
#include <stdlib.h>

#include "io/timer.h"

/* A proxy learns at once that nobody listens: a connection that is still open
 * after this long is served. */
#define OPEN_MS 150

struct sbx_knock {
  uv_tcp_t tcp; /* first: the close callback frees through it */
  uv_connect_t connect;
  struct sbx_timer *timer;
  void (*done)(void *arg, bool served);
  void *arg;
  char buffer[16];
};

static void on_closed(uv_handle_t *handle) {
  free(handle);
}

static void finish(struct sbx_knock *k, bool served) {
  void (*done)(void *, bool) = k->done;
  void *arg = k->arg;

  if (done == NULL)
    return;
  sbx_knock_cancel(k);
  done(arg, served);
}

static void on_still_open(void *arg) {
  finish(arg, true);
}

static void on_alloc(uv_handle_t *handle, size_t size, uv_buf_t *buf) {
  struct sbx_knock *k = (struct sbx_knock *)handle;

  (void)size;
  *buf = uv_buf_init(k->buffer, sizeof(k->buffer));
}

static void on_read(uv_stream_t *stream, ssize_t n, const uv_buf_t *buf) {
  (void)buf;
  if (n != 0)
    finish((struct sbx_knock *)stream, n > 0);
}

static void on_connect(uv_connect_t *req, int status) {
  struct sbx_knock *k = (struct sbx_knock *)req->handle;

  if (k->done == NULL)
    return;
  if (status < 0 ||
      uv_read_start((uv_stream_t *)&k->tcp, on_alloc, on_read) < 0)
    finish(k, false);
  else
    sbx_timer_start(k->timer, OPEN_MS);
}

int sbx_knock_start(struct sbx_knock **out, struct sbx_runtime *rt,
                    uint16_t port, void (*done)(void *arg, bool served),
                    void *arg) {
  struct sbx_knock *k = calloc(1, sizeof(*k));
  struct sockaddr_in addr;
  int rc;

  if (k == NULL)
    return -ENOMEM;
  rc = sbx_timer_new(&k->timer, rt, on_still_open, k);
  if (rc < 0) {
    free(k);
    return rc;
  }
  uv_tcp_init(sbx_runtime_loop(rt), &k->tcp);
  uv_ip4_addr("127.0.0.1", port, &addr);
  rc = uv_tcp_connect(&k->connect, &k->tcp, (const struct sockaddr *)&addr,
                      on_connect);
  if (rc < 0) {
    sbx_knock_cancel(k);
    return rc;
  }
  k->done = done;
  k->arg = arg;
  *out = k;
  return 0;
}

void sbx_knock_cancel(struct sbx_knock *k) {
  if (k == NULL)
    return;
  k->done = NULL;
  sbx_timer_free(k->timer);
  uv_close((uv_handle_t *)&k->tcp, on_closed);
}
