/* SPDX-License-Identifier: MIT */
/* procfs.h - reads /proc, whose directory is kept open. One thread. */
#ifndef SBX_OS_PROCFS_H
#define SBX_OS_PROCFS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#define SBX_PID_TEXT 16

/* Decimal digits and a NUL; where they begin, in out. */
const char *sbx_pid_text(char out[SBX_PID_TEXT], long pid);

/* 0 or -errno. Before anything else. */
int sbx_procfs_init(void);

/* Calls each with every pid but 1 and our own. True when none can have been
 * left out (but by ending or beginning meanwhile) and every call said true. */
bool sbx_procfs_each(bool (*each)(long pid));

/* Reads the start of /proc/<pid>/<name>, as the user of base/creds where we may
 * not ourselves: an environment is its own user's. Bytes, or -errno; -ENOENT
 * and -ESRCH: the process has gone. */
ssize_t sbx_procfs_read(long pid, const char *name, char *out, size_t cap);

/* The same of the file where the memory controller of this container counts
 * whom it killed. */
ssize_t sbx_procfs_read_oom(char *out, size_t cap);

#endif
