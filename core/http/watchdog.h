/* SPDX-License-Identifier: MIT */
/* watchdog.h - covers the moment in which a container exists that was never
 * started, and so has no lease yet.
 *
 * A container is armed before the request that creates it is sent, and disarmed
 * when it has started, or is known not to exist. Meanwhile a tiny process that
 * is nobody's child holds the other end of a pipe of ours: when this process
 * dies, however, the pipe ends, and the watchdog removes the containers that
 * are still armed, found by their own label; it looks for a while, because the
 * engine may still be creating. With nothing armed there is no watchdog.
 *
 * I/O thread only. Needs an endpoint without a name to look up. */
#ifndef SBX_HTTP_WATCHDOG_H
#define SBX_HTTP_WATCHDOG_H

#include "http/plan.h"
#include "io/runtime.h"

/* 0, or a negative code: nobody watches. */
int sbx_watchdog_arm(struct sbx_runtime *rt, const struct sbx_plan *plan);
void sbx_watchdog_disarm(struct sbx_runtime *rt, const struct sbx_plan *plan);
/* Instead of disarm: nobody here cares for the container any more. The watchdog
 * removes it soon, as if this process were dead. */
void sbx_watchdog_leave(struct sbx_runtime *rt);

/* -- between watchdog.c and watchdog_child.c ------------------------------- */

/* A line of the pipe: '+' (armed) or '-', then, with tabs between, the
 * endpoint's address
 * ("/path", or "4 addr port" / "6 addr port"), the prefix and the label,
 * encoded for a query. At most so long, and so written at once. */
#define SBX_WATCHDOG_LINE 1024

/* The watchdog's life, in the forked process; never returns. fd is its end of
 * the pipe. */
void sbx_watchdog_main(int fd) __attribute__((noreturn));

#endif
