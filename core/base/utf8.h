/* SPDX-License-Identifier: MIT */
/* utf8.h - cutting byte strings between UTF-8 characters. Pure functions.
 *
 * UTF-8 is what RFC 3629 says: no overlong forms, no surrogates, nothing above
 * U+10FFFF. Bytes that are not UTF-8 are never touched by these functions. */
#ifndef SBX_BASE_UTF8_H
#define SBX_BASE_UTF8_H

#include <stddef.h>
#include <stdint.h>

#define SBX_UTF8_MAX 4 /* bytes of the longest character */

/* Length 1..4 of the character that starts at data; 0 when what is there is
 * not (or not completely) a character. */
size_t sbx_utf8_char(const uint8_t *data, size_t len);

/* len without a character that begins there and is not complete: at most 3
 * bytes shorter. A trailing sequence that no bytes could complete stays. */
size_t sbx_utf8_trim_end(const uint8_t *data, size_t len);

/* How many bytes at the start are the rest of a character whose beginning was
 * cut off: 0..3. Four or more continuation bytes in a row are not UTF-8, so
 * then it is 0. */
size_t sbx_utf8_skip_start(const uint8_t *data, size_t len);

/* Is offset `at` inside a character? With bytes on both sides at hand this is
 * exact, where the two above must guess. Returns the offset of the character
 * that contains both at - 1 and at, and its end in *end; when there is none
 * both are `at`. */
size_t sbx_utf8_around(const uint8_t *data, size_t len, size_t at, size_t *end);

#endif
