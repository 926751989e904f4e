/* SPDX-License-Identifier: MIT */
/* clock.h - time. Any thread. Deadlines use the monotonic clock only. */
#ifndef SBX_BASE_CLOCK_H
#define SBX_BASE_CLOCK_H

#include <stdint.h>

uint64_t sbx_now_ns(void);  /* CLOCK_MONOTONIC */
uint64_t sbx_now_ms(void);  /* the same, rounded down */
uint64_t sbx_wall_ms(void); /* since 1970, for people to read; may jump */

#endif
