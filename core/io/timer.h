/* SPDX-License-Identifier: MIT */
/* timer.h - a one-shot timer that can be freed at any moment, also from its own
 * callback. I/O thread only. */
#ifndef SBX_IO_TIMER_H
#define SBX_IO_TIMER_H

#include <stdbool.h>
#include <stdint.h>

#include "io/runtime.h"

struct sbx_timer;

/* 0 or -ENOMEM. On success the caller owns *out. */
int sbx_timer_new(struct sbx_timer **out, struct sbx_runtime *rt,
                  void (*fire)(void *arg), void *arg);
/* t may be NULL. No callback comes after this. */
void sbx_timer_free(struct sbx_timer *t);

/* (Re)starts it: fires once, in ms milliseconds. Any uint64_t is fine; what the
 * clock cannot reach never fires. */
void sbx_timer_start(struct sbx_timer *t, uint64_t ms);
void sbx_timer_stop(struct sbx_timer *t);
bool sbx_timer_active(const struct sbx_timer *t);

#endif
