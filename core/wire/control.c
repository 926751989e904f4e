/* SPDX-License-Identifier: MIT */
#include "wire/control.h"

#include <string.h>

void sbx_control_init(struct sbx_control *c) {
  c->len = 0;
  c->skip = false;
  c->dropped = 0;
}

static bool is_nonce(const char *s) {
  for (size_t i = 0; i < SBX_NONCE_LEN; i++)
    if (!((s[i] >= '0' && s[i] <= '9') || (s[i] >= 'a' && s[i] <= 'f')))
      return false;
  return true;
}

/* Makes strings of the line in c; false when it is not a reply. */
static bool split(struct sbx_control *c, struct sbx_control_line *out) {
  char *line = c->line;
  if (c->len <= SBX_NONCE_LEN || line[SBX_NONCE_LEN] != ' ')
    return false;
  if (!is_nonce(line) || memchr(line, '\0', c->len))
    return false;
  line[SBX_NONCE_LEN] = '\0';
  line[c->len] = '\0';
  out->nonce = line;
  out->payload = line + SBX_NONCE_LEN + 1;
  out->payload_len = c->len - SBX_NONCE_LEN - 1;
  return true;
}

size_t sbx_control_feed(struct sbx_control *c, const uint8_t *in, size_t len,
                        struct sbx_control_line *out) {
  memset(out, 0, sizeof(*out));
  if (len == 0)
    return 0;
  const uint8_t *nl = memchr(in, '\n', len);
  size_t n = nl ? (size_t)(nl - in) : len;
  if (n > SBX_CONTROL_LINE - c->len)
    c->skip = true;
  if (!c->skip) {
    memcpy(c->line + c->len, in, n);
    c->len += n;
  }
  if (!nl)
    return len;

  bool empty = c->len == 0 && !c->skip;
  if (!empty && (c->skip || !split(c, out)))
    c->dropped++;
  c->skip = false;
  c->len = 0;
  return n + 1;
}
