/* SPDX-License-Identifier: MIT */
/* capture.h - the output of one command under a cap: all of it, or its head,
 * its tail, or both ends, and the number of bytes left out.
 *
 * Belongs to one thread. Memory grows with the content up to about cap (plus
 * the copy that finish makes). A cut never splits a UTF-8 character: the
 * parts of one that lie on either side of a cut are left out too. Bytes that
 * are not UTF-8 are left alone. */
#ifndef SBX_BASE_CAPTURE_H
#define SBX_BASE_CAPTURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum sbx_keep {
  SBX_KEEP_HEAD,
  SBX_KEEP_TAIL,
  SBX_KEEP_BOTH /* head is cap / 2 rounded up, the tail is the rest */
};

struct sbx_capture;

struct sbx_captured {
  uint8_t *data;    /* malloc'd, the caller frees it; NULL when len is 0 */
  size_t len;       /* <= cap */
  uint64_t omitted; /* len + omitted == bytes pushed */
  size_t cut_at;    /* where in data bytes are missing: len for HEAD, 0 for
                       TAIL, the length of the head for BOTH. len when nothing
                       was left out */
  bool truncated;   /* omitted > 0 */
};

/* 0 or -ENOMEM. On success the caller owns *out. cap may be 0. */
int sbx_capture_new(struct sbx_capture **out, size_t cap, enum sbx_keep keep);
void sbx_capture_free(struct sbx_capture *c); /* c may be NULL */

/* 0, or -ENOMEM: then nothing was pushed or counted. */
int sbx_capture_push(struct sbx_capture *c, const uint8_t *data, size_t len);

/* n bytes were left out here by somebody who captured before us, with the same
 * cap and keep. What was pushed so far is the head and is not cut again (as
 * much of it as was kept); what follows is the tail. The result is then that of
 * pushing everything here. */
void sbx_capture_omit(struct sbx_capture *c, uint64_t n);

/* Bytes ever pushed, and left out before. */
uint64_t sbx_capture_total(const struct sbx_capture *c);

/* The first bytes that finish will give, whatever comes: those of the head
 * that no cut can touch. How many; *data is valid until the next push. */
size_t sbx_capture_head(const struct sbx_capture *c, const uint8_t **data);

/* Fills *out with what is kept so far; c is unchanged, so more may be pushed.
 * 0 or -ENOMEM (then *out is all zero). */
int sbx_capture_finish(const struct sbx_capture *c, struct sbx_captured *out);

#endif
