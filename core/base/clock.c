/* SPDX-License-Identifier: MIT */
#include "base/clock.h"

#include <time.h>

static uint64_t read_clock(clockid_t id) {
  struct timespec ts;
  clock_gettime(id, &ts); /* cannot fail for these two clocks */
  return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

uint64_t sbx_now_ns(void) {
  return read_clock(CLOCK_MONOTONIC);
}

uint64_t sbx_now_ms(void) {
  return read_clock(CLOCK_MONOTONIC) / 1000000u;
}

uint64_t sbx_wall_ms(void) {
  return read_clock(CLOCK_REALTIME) / 1000000u;
}
