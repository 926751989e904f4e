/* SPDX-License-Identifier: MIT */
/* stream.h - a duplex stream into the engine: bytes in, two streams of bytes
 * out, and an end. All functions and callbacks: I/O thread only.
 *
 * Two kinds stand behind the same table: a child process, the engine's command
 * line client (child.c), and a connection to the engine itself (core/http). */
#ifndef SBX_IO_STREAM_H
#define SBX_IO_STREAM_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "io/runtime.h"

enum sbx_fd { SBX_OUT = 1, SBX_ERR = 2 };

/* How a stream ended. status_known is false when nobody can tell (the exit
 * status was stolen by a foreign waitpid, or the connection broke): then
 * neither exit_code nor signal means anything. */
struct sbx_stream_end {
  bool status_known;
  int exit_code;
  int signal; /* 0, or the signal that ended the client */
};

/* What the engine reports about the container behind a stream. */
enum sbx_note {
  SBX_NOTE_NONE, /* it runs (again) */
  SBX_NOTE_PAUSED,
  SBX_NOTE_OOM, /* it ran out of memory; something in it was killed */
  SBX_NOTE_DIED,
  SBX_NOTE_REMOVED,
  SBX_NOTE_UNKNOWN
};

struct sbx_stream_events {
  /* Something has happened to the container; status is its exit status, or -1.
   * Only streams that can learn of it tell; may be NULL. */
  void (*on_note)(void *arg, enum sbx_note note, int status);
  void (*on_data)(void *arg, enum sbx_fd fd, const uint8_t *data, size_t len);
  void (*on_eof)(void *arg, enum sbx_fd fd); /* may be NULL */
  /* All that was written has left (or never can: then the next write is an
   * -EPIPE). Follows each write, never from inside it; may be NULL. */
  void (*on_drain)(void *arg);
  /* Last event, exactly once: both streams are at their end (or were given up
   * after a bounded drain) and the end is known (or known to be lost). The
   * drain is not counted while a stream is paused, unless it was killed. s is
   * gone afterwards; closing it in here is harmless. */
  void (*on_end)(void *arg, const struct sbx_stream_end *end);
};

struct sbx_stream;

struct sbx_stream_ops {
  int (*write)(struct sbx_stream *s, const void *data, size_t len);
  void (*shutdown)(struct sbx_stream *s);
  void (*pause)(struct sbx_stream *s, enum sbx_fd fd);
  void (*resume)(struct sbx_stream *s, enum sbx_fd fd);
  void (*kill)(struct sbx_stream *s);
  void (*close)(struct sbx_stream *s, bool kill);
};

struct sbx_stream {
  const struct sbx_stream_ops *ops;
  const struct sbx_stream_events *events; /* NULL after close */
  void *arg;
};

struct sbx_request;

/* A kind of request that this layer does not know. */
struct sbx_request_kind {
  /* As sbx_stream_open(). */
  int (*open)(struct sbx_runtime *rt, const struct sbx_request *request,
              const struct sbx_stream_events *events, void *arg,
              struct sbx_stream **out, struct sbx_err *err);
  void (*free)(void *plan);
};

/* What opens a stream. Made from an engine request; immutable once opened and
 * shared (request.h): any number of streams can be opened from one. */
struct sbx_request {
  char **argv;      /* NULL-terminated; argv[0] is looked up in PATH */
  char **env_names; /* NULL-terminated; set (or, with a NULL value, unset) on */
  char **env_values; /* top of the inherited environment; same length */
  size_t env_count;

  /* A stream whose end of input ends it, and that must never be killed half
   * way: a client that is still creating a container would leave it behind.
   * sbx_stream_kill() and close(kill) still do what they say; the stopping
   * runtime, when its time is over, leaves it alone. */
  bool lease;

  /* request.h: taken when the request was made, so that opening reads nothing
   * that the host may be changing. NULL: the process's own, at opening. */
  char **environment;
  char *search_path;
  size_t argc;

  /* NULL: a child process, all of the above. Otherwise nothing of it. */
  const struct sbx_request_kind *kind;
  void *plan; /* of that kind, and owned */

  atomic_int refs;
};

/* Opens the stream. On success *out lives until its on_end has run or it was
 * closed. Failure to start the client (-ENOENT, -EACCES ...) is reported here,
 * with a message that names it, and is SBX_EUNAVAILABLE. No event comes before
 * this returns. */
int sbx_stream_open(struct sbx_runtime *rt, const struct sbx_request *request,
                    const struct sbx_stream_events *events, void *arg,
                    struct sbx_stream **out, struct sbx_err *err);

/* Copies and queues. 0, -ENOMEM, -EPIPE when the other side has gone (which is
 * no failure of the command: callers usually ignore it). */
int sbx_stream_write(struct sbx_stream *s, const void *data, size_t len);
/* End of input, after what was written. Idempotent. */
void sbx_stream_shutdown(struct sbx_stream *s);
void sbx_stream_pause(struct sbx_stream *s, enum sbx_fd fd);
void sbx_stream_resume(struct sbx_stream *s, enum sbx_fd fd);
/* Ends the client at once (SIGKILL to its whole process group, never a signal
 * that it could translate into success). on_end follows within a bounded time
 * even when something else holds the pipes. */
void sbx_stream_kill(struct sbx_stream *s);
/* No more callbacks. Closes our end of the input; with kill the client is
 * killed, without it may end by itself. It is reaped either way. s is gone. */
void sbx_stream_close(struct sbx_stream *s, bool kill);

#endif
