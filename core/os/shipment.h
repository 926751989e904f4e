/* SPDX-License-Identifier: MIT */
/* shipment.h - an output that is captured, piece by piece as it may go out: its
 * head as soon as no cut can touch it, the number of bytes left out, its tail.
 * Pure. Bytes that there is no memory for are left out, too. */
#ifndef SBX_OS_SHIPMENT_H
#define SBX_OS_SHIPMENT_H

#include "base/capture.h"

struct sbx_shipment {
  struct sbx_capture *capture; /* NULL: none, or it is complete */
  uint64_t lost;
  struct sbx_captured kept; /* when it is complete */
  size_t shipped;
};

/* All zero is one of no bytes. 0 or -ENOMEM. */
int sbx_shipment_init(struct sbx_shipment *s, size_t cap, enum sbx_keep keep);
void sbx_shipment_fini(struct sbx_shipment *s);
void sbx_shipment_push(struct sbx_shipment *s, const uint8_t *data, size_t len);
/* Nothing is pushed any more. */
void sbx_shipment_complete(struct sbx_shipment *s);

/* What is next: bytes (*len of them, valid until the next call but took), or
 * with *data NULL *len bytes that were left out; false: nothing, for now or for
 * ever. took: n of those, or the omission, are out. */
bool sbx_shipment_next(const struct sbx_shipment *s, const uint8_t **data,
                       uint64_t *len);
void sbx_shipment_took(struct sbx_shipment *s, size_t n);

#endif
