/* SPDX-License-Identifier: MIT */
/* fuzz_marker.c - the scanner, fed in chunks, against a simple one that sees
 * the whole stream at once.
 *
 * Input: one byte of expectations, one of chunk sizes, then the stream, in
 * which `@` stands for our uuid so that markers are easy to hit on. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "wire/marker.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

#define ID "6f1c2a70-3b4d-4e5f-8a9b-0c1d2e3f4a5b"

static void put(struct sbx_buf *b, const void *data, size_t len) {
  if (sbx_buf_append(b, data, len) < 0)
    abort();
}

/* A copy that ends exactly where its memory ends. */
static uint8_t *exact(const uint8_t *data, size_t len) {
  uint8_t *copy = malloc(len ? len : 1);
  if (!copy)
    abort();
  if (len)
    memcpy(copy, data, len);
  return copy;
}

static void show(struct sbx_buf *b, const struct sbx_marker_event *ev) {
  char text[128];
  put(b, ev->out, ev->out_len);
  if (ev->kind == SBX_MARKER_NONE)
    return;
  int start = ev->kind == SBX_MARKER_START;
  int n = snprintf(text, sizeof(text), "<%d %ld %ld %ld %d %s>", (int)ev->kind,
                   start ? ev->wrapper : 0, start ? ev->child : 0,
                   start ? ev->group : 0, ev->status, ev->reason);
  put(b, text, (size_t)n);
}

static void scan(const uint8_t *in, size_t len, unsigned expect, unsigned step,
                 struct sbx_buf *trace) {
  struct sbx_marker m;
  struct sbx_marker_event ev;
  sbx_marker_init(&m, ID, expect);
  for (size_t at = 0; at < len;) {
    size_t chunk = step == 0 ? len : 1 + (step * 31 + at * 7) % (step * 2);
    if (chunk > len - at)
      chunk = len - at;
    uint8_t *copy = exact(in + at, chunk);
    for (size_t used = 0; used < chunk;) {
      ssize_t n = sbx_marker_feed(&m, copy + used, chunk - used, &ev);
      show(trace, &ev);
      if (n < 0) {
        put(trace, "<!>", 3);
        free(copy);
        return;
      }
      if (n == 0 || (size_t)n > chunk - used || m.held > SBX_MARKER_HOLD)
        abort();
      used += (size_t)n;
    }
    free(copy);
    at += chunk;
  }
  sbx_marker_finish(&m, &ev);
  show(trace, &ev);
}

/* `text` up to the closing byte as a number; -1 when it is not a good one. */
static long number(const char *text, size_t len, long min, long max) {
  long value = 0;
  if (len == 0 || len > 7 || (len > 1 && text[0] == '0'))
    return -1;
  for (size_t i = 0; i < len; i++) {
    if (text[i] < '0' || text[i] > '9')
      return -1;
    value = value * 10 + text[i] - '0';
  }
  return value >= min && value <= max ? value : -1;
}

/* Splits the fields of a complete marker and judges them; 0 when good. */
static int judge(char *body, size_t len, struct sbx_marker_event *ev) {
  char *field[3] = {body, NULL, NULL};
  size_t size[3] = {0}, n = 0;
  for (size_t i = 0; i < len; i++) {
    if (body[i] == ':' && ++n < 3)
      field[n] = body + i + 1;
    else if (n < 3)
      size[n]++;
  }
  if (ev->kind == SBX_MARKER_EXIT) {
    ev->status = (int)number(field[0], size[0], 0, 255);
    return n == 0 && ev->status >= 0 ? 0 : -1;
  }
  if (ev->kind == SBX_MARKER_FAILED) {
    ev->status = (int)number(field[0], size[0], 1, 255);
    if (n != 1 || ev->status < 0 || size[1] < 1 || size[1] > 31)
      return -1;
    memcpy(ev->reason, field[1], size[1]);
    const char *good = "abcdefghijklmnopqrstuvwxyz0123456789_";
    return strspn(ev->reason, good) == size[1] ? 0 : -1;
  }
  if (n != 2)
    return -1;
  ev->wrapper = number(field[0], size[0], 2, SBX_PID_MAX);
  ev->child = number(field[1], size[1], 2, SBX_PID_MAX);
  ev->group = number(field[2], size[2], 2, SBX_PID_MAX);
  return ev->wrapper > 0 && ev->child > 0 && ev->group > 0 ? 0 : -1;
}

/* The same as scan(), for streams without an unfinished marker of ours at the
 * end: what is wrong in one the scanner sees before the end of it. False when
 * there is one. */
static bool simple(char *in, size_t len, unsigned want, struct sbx_buf *trace) {
  static const struct {
    const char *text;
    enum sbx_marker_kind kind;
    unsigned want;
  } tags[] = {
      {"\x1e"
       "ANVIA_PROCESS:" ID ":",
       SBX_MARKER_START, SBX_EXPECT_START},
      {"\x1e"
       "ANVIA_FAILED:" ID ":",
       SBX_MARKER_FAILED, SBX_EXPECT_START},
      {"\x1e"
       "ANVIA_EXIT:" ID ":",
       SBX_MARKER_EXIT, SBX_EXPECT_EXIT},
  };
  for (size_t at = 0; at < len;) {
    size_t i = 0, skip = 0;
    for (; i < 3; i++) {
      skip = strlen(tags[i].text);
      if ((want & tags[i].want) && len - at >= skip &&
          memcmp(in + at, tags[i].text, skip) == 0)
        break;
    }
    if (i == 3) {
      put(trace, in + at++, 1);
      continue;
    }
    if (tags[i].kind == SBX_MARKER_EXIT && (want & SBX_EXPECT_START)) {
      put(trace, "<!>", 3);
      return true;
    }
    char *body = in + at + skip;
    char *close = memchr(body, '\x1e', len - at - skip);
    if (!close)
      return false;
    struct sbx_marker_event ev = {.kind = tags[i].kind};
    if (judge(body, (size_t)(close - body), &ev) < 0) {
      put(trace, "<!>", 3);
      return true;
    }
    show(trace, &ev);
    want &= ~tags[i].want;
    at = (size_t)(close - in) + 1;
  }
  return true;
}

static void same(const struct sbx_buf *a, const struct sbx_buf *b) {
  if (a->len != b->len || (a->len && memcmp(a->data, b->data, a->len) != 0))
    abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len) {
  if (len < 2)
    return 0;
  unsigned expect = data[0] & 3, step = data[1];
  struct sbx_buf in, whole, bytes, chunks, naive;
  struct sbx_buf *all[] = {&in, &whole, &bytes, &chunks, &naive};
  for (size_t i = 0; i < 5; i++)
    sbx_buf_init(all[i], SIZE_MAX);
  for (size_t i = 2; i < len; i++)
    put(&in, data[i] == '@' ? ID : (const char *)data + i,
        data[i] == '@' ? SBX_UUID_LEN : 1);

  scan(in.data, in.len, expect, 0, &whole);
  scan(in.data, in.len, expect, 1, &bytes);
  scan(in.data, in.len, expect, step, &chunks);
  same(&whole, &bytes);
  same(&whole, &chunks);
  if (simple((char *)in.data, in.len, expect, &naive))
    same(&whole, &naive);
  for (size_t i = 0; i < 5; i++)
    sbx_buf_fini(all[i]);
  return 0;
}
