/* SPDX-License-Identifier: MIT */
/* super.h - what the parts of the supervisor know of each other.
 *
 * One thread, one loop. Nothing blocks, except disk I/O. After the start-up
 * nothing may end the program but the end of its lease: a failure is told to
 * the owner and the rest goes on. Functions that return int: 0 or -errno. */
#ifndef SBX_SUPERVISOR_SUPER_H
#define SBX_SUPERVISOR_SUPER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/creds.h"
#include "base/err.h"
#include "base/list.h"
#include "base/loop.h"
#include "wire/channels.h"
#include "wire/frame.h"
#include "wire/msg.h"
#include "wire/passwd.h"

/* Bytes that nobody keeps longer than one call: outputs that are captured or
 * dropped, /proc files. */
#define SBX_SCRATCH (64u * 1024)
extern uint8_t sbx_scratch[SBX_SCRATCH];

/* ---- link.c: frames from and to the owner -------------------------------- */

int sbx_link_init(void);
/* Writes what it can. True when there is room for turns that send. */
bool sbx_link_flush(void);
bool sbx_link_has_room(void);
/* Room for an answer, also while outputs wait for theirs. */
bool sbx_link_may_answer(void);
/* The last frame; ends the program. */
void sbx_link_bye(uint8_t why) __attribute__((noreturn));

/* A frame is written in place: append its payload (at most SBX_FRAME_UP_MAX)
 * to what begin returns, then end it. In a turn that sends there is room, and
 * elsewhere for an answer or two. cancel: as if there had been no begin. */
struct sbx_buf *sbx_link_begin(void);
void sbx_link_end(uint32_t id, uint8_t type);
void sbx_link_cancel(void);

void sbx_link_send(uint32_t id, uint8_t type, const void *data, size_t len);
void sbx_link_done(uint32_t id, uint8_t code, int error, const char *text);
void sbx_link_failed(uint32_t id, uint8_t stage, int error);
void sbx_link_credit(uint32_t id, uint8_t stream, uint32_t bytes);

/* ---- dispatch.c: one frame: 0 or SBX_EPROTO ------------------------------ */

int sbx_dispatch(const struct sbx_frame *frame);

/* ---- lease.c: the owner, the user, the end ------------------------------- */

struct sbx_super {
  bool greeted;         /* HELLO was accepted */
  struct sbx_user user; /* its home is not used: see homes */
  int workspace;        /* O_PATH; -1 before HELLO */
  unsigned commands;    /* that run */
  /* Of commands: the user's, and root's. */
  struct sbx_creds creds[2];
  const char *homes[2];
};

extern struct sbx_super sbx_super;

/* HELLO, TOUCH and SHUTDOWN: 0 or SBX_EPROTO. */
int sbx_lease_frame(const struct sbx_frame *frame);
void sbx_lease_init(void);
/* A frame came, or work ended: the idle time begins anew. */
void sbx_lease_touch(void);

/* ---- files.c, watch.c (file operations) ---------------------------------- */

/* FILE: opens the channel `id`, or answers DONE. `m` points into the frame. */
void sbx_files_start(uint32_t id, const struct sbx_msg_file *m);

/* ---- spawn.c, kill.c, ports.c -------------------------------------------- */

/* SPAWN: opens the channel, or answers FAILED. */
void sbx_spawn_start(uint32_t id, const struct sbx_msg_spawn *m);
int sbx_kill_init(void);
/* A process has ended; whoever waits for that looks again. */
void sbx_kill_look(void);
/* PORTS, and PORT when port is not 0. */
void sbx_ports_start(uint32_t id, uint16_t port);

#endif
