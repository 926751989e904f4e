/* SPDX-License-Identifier: MIT */
/* mux.h - the owner's end of a supervisor's stream: channels by id, credit in
 * both directions, and what may come when.
 *
 * The peer is hostile. Whatever breaks the protocol (wire/PROTOCOL.md) ends in
 * one on_broken with a message that says what; nothing that comes later is
 * looked at, and no other session notices. All memory is bounded: one frame
 * inbound, and outbound what sbx_mux_room() allows plus a few small frames for
 * each channel.
 *
 * I/O thread only, and no libuv: the stream can be a test's. */
#ifndef SBX_PROC_MUX_H
#define SBX_PROC_MUX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "io/stream.h"
#include "wire/msg.h"

/* The credit that streams begin with; a good one for SPAWN and FILE, too. */
#define SBX_MUX_CREDIT (256u * 1024u)
/* Frames beyond this wait with the sender, not in a queue. */
#define SBX_MUX_QUEUE (1024u * 1024u)

/* Bytes of a socket in LISTENER. */
#define SBX_MUX_SOCKET 19

struct sbx_mux;
struct sbx_mux_channel;

/* The owner of the whole. */
struct sbx_mux_events {
  void (*on_ready)(void *arg, const struct sbx_msg_ready *ready);
  void (*on_refused)(void *arg, const struct sbx_msg_done *done);
  void (*on_bye)(void *arg, enum sbx_bye why);
  /* At most once. The owner may free the mux in any of these. */
  void (*on_broken)(void *arg, const struct sbx_err *err);
  /* Something waits that is not urgent: call sbx_mux_flush() within a few
   * milliseconds, unless frames went out before. */
  void (*on_lazy)(void *arg);
};

/* A decoded frame of a channel. Strings point into the frame: valid during the
 * call only. */
struct sbx_mux_msg {
  uint8_t type; /* enum sbx_msg_type */
  union {
    struct {
      uint8_t stream; /* enum sbx_msg_stream */
      const uint8_t *data;
      size_t len;
    } data; /* DATA; EOF has the stream alone */
    struct {
      uint8_t stream;
      uint64_t bytes;
    } omitted;
    uint32_t pid;   /* STARTED */
    uint32_t count; /* COUNTED */
    struct sbx_msg_failed failed;
    struct sbx_msg_exit exit;
    struct sbx_msg_killed killed;
    struct sbx_msg_listeners listeners;
    struct sbx_msg_entries entries;
    struct sbx_msg_event event;
    struct sbx_msg_done done;
  };
};

/* The owner of one channel. Each callback may forget the channel, open others,
 * or free the mux. */
struct sbx_mux_channel_events {
  /* Only what this channel may get now: for SPAWN first STARTED or FAILED, then
   * DATA, EOF, OMITTED, EXIT, and KILLED and COUNTED when asked for; for PORTS
   * and PORT LISTENER, for FILE ENTRY, DATA, EVENT, each with DONE as the last.
   * Nothing comes after FAILED and DONE. */
  void (*on_msg)(void *arg, const struct sbx_mux_msg *msg);
  /* There is room to send, and there was none or it was asked for. May be
   * NULL. */
  void (*on_room)(void *arg);
  /* The mux is being freed. Nothing comes after this. */
  void (*on_lost)(void *arg);
};

/* Writes to `stream`, which it does not own. 0 or -ENOMEM. */
int sbx_mux_new(struct sbx_mux **out, struct sbx_stream *stream,
                const struct sbx_mux_events *events, void *arg);
/* Tells every channel that it is lost. m may be NULL. */
void sbx_mux_free(struct sbx_mux *m);

/* What came on the stream's stdout, and its on_drain. */
void sbx_mux_feed(struct sbx_mux *m, const uint8_t *data, size_t len);
void sbx_mux_drained(struct sbx_mux *m);
/* What is sent in between goes in one piece. They nest. */
void sbx_mux_cork(struct sbx_mux *m);
void sbx_mux_uncork(struct sbx_mux *m);
/* Sends what waits. */
void sbx_mux_flush(struct sbx_mux *m);

/* First, once. */
int sbx_mux_hello(struct sbx_mux *m, const struct sbx_msg_hello *hello);
/* TOUCH or SHUTDOWN. */
void sbx_mux_tell(struct sbx_mux *m, enum sbx_msg_type type);

/* Opens a channel. 0, or -ENOMEM, -EMSGSIZE, -EINVAL (a string that cannot be
 * sent), SBX_EPROTO (broken). No event comes before this returns. On success
 * the caller owns *out until it forgets it. */
int sbx_mux_spawn(struct sbx_mux *m, const struct sbx_msg_spawn *spawn,
                  const struct sbx_mux_channel_events *events, void *arg,
                  struct sbx_mux_channel **out);
int sbx_mux_file(struct sbx_mux *m, const struct sbx_msg_file *file,
                 const struct sbx_mux_channel_events *events, void *arg,
                 struct sbx_mux_channel **out);
int sbx_mux_ports(struct sbx_mux *m,
                  const struct sbx_mux_channel_events *events, void *arg,
                  struct sbx_mux_channel **out);
int sbx_mux_port(struct sbx_mux *m, uint16_t port,
                 const struct sbx_mux_channel_events *events, void *arg,
                 struct sbx_mux_channel **out);

/* How many bytes of DATA may be sent now: credit of the other side, and room in
 * the queue. 0: on_room will come, unless the channel ends before. */
size_t sbx_mux_room(struct sbx_mux_channel *ch);
/* on_room comes when what was sent has left and there is room. */
void sbx_mux_want_room(struct sbx_mux_channel *ch);
/* DATA of stream SBX_MSG_STDIN, also for a file that is written; len is at most
 * sbx_mux_room(). 0, -ENOMEM, -EPIPE when the channel has ended. */
int sbx_mux_send(struct sbx_mux_channel *ch, const void *data, size_t len);
void sbx_mux_send_eof(struct sbx_mux_channel *ch);
/* SIGNAL, KILL, COUNT, RESIZE with a payload. Same results. */
int sbx_mux_control(struct sbx_mux_channel *ch, enum sbx_msg_type type,
                    const void *payload, size_t len);
/* n more bytes of DATA were consumed: their credit goes back. */
void sbx_mux_consumed(struct sbx_mux_channel *ch, enum sbx_msg_stream stream,
                      size_t n);
/* From on_msg: the message makes no sense in a way that the mux cannot know. It
 * is a violation like the others; on_broken follows. */
void sbx_mux_blame(struct sbx_mux_channel *ch, const char *what);
/* Frees ch, at any time, also after its last event; no more events. If it has
 * not ended the supervisor is told, with the next frames or soon. NULL is fine.
 */
void sbx_mux_forget(struct sbx_mux_channel *ch);

#endif
