/* SPDX-License-Identifier: MIT */
#include "io/stream.h"

#include "io/child.h"

int sbx_stream_open(struct sbx_runtime *rt, const struct sbx_request *request,
                    const struct sbx_stream_events *events, void *arg,
                    struct sbx_stream **out, struct sbx_err *err) {
  if (request->kind != NULL)
    return request->kind->open(rt, request, events, arg, out, err);
  return sbx_child_open(rt, request, events, arg, out, err);
}

int sbx_stream_write(struct sbx_stream *s, const void *data, size_t len) {
  return s->ops->write(s, data, len);
}

void sbx_stream_shutdown(struct sbx_stream *s) {
  s->ops->shutdown(s);
}

void sbx_stream_pause(struct sbx_stream *s, enum sbx_fd fd) {
  s->ops->pause(s, fd);
}

void sbx_stream_resume(struct sbx_stream *s, enum sbx_fd fd) {
  s->ops->resume(s, fd);
}

void sbx_stream_kill(struct sbx_stream *s) {
  s->ops->kill(s);
}

void sbx_stream_close(struct sbx_stream *s, bool kill) {
  s->ops->close(s, kill);
}
