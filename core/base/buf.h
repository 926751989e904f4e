/* SPDX-License-Identifier: MIT */
/* buf.h - a growable byte buffer that knows its maximum.
 *
 * Belongs to one thread at a time. Nothing is allocated before the first byte.
 * `data` is NULL while nothing was ever stored and is not NUL-terminated. A
 * failed call leaves the content as it was. */
#ifndef SBX_BASE_BUF_H
#define SBX_BASE_BUF_H

#include <stddef.h>
#include <stdint.h>

struct sbx_buf {
  uint8_t *data; /* read freely, up to len; moves when the buffer grows */
  size_t len;
  size_t cap;
  size_t max; /* len never gets above this */
};

void sbx_buf_init(struct sbx_buf *b, size_t max);

/* Frees the memory; b is then as after init with the same max. */
void sbx_buf_fini(struct sbx_buf *b);

/* 0, -ENOMEM, or -EMSGSIZE when max would be exceeded. `data` must not point
 * into b; it may be NULL when len is 0. */
int sbx_buf_append(struct sbx_buf *b, const void *data, size_t len);
int sbx_buf_appendf(struct sbx_buf *b, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/* Makes room for `extra` more bytes behind len, for writing them in place
 * (the caller then adds to len). Same results as append. */
int sbx_buf_reserve(struct sbx_buf *b, size_t extra);

/* Drops the first n bytes (all, if there are fewer). Moves what remains. */
void sbx_buf_consume(struct sbx_buf *b, size_t n);

/* Drops the content and keeps the memory. */
void sbx_buf_clear(struct sbx_buf *b);

/* Hands the memory to the caller, who frees it with free(); b is then as
 * after init. NULL (and *len 0) when b is empty. */
uint8_t *sbx_buf_take(struct sbx_buf *b, size_t *len);

#endif
