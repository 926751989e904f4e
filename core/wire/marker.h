/* SPDX-License-Identifier: MIT */
/* marker.h - finds our markers in the output of a command and passes the
 * program's own bytes on: exactly, in order, none lost, none twice.
 *
 *   \x1e ANVIA_PROCESS:<uuid>:<wrapper>:<child>:<group> \x1e   START
 *   \x1e ANVIA_FAILED:<uuid>:<code>:<reason> \x1e              FAILED
 *   \x1e ANVIA_EXIT:<uuid>:<status> \x1e                       EXIT
 *
 * Pids are decimal, 2 to 4194304, code is 1 to 255, status 0 to 255, none with
 * a sign or a leading zero; a reason is 1 to 31 of [a-z0-9_]. Only markers
 * with our uuid count, and only while they are expected:
 *   - START or FAILED: once, when SBX_EXPECT_START was given;
 *   - EXIT: once, when SBX_EXPECT_EXIT was given, and after START or FAILED
 *     when both were. One that comes before START is SBX_EPROTO.
 * Everything else is output, also what is marker-like with another uuid, and
 * everything after the last expected marker. A marker of ours that is expected
 * and malformed is SBX_EPROTO.
 *
 * The result does not depend on how the bytes are cut into chunks. Held back
 * is at most the beginning of one marker at the end of a chunk, and only as
 * long as it can still become one of ours. No allocation; belongs to one
 * thread; a struct needs no fini. */
#ifndef SBX_WIRE_MARKER_H
#define SBX_WIRE_MARKER_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/random.h"

#define SBX_EXPECT_START 1u /* START or FAILED */
#define SBX_EXPECT_EXIT  2u

#define SBX_MARKER_HOLD  96
#define SBX_PID_MAX      4194304 /* the kernel's PID_MAX_LIMIT */

enum sbx_marker_kind {
  SBX_MARKER_NONE,
  SBX_MARKER_START,
  SBX_MARKER_FAILED,
  SBX_MARKER_EXIT
};

struct sbx_marker_event {
  enum sbx_marker_kind kind;
  /* Output that came before the marker: deliver it first. Points into the
   * input or the scanner, valid until the next call. */
  const uint8_t *out;
  size_t out_len;
  long wrapper, child, group; /* START */
  int status;                 /* EXIT: the status. FAILED: the code */
  char reason[32];            /* FAILED */
};

struct sbx_marker {
  char uuid[SBX_UUID_LEN + 1];
  unsigned want; /* SBX_EXPECT_* that are still to come */
  int failed;    /* SBX_EPROTO from then on */
  size_t stale;  /* bytes at the start of hold that were handed out */
  size_t held;   /* bytes in hold, the stale ones included */
  uint8_t hold[SBX_MARKER_HOLD];
};

/* uuid has SBX_UUID_LEN characters, none of them \x1e or ':'. */
void sbx_marker_init(struct sbx_marker *m, const char *uuid, unsigned expect);

/* Takes bytes until an event, the end of the input, or a point where it must
 * hand out what it held. Returns how many it took: at least 1 when len > 0, so
 * call it again with the rest. *ev is filled in any case; kind may be NONE and
 * out_len 0. SBX_EPROTO: ev->out still has what came before the bad marker;
 * every later call fails too, without output. */
ssize_t sbx_marker_feed(struct sbx_marker *m, const uint8_t *in, size_t len,
                        struct sbx_marker_event *ev);

/* End of the stream: a marker that was not completed is output. */
void sbx_marker_finish(struct sbx_marker *m, struct sbx_marker_event *ev);

#endif
