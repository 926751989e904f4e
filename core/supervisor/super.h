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
#include "base/err.h"
#include "base/list.h"
#include "base/loop.h"
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
void sbx_link_failed(uint32_t id, uint8_t stage, int error, const char *text);
void sbx_link_credit(uint32_t id, uint8_t stream, uint32_t bytes);

/* ---- dispatch.c: channels ------------------------------------------------ */

struct sbx_channel;

struct sbx_channel_ops {
  /* A frame for this channel, not FORGET: 0, or SBX_EPROTO for one that it
   * cannot get; then the program ends. frame->data is NULL and
   * frame->skipped set when there was no memory for it. May close. */
  int (*frame)(struct sbx_channel *c, const struct sbx_frame *frame);
  /* FORGET. The channel is closed already; frees it, or lets it end. */
  void (*forget)(struct sbx_channel *c);
};

/* Embedded, first or not, in what the channel is about. */
struct sbx_channel {
  struct sbx_list link;
  uint32_t id; /* 0: not open */
  const struct sbx_channel_ops *ops;
};

#define SBX_CHANNELS_MAX 4096

/* Whoever handles the opening frame calls this when there will be more frames,
 * and refuses by DONE or FAILED otherwise. */
void sbx_channel_open(struct sbx_channel *c, uint32_t id,
                      const struct sbx_channel_ops *ops);
void sbx_channel_close(struct sbx_channel *c);
unsigned sbx_channel_count(void);

/* One frame: 0 or SBX_EPROTO. */
int sbx_dispatch(const struct sbx_frame *frame);

/* A frame of u8 stream and bytes: DATA, EOF (no bytes), CREDIT. */
int sbx_read_stream(const struct sbx_frame *frame, uint8_t *stream);
/* A whole CREDIT frame. */
int sbx_read_credit(const struct sbx_frame *frame, uint8_t *stream,
                    uint32_t *bytes);

/* ---- lease.c: the owner, the user, the end ------------------------------- */

struct sbx_super {
  bool greeted;         /* HELLO was accepted */
  struct sbx_user user; /* its home is a C string */
  char root_home[256];
  int workspace; /* O_PATH; -1 before HELLO */
  bool no_new_privileges;
  uint64_t capabilities; /* what commands may have */
  unsigned commands;     /* that run */
};

extern struct sbx_super sbx_super;

/* HELLO, TOUCH and SHUTDOWN: 0 or SBX_EPROTO. */
int sbx_lease_frame(const struct sbx_frame *frame);
void sbx_lease_init(void);
/* A frame came, or work ended: the idle time begins anew. */
void sbx_lease_touch(void);

/* Around every operation on files: as the session's user, without any
 * capability. Nothing in between may wait or start a process. */
void sbx_user_enter(void);
void sbx_user_leave(void);

/* ---- files.c, watch.c (file operations) ---------------------------------- */

/* FILE: opens the channel `id`, or answers DONE. `m` points into the frame. */
void sbx_files_start(uint32_t id, const struct sbx_msg_file *m);

/* ---- spawn.c, kill.c, ports.c -------------------------------------------- */

/* SPAWN: opens the channel, or answers FAILED. */
void sbx_spawn_start(uint32_t id, const struct sbx_msg_spawn *m);
/* Children have ended. */
void sbx_spawn_reap(void);
int sbx_kill_init(void);
/* PORTS, and PORT when port is not 0. */
void sbx_ports_start(uint32_t id, uint16_t port);

#endif
