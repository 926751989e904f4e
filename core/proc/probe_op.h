/* SPDX-License-Identifier: MIT */
/* probe_op.h - waits until a published port is really served.
 *
 * Looked at are the kernel's tables inside the container, never a connection to
 * the published port alone: the engine's proxy accepts before anybody listens.
 * Only where the tables cannot tell (a socket on [::] serves IPv4 or not) a
 * connection is tried as well. A runner that can watch a port is told once, and
 * tells what changes; another is asked again and again. */
#ifndef SBX_PROC_PROBE_OP_H
#define SBX_PROC_PROBE_OP_H

#include "proc/session.h"
#include "wire/nettab.h"

#define SBX_PROBE_ADDRESSES 8

struct sbx_probe_op {
  struct sbx_session_op base;

  /* arguments */
  uint16_t port;      /* in the container */
  uint16_t host_port; /* published on 127.0.0.1; 0: cannot be tried */
  uint64_t timeout_ms, interval_ms;
  struct sbx_ip4 own[SBX_PROBE_ADDRESSES]; /* the container's addresses */
  size_t own_len;

  /* I/O thread */
  uint64_t deadline;
  struct sbx_timer *timer;
  enum sbx_listen best; /* of the look under way, then of the last one */
  bool looking;         /* the runner holds this operation until it answers */
  bool over;            /* completed while looking */
  struct sbx_port_watch *watch; /* instead of looking */
  bool watched;                 /* it has told something */
  struct sbx_list waiting;      /* in the session's probes */
  struct sbx_knock *knock;
};

extern const struct sbx_op_class sbx_probe_op_class;

/* I/O thread: nothing is left of a process. The probes that wait for a server
 * that has ended end, too. */
void sbx_probe_process_gone(struct sbx_session *s);

/* Consumer thread. NULL: no memory. */
struct sbx_probe_op *sbx_probe_op_new(struct sbx_mailbox *mb,
                                      struct sbx_session *s);

#endif
