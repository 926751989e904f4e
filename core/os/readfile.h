/* SPDX-License-Identifier: MIT */
/* readfile.h - the whole of a small file that somebody else made. */
#ifndef SBX_OS_READFILE_H
#define SBX_OS_READFILE_H

#include <stddef.h>

/* NULL when it is not a regular file with 1 to max bytes, cannot be read, or
 * there is no memory; else the caller frees it. *len is 0 for NULL. Never waits
 * for the other end of a FIFO. */
char *sbx_read_file(const char *path, size_t max, size_t *len);

#endif
