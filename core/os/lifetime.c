/* SPDX-License-Identifier: MIT */
#include "os/lifetime.h"

#include "base/clock.h"

static void set(struct sbx_alarm *a, uint64_t from, uint64_t ms) {
  sbx_alarm_stop(a);
  if (ms > 0)
    sbx_alarm_set(a, ms > UINT64_MAX - from ? UINT64_MAX : from + ms);
}

static void on_ttl(struct sbx_alarm *a) {
  SBX_LIST_OWNER(a, struct sbx_lifetime, ttl)->over(false);
}

static void on_idle(struct sbx_alarm *a) {
  struct sbx_lifetime *l = SBX_LIST_OWNER(a, struct sbx_lifetime, idle);
  if (l->busy())
    sbx_lifetime_touch(l);
  else if (sbx_now_ms() - l->last_ms >= l->idle_ms)
    l->over(true);
  set(a, l->last_ms, l->idle_ms);
}

void sbx_lifetime_start(struct sbx_lifetime *l, uint64_t ttl_ms,
                        uint64_t idle_ms) {
  l->ttl.fire = on_ttl;
  l->idle.fire = on_idle;
  l->idle_ms = idle_ms;
  sbx_lifetime_touch(l);
  set(&l->ttl, l->last_ms, ttl_ms);
  set(&l->idle, l->last_ms, idle_ms);
}

void sbx_lifetime_touch(struct sbx_lifetime *l) {
  l->last_ms = sbx_now_ms();
}
