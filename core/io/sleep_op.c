/* SPDX-License-Identifier: MIT */
#include "io/sleep_op.h"

#include <errno.h>
#include <stdlib.h>

struct sleep_op {
  struct sbx_op op;
  uint64_t ms;
  uv_timer_t timer;
  int rc;
};

static void on_closed(uv_handle_t *timer) {
  struct sleep_op *s = timer->data;
  sbx_op_complete(&s->op, s->rc, NULL);
}

static void on_timer(uv_timer_t *timer) {
  uv_close((uv_handle_t *)timer, on_closed);
}

static void sleep_start(struct sbx_op *op) {
  struct sleep_op *s = (struct sleep_op *)op;
  struct sbx_runtime *rt = sbx_mailbox_runtime(op->mailbox);
  uv_timer_init(sbx_runtime_loop(rt), &s->timer);
  s->timer.data = s;
  sbx_runtime_start_timer(&s->timer, on_timer, s->ms);
}

static void sleep_cancel(struct sbx_op *op) {
  struct sleep_op *s = (struct sleep_op *)op;
  if (uv_is_closing((uv_handle_t *)&s->timer))
    return;
  s->rc = SBX_ECANCELLED;
  uv_close((uv_handle_t *)&s->timer, on_closed);
}

static void sleep_free(struct sbx_op *op) {
  free(op);
}

static const struct sbx_op_class sleep_class = {
    .name = "sleep",
    .start = sleep_start,
    .cancel = sleep_cancel,
    .free = sleep_free,
};

int sbx_sleep_op_new(struct sbx_op **out, struct sbx_mailbox *mailbox,
                     uint64_t ms) {
  struct sleep_op *s = calloc(1, sizeof(*s));
  if (!s)
    return -ENOMEM;
  sbx_op_init(&s->op, &sleep_class, mailbox);
  s->ms = ms;
  *out = &s->op;
  return 0;
}
