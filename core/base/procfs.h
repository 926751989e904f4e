/* SPDX-License-Identifier: MIT */
/* procfs.h - reads /proc, whose directory the caller keeps open. Not for more
 * than one thread with the same descriptor. */
#ifndef SBX_BASE_PROCFS_H
#define SBX_BASE_PROCFS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#define SBX_PID_TEXT 16

/* Decimal digits and a NUL; where they begin, in out. */
const char *sbx_pid_text(char out[SBX_PID_TEXT], long pid);

/* Calls each with every pid but 1 and our own. True when none can have been
 * left out (but by ending or beginning meanwhile) and every call said true. */
bool sbx_procfs_each(int proc, bool (*each)(int proc, long pid));

/* Opens, or reads the start of, /proc/<pid>/<name>: descriptor, bytes, or
 * -errno. -ENOENT and -ESRCH: the process has gone. */
int sbx_procfs_open(int proc, long pid, const char *name);
ssize_t sbx_procfs_read(int proc, long pid, const char *name, char *out,
                        size_t cap);

#endif
