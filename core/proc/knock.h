/* SPDX-License-Identifier: MIT */
/* knock.h - tries whether a connection to a port of this host reaches a server.
 * A proxy in between accepts and then closes when nobody is behind it, so an
 * answer takes a short time. I/O thread only. */
#ifndef SBX_PROC_KNOCK_H
#define SBX_PROC_KNOCK_H

#include <stdbool.h>
#include <stdint.h>

#include "io/runtime.h"

struct sbx_knock;

/* Connects to 127.0.0.1:port. done is called once, later. 0 or a negative
 * code; then done is never called. */
int sbx_knock_start(struct sbx_knock **out, struct sbx_runtime *rt,
                    uint16_t port, void (*done)(void *arg, bool served),
                    void *arg);
void sbx_knock_cancel(struct sbx_knock *k); /* may be NULL; no done any more */

#endif
