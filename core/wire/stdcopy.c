/* SPDX-License-Identifier: MIT */
#include "wire/stdcopy.h"

#include <string.h>

void sbx_stdcopy_init(struct sbx_stdcopy *s) {
  memset(s, 0, sizeof(*s));
}

bool sbx_stdcopy_at_end(const struct sbx_stdcopy *s) {
  return s->have == 0 && s->left == 0;
}

/* False: no engine writes such a header. Told at the first wrong byte, so that
 * it does not matter how the input is cut. */
static bool head_is_possible(const struct sbx_stdcopy *s) {
  static const uint8_t highest[4] = {SBX_STDCOPY_ENGINE, 0, 0, 0};

  for (uint8_t i = 0; i < s->have && i < sizeof(highest); i++)
    if (s->head[i] > highest[i])
      return false;
  return true;
}

static uint32_t length_of(const uint8_t *head) {
  return (uint32_t)head[4] << 24 | (uint32_t)head[5] << 16 |
         (uint32_t)head[6] << 8 | (uint32_t)head[7];
}

ssize_t sbx_stdcopy_feed(struct sbx_stdcopy *s, const uint8_t *in, size_t len,
                         struct sbx_stdcopy_piece *piece) {
  size_t used = 0;

  *piece = (struct sbx_stdcopy_piece){.stream = SBX_STDCOPY_OUT};
  if (s->broken)
    return SBX_EPROTO;
  if (s->left == 0) {
    while (used < len && s->have < SBX_STDCOPY_HEAD)
      s->head[s->have++] = in[used++];
    if (!head_is_possible(s)) {
      s->broken = true;
      return SBX_EPROTO;
    }
    if (s->have < SBX_STDCOPY_HEAD)
      return (ssize_t)used;
    s->have = 0;
    s->left = length_of(s->head);
  }
  piece->len = len - used < s->left ? len - used : s->left;
  piece->data = in + used;
  if (s->head[0] != 0)
    piece->stream = (enum sbx_stdcopy_stream)s->head[0];
  s->left -= (uint32_t)piece->len;
  return (ssize_t)(used + piece->len);
}
