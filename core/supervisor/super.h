/* SPDX-License-Identifier: MIT */
/* super.h - what the parts of the supervisor know of each other.
 *
 * One thread, one loop. Nothing blocks, except disk I/O. After the start-up
 * nothing may end the program but the end of its lease: a failure is told to
 * the owner and the rest goes on. Functions that return int: 0 or -errno. */
#ifndef SBX_SUPERVISOR_SUPER_H
#define SBX_SUPERVISOR_SUPER_H

#include "base/clock.h"
#include "os/creds.h"
#include "os/loop.h"
#include "wire/channels.h"
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

/* A frame is written in place: its payload is appended to what begin returns.
 * In a turn that sends there is room, and elsewhere for an answer or two. */
struct sbx_buf *sbx_link_begin(void);
void sbx_link_end(uint32_t id, uint8_t type);
void sbx_link_cancel(void);

void sbx_link_send(uint32_t id, uint8_t type, const void *data, size_t len);
void sbx_link_done(uint32_t id, uint8_t code, int error, const char *text);
void sbx_link_failed(uint32_t id, uint8_t stage, int error);
void sbx_link_credit(uint32_t id, uint8_t stream, uint32_t bytes);

/* dispatch.c: one frame: 0 or SBX_EPROTO. */
int sbx_dispatch(const struct sbx_frame *frame);

/* ---- lease.c: the user, and the end -------------------------------------- */

struct sbx_super {
  bool greeted;              /* HELLO was accepted */
  struct sbx_user user;      /* its home is in homes */
  int workspace;             /* O_PATH; -1 before HELLO */
  unsigned commands;         /* that run */
  struct sbx_creds creds[2]; /* of commands: the user's, and root's */
  const char *homes[2];
};

extern struct sbx_super sbx_super;

/* HELLO, TOUCH and SHUTDOWN: 0 or SBX_EPROTO. */
int sbx_lease_frame(const struct sbx_frame *frame);
void sbx_lease_init(void);
/* A frame came, or work ended: the idle time begins anew. */
void sbx_lease_touch(void);

/* ---- files.c, spawn.c, ports.c, kill.c ----------------------------------- */

/* FILE and SPAWN, PORTS (port 0) and PORT: open the channel, or answer DONE or
 * FAILED. `m` points into the frame. */
void sbx_files_start(uint32_t id, const struct sbx_msg_file *m);
void sbx_spawn_start(uint32_t id, const struct sbx_msg_spawn *m);
void sbx_ports_start(uint32_t id, uint16_t port);
int sbx_kill_init(void);
/* A process has ended; whoever waits for that looks again. */
void sbx_kill_look(void);

#endif
