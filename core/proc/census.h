/* SPDX-License-Identifier: MIT */
/* census.h - looks at a container's processes, shared by all who want to know.
 *
 * One look reads all of /proc inside the container. Everybody who asks while
 * one is under way gets the next one, which began after they asked; so any
 * number of kills costs one look at a time. I/O thread only. */
#ifndef SBX_PROC_CENSUS_H
#define SBX_PROC_CENSUS_H

#include "proc/channel.h"
#include "wire/tree.h"

/* Long enough for a look at a container full of processes. */
#define SBX_LOOK_TIMEOUT_MS 3000

struct sbx_census;

/* The table may be marked with sbx_table_find, and is valid during the call
 * only. rc < 0: no table; SBX_ETIMEOUT or SBX_EDESTROYED. */
typedef void (*sbx_census_seen_cb)(void *arg, int rc, struct sbx_table *table);

int sbx_census_new(struct sbx_census **out, struct sbx_channel *channel,
                   uint64_t timeout_ms);
/* Nobody who waits is told. c may be NULL. */
void sbx_census_free(struct sbx_census *c);
/* The channel is ending: tells all who wait, then frees. */
void sbx_census_end(struct sbx_census *c);

/* 0 or a negative code; then cb never comes. It may come before this returns.
 */
int sbx_census_look(struct sbx_census *c, sbx_census_seen_cb cb, void *arg);
void sbx_census_forget(struct sbx_census *c, void *arg);

#endif
