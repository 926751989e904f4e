/* SPDX-License-Identifier: MIT */
#include "wire/msg.h"

#include <errno.h>
#include <string.h>

uint16_t sbx_get_u16(const uint8_t *p) {
  return (uint16_t)(p[0] | p[1] << 8);
}

uint32_t sbx_get_u32(const uint8_t *p) {
  return sbx_get_u16(p) | (uint32_t)sbx_get_u16(p + 2) << 16;
}

uint64_t sbx_get_u64(const uint8_t *p) {
  return sbx_get_u32(p) | (uint64_t)sbx_get_u32(p + 4) << 32;
}

void sbx_put_u16(uint8_t *p, uint16_t v) {
  p[0] = (uint8_t)v;
  p[1] = (uint8_t)(v >> 8);
}

void sbx_put_u32(uint8_t *p, uint32_t v) {
  sbx_put_u16(p, (uint16_t)v);
  sbx_put_u16(p + 2, (uint16_t)(v >> 16));
}

void sbx_put_u64(uint8_t *p, uint64_t v) {
  sbx_put_u32(p, (uint32_t)v);
  sbx_put_u32(p + 4, (uint32_t)(v >> 32));
}

/* What a field is, taken from its type in the struct, and where. */
enum kind { END, U8, U16, U32, U64, TEXT, TEXTS, BLOBS };

struct field {
  uint8_t kind;
  uint8_t at;
};

#define KIND(message, name)                                                    \
  _Generic(((struct sbx_msg_##message *)0)->name, uint8_t                      \
           : U8, uint16_t                                                      \
           : U16, uint32_t                                                     \
           : U32, uint64_t                                                     \
           : U64, struct sbx_str                                               \
           : TEXT, struct sbx_strs                                             \
           : TEXTS)
#define AT(message, name) offsetof(struct sbx_msg_##message, name)
#define F(message, name)                                                       \
  { KIND(message, name), AT(message, name) }
#define F_BLOBS(message, at)                                                   \
  { BLOBS, AT(message, at) }

static const struct field hello[] = {
    F(hello, version),      F(hello, no_new_privileges),
    F(hello, capabilities), F(hello, ttl_ms),
    F(hello, idle_ms),      F(hello, workdir),
    F(hello, user),         {END, 0}};
static const struct field ready[] = {F(ready, version), F(ready, uid),
                                     F(ready, gid),     F(ready, writable),
                                     F(ready, home),    {END, 0}};
static const struct field spawn[] = {
    F(spawn, flags),  F(spawn, keep), F(spawn, max_bytes),
    F(spawn, credit), F(spawn, rows), F(spawn, cols),
    F(spawn, mark),   F(spawn, cwd),  F(spawn, argv),
    F(spawn, env),    {END, 0}};
static const struct field failed[] = {
    F(failed, stage), F(failed, error), F(failed, text), {END, 0}};
static const struct field exited[] = {
    F(exit, code),      F(exit, signal),      F(exit, oom), F(exit, user_us),
    F(exit, system_us), F(exit, max_rss_kib), {END, 0}};
static const struct field killed[] = {F(killed, survivors), {END, 0}};
static const struct field port[] = {F(port, port), {END, 0}};
static const struct field listeners[] = {F_BLOBS(listeners, sockets), {END, 0}};
static const struct field file[] = {
    F(file, verb),   F(file, flags),  F(file, mode),
    F(file, offset), F(file, length), F(file, credit),
    F(file, path),   F(file, other),  {END, 0}};
static const struct field entry[] = {
    F(entry, type), F(entry, mode),   F(entry, size), F(entry, mtime_ms),
    F(entry, path), F(entry, target), {END, 0}};
static const struct field entries[] = {F_BLOBS(entries, entries), {END, 0}};
static const struct field event[] = {
    F(event, cursor), F(event, kind), F(event, path), {END, 0}};
static const struct field done[] = {
    F(done, error), F(done, code), F(done, text), {END, 0}};

static size_t width(uint8_t kind) {
  return kind == U8 ? 1 : kind == U16 ? 2 : kind == U32 ? 4 : 8;
}

static bool is_text(const void *data, size_t len) {
  return len == 0 || memchr(data, 0, len) == NULL;
}

int sbx_str_append(struct sbx_buf *b, const void *data, size_t len) {
  uint8_t head[4];

  if (len > UINT32_MAX || len > b->max)
    return -EMSGSIZE;
  int rc = sbx_buf_reserve(b, sizeof(head) + len + 1);
  if (rc < 0)
    return rc;
  sbx_put_u32(head, (uint32_t)len);
  sbx_buf_append(b, head, sizeof(head)); /* there is room for all three */
  sbx_buf_append(b, data, len);
  return sbx_buf_append(b, "", 1);
}

/* Where the bytes that are left begin and end. */
struct rest {
  const uint8_t *at, *end;
};

static bool take_str(struct rest *r, struct sbx_str *out) {
  size_t left = (size_t)(r->end - r->at);

  if (left < 5 || sbx_get_u32(r->at) > left - 5)
    return false;
  out->len = sbx_get_u32(r->at);
  out->data = r->at + 4;
  r->at += 5 + out->len;
  return out->data[out->len] == 0;
}

static bool take_strs(struct rest *r, struct sbx_strs *out, bool texts) {
  struct sbx_str s;

  if (r->end - r->at < 4)
    return false;
  out->count = sbx_get_u32(r->at);
  r->at += 4;
  out->data = r->at;
  for (uint32_t i = 0; i < out->count; i++)
    if (!take_str(r, &s) || (texts && !is_text(s.data, s.len)))
      return false;
  out->len = (size_t)(r->at - out->data);
  return true;
}

bool sbx_strs_next(struct sbx_strs *list, struct sbx_str *out) {
  if (list->count == 0)
    return false;
  struct rest r = {list->data, list->data + list->len};
  if (!take_str(&r, out))
    return false;
  list->count--;
  list->data = r.at;
  list->len = (size_t)(r.end - r.at);
  return true;
}

static bool take_number(struct rest *r, uint8_t kind, void *out) {
  size_t n = width(kind);

  if ((size_t)(r->end - r->at) < n)
    return false;
  if (kind == U8)
    *(uint8_t *)out = *r->at;
  else if (kind == U16)
    *(uint16_t *)out = sbx_get_u16(r->at);
  else if (kind == U32)
    *(uint32_t *)out = sbx_get_u32(r->at);
  else
    *(uint64_t *)out = sbx_get_u64(r->at);
  r->at += n;
  return true;
}

static int decode(const struct field *f, void *message, const uint8_t *data,
                  size_t len) {
  if (len == 0)
    return SBX_EPROTO;
  struct rest r = {data, data + len};
  bool good = true;

  for (; f->kind != END && good; f++) {
    void *to = (uint8_t *)message + f->at;
    if (f->kind < TEXT) {
      good = take_number(&r, f->kind, to);
    } else if (f->kind == TEXT) {
      const struct sbx_str *s = to;
      good = take_str(&r, to) && is_text(s->data, s->len);
    } else {
      good = take_strs(&r, to, f->kind == TEXTS);
    }
  }
  return good && r.at == r.end ? 0 : SBX_EPROTO;
}

static int put_number(struct sbx_buf *b, uint8_t kind, const void *from) {
  uint8_t raw[8];

  if (kind == U8)
    raw[0] = *(const uint8_t *)from;
  else if (kind == U16)
    sbx_put_u16(raw, *(const uint16_t *)from);
  else if (kind == U32)
    sbx_put_u32(raw, *(const uint32_t *)from);
  else
    sbx_put_u64(raw, *(const uint64_t *)from);
  return sbx_buf_append(b, raw, width(kind));
}

static int put_strs(struct sbx_buf *b, const struct sbx_strs *list,
                    bool texts) {
  struct sbx_strs check = *list;
  struct sbx_str s;
  uint8_t head[4];

  while (sbx_strs_next(&check, &s))
    if (texts && !is_text(s.data, s.len))
      return -EINVAL;
  if (check.count != 0 || check.len != 0)
    return -EINVAL;
  sbx_put_u32(head, list->count);
  int rc = sbx_buf_append(b, head, sizeof(head));
  return rc < 0 ? rc : sbx_buf_append(b, list->data, list->len);
}

static int encode(const struct field *f, struct sbx_buf *b,
                  const void *message) {
  size_t before = b->len;
  int rc = 0;

  for (; f->kind != END && rc == 0; f++) {
    const void *from = (const uint8_t *)message + f->at;
    if (f->kind < TEXT) {
      rc = put_number(b, f->kind, from);
    } else if (f->kind == TEXT) {
      const struct sbx_str *s = from;
      rc = is_text(s->data, s->len) ? sbx_str_append(b, s->data, s->len)
                                    : -EINVAL;
    } else {
      rc = put_strs(b, from, f->kind == TEXTS);
    }
  }
  if (rc < 0)
    b->len = before;
  return rc;
}

#define CODEC(name, fields)                                                    \
  int sbx_##name##_encode(struct sbx_buf *b, const struct sbx_msg_##name *m) { \
    return encode(fields, b, m);                                               \
  }                                                                            \
  int sbx_##name##_decode(struct sbx_msg_##name *m, const uint8_t *data,       \
                          size_t len) {                                        \
    return decode(fields, m, data, len);                                       \
  }
CODEC(hello, hello)
CODEC(ready, ready)
CODEC(spawn, spawn)
CODEC(failed, failed)
CODEC(exit, exited)
CODEC(killed, killed)
CODEC(port, port)
CODEC(listeners, listeners)
CODEC(file, file)
CODEC(entry, entry)
CODEC(entries, entries)
CODEC(event, event)
CODEC(done, done)
