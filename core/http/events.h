/* SPDX-License-Identifier: MIT */
/* events.h - what an engine reports about containers, on one connection for
 * each engine, which is there while somebody listens. I/O thread only.
 *
 * A connection that breaks is made again, and then asked for what happened
 * meanwhile. Reports help people to understand; nothing relies on them. */
#ifndef SBX_HTTP_EVENTS_H
#define SBX_HTTP_EVENTS_H

#include "base/list.h"
#include "http/plan.h"
#include "http/reply.h"
#include "io/stream.h"

struct sbx_listener_hub;

/* Embed; zeroed, it listens to nothing. */
struct sbx_event_listener {
  struct sbx_listener_hub *hub; /* NULL: not listening */
  struct sbx_list link;
  char id[SBX_ID_MAX + 1]; /* of the container */
  void (*on_note)(struct sbx_event_listener *l, enum sbx_note note, int status);
};

/* Fill in id and on_note first. Without memory nothing is heard. */
void sbx_events_join(struct sbx_event_listener *l, struct sbx_runtime *rt,
                     const struct sbx_plan *plan);
/* Idempotent; may be called from on_note. */
void sbx_events_leave(struct sbx_event_listener *l);

#endif
