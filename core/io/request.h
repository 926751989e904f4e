/* SPDX-License-Identifier: MIT */
/* request.h - builds what opens a stream, and shares it.
 *
 * Built by one thread: new, arg and env in any number, seal. From then on it
 * is immutable; any thread may hold references. */
#ifndef SBX_IO_REQUEST_H
#define SBX_IO_REQUEST_H

#include "io/stream.h"

/* 0 or -ENOMEM. The caller owns one reference. */
int sbx_request_new(struct sbx_request **out);
struct sbx_request *sbx_request_ref(const struct sbx_request *request);
void sbx_request_unref(const struct sbx_request *request); /* may be NULL */

/* 0, -ENOMEM; -EINVAL when there is a NUL inside (or an '=' in the name). */
int sbx_request_arg(struct sbx_request *request, const char *arg, size_t len);
/* A NULL value unsets. The last word on a name counts. */
int sbx_request_env(struct sbx_request *request, const char *name,
                    size_t name_len, const char *value, size_t value_len);

/* Takes the environment and PATH of this process as they are now. 0, -ENOMEM,
 * or -EINVAL when there is no argv[0]. */
int sbx_request_seal(struct sbx_request *request);

/* The inherited environment with the request's changes, in one allocation that
 * the caller frees with free(). NULL: no memory. */
char **sbx_request_environment(const struct sbx_request *request);

#endif
