/* SPDX-License-Identifier: MIT */
/* hstream.h - a stream over an upgraded ("hijacked") connection of an engine.
 *
 * hstream.c moves the bytes: input from the first moment on (kept until the
 * connection stands), half-close, the two outputs out of one connection.
 * flow.c takes the steps that plan.h names. I/O thread only. */
#ifndef SBX_HTTP_HSTREAM_H
#define SBX_HTTP_HSTREAM_H

#include "base/buf.h"
#include "http/call.h"
#include "http/events.h"
#include "http/plan.h"
#include "http/reply.h"
#include "io/stream.h"
#include "wire/stdcopy.h"

enum sbx_hstream_phase {
  SBX_HS_CREATE,
  SBX_HS_ATTACH, /* run only */
  SBX_HS_START,  /* exec: the answer is the upgrade */
  SBX_HS_LIVE,
  SBX_HS_STATUS, /* the connection has ended: how? */
  SBX_HS_REMOVE, /* run only: the way back */
  SBX_HS_OVER    /* on_end is on its way */
};

struct sbx_hstream {
  struct sbx_stream stream; /* first */
  struct sbx_runtime *rt;
  const struct sbx_request *request; /* one reference */
  const struct sbx_plan *plan;       /* the request's */
  struct sbx_tenant tenant;
  struct sbx_timer *timer; /* what is to be done from the loop */
  enum sbx_hstream_phase phase;
  char id[SBX_ID_MAX + 1]; /* of the container or the exec */
  struct sbx_call *call;   /* the step under way; NULL: none */
  struct sbx_conn *conn;   /* the upgraded connection, while it is open */
  struct sbx_stdcopy frames;
  struct sbx_event_listener listener; /* run only */
  struct sbx_buf early;               /* input from before the connection */
  unsigned paused;                    /* bits of enum sbx_fd */
  struct sbx_stream_end end;
  int died;           /* run: the reported exit status; -1: none yet */
  uint64_t ask_until; /* status: until then it is asked for again */
  int depth;          /* callbacks on the stack */
  bool ending;        /* no more input: close our side */
  bool doomed;        /* run: ended before it was started */
  bool watched;       /* run: the watchdog knows of it */
  bool gone;          /* left the runtime; freed when the depth is 0 */
};

/* The `open` of plan.h's requests. */
int sbx_hstream_open(struct sbx_runtime *rt, const struct sbx_request *request,
                     const struct sbx_stream_events *events, void *arg,
                     struct sbx_stream **out, struct sbx_err *err);

/* -- between hstream.c and flow.c ----------------------------------------- */

static inline void sbx_hstream_enter(struct sbx_hstream *hs) {
  hs->depth++;
}
void sbx_hstream_leave(struct sbx_hstream *hs);

/* Takes the connection of an upgraded call over and lets the bytes flow. */
void sbx_hstream_connect(struct sbx_hstream *hs, struct sbx_call *call);
void sbx_hstream_disconnect(struct sbx_hstream *hs);
/* A line on the reader's stderr. */
void sbx_hstream_say(struct sbx_hstream *hs, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
/* on_end, from the loop. exit_code < 0: nobody knows. */
void sbx_hstream_finish(struct sbx_hstream *hs, int exit_code);

/* run: hears what happens to the container from now on. */
void sbx_hstream_listen(struct sbx_hstream *hs);

/* flow.c: the first step; after the connection's end; the timer of a step. */
int sbx_flow_begin(struct sbx_hstream *hs, struct sbx_err *err);
void sbx_flow_ended(struct sbx_hstream *hs);
void sbx_flow_timer(struct sbx_hstream *hs);
/* flow.c: nobody needs to answer any more, the container is gone. */
void sbx_flow_removed(struct sbx_hstream *hs);
/* flow.c: gives the steps up; the stream is to end soon. */
void sbx_flow_stop(struct sbx_hstream *hs);

#endif
