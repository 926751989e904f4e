/* SPDX-License-Identifier: MIT */
/* mux_channel.h - private to the mux. mux.c has the stream and the table of
 * channels, mux_channel.c what is done with one, mux_check.c what may come. */
#ifndef SBX_PROC_MUX_CHANNEL_H
#define SBX_PROC_MUX_CHANNEL_H

#include "base/list.h"
#include "proc/mux.h"
#include "wire/frame.h"

enum sbx_mux_state {
  SBX_MUX_WAITING, /* SPAWN: neither STARTED nor FAILED yet */
  SBX_MUX_OPEN,
  SBX_MUX_EXITED, /* SPAWN: EXIT came */
  SBX_MUX_OVER    /* FAILED or DONE came: the supervisor has forgotten it */
};

struct sbx_mux_channel {
  struct sbx_mux *mux; /* NULL: it is lost */
  const struct sbx_mux_channel_events *events;
  void *arg;
  uint32_t id;
  uint8_t kind; /* SPAWN, FILE, PORTS or PORT */
  uint8_t verb; /* FILE */
  enum sbx_mux_state state;
  bool capture;   /* SPAWN */
  uint64_t limit; /* READ: bytes, LIST: entries that may still come */
  bool described; /* READ, STAT: ENTRY came */

  /* by stream; nothing comes of STDIN */
  uint64_t may_come[3];
  size_t owed[3]; /* consumed, and not given back yet */
  size_t piece;   /* in which it is given back */
  bool ended[3];
  bool omitted[3];

  uint64_t may_send;
  bool eof_sent;
  bool blocked; /* it was told that there is no room */
  struct sbx_list blocked_link;
  unsigned kills, counts; /* answers that are still to come */
};

struct sbx_mux {
  struct sbx_stream *stream;
  const struct sbx_mux_events *events;
  void *arg;
  struct sbx_framer framer;

  struct sbx_mux_channel **channels; /* by ascending id */
  size_t count, cap;
  uint32_t next_id; /* 0: they are used up */

  struct sbx_buf out;
  size_t in_flight; /* given to the stream, and not gone yet */
  struct sbx_list blocked;
  bool urgent; /* something in `out` must not wait */
  bool lazy;   /* on_lazy was called since the last flush */

  bool greeted; /* READY came */
  bool over;    /* BYE or a refusal came: nothing more is read */
  bool broken;  /* `why` was told, or is about to be */
  bool told;
  struct sbx_err why;
  int depth; /* callbacks on the stack */
  bool gone; /* by the owner: freed when the depth is 0 */
};

/* mux.c */

/* Sends what was appended: now, or at the end of what is being fed; or lazily,
 * with what comes next. */
void sbx_mux_push(struct sbx_mux *m);
void sbx_mux_push_lazily(struct sbx_mux *m);
/* Nothing more is read. The owner is told when nothing of the mux is on the
 * stack, at the latest by the next flush. */
void sbx_mux_break(struct sbx_mux *m, int code, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
/* Out of the table: it is lost, or over. */
void sbx_mux_take_out(struct sbx_mux_channel *ch);

/* mux_check.c */

/* Judges a frame of ch by what came before, decodes it and goes on to the next
 * state. 0; or SBX_EPROTO and what is wrong with it. CREDIT is dealt with here:
 * then msg->type is SBX_MSG_CREDIT. */
int sbx_mux_check(struct sbx_mux_channel *ch, const struct sbx_frame *frame,
                  struct sbx_mux_msg *msg, struct sbx_err *err);

/* "DATA", "EXIT"; "a frame of unknown type". Static. */
const char *sbx_mux_type_name(uint8_t type);

#endif
