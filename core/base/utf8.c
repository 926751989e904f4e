/* SPDX-License-Identifier: MIT */
#include "base/utf8.h"

static int is_continuation(uint8_t c) {
  return (c & 0xc0) == 0x80;
}

/* Bytes of the character that c begins; 0 when it begins none. */
static size_t lead_length(uint8_t c) {
  if (c < 0x80)
    return 1;
  if (c >= 0xc2 && c <= 0xdf)
    return 2;
  if (c >= 0xe0 && c <= 0xef)
    return 3;
  if (c >= 0xf0 && c <= 0xf4)
    return 4;
  return 0;
}

/* May c follow the lead byte directly? (RFC 3629, section 4) */
static int is_second(uint8_t lead, uint8_t c) {
  switch (lead) {
  case 0xe0:
    return c >= 0xa0 && c <= 0xbf;
  case 0xed:
    return c >= 0x80 && c <= 0x9f;
  case 0xf0:
    return c >= 0x90 && c <= 0xbf;
  case 0xf4:
    return c >= 0x80 && c <= 0x8f;
  default:
    return is_continuation(c);
  }
}

/* How many of the first `need` bytes at data, which is a multi-byte lead, are
 * what a character could have there. */
static size_t matching(const uint8_t *data, size_t len, size_t need) {
  size_t n = 1;
  while (n < need && n < len &&
         (n == 1 ? is_second(data[0], data[1]) : is_continuation(data[n])))
    n++;
  return n;
}

size_t sbx_utf8_char(const uint8_t *data, size_t len) {
  if (len == 0)
    return 0;
  size_t need = lead_length(data[0]);
  if (need <= 1)
    return need;
  return matching(data, len, need) == need ? need : 0;
}

size_t sbx_utf8_trim_end(const uint8_t *data, size_t len) {
  for (size_t back = 1; back < SBX_UTF8_MAX && back <= len; back++) {
    const uint8_t *p = data + len - back;
    if (is_continuation(*p))
      continue;
    size_t need = lead_length(*p);
    if (need > back && matching(p, back, need) == back)
      return len - back;
    return len;
  }
  return len;
}

size_t sbx_utf8_skip_start(const uint8_t *data, size_t len) {
  size_t n = 0;
  while (n < len && n < SBX_UTF8_MAX && is_continuation(data[n]))
    n++;
  return n < SBX_UTF8_MAX ? n : 0;
}

size_t sbx_utf8_around(const uint8_t *data, size_t len, size_t at,
                       size_t *end) {
  *end = at;
  for (size_t back = 1; back < SBX_UTF8_MAX && back <= at; back++) {
    size_t from = at - back;
    if (is_continuation(data[from]))
      continue;
    size_t n = sbx_utf8_char(data + from, len - from);
    if (n <= back)
      return at;
    *end = from + n;
    return from;
  }
  return at;
}
