/* SPDX-License-Identifier: MIT */
/* child.h - the kind of stream that is a child process. */
#ifndef SBX_IO_CHILD_H
#define SBX_IO_CHILD_H

#include "io/stream.h"

/* sbx_stream_open() for a request with an argv. */
int sbx_child_open(struct sbx_runtime *rt, const struct sbx_request *request,
                   const struct sbx_stream_events *events, void *arg,
                   struct sbx_stream **out, struct sbx_err *err);

#endif
