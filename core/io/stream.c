/* SPDX-License-Identifier: MIT */
#include "io/stream.h"

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
