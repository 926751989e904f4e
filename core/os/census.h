/* SPDX-License-Identifier: MIT */
/* census.h - one process after the other into a table, as /proc has them. Pure:
 * the caller does the reading. */
#ifndef SBX_OS_CENSUS_H
#define SBX_OS_CENSUS_H

#include <sys/resource.h>
#include <sys/types.h>

#include "base/buf.h"
#include "wire/msg.h"
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
/* Was that process stopped, when it was looked at? */
bool sbx_census_is_stopped(const struct sbx_table *t, long pid);
/* Appends the payload of KILLED; of many members only the first. */
void sbx_census_encode(const struct sbx_table *t, struct sbx_buf *b);

/* What wait4() said, as EXIT says it; oom is left alone. */
void sbx_census_exit(struct sbx_msg_exit *m, int status,
                     const struct rusage *usage);
/* "oom_kill <n>" in the text of a memory controller's file; else 0. */
uint64_t sbx_census_oom(const char *text, size_t len);

#endif
