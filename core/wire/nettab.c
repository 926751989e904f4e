/* SPDX-License-Identifier: MIT */
#include "wire/nettab.h"

#include <arpa/inet.h>
#include <string.h>

#define STATE_LISTEN 0x0a /* TCP_LISTEN, in hex in the table */

void sbx_nettab_init(struct sbx_nettab *t) {
  t->len = 0;
  t->cut = false;
}

struct cursor {
  const char *at;
  const char *end;
};

static void skip_spaces(struct cursor *c) {
  while (c->at < c->end && *c->at == ' ')
    c->at++;
}

static bool skip_char(struct cursor *c, char want) {
  if (c->at == c->end || *c->at != want)
    return false;
  c->at++;
  return true;
}

static int hex_value(char c) {
  if (c >= '0' && c <= '9')
    return c - '0';
  if (c >= 'A' && c <= 'F')
    return c - 'A' + 10;
  if (c >= 'a' && c <= 'f')
    return c - 'a' + 10;
  return -1;
}

/* Reads pairs of hex digits, at most cap; returns how many bytes. An odd digit
 * is left, and then stops the caller. */
static size_t read_hex(struct cursor *c, uint8_t *out, size_t cap) {
  size_t n = 0;
  while (n < cap && c->end - c->at >= 2) {
    int high = hex_value(c->at[0]), low = hex_value(c->at[1]);
    if (high < 0 || low < 0)
      break;
    out[n++] = (uint8_t)(high << 4 | low);
    c->at += 2;
  }
  return n;
}

/* `0100007F:1F90`: 32-bit words, each printed as a little-endian number, and
 * the port as a number. */
static bool read_address(struct cursor *c, struct sbx_listener *out) {
  uint8_t raw[16], port[2];
  size_t n = read_hex(c, raw, sizeof(raw));
  if (n != 4 && n != 16)
    return false;
  if (!skip_char(c, ':') || read_hex(c, port, 2) != 2 || !skip_char(c, ' '))
    return false;
  memset(out, 0, sizeof(*out));
  out->family = n == 4 ? 4 : 6;
  for (size_t i = 0; i < n; i++)
    out->addr[i] = raw[(i & ~(size_t)3) + 3 - (i & 3)];
  out->port = (uint16_t)(port[0] << 8 | port[1]);
  return true;
}

/* `   0: 0100007F:1F90 00000000:0000 0A ...` */
bool sbx_nettab_line(const char *line, size_t len, struct sbx_listener *out) {
  struct cursor c = {line, line + len};
  struct sbx_listener local, remote;
  uint8_t state;
  memset(out, 0, sizeof(*out));
  skip_spaces(&c);
  const char *number = c.at;
  while (c.at < c.end && *c.at >= '0' && *c.at <= '9')
    c.at++;
  if (c.at == number || !skip_char(&c, ':'))
    return false;
  skip_spaces(&c);
  if (!read_address(&c, &local))
    return false;
  skip_spaces(&c);
  if (!read_address(&c, &remote) || remote.family != local.family)
    return false;
  skip_spaces(&c);
  if (read_hex(&c, &state, 1) != 1 || state != STATE_LISTEN)
    return false;
  if (c.at < c.end && *c.at != ' ' && *c.at != '\n')
    return false;
  if (local.port == 0)
    return false;
  *out = local;
  return true;
}

size_t sbx_nettab_feed(struct sbx_nettab *t, const char *in, size_t len,
                       struct sbx_listener *out) {
  size_t used = 0;
  memset(out, 0, sizeof(*out));
  while (used < len) {
    const char *nl = memchr(in + used, '\n', len - used);
    size_t n = nl ? (size_t)(nl - in) - used : len - used;
    if (!t->cut) {
      size_t room = SBX_NETTAB_LINE - t->len;
      t->cut = n > room;
      memcpy(t->line + t->len, in + used, t->cut ? room : n);
      t->len += t->cut ? room : n;
    }
    used += n;
    if (!nl)
      break;
    used++;
    sbx_nettab_finish(t, out);
    if (out->family != 0)
      break;
  }
  return used;
}

void sbx_nettab_finish(struct sbx_nettab *t, struct sbx_listener *out) {
  sbx_nettab_line(t->line, t->len, out);
  sbx_nettab_init(t);
}

static enum sbx_listen classify_ip4(const uint8_t *addr,
                                    const struct sbx_ip4 *own, size_t own_len) {
  static const uint8_t any[4];
  if (memcmp(addr, any, 4) == 0)
    return SBX_LISTEN_REACHABLE;
  if (addr[0] == 127)
    return SBX_LISTEN_LOOPBACK;
  for (size_t i = 0; i < own_len; i++)
    if (memcmp(addr, own[i].byte, 4) == 0)
      return SBX_LISTEN_REACHABLE;
  return SBX_LISTEN_OTHER;
}

enum sbx_listen sbx_nettab_classify(const struct sbx_listener *l,
                                    const struct sbx_ip4 *own, size_t own_len) {
  static const uint8_t any[16];
  static const uint8_t loopback[16] = {[15] = 1};
  static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};
  if (l->family == 4)
    return classify_ip4(l->addr, own, own_len);
  if (l->family != 6)
    return SBX_LISTEN_NONE;
  if (memcmp(l->addr, mapped, sizeof(mapped)) == 0)
    return classify_ip4(l->addr + 12, own, own_len);
  if (memcmp(l->addr, any, sizeof(any)) == 0)
    return SBX_LISTEN_V6_ANY;
  if (memcmp(l->addr, loopback, sizeof(loopback)) == 0)
    return SBX_LISTEN_LOOPBACK;
  return SBX_LISTEN_OTHER;
}

bool sbx_ip4_parse(const char *text, struct sbx_ip4 *out) {
  return inet_pton(AF_INET, text, out->byte) == 1;
}
