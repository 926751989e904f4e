/* SPDX-License-Identifier: MIT */
/* watch_op.h - what happens under a directory of a session, by its supervisor.
 *
 * A streaming operation: each piece that the consumer reads is one event as
 * text, "<kind><cursor> <path>"; the kinds are those of struct sbx_msg_event.
 * The first is 'r': from there on nothing is missed without an 'l'. It ends
 * when it is cancelled, or with an error.
 *
 * A consumer that does not read costs nothing: the watch is given up when too
 * much waits, and taken up again at its cursor. */
#ifndef SBX_PROC_WATCH_OP_H
#define SBX_PROC_WATCH_OP_H

#include "proc/mux.h"
#include "proc/session.h"

struct sbx_watch_op {
  struct sbx_session_op base;

  /* arguments */
  char *path;
  bool recursive;
  uint64_t since;      /* cursor of an earlier watch; 0: from now on */
  uint64_t timeout_ms; /* for the beginning */

  /* I/O thread */
  struct sbx_mux_channel *channel; /* NULL: given up for now */
  struct sbx_timer *timer;
  bool began;

  /* of a failure: errno of Linux, or 0 */
  uint32_t error;
};

extern const struct sbx_op_class sbx_watch_op_class;

/* Consumer thread. The caller fills in the arguments and submits it. NULL: no
 * memory. */
struct sbx_watch_op *sbx_watch_op_new(struct sbx_mailbox *mb,
                                      struct sbx_session *s);

#endif
