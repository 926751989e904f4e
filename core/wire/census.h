/* SPDX-License-Identifier: MIT */
/* census.h - one process after the other into a table, as /proc has them. Pure:
 * the caller does the reading. */
#ifndef SBX_WIRE_CENSUS_H
#define SBX_WIRE_CENSUS_H

#include <sys/types.h>

#include "base/buf.h"
#include "wire/tree.h"

/* The first bytes of /proc/<pid>/<name>: how many, or -errno. */
typedef ssize_t (*sbx_census_read)(long pid, const char *name, char *out,
                                   size_t cap);

/* Adds the process, if it lives; with its serial, or with its mark where there
 * are no serials. False when it may live, and could not be looked at. `room`
 * is for what is read: 64 KiB see every mark that matters. */
bool sbx_census_add(struct sbx_table *t, long pid, bool serials,
                    sbx_census_read read, char *room, size_t cap);

/* Of the members: the greatest pid, or 0. */
long sbx_census_newest(const struct sbx_table *t);
/* Appends the payload of KILLED; of many members only the first. */
void sbx_census_encode(const struct sbx_table *t, struct sbx_buf *b);

/* "oom_kill <n>" in the text of a memory controller's file; else 0. */
uint64_t sbx_census_oom(const char *text, size_t len);

#endif
