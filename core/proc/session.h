/* SPDX-License-Identifier: MIT */
/* session.h - one container: its lease, what it is talked to with, its clocks,
 * the operations that use it and its managed processes.
 *
 * The lease is the attached stdin of PID 1. Closing it ends the container, and
 * it closes by itself when this process dies. ttl and idle time close it here,
 * on the I/O thread, with no help from Lua and without an engine request. */
#ifndef SBX_PROC_SESSION_H
#define SBX_PROC_SESSION_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/list.h"
#include "io/op.h"
#include "io/request.h"
#include "io/timer.h"
#include "proc/channel.h"
#include "proc/mux.h"
#include "proc/runner.h"

enum sbx_session_state {
  SBX_SESSION_NEW,     /* no lease yet */
  SBX_SESSION_OPENING, /* the engine is at work */
  SBX_SESSION_OPEN,
  SBX_SESSION_CLOSING, /* the lease is closed, the client still there */
  SBX_SESSION_CLOSED   /* the client has ended: the container is gone */
};

enum sbx_close_reason {
  SBX_CLOSE_NONE,
  SBX_CLOSE_DESTROY, /* asked for */
  SBX_CLOSE_TTL,
  SBX_CLOSE_IDLE,
  SBX_CLOSE_LOST,   /* the container or the engine went away */
  SBX_CLOSE_FAILED, /* could not be opened */
  SBX_CLOSE_BROKEN  /* the supervisor broke the protocol */
};

struct sbx_session_options {
  char *workdir;              /* where PID 1 looks whether it may write */
  struct sbx_request *attach; /* creates, attaches and starts: the lease */
  struct sbx_request *exec, *root, *agent; /* see exec_runner.h */
  struct sbx_request *remove; /* removes the container by force; may be NULL */
  uint64_t ttl_ms, idle_ms;   /* 0: none */
  size_t max_processes;
  size_t max_output; /* of each stream of a managed process */

  /* PID 1 is our supervisor; exec, root and agent are NULL. Of the commands: */
  bool supervisor;
  char *user; /* as in an image's USER */
  uint64_t capabilities;
  bool no_new_privileges;
};

struct sbx_session {
  atomic_int refs;
  atomic_int state;  /* enum sbx_session_state; written by the I/O thread */
  atomic_int reason; /* enum sbx_close_reason; written before the state, and
                        after `broken` */
  atomic_int note;   /* enum sbx_note: what the engine last said of it */
  atomic_int note_status;
  struct sbx_runtime *runtime;
  struct sbx_session_options options;

  /* the rest: I/O thread only */
  struct sbx_stream *lease;
  struct sbx_channel *channel; /* with the exec runner */
  struct sbx_mux *mux;         /* with the supervisor, */
  struct sbx_timer *mux_timer; /* for what is not urgent */
  struct sbx_runner *runner;
  struct sbx_err broken;                 /* how the protocol was broken */
  struct sbx_open_op *opening;           /* waits for the supervisor */
  uint64_t touched_ms;                   /* when the supervisor was told last */
  struct sbx_buf client_out, client_err; /* what the client said, capped */
  struct sbx_stream_end client_end;
  struct sbx_timer *ttl, *idle;
  struct sbx_timer *linger;   /* closing: how long its own end may take */
  struct sbx_stream *remover; /* the client of a forced removal */
  struct sbx_list ops;        /* struct sbx_session_op, under way */
  struct sbx_list waiters;    /* wait_closed operations */
  struct sbx_list processes;  /* struct sbx_process, oldest first */
  struct sbx_list probes;     /* struct sbx_probe_op that wait for a port */
  size_t process_count, running_count;
  bool last_was_process; /* the newest command is a managed process */
};

/* An operation that uses a session: embed as the first member. */
struct sbx_session_op {
  struct sbx_op op;
  struct sbx_session *session; /* one reference */
  struct sbx_list link;
  /* I/O thread: the session is ending. Must complete the operation. */
  void (*abandon)(struct sbx_session_op *sop, const struct sbx_err *err);
};

/* Consumer thread. Takes over the contents of *options, also on failure. */
int sbx_session_new(struct sbx_session **out, struct sbx_mailbox *mb,
                    struct sbx_session_options *options, struct sbx_err *err);
void sbx_session_ref(struct sbx_session *s);
void sbx_session_unref(struct sbx_session *s); /* any thread */
void sbx_session_options_fini(struct sbx_session_options *options);

/* Any thread: closes the lease, soon. Idempotent. */
int sbx_session_close(struct sbx_session *s);
/* Any thread: counts as activity for the idle time. */
int sbx_session_touch(struct sbx_session *s);

/* Consumer thread: prepares the session part of an operation. */
void sbx_session_op_init(struct sbx_session_op *sop,
                         const struct sbx_op_class *cls, struct sbx_mailbox *mb,
                         struct sbx_session *s);
/* Any thread, from the class's free: drops the session. */
void sbx_session_op_fini(struct sbx_session_op *sop);

/* I/O thread. False: the session is not open and the operation was completed
 * with the reason. */
bool sbx_session_op_enter(struct sbx_session_op *sop);
/* I/O thread: leaves the session and completes. */
void sbx_session_op_complete(struct sbx_session_op *sop, int rc,
                             const struct sbx_err *err);

/* I/O thread. Also called when a managed process has started or ended. */
void sbx_session_update_idle(struct sbx_session *s);
void sbx_session_end(struct sbx_session *s, enum sbx_close_reason reason);
/* The lease has ended: nothing more is to be removed. */
void sbx_session_stop_linger(struct sbx_session *s);
/* Fills err with why the session cannot be used. */
void sbx_session_explain(struct sbx_session *s, struct sbx_err *err);

#endif
