/* SPDX-License-Identifier: MIT */
/* io_help.h - for tests of the I/O thread: calls on it, and what is left after
 * it. */
#ifndef SBX_IO_HELP_H
#define SBX_IO_HELP_H

#include <dirent.h>
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "check.h"
#include "io/request.h"
#include "io/runtime.h"

#if defined(__SANITIZE_THREAD__)
#define IO_TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define IO_TSAN 1
#endif
#endif
#ifndef IO_TSAN
#define IO_TSAN 0
#endif

struct io_call {
  struct sbx_job job;
  void (*fn)(void *arg);
  void *arg;
  sem_t done;
};

static inline void io_run_call(struct sbx_job *job) {
  struct io_call *call = SBX_LIST_OWNER(job, struct io_call, job);
  call->fn(call->arg);
  sem_post(&call->done);
}

/* Runs fn(arg) on the I/O thread and waits for it. */
static inline void io_call(struct sbx_runtime *rt, void (*fn)(void *),
                           void *arg) {
  struct io_call call = {.job.run = io_run_call, .fn = fn, .arg = arg};
  sem_init(&call.done, 0, 0);
  sbx_runtime_post(rt, &call.job);
  while (sem_wait(&call.done) < 0)
    ;
  sem_destroy(&call.done);
}

static inline void io_sleep(unsigned ms) {
  struct timespec t = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000L};
  nanosleep(&t, NULL);
}

static inline int io_entries(const char *path) {
  DIR *dir = opendir(path);
  int n = -2; /* . and .. */
  if (!dir)
    return -1;
  while (readdir(dir))
    n++;
  closedir(dir);
  return n;
}

static inline int io_threads(void) {
  return io_entries("/proc/self/task");
}

static inline int io_fds(void) {
  return io_entries("/proc/self/fd") - 1; /* the one that looks */
}

/* Has this process no child at all, not even a zombie? */
static inline bool io_childless(void) {
  return waitpid(-1, NULL, WNOHANG) < 0 && errno == ECHILD;
}

/* libuv and the sanitizers make a few things once per process. */
static inline void io_warm_up(void) {
  struct sbx_runtime *rt;
  REQUIRE(sbx_runtime_acquire(&rt, NULL) == 0);
  sbx_runtime_release(rt);
}

/* A sealed request; ends with NULL. */
static inline struct sbx_request *io_request(const char *arg, ...) {
  struct sbx_request *request;
  va_list ap;
  REQUIRE(sbx_request_new(&request) == 0);
  va_start(ap, arg);
  for (; arg; arg = va_arg(ap, const char *))
    CHECK_INT(sbx_request_arg(request, arg, strlen(arg)), 0);
  va_end(ap);
  CHECK_INT(sbx_request_seal(request), 0);
  return request;
}

#endif
