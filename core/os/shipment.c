/* SPDX-License-Identifier: MIT */
#include "os/shipment.h"

#include <stdlib.h>
#include <string.h>

int sbx_shipment_init(struct sbx_shipment *s, size_t cap, enum sbx_keep keep) {
  memset(s, 0, sizeof(*s));
  return sbx_capture_new(&s->capture, cap, keep);
}

void sbx_shipment_fini(struct sbx_shipment *s) {
  sbx_capture_free(s->capture);
  free(s->kept.data);
  memset(s, 0, sizeof(*s));
}

void sbx_shipment_push(struct sbx_shipment *s, const uint8_t *data,
                       size_t len) {
  if (s->capture && sbx_capture_push(s->capture, data, len) < 0)
    s->lost += len;
}

void sbx_shipment_complete(struct sbx_shipment *s) {
  if (!s->capture)
    return;
  if (sbx_capture_finish(s->capture, &s->kept) < 0) {
    s->kept.omitted = sbx_capture_total(s->capture) - s->shipped;
    s->kept.len = s->kept.cut_at = s->shipped;
  }
  s->kept.omitted += s->lost;
  sbx_capture_free(s->capture);
  s->capture = NULL;
}

bool sbx_shipment_next(const struct sbx_shipment *s, const uint8_t **data,
                       uint64_t *len) {
  const struct sbx_captured *k = &s->kept;
  size_t end = k->len;

  if (s->capture) {
    end = sbx_capture_head(s->capture, data);
  } else {
    *data = k->data;
    if (k->omitted > 0 && s->shipped == k->cut_at) {
      *data = NULL;
      *len = k->omitted;
      return true;
    }
    if (k->omitted > 0)
      end = k->cut_at;
  }
  if (s->shipped >= end)
    return false;
  *data += s->shipped;
  *len = end - s->shipped;
  return true;
}

void sbx_shipment_took(struct sbx_shipment *s, size_t n) {
  if (!s->capture && s->kept.omitted > 0 && s->shipped == s->kept.cut_at)
    s->kept.omitted = 0;
  else
    s->shipped += n;
}
