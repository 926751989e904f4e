/* SPDX-License-Identifier: MIT */
/* conn.h - one connection to an engine: bytes out, bytes in, an end.
 *
 * I/O thread only. The connection belongs to whoever opened or took it; the
 * events come to him until he closes it or hands it on. */
#ifndef SBX_HTTP_CONN_H
#define SBX_HTTP_CONN_H

#include "base/buf.h"
#include "base/list.h"
#include "http/endpoint.h"
#include "io/forkguard.h"
#include "io/runtime.h"
#include "io/timer.h"

/* What is written before the connection stands is kept, up to this. */
#define SBX_CONN_EARLY_MAX ((size_t)256 * 1024 * 1024)

struct sbx_conn_events {
  /* Valid during the call only. */
  void (*on_data)(void *arg, const uint8_t *data, size_t len);
  /* The peer has ended its side (err NULL), or the connection could not be
   * made or broke. At most once, the last event but on_stop; the connection is
   * still to be closed. */
  void (*on_end)(void *arg, const struct sbx_err *err);
  /* All that was written has left. May be NULL. */
  void (*on_drain)(void *arg);
  /* The thread is stopping, see runtime.h. */
  void (*on_stop)(void *arg, enum sbx_stop step);
};

struct sbx_conn;

/* Connects, in the background; no event comes before this returns. 0, or a
 * code when the library is being closed or out of memory. */
int sbx_conn_open(struct sbx_conn **out, struct sbx_runtime *rt,
                  struct sbx_endpoint *endpoint,
                  const struct sbx_conn_events *events, void *arg,
                  struct sbx_err *err);
/* From now on the events go there. */
void sbx_conn_own(struct sbx_conn *c, const struct sbx_conn_events *events,
                  void *arg);
/* No more events. c is gone; may be called from inside an event. */
void sbx_conn_close(struct sbx_conn *c);

/* Copies and queues. 0, -ENOMEM, -EPIPE after the end or the shutdown. */
int sbx_conn_write(struct sbx_conn *c, const void *data, size_t len);
/* Ends our side once everything is written. Idempotent. */
void sbx_conn_shutdown(struct sbx_conn *c);
void sbx_conn_pause(struct sbx_conn *c);
void sbx_conn_resume(struct sbx_conn *c);

struct sbx_endpoint *sbx_conn_endpoint(const struct sbx_conn *c);
struct sbx_runtime *sbx_conn_runtime(const struct sbx_conn *c);
/* Did the peer ever accept it? */
bool sbx_conn_stood(const struct sbx_conn *c);
/* Nothing queued, nothing to read, no end: fit for another request. */
bool sbx_conn_is_quiet(const struct sbx_conn *c);

/* For the pool: where an idle connection hangs. */
struct sbx_list *sbx_conn_link(struct sbx_conn *c);
struct sbx_conn *sbx_conn_of_link(struct sbx_list *link);

#endif
