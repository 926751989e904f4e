/* SPDX-License-Identifier: MIT */
/* command.h - a command: its start (spawn.c), its input and outputs (output.c),
 * its processes and their end (kill.c).
 *
 * It lives until its owner forgot it, its own process was reaped, and no kill
 * of it is under way. Then sbx_command_free() does free it. */
#ifndef SBX_SUPERVISOR_COMMAND_H
#define SBX_SUPERVISOR_COMMAND_H

#include "base/capture.h"
#include "base/chase.h"
#include "base/launch.h"
#include "supervisor/super.h"
#include "wire/tree.h"

struct sbx_command;

struct sbx_output {
  struct sbx_handler handler;
  struct sbx_turn turn;
  struct sbx_command *command;
  uint8_t stream;
  bool done;       /* EOF was sent, or there is no such output */
  bool last;       /* the command has ended: what is there is the rest */
  uint64_t left;   /* of that rest */
  uint64_t credit; /* bytes that may be sent */
  struct sbx_capture *capture; /* NULL: is streamed, or was finished */
  uint64_t lost;               /* bytes that there was no memory for */
  struct sbx_captured kept;    /* finished */
  size_t shipped;              /* of kept.data */
};

struct sbx_input {
  struct sbx_handler handler;
  struct sbx_buf buf; /* has all its memory from the start; 0: no stdin */
  uint32_t credit;    /* that the owner has */
  uint32_t owed;      /* that it should get back */
  bool ended;         /* EOF came */
  bool in_line;       /* the last byte was no newline */
};

struct sbx_command {
  struct sbx_channel channel; /* id 0: forgotten */
  struct sbx_list link;
  struct sbx_turn conclusion; /* ships what was captured, then EXIT */
  struct sbx_output out[2];
  struct sbx_input in;
  struct sbx_handler exec; /* tells why it could not start; closed: it did */
  pid_t pid;
  uint64_t serial;
  char mark[SBX_NONCE_LEN + 1];
  bool terminal, captures, running, concluded;
  int status;
  struct rusage usage;
  uint64_t oom_kills; /* in the container, when it began */
  bool oom;

  struct sbx_list hunt; /* all zero: none */
  unsigned kills;       /* that are to be answered */
  struct sbx_chase chase;
};

/* ---- spawn.c */

/* Frees it, if nothing is left to do. */
void sbx_command_free(struct sbx_command *c);
/* Its own process, or an output, has ended: EXIT may be due. */
void sbx_command_check(struct sbx_command *c);

/* Its own process is killed, for it cannot go on as it should. Returns 0. */
int sbx_command_break(struct sbx_command *c);

/* ---- output.c */

/* Reads fd, which it takes when it succeeds. 0 or -errno. */
int sbx_output_open(struct sbx_output *o, int fd);
void sbx_output_credit(struct sbx_output *o, uint32_t bytes);
/* Takes what is there now and closes. */
void sbx_output_finish(struct sbx_output *o);
/* Sends what was captured. True when there is nothing left of it. */
bool sbx_output_ship(struct sbx_output *o);
/* Nobody wants it any more: what comes is thrown away. */
void sbx_output_ignore(struct sbx_output *o);

/* DATA and EOF: 0 or SBX_EPROTO. */
int sbx_input_frame(struct sbx_input *in, const struct sbx_frame *frame);
int sbx_input_open(struct sbx_input *in, int fd);
void sbx_input_close(struct sbx_input *in);

/* ---- kill.c */

/* Gives it the serial that its processes cannot shake off. */
void sbx_kill_mark(struct sbx_launch *l, uint64_t serial);
/* KILL, COUNT and SIGNAL: 0 or SBX_EPROTO. */
int sbx_kill_frame(struct sbx_command *c, const struct sbx_frame *frame);
/* A process has ended; whoever waits for that looks again. */
void sbx_kill_look(void);
/* memory: how often the kernel killed for want of it in this container. */
uint64_t sbx_kill_oom_count(void);

#endif
