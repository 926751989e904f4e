/* SPDX-License-Identifier: MIT */
/* local_session.h - a session whose "container" is this machine.
 *
 * The scripts are run by the local sh, without an engine in between: the whole
 * process manager under test, and under the sanitizers, with nothing installed.
 */
#ifndef SBX_LOCAL_SESSION_H
#define SBX_LOCAL_SESSION_H

#include <signal.h>
#include <string.h>

#include "base/clock.h"
#include "check.h"
#include "io/op.h"
#include "proc/exec_op.h"
#include "proc/exec_runner.h"
#include "proc/process_op.h"
#include "proc/session_op.h"

static inline struct sbx_request *shell_request(const char *script,
                                                const char *arg) {
  struct sbx_request *r = NULL;

  REQUIRE(sbx_request_new(&r) == 0);
  sbx_request_arg(r, "/bin/sh", 7);
  sbx_request_arg(r, "-c", 2);
  sbx_request_arg(r, script, strlen(script));
  if (arg != NULL) {
    sbx_request_arg(r, "sh", 2);
    sbx_request_arg(r, arg, strlen(arg));
  }
  REQUIRE(sbx_request_seal(r) == 0);
  return r;
}

static inline struct sbx_session *local_session(struct sbx_mailbox *mb,
                                                size_t max_processes,
                                                uint64_t ttl_ms,
                                                uint64_t idle_ms) {
  struct sbx_session_options options = {
      .workdir = strdup("/tmp"),
      .attach = shell_request(sbx_script_control, "init"),
      .exec = shell_request(sbx_script_run, NULL),
      .agent = shell_request(sbx_script_control, "agent"),
      .ttl_ms = ttl_ms,
      .idle_ms = idle_ms,
      .max_processes = max_processes,
      .max_output = 65536,
  };
  struct sbx_session *s = NULL;
  struct sbx_err err = {0};

  REQUIRE(sbx_session_new(&s, mb, &options, &err) == 0);
  return s;
}

/* Takes news until op is done, at most 20 s. */
static inline bool await(struct sbx_mailbox *mb, struct sbx_op *op) {
  uint64_t end = sbx_now_ms() + 20000;

  while (!sbx_op_done(op) && sbx_now_ms() < end) {
    struct sbx_op *news = sbx_mailbox_next(mb, 100);

    if (news != NULL)
      sbx_op_unref(news);
  }
  return CHECK(sbx_op_done(op));
}

static inline void open_session(struct sbx_mailbox *mb, struct sbx_session *s) {
  struct sbx_open_op *op = sbx_open_op_new(mb, s, 10000);

  sbx_op_submit(&op->base.op);
  await(mb, &op->base.op);
  CHECK_INT(op->base.op.rc, 0);
  CHECK_INT(op->uid, getuid());
  sbx_op_unref(&op->base.op);
}

static inline void close_session(struct sbx_mailbox *mb,
                                 struct sbx_session *s) {
  struct sbx_closed_op *op = sbx_closed_op_new(mb, s, 10000);

  CHECK_INT(sbx_session_close(s), 0);
  sbx_op_submit(&op->base.op);
  await(mb, &op->base.op);
  CHECK_INT(op->base.op.rc, 0);
  CHECK_INT(atomic_load(&s->state), SBX_SESSION_CLOSED);
  sbx_op_unref(&op->base.op);
  sbx_session_unref(s);
}

/* `sh -c text` */
static inline struct sbx_command_copy shell_command(const char *text) {
  struct sbx_command_copy c = {.argv = calloc(4, sizeof(char *)), .argc = 3};

  c.argv[0] = strdup("sh");
  c.argv[1] = strdup("-c");
  c.argv[2] = strdup(text);
  return c;
}

static inline struct sbx_exec_op *new_exec(struct sbx_mailbox *mb,
                                           struct sbx_session *s,
                                           const char *text,
                                           uint64_t timeout_ms) {
  struct sbx_exec_options options = {
      .command = shell_command(text),
      .timeout_ms = timeout_ms,
      .grace_ms = 300,
      .how = {.max_output = 100000, .keep = SBX_KEEP_BOTH},
  };

  return sbx_exec_op_new(mb, s, &options);
}

static inline struct sbx_process_op *new_start(struct sbx_mailbox *mb,
                                               struct sbx_session *s,
                                               const char *id,
                                               const char *text) {
  struct sbx_process_op *op =
      sbx_process_op_new(&sbx_start_op_class, mb, s, id);

  op->command = shell_command(text);
  op->time_ms = 10000;
  return op;
}

/* Submits an operation on a process and waits for it; the caller unrefs. */
static inline struct sbx_process_op *
run_process_op(struct sbx_mailbox *mb, struct sbx_session *s,
               const struct sbx_op_class *cls, const char *id, uint64_t ms) {
  struct sbx_process_op *op = sbx_process_op_new(cls, mb, s, id);

  op->time_ms = ms;
  op->tail_bytes = 65536;
  sbx_op_submit(&op->base.op);
  await(mb, &op->base.op);
  return op;
}

#endif
