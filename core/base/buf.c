/* SPDX-License-Identifier: MIT */
#include "base/buf.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BUF_FIRST 256

void sbx_buf_init(struct sbx_buf *b, size_t max) {
  memset(b, 0, sizeof(*b));
  b->max = max;
}

void sbx_buf_fini(struct sbx_buf *b) {
  free(b->data);
  sbx_buf_init(b, b->max);
}

int sbx_buf_reserve(struct sbx_buf *b, size_t extra) {
  if (extra > b->max - b->len)
    return -EMSGSIZE;
  size_t need = b->len + extra;
  if (need <= b->cap)
    return 0;
  size_t cap = b->cap ? b->cap : BUF_FIRST;
  while (cap < need)
    cap = cap <= SIZE_MAX / 2 ? cap * 2 : need;
  if (cap > b->max)
    cap = b->max; /* need <= max */
  uint8_t *data = realloc(b->data, cap);
  if (!data)
    return -ENOMEM;
  b->data = data;
  b->cap = cap;
  return 0;
}

int sbx_buf_append(struct sbx_buf *b, const void *data, size_t len) {
  if (len == 0)
    return 0;
  int rc = sbx_buf_reserve(b, len);
  if (rc < 0)
    return rc;
  memcpy(b->data + b->len, data, len);
  b->len += len;
  return 0;
}

int sbx_buf_appendf(struct sbx_buf *b, const char *fmt, ...) {
  char small[256];
  va_list ap;
  va_start(ap, fmt);
  int n = vsnprintf(small, sizeof(small), fmt, ap);
  va_end(ap);
  if (n < 0)
    return -EINVAL;
  size_t len = (size_t)n;
  if (len < sizeof(small))
    return sbx_buf_append(b, small, len);

  if (len > b->max - b->len)
    return -EMSGSIZE;
  /* vsnprintf wants room for a NUL, which max may not allow. */
  char *text = malloc(len + 1);
  if (!text)
    return -ENOMEM;
  va_start(ap, fmt);
  vsnprintf(text, len + 1, fmt, ap);
  va_end(ap);
  int rc = sbx_buf_append(b, text, len);
  free(text);
  return rc;
}

void sbx_buf_consume(struct sbx_buf *b, size_t n) {
  if (n == 0)
    return;
  if (n >= b->len) {
    b->len = 0;
    return;
  }
  memmove(b->data, b->data + n, b->len - n);
  b->len -= n;
}

void sbx_buf_clear(struct sbx_buf *b) {
  b->len = 0;
}

uint8_t *sbx_buf_take(struct sbx_buf *b, size_t *len) {
  uint8_t *data = b->data;
  *len = b->len;
  if (b->len == 0) {
    free(data);
    data = NULL;
  }
  sbx_buf_init(b, b->max);
  return data;
}
