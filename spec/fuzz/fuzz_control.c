/* SPDX-License-Identifier: MIT */
/* fuzz_control.c - the splitter of the control channel, fed in chunks, against
 * one that has the whole stream in memory.
 *
 * Input: one byte of chunk sizes, then the stream, in which `@` stands for a
 * nonce and `#` for a kilobyte. */
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "wire/control.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static void put(struct sbx_buf *b, const void *data, size_t len) {
  if (sbx_buf_append(b, data, len) < 0)
    abort();
}

static uint64_t feed(const uint8_t *in, size_t len, size_t step,
                     struct sbx_buf *out) {
  struct sbx_control c;
  struct sbx_control_line line;
  sbx_control_init(&c);
  for (size_t at = 0; at < len;) {
    size_t chunk = 1 + (step * 31 + at * 7) % (step * step + 1);
    if (chunk > len - at)
      chunk = len - at;
    uint8_t *copy = malloc(chunk);
    if (!copy)
      abort();
    memcpy(copy, in + at, chunk);
    for (size_t used = 0; used < chunk;) {
      size_t n = sbx_control_feed(&c, copy + used, chunk - used, &line);
      if (n == 0 || n > chunk - used || c.len > SBX_CONTROL_LINE)
        abort();
      used += n;
      if (!line.nonce)
        continue;
      if (strlen(line.nonce) != SBX_NONCE_LEN ||
          strlen(line.payload) != line.payload_len)
        abort();
      put(out, line.nonce, SBX_NONCE_LEN);
      put(out, line.payload, line.payload_len + 1);
    }
    free(copy);
    at += chunk;
  }
  return c.dropped;
}

static uint64_t simple(const uint8_t *in, size_t len, struct sbx_buf *out) {
  uint64_t dropped = 0;
  for (size_t at = 0; at < len;) {
    const uint8_t *nl = memchr(in + at, '\n', len - at);
    if (!nl)
      break;
    const uint8_t *line = in + at;
    size_t n = (size_t)(nl - line);
    at += n + 1;
    bool good = n > 32 && n <= SBX_CONTROL_LINE && line[32] == ' ' &&
                !memchr(line, '\0', n);
    for (size_t i = 0; good && i < 32; i++)
      good = memchr("0123456789abcdef", line[i], 16) != NULL;
    if (!good) {
      dropped += n > 0;
      continue;
    }
    put(out, line, 32);
    put(out, line + 33, n - 33);
    put(out, "", 1);
  }
  return dropped;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len) {
  if (len < 1 || len > 4096)
    return 0;
  static const char nonce[] = "0123456789abcdef0123456789abcdef";
  char kilobyte[1024];
  memset(kilobyte, 'k', sizeof(kilobyte));
  struct sbx_buf in, got, want;
  sbx_buf_init(&in, SIZE_MAX);
  sbx_buf_init(&got, SIZE_MAX);
  sbx_buf_init(&want, SIZE_MAX);
  for (size_t i = 1; i < len; i++) {
    if (data[i] == '@')
      put(&in, nonce, 32);
    else if (data[i] == '#')
      put(&in, kilobyte, sizeof(kilobyte));
    else
      put(&in, data + i, 1);
  }
  uint64_t dropped = feed(in.data, in.len, data[0], &got);
  if (dropped != simple(in.data, in.len, &want) || got.len != want.len ||
      (got.len && memcmp(got.data, want.data, got.len) != 0))
    abort();
  sbx_buf_fini(&in);
  sbx_buf_fini(&got);
  sbx_buf_fini(&want);
  return 0;
}
