/* SPDX-License-Identifier: MIT */
/* fuzz_nettab.c - a socket table fed in chunks against the same table read
 * line by line, and what was found against its own text.
 *
 * Input: one byte of chunk sizes, then the table. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "wire/nettab.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static void note(struct sbx_buf *found, const struct sbx_listener *l) {
  if (l->family != 0 && sbx_buf_append(found, l, sizeof(*l)) < 0)
    abort();
}

static void feed(const char *in, size_t len, size_t step,
                 struct sbx_buf *found) {
  struct sbx_nettab t;
  struct sbx_listener l;
  sbx_nettab_init(&t);
  for (size_t at = 0; at < len;) {
    size_t chunk = 1 + (step * 31 + at * 7) % (step * 2 + 1);
    if (chunk > len - at)
      chunk = len - at;
    char *copy = malloc(chunk);
    if (!copy)
      abort();
    memcpy(copy, in + at, chunk);
    for (size_t used = 0; used < chunk;) {
      size_t n = sbx_nettab_feed(&t, copy + used, chunk - used, &l);
      if (n == 0 || n > chunk - used || t.len > SBX_NETTAB_LINE)
        abort();
      used += n;
      note(found, &l);
    }
    free(copy);
    at += chunk;
  }
  sbx_nettab_finish(&t, &l);
  note(found, &l);
}

/* Prints the socket as the kernel would; it must be read as the same. */
static void check_listener(const struct sbx_listener *l) {
  char line[160], *p = line + sprintf(line, "   3: ");
  size_t n = l->family == 4 ? 4 : 16;
  if ((l->family != 4 && l->family != 6) || l->port == 0)
    abort();
  for (size_t i = 0; i < n; i += 4)
    p += sprintf(p, "%02X%02X%02X%02X", l->addr[i + 3], l->addr[i + 2],
                 l->addr[i + 1], l->addr[i]);
  p += sprintf(p, ":%04X %0*d:0000 0A 0", l->port, (int)n * 2, 0);
  struct sbx_listener again;
  if (!sbx_nettab_line(line, (size_t)(p - line), &again) ||
      memcmp(l, &again, sizeof(again)) != 0)
    abort();
  static const struct sbx_ip4 own = {{10, 0, 0, 2}};
  if (sbx_nettab_classify(l, &own, 1) == SBX_LISTEN_NONE)
    abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len) {
  if (len < 1)
    return 0;
  const char *in = (const char *)data + 1;
  struct sbx_buf chunks, lines;
  sbx_buf_init(&chunks, SIZE_MAX);
  sbx_buf_init(&lines, SIZE_MAX);
  feed(in, len - 1, data[0], &chunks);
  for (size_t at = 0; at < len - 1;) {
    const char *nl = memchr(in + at, '\n', len - 1 - at);
    size_t n = nl ? (size_t)(nl - in) - at : len - 1 - at;
    struct sbx_listener l;
    sbx_nettab_line(in + at, n < SBX_NETTAB_LINE ? n : SBX_NETTAB_LINE, &l);
    note(&lines, &l);
    at += n + 1;
  }
  if (chunks.len != lines.len ||
      (lines.len && memcmp(chunks.data, lines.data, lines.len) != 0))
    abort();
  for (size_t i = 0; i < lines.len; i += sizeof(struct sbx_listener)) {
    struct sbx_listener l;
    memcpy(&l, lines.data + i, sizeof(l));
    check_listener(&l);
  }
  sbx_buf_fini(&chunks);
  sbx_buf_fini(&lines);
  return 0;
}
