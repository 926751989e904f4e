/* SPDX-License-Identifier: MIT */
#include "io/sleep_op.h"

#include <errno.h>
#include <stdlib.h>

#include "io/timer.h"

struct sleep_op {
  struct sbx_op op;
  uint64_t ms;
  struct sbx_timer *timer;
};

static void wake(struct sleep_op *s, int rc) {
  sbx_timer_free(s->timer);
  s->timer = NULL;
  sbx_op_complete(&s->op, rc, NULL);
}

static void on_timer(void *arg) {
  wake(arg, 0);
}

static void sleep_start(struct sbx_op *op) {
  struct sleep_op *s = (struct sleep_op *)op;
  int rc =
      sbx_timer_new(&s->timer, sbx_mailbox_runtime(op->mailbox), on_timer, s);
  if (rc < 0)
    wake(s, rc);
  else
    sbx_timer_start(s->timer, s->ms);
}

static void sleep_cancel(struct sbx_op *op) {
  wake((struct sleep_op *)op, SBX_ECANCELLED);
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
