/* SPDX-License-Identifier: MIT */
/* endpoint.h - where an engine listens: unix:///path or tcp://host:port.
 *
 * Immutable and shared; any thread may hold references. */
#ifndef SBX_HTTP_ENDPOINT_H
#define SBX_HTTP_ENDPOINT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct sbx_endpoint {
  atomic_int refs;
  bool is_unix;
  char *text; /* as it was given: equal texts are equal endpoints */
  char *path; /* of the socket */
  char *host; /* a name or an address, without brackets */
  uint16_t port;
};

/* Accepts unix:///path, tcp://host[:port] and http://host[:port] (port 2375).
 * 0; -ENOMEM; -EINVAL with a message. The caller owns one reference. */
int sbx_endpoint_new(struct sbx_endpoint **out, const char *text,
                     struct sbx_err *err);
struct sbx_endpoint *sbx_endpoint_ref(struct sbx_endpoint *e);
void sbx_endpoint_unref(struct sbx_endpoint *e); /* e may be NULL */

#endif
