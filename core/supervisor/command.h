/* SPDX-License-Identifier: MIT */
/* command.h - a command: its start (spawn.c), its input and outputs (output.c),
 * its processes and their end (kill.c).
 *
 * It lives until its owner forgot it, its own process was reaped, and no kill
 * of it is under way. */
#ifndef SBX_SUPERVISOR_COMMAND_H
#define SBX_SUPERVISOR_COMMAND_H

#include "os/census.h"
#include "os/chase.h"
#include "os/child.h"
#include "os/feeder.h"
#include "os/shipment.h"
#include "os/tap.h"
#include "supervisor/super.h"

struct sbx_output {
  struct sbx_tap tap;
  struct sbx_shipment shipment; /* of one that is captured */
  struct sbx_command *command;
  uint8_t stream;
  bool done;       /* EOF was sent, or there is no such output */
  uint64_t credit; /* bytes that may be sent */
};

struct sbx_command {
  struct sbx_channel channel; /* id 0: forgotten */
  struct sbx_child child;
  struct sbx_output out[2];
  struct sbx_turn shipping; /* what was captured, and EXIT */
  struct sbx_alarm early;   /* ships what cannot be cut any more */
  struct sbx_feeder in;
  bool in_line; /* the last byte was no newline */
  bool terminal, captures, concluded;
  struct sbx_msg_exit exit;
  uint64_t oom_kills; /* in the container, when it began */
  uint64_t serial;
  char mark[SBX_NONCE_LEN + 1];
  struct sbx_list hunt; /* of those that are being killed */
  unsigned kills;       /* that are to be answered */
  struct sbx_chase chase;
};

/* ---- spawn.c */

/* Frees it, if it was forgotten and nothing is left to do. */
void sbx_command_free(struct sbx_command *c);
/* Its own process, or an output, has ended: EXIT may be due. */
void sbx_command_check(struct sbx_command *c);

/* ---- output.c */

/* Takes fd when it succeeds, as taps and feeders do. */
int sbx_output_open(struct sbx_output *o, int fd);
/* CREDIT, and DATA and EOF: 0 or SBX_EPROTO. */
int sbx_output_credit(struct sbx_command *c, const struct sbx_frame *frame);
int sbx_input_frame(struct sbx_command *c, const struct sbx_frame *frame);
/* Sends what was captured. True when there will be no more of it. */
bool sbx_output_ship(struct sbx_output *o);

int sbx_input_open(struct sbx_command *c, int fd);

/* ---- kill.c */

/* Gives it the serial that its processes cannot shake off. */
void sbx_kill_mark(struct sbx_launch *l, uint64_t serial);
/* KILL, COUNT and SIGNAL: 0 or SBX_EPROTO. */
int sbx_kill_frame(struct sbx_command *c, const struct sbx_frame *frame);
/* How often the kernel killed for want of memory in this container. */
uint64_t sbx_kill_oom_count(void);

#endif
