/* SPDX-License-Identifier: MIT */
#include "io/run_op.h"

#include <errno.h>
#include <stdlib.h>

#include "base/clock.h"

/* Input goes out in pieces, so that it is not copied as a whole once more. */
#define INPUT_PIECE ((size_t)64 * 1024)

static void finish(struct sbx_run_op *run) {
  sbx_timer_free(run->timer);
  run->timer = NULL;
  run->duration_ms = sbx_now_ms() - run->started_ms;
  sbx_op_complete(&run->op, run->failure.code, &run->failure);
}

static void on_data(void *arg, enum sbx_fd fd, const uint8_t *data,
                    size_t len) {
  struct sbx_run_op *run = arg;
  int rc = sbx_capture_push(run->capture[fd == SBX_OUT ? 0 : 1], data, len);
  if (rc < 0) {
    sbx_fail(&run->failure, rc, "keep the output of '%s'",
             run->request->argv[0]);
    sbx_stream_kill(run->stream);
  }
}

static void feed_input(void *arg) {
  struct sbx_run_op *run = arg;
  size_t n = run->input_len - run->input_at;
  if (n > INPUT_PIECE)
    n = INPUT_PIECE;
  /* a program that does not want its input has not failed by that */
  if (n == 0 ||
      sbx_stream_write(run->stream, run->input + run->input_at, n) < 0) {
    sbx_stream_shutdown(run->stream);
    return;
  }
  run->input_at += n;
}

static void on_end(void *arg, const struct sbx_stream_end *end) {
  struct sbx_run_op *run = arg;
  run->stream = NULL;
  run->end = *end;
  for (int i = 0; i < 2; i++) {
    int rc = sbx_capture_finish(run->capture[i], &run->output[i]);
    if (rc < 0)
      sbx_fail(&run->failure, rc, "keep the output of '%s'",
               run->request->argv[0]);
  }
  finish(run);
}

static const struct sbx_stream_events events = {
    .on_data = on_data,
    .on_drain = feed_input,
    .on_end = on_end,
};

static void on_deadline(void *arg) {
  struct sbx_run_op *run = arg;
  run->timed_out = !run->cancelled;
  sbx_stream_kill(run->stream);
}

static void run_start(struct sbx_op *op) {
  struct sbx_run_op *run = (struct sbx_run_op *)op;
  struct sbx_runtime *rt = sbx_mailbox_runtime(op->mailbox);
  int rc = 0;
  for (int i = 0; i < 2 && rc == 0; i++)
    rc = sbx_capture_new(&run->capture[i], run->max_output_bytes, run->keep);
  if (rc == 0 && run->timeout_ms > 0)
    rc = sbx_timer_new(&run->timer, rt, on_deadline, run);
  if (rc < 0)
    sbx_fail(&run->failure, rc, "run '%s'", run->request->argv[0]);
  else
    rc = sbx_stream_open(rt, run->request, &events, run, &run->stream,
                         &run->failure);
  if (rc < 0) {
    finish(run);
    return;
  }
  if (run->timer) {
    uint64_t spent = sbx_now_ms() - run->started_ms;
    sbx_timer_start(run->timer,
                    run->timeout_ms > spent ? run->timeout_ms - spent : 0);
  }
  feed_input(run);
}

static void run_skip(struct sbx_op *op) {
  struct sbx_run_op *run = (struct sbx_run_op *)op;
  run->cancelled = true;
  finish(run);
}

static void run_cancel(struct sbx_op *op) {
  struct sbx_run_op *run = (struct sbx_run_op *)op;
  run->cancelled = !run->timed_out;
  sbx_stream_kill(run->stream);
}

static void run_free(struct sbx_op *op) {
  struct sbx_run_op *run = (struct sbx_run_op *)op;
  sbx_request_unref(run->request);
  free(run->input);
  for (int i = 0; i < 2; i++) {
    sbx_capture_free(run->capture[i]);
    free(run->output[i].data);
  }
  free(run);
}

static const struct sbx_op_class run_class = {
    .name = "run",
    .start = run_start,
    .skip = run_skip,
    .cancel = run_cancel,
    .free = run_free,
};

int sbx_run_op_new(struct sbx_run_op **out, struct sbx_mailbox *mailbox) {
  struct sbx_run_op *run = calloc(1, sizeof(*run));
  if (!run)
    return -ENOMEM;
  int rc = sbx_request_new(&run->request);
  if (rc < 0) {
    free(run);
    return rc;
  }
  sbx_op_init(&run->op, &run_class, mailbox);
  run->started_ms = sbx_now_ms();
  run->max_output_bytes = SBX_RUN_MAX_OUTPUT;
  run->keep = SBX_KEEP_BOTH;
  *out = run;
  return 0;
}
