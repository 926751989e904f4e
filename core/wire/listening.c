/* SPDX-License-Identifier: MIT */
#include "wire/listening.h"

#include <string.h>

#define SOCKET      19
#define SOCKETS_MAX 4096 /* of one frame */

void sbx_listening_init(struct sbx_listening *l) {
  sbx_buf_init(&l->sockets, SOCKETS_MAX * SOCKET);
  sbx_nettab_init(&l->table);
}

void sbx_listening_clear(struct sbx_listening *l) {
  sbx_buf_clear(&l->sockets);
  sbx_nettab_init(&l->table);
}

static void note(struct sbx_listening *l, const struct sbx_listener *found) {
  uint8_t raw[SOCKET] = {found->family};

  if (found->family == 0)
    return;
  memcpy(raw + 1, found->addr, found->family == 4 ? 4 : 16);
  sbx_put_u16(raw + 17, found->port);
  int rc = sbx_buf_append(&l->sockets, raw, sizeof(raw));
  (void)rc; /* the next reading may have the memory */
}

void sbx_listening_feed(struct sbx_listening *l, const char *in, size_t len) {
  struct sbx_listener found;

  for (size_t at = 0; at < len;) {
    at += sbx_nettab_feed(&l->table, in + at, len - at, &found);
    note(l, &found);
  }
}

void sbx_listening_finish(struct sbx_listening *l) {
  struct sbx_listener found;

  sbx_nettab_finish(&l->table, &found);
  note(l, &found);
}

static bool matches(const uint8_t *raw, uint16_t port) {
  return port == 0 || sbx_get_u16(raw + 17) == port;
}

uint64_t sbx_listening_sum(const struct sbx_listening *l, uint16_t port) {
  uint64_t total = 1;

  for (size_t at = 0; at < l->sockets.len; at += SOCKET) {
    uint64_t hash = 14695981039346656037u; /* FNV-1a */
    for (size_t i = 0; i < SOCKET; i++)
      hash = (hash ^ l->sockets.data[at + i]) * 1099511628211u;
    if (matches(l->sockets.data + at, port))
      total += hash;
  }
  return total != 0 ? total : 1;
}

void sbx_listening_encode(const struct sbx_listening *l, uint16_t port,
                          struct sbx_buf *b) {
  uint8_t raw[4] = {0};
  size_t count_at = b->len;
  uint32_t count = 0;

  if (sbx_buf_append(b, raw, sizeof(raw)) < 0)
    return;
  for (size_t at = 0; at < l->sockets.len; at += SOCKET)
    if (matches(l->sockets.data + at, port) &&
        sbx_str_append(b, l->sockets.data + at, SOCKET) == 0)
      count++;
  sbx_put_u32(b->data + count_at, count);
}
