/* SPDX-License-Identifier: MIT */
/* reply.h - reads the few things that C must know from an engine's JSON. Pure;
 * whatever the engine wrote, the answer is "there it is" or "it is not". */
#ifndef SBX_HTTP_REPLY_H
#define SBX_HTTP_REPLY_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"

#define SBX_ID_MAX 128

/* An id that can stand in a path as it is: letters, digits, '-', '_'. */
bool sbx_reply_id(const struct sbx_buf *body, const char *name,
                  char out[SBX_ID_MAX + 1]);
bool sbx_reply_integer(const struct sbx_buf *body, const char *name, long *out);
bool sbx_reply_boolean(const struct sbx_buf *body, const char *name, bool *out);

/* What the engine says about a failure, in one line: its message, or the start
 * of what is no JSON, or the status alone. Always a text. */
void sbx_reply_message(const struct sbx_buf *body, int status, char *out,
                       size_t size);

#endif
