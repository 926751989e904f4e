/* SPDX-License-Identifier: MIT */
/* random.h - unguessable names from the kernel's generator. Any thread. */
#ifndef SBX_BASE_RANDOM_H
#define SBX_BASE_RANDOM_H

#include <stddef.h>

/* Writes `digits` lower-case hex digits and a NUL. 0 or -errno; after a
 * failure `out` is the empty string. May block only early at boot. */
int sbx_random_hex(char *out, size_t digits);

#define SBX_UUID_LEN 36

/* A random (version 4) uuid, lower case, NUL-terminated. 0 or -errno. */
int sbx_uuid(char out[SBX_UUID_LEN + 1]);

#endif
