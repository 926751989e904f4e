/* SPDX-License-Identifier: MIT */
/* runner.h - how a command gets into a session, and what can be done to it.
 *
 * A job is one command. A runner starts jobs and looks at the container. One
 * runs every command as an engine exec (exec_runner.h), the other sends frames
 * to a program of ours in the container (sup_runner.h). I/O thread only. */
#ifndef SBX_PROC_RUNNER_H
#define SBX_PROC_RUNNER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/capture.h"
#include "base/err.h"
#include "io/stream.h"
#include "wire/quote.h"

struct sbx_runner;
struct sbx_job_handle;

struct sbx_job_options {
  bool root; /* as the container's uid 0 */
  /* Nobody wants more of each output than this: the runner may leave bytes out
   * where they come from, and says so with on_omitted. */
  bool capture;
  size_t max_output;
  enum sbx_keep keep;
  bool pty; /* one terminal for all three streams; stderr stays empty */
  uint16_t rows, cols;
};

/* What a command has used, with those of its children that it waited for. */
struct sbx_usage {
  uint64_t user_us, system_us, max_rss_kib;
};

/* How a command ended. */
struct sbx_job_exit {
  int exit_code; /* 0 to 255; 128 + n after signal n */
  int signal;    /* 0, or the signal that ended it */
  bool oom;      /* the kernel killed it: the container had no more memory */
  bool usage_known;
  struct sbx_usage usage;
};

/* Why a command could not start or how it was lost, with what the engine's
 * client said. */
struct sbx_job_loss {
  struct sbx_err err;
  bool status_known;
  int exit_code;               /* of the client, or 126/127 for SBX_EPROCESS */
  const uint8_t *out, *errout; /* valid during the call; may be NULL */
  size_t out_len, errout_len;
};

/* on_started comes at most once. Exactly one of on_failed (before on_started;
 * nothing runs), on_exit and on_lost (nobody knows) ends the job's events. */
struct sbx_job_events {
  void (*on_started)(void *arg);
  void (*on_failed)(void *arg, const struct sbx_job_loss *loss);
  void (*on_data)(void *arg, enum sbx_fd fd, const uint8_t *data, size_t len);
  /* n bytes of this output were left out here; capture only. May be NULL. */
  void (*on_omitted)(void *arg, enum sbx_fd fd, uint64_t n);
  /* What was written has left, and more may be. May be NULL. */
  void (*on_drain)(void *arg);
  /* The command itself has exited and all of its own output was delivered. */
  void (*on_exit)(void *arg, const struct sbx_job_exit *exit);
  void (*on_lost)(void *arg, const struct sbx_job_loss *loss);
};

/* The end of a kill: err is NULL when nothing of the command's tree is left,
 * otherwise it names what survives or says why nobody knows. */
typedef void (*sbx_kill_cb)(void *arg, const struct sbx_err *err);
/* The tree of a job has `count` live processes; rc < 0: nobody knows. */
typedef void (*sbx_count_cb)(void *arg, int rc, size_t count);

struct sbx_listener;
struct sbx_listeners_events {
  void (*on_listener)(void *arg, const struct sbx_listener *l);
  void (*on_done)(void *arg, int rc);
};

/* Somebody who waits for a port. */
struct sbx_port_watch;
struct sbx_port_watch_events {
  /* The sockets that listen on it: all of them, each time that they change. The
   * first time comes soon, also when there are none. */
  void (*on_listeners)(void *arg, const struct sbx_listener *all, size_t n);
  /* The last: no more will come. The watch is then to be ended, as ever. */
  void (*on_over)(void *arg, int rc);
};

struct sbx_runner_ops {
  /* Copies what it needs of cmd and options. */
  int (*start)(struct sbx_runner *r, const struct sbx_command *cmd,
               const struct sbx_job_options *options,
               const struct sbx_job_events *events, void *arg,
               struct sbx_job_handle **out, struct sbx_err *err);
  int (*write)(struct sbx_job_handle *job, const void *data, size_t len);
  void (*close_input)(struct sbx_job_handle *job);
  void (*pause)(struct sbx_job_handle *job, enum sbx_fd fd);
  void (*resume)(struct sbx_job_handle *job, enum sbx_fd fd);
  /* One signal to the whole tree. */
  int (*signal)(struct sbx_job_handle *job, const char *name, sbx_kill_cb cb,
                void *arg);
  /* TERM, up to grace_ms, KILL, up to one more second. The job's own ending
   * event still comes, before or after cb. One kill at a time. */
  int (*kill)(struct sbx_job_handle *job, uint64_t grace_ms, sbx_kill_cb cb,
              void *arg);
  int (*count)(struct sbx_job_handle *job, sbx_count_cb cb, void *arg);
  /* Of a terminal. -ENOTSUP: this runner has none. */
  int (*resize)(struct sbx_job_handle *job, uint16_t rows, uint16_t cols);
  /* No more callbacks of any kind for the job; nothing is killed. */
  void (*close)(struct sbx_job_handle *job);
  /* Every listening socket, then done, in any case and soon: arg must live
   * until then. */
  int (*listeners)(struct sbx_runner *r, const struct sbx_listeners_events *ev,
                   void *arg);
  /* Tells of every change, until unwatch. Both NULL: only listeners can be
   * asked, again and again. No event comes from inside watch_port. */
  int (*watch_port)(struct sbx_runner *r, uint16_t port,
                    const struct sbx_port_watch_events *events, void *arg,
                    struct sbx_port_watch **out);
  void (*unwatch_port)(struct sbx_port_watch *watch);
  /* The way to the container has ended: from now on nothing can be asked. */
  void (*lose)(struct sbx_runner *r);
  void (*free)(struct sbx_runner *r);
};

struct sbx_runner {
  const struct sbx_runner_ops *ops;
};

struct sbx_job_handle {
  struct sbx_runner *runner;
};

#endif
