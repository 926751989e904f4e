/* SPDX-License-Identifier: MIT */
/* run_op.h - the operation "run a program of the host to completion".
 *
 * Made by the consumer, who fills in the first part before the submit and
 * reads the last part once it is done. A non-zero exit, a time-out and a
 * cancel are results (rc 0); only a program that could not be started is a
 * failure. */
#ifndef SBX_IO_RUN_OP_H
#define SBX_IO_RUN_OP_H

#include "base/capture.h"
#include "io/op.h"
#include "io/request.h"
#include "io/timer.h"

#define SBX_RUN_MAX_OUTPUT ((size_t)1024 * 1024)

struct sbx_run_op {
  struct sbx_op op;

  /* before submit */
  struct sbx_request *request; /* empty, to be filled and sealed */
  uint8_t *input;              /* malloc'd, owned; NULL: its input is empty */
  size_t input_len;
  uint64_t timeout_ms; /* from its making on; 0: none */
  size_t max_output_bytes;
  enum sbx_keep keep;

  uint64_t started_ms;

  /* I/O thread */
  size_t input_at;
  struct sbx_stream *stream;
  struct sbx_capture *capture[2];
  struct sbx_timer *timer;
  struct sbx_err failure;

  /* results */
  struct sbx_stream_end end;
  struct sbx_captured output[2]; /* stdout, stderr */
  bool timed_out;
  bool cancelled;
  uint64_t duration_ms;
};

/* Consumer thread. 0 or -ENOMEM; the caller owns one reference to &(*out)->op.
 * Defaults: no input, no time-out, SBX_RUN_MAX_OUTPUT, both ends. */
int sbx_run_op_new(struct sbx_run_op **out, struct sbx_mailbox *mailbox);

#endif
