/* SPDX-License-Identifier: MIT */
#include "wire/marker.h"

#include <stdbool.h>
#include <string.h>

#include "base/err.h"

#define RS 0x1e /* ASCII record separator: the first and last byte */

enum match {
  MATCH_FULL,  /* a marker */
  MATCH_MORE,  /* the beginning of one */
  MATCH_NONE,  /* not a marker of ours */
  MATCH_BROKEN /* a marker of ours, but malformed or out of order */
};

/* Reads one candidate; at is the first byte that was not looked at, or, after
 * MATCH_NONE, the one that does not fit. No byte before it but the first is
 * RS, so that the next candidate is not before it. */
struct cursor {
  const uint8_t *data;
  size_t len;
  size_t at;
};

static enum match read_text(struct cursor *c, const char *text, size_t len) {
  for (size_t i = 0; i < len; i++, c->at++) {
    if (c->at == c->len)
      return MATCH_MORE;
    if (c->data[c->at] != (uint8_t)text[i])
      return MATCH_NONE;
  }
  return MATCH_FULL;
}

/* A number min..max and the byte that must follow it. Whether it is broken is
 * known at the first byte that cannot be right, wherever the chunk ends. */
static enum match read_number(struct cursor *c, long min, long max,
                              uint8_t close, long *out) {
  long value = 0;
  for (size_t digits = 0;; digits++, c->at++) {
    if (c->at == c->len)
      return MATCH_MORE;
    uint8_t byte = c->data[c->at];
    if (byte == close && digits > 0) {
      if (value < min)
        return MATCH_BROKEN;
      c->at++;
      *out = value;
      return MATCH_FULL;
    }
    if (byte < '0' || byte > '9' || (digits > 0 && value == 0))
      return MATCH_BROKEN;
    value = value * 10 + (byte - '0');
    if (value > max)
      return MATCH_BROKEN;
  }
}

static enum match read_reason(struct cursor *c, char *out, size_t cap) {
  for (size_t n = 0;; c->at++) {
    if (c->at == c->len)
      return MATCH_MORE;
    uint8_t byte = c->data[c->at];
    if (byte == RS && n > 0) {
      c->at++;
      out[n] = '\0';
      return MATCH_FULL;
    }
    bool ok = (byte >= 'a' && byte <= 'z') || (byte >= '0' && byte <= '9') ||
              byte == '_';
    if (!ok || n + 1 >= cap)
      return MATCH_BROKEN;
    out[n++] = (char)byte;
  }
}

/* What follows the uuid and its colon. */
static enum match read_fields(struct cursor *c, enum sbx_marker_kind kind,
                              struct sbx_marker_event *ev) {
  enum match r;
  long number;
  switch (kind) {
  case SBX_MARKER_START:
    r = read_number(c, 2, SBX_PID_MAX, ':', &ev->wrapper);
    if (r == MATCH_FULL)
      r = read_number(c, 2, SBX_PID_MAX, ':', &ev->child);
    if (r == MATCH_FULL)
      r = read_number(c, 2, SBX_PID_MAX, RS, &ev->group);
    return r;
  case SBX_MARKER_FAILED:
    r = read_number(c, 1, 255, ':', &number);
    if (r != MATCH_FULL)
      return r;
    ev->status = (int)number;
    return read_reason(c, ev->reason, sizeof(ev->reason));
  default:
    r = read_number(c, 0, 255, RS, &number);
    if (r == MATCH_FULL)
      ev->status = (int)number;
    return r;
  }
}

static const struct tag {
  const char *text;
  size_t len;
  enum sbx_marker_kind kind;
  unsigned want;
} tags[] = {
    {"ANVIA_PROCESS:", 14, SBX_MARKER_START, SBX_EXPECT_START},
    {"ANVIA_FAILED:", 13, SBX_MARKER_FAILED, SBX_EXPECT_START},
    {"ANVIA_EXIT:", 11, SBX_MARKER_EXIT, SBX_EXPECT_EXIT},
};

static enum match read_marker(struct sbx_marker *m, struct cursor *c,
                              const struct tag *tag,
                              struct sbx_marker_event *ev) {
  c->at = 1;
  enum match r = read_text(c, tag->text, tag->len);
  if (r == MATCH_FULL)
    r = read_text(c, m->uuid, SBX_UUID_LEN);
  if (r == MATCH_FULL)
    r = read_text(c, ":", 1);
  if (r != MATCH_FULL)
    return r;
  if (tag->kind == SBX_MARKER_EXIT && (m->want & SBX_EXPECT_START))
    return MATCH_BROKEN;
  r = read_fields(c, tag->kind, ev);
  if (r == MATCH_FULL) {
    ev->kind = tag->kind;
    m->want &= ~tag->want;
  }
  return r;
}

/* Judges the candidate at data[0], which is RS; *used as in struct cursor. */
static enum match match(struct sbx_marker *m, const uint8_t *data, size_t len,
                        size_t *used, struct sbx_marker_event *ev) {
  *used = 1;
  if (len > 1 && data[1] != 'A')
    return MATCH_NONE;
  for (size_t i = 0; i < sizeof(tags) / sizeof(tags[0]); i++) {
    if (!(m->want & tags[i].want))
      continue;
    struct cursor c = {data, len, 0};
    enum match r = read_marker(m, &c, &tags[i], ev);
    if (c.at > *used)
      *used = c.at;
    if (r != MATCH_NONE)
      return r;
  }
  return MATCH_NONE;
}

void sbx_marker_init(struct sbx_marker *m, const char *uuid, unsigned expect) {
  memset(m, 0, sizeof(*m));
  size_t len = strnlen(uuid, SBX_UUID_LEN);
  memcpy(m->uuid, uuid, len);
  m->want = expect;
}

static void drop_stale(struct sbx_marker *m) {
  memmove(m->hold, m->hold + m->stale, m->held - m->stale);
  m->held -= m->stale;
  m->stale = 0;
}

/* MATCH_BROKEN leaves no fields behind that somebody could believe. */
static ssize_t broken(struct sbx_marker *m, const uint8_t *out, size_t out_len,
                      struct sbx_marker_event *ev) {
  memset(ev, 0, sizeof(*ev));
  ev->out = out;
  ev->out_len = out_len;
  m->failed = SBX_EPROTO;
  m->held = 0;
  return SBX_EPROTO;
}

/* Goes on with the candidate that an earlier chunk began. */
static ssize_t feed_held(struct sbx_marker *m, const uint8_t *in, size_t len,
                         struct sbx_marker_event *ev) {
  size_t old = m->held, used;
  size_t take = SBX_MARKER_HOLD - old < len ? SBX_MARKER_HOLD - old : len;
  memcpy(m->hold + old, in, take);

  switch (match(m, m->hold, old + take, &used, ev)) {
  case MATCH_FULL:
    m->held = 0;
    return (ssize_t)(used - old);
  case MATCH_MORE: /* the hold is longer than any marker: take == len */
    m->held = old + take;
    return (ssize_t)take;
  case MATCH_BROKEN:
    return broken(m, NULL, 0, ev);
  case MATCH_NONE:
    break;
  }
  /* The byte that does not fit is output too, or a candidate itself. What is
   * handed out stays in place until the next call. */
  m->held = used + 1;
  m->stale = m->hold[used] == RS ? used : used + 1;
  ev->out = m->hold;
  ev->out_len = m->stale;
  return (ssize_t)(used + 1 - old);
}

ssize_t sbx_marker_feed(struct sbx_marker *m, const uint8_t *in, size_t len,
                        struct sbx_marker_event *ev) {
  memset(ev, 0, sizeof(*ev));
  if (m->failed)
    return m->failed;
  drop_stale(m);
  if (len == 0)
    return 0;
  if (m->held > 0)
    return feed_held(m, in, len, ev);

  ev->out = in;
  for (size_t pos = 0; m->want && pos < len;) {
    const uint8_t *rs = memchr(in + pos, RS, len - pos);
    if (!rs)
      break;
    size_t at = (size_t)(rs - in), used;
    ev->out_len = at;
    switch (match(m, rs, len - at, &used, ev)) {
    case MATCH_FULL:
      return (ssize_t)(at + used);
    case MATCH_MORE:
      m->held = len - at;
      memcpy(m->hold, rs, m->held);
      return (ssize_t)len;
    case MATCH_BROKEN:
      return broken(m, in, at, ev);
    case MATCH_NONE:
      pos = at + used;
      break;
    }
  }
  ev->out_len = len;
  return (ssize_t)len;
}

void sbx_marker_finish(struct sbx_marker *m, struct sbx_marker_event *ev) {
  memset(ev, 0, sizeof(*ev));
  if (m->failed)
    return;
  drop_stale(m);
  ev->out = m->hold;
  ev->out_len = m->held;
  m->stale = m->held; /* a second finish gives nothing */
}
