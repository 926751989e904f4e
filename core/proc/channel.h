/* SPDX-License-Identifier: MIT */
/* channel.h - requests to control.sh over a stream, and their answers.
 *
 * A session has one over its lease, which needs no new process inside and so
 * works when the pid limit is exhausted; a second one, as another user, can be
 * opened over an engine exec. What comes back is written by the workload's
 * neighbour, so it is bounded and only believed under a fresh nonce.
 *
 * I/O thread only. */
#ifndef SBX_PROC_CHANNEL_H
#define SBX_PROC_CHANNEL_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "io/runtime.h"
#include "io/stream.h"

/* An answer with more lines than this is cut; its end is still awaited. */
#define SBX_CHANNEL_LINES 20000

#define SBX_CHANNEL_TEXT  4352

struct sbx_channel;

struct sbx_answer_events {
  /* One payload line, NUL-terminated. May be NULL. */
  void (*on_line)(void *arg, const char *line, size_t len);
  /* Exactly once. 0; SBX_ETIMEOUT; SBX_EDESTROYED when the channel ended. */
  void (*on_done)(void *arg, int rc);
};

/* 0 or -ENOMEM. The channel writes to `stream` and does not own it. */
int sbx_channel_new(struct sbx_channel **out, struct sbx_runtime *rt,
                    struct sbx_stream *stream);
/* Fails what is pending. ch may be NULL; the callbacks of the pending requests
 * must not touch it any more. */
void sbx_channel_free(struct sbx_channel *ch);

/* Bytes of the stream's stdout. */
void sbx_channel_feed(struct sbx_channel *ch, const uint8_t *data, size_t len);

/* Sends `<nonce> <text>`; text is one line of up to SBX_CHANNEL_TEXT. on_done
 * follows in any case, never before this returns, unless this fails (-ENOMEM):
 * then it never comes.
 */
int sbx_channel_ask(struct sbx_channel *ch, const char *text,
                    uint64_t timeout_ms, const struct sbx_answer_events *events,
                    void *arg);
/* Sends a request and wants no answer: what a stuck engine may still deliver.
 */
void sbx_channel_tell(struct sbx_channel *ch, const char *text);
/* Forgets the requests of `arg`: no callback comes for them any more. */
void sbx_channel_forget(struct sbx_channel *ch, void *arg);

#endif
