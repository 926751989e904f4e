/* SPDX-License-Identifier: MIT */
/* place.h - what is done to the entry at a place that beneath.h has found.
 * Links are never followed from there. Called as the user whose rights count.
 * Functions return 0 (or a descriptor) or -errno: ENXIO for a FIFO, a device or
 * a socket. */
#ifndef SBX_OS_PLACE_H
#define SBX_OS_PLACE_H

#include "os/beneath.h"

/* Opens a regular file; at->st is that of the open file then. */
int sbx_place_read(struct sbx_place *at);

#define SBX_PLACE_TEMP sizeof(".anvia-0123456789abcdef01234567")

/* Makes a new file beside one that may be there, with its permission bits, or
 * 0644, in *mode. On success the caller owns the descriptor and the name; else
 * the name is empty. */
int sbx_place_write(const struct sbx_place *at, char temp[SBX_PLACE_TEMP],
                    mode_t *mode);
/* The new file is complete and takes its place. */
int sbx_place_replace(const struct sbx_place *at, const char *temp, int fd,
                      mode_t mode);

/* A file or link in the way is replaced, a directory is not. */
int sbx_place_rename(const struct sbx_place *from, const struct sbx_place *to);

/* With all directories above, 0755, also when it exists; `mode` is for the last
 * one, -1: as it is. */
int sbx_place_mkdir(int root, const char *path, int mode);

/* Anything but a full directory. */
int sbx_place_remove(const struct sbx_place *at);

#endif
