/* SPDX-License-Identifier: MIT */
#include "io/timer.h"

#include <errno.h>
#include <stdlib.h>

struct sbx_timer {
  uv_timer_t handle; /* first: the close callback frees through it */
  void (*fire)(void *arg);
  void *arg;
};

static void on_fire(uv_timer_t *handle) {
  struct sbx_timer *t = (struct sbx_timer *)handle;

  t->fire(t->arg);
}

static void on_closed(uv_handle_t *handle) {
  free(handle);
}

int sbx_timer_new(struct sbx_timer **out, struct sbx_runtime *rt,
                  void (*fire)(void *arg), void *arg) {
  struct sbx_timer *t = calloc(1, sizeof(*t));

  if (t == NULL)
    return -ENOMEM;
  t->fire = fire;
  t->arg = arg;
  uv_timer_init(sbx_runtime_loop(rt), &t->handle); /* cannot fail */
  *out = t;
  return 0;
}

void sbx_timer_free(struct sbx_timer *t) {
  /* closing already: the stopping runtime was faster, it keeps the memory */
  if (t != NULL && !uv_is_closing((uv_handle_t *)&t->handle))
    uv_close((uv_handle_t *)&t->handle, on_closed);
}

void sbx_timer_start(struct sbx_timer *t, uint64_t ms) {
  /* The loop's idea of "now" is from before a long callback. libuv clamps a sum
   * that overflows. */
  uv_update_time(t->handle.loop);
  uv_timer_start(&t->handle, on_fire, ms, 0);
}

void sbx_timer_stop(struct sbx_timer *t) {
  uv_timer_stop(&t->handle);
}

bool sbx_timer_active(const struct sbx_timer *t) {
  return uv_is_active((const uv_handle_t *)&t->handle) != 0;
}
