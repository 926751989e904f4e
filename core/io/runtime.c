/* SPDX-License-Identifier: MIT */
#include "io/runtime.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "io/forkguard.h"

struct sbx_runtime {
  unsigned generation;
  unsigned refs; /* guarded by the fork guard's lock */
  pthread_t thread;

  pthread_mutex_t lock;
  struct sbx_list jobs; /* guarded by lock */

  /* I/O thread only */
  uv_loop_t loop;
  uv_async_t wake;
  uv_timer_t stop_timer;
  struct sbx_job stop_job;
  struct sbx_list tenants;
  bool stopping;
  enum sbx_stop step;
  bool finished;
  void *slots[SBX_SLOTS];
  uint8_t scratch[SBX_SCRATCH_SIZE];
};

/* The process's runtime; guarded by the fork guard's lock. */
static struct sbx_runtime *current;

/* ---- on the I/O thread ---- */

static void close_handle(uv_handle_t *handle, void *arg) {
  (void)arg;
  if (!uv_is_closing(handle))
    uv_close(handle, NULL);
}

static void finish(struct sbx_runtime *rt) {
  if (rt->finished)
    return;
  rt->finished = true;
  uv_walk(&rt->loop, close_handle, NULL);
}

static void tell_tenants(struct sbx_runtime *rt) {
  struct sbx_list todo;
  sbx_list_init(&todo);
  sbx_list_splice(&todo, &rt->tenants);
  struct sbx_list *it;
  /* one that ends may take others with it: each goes back before its turn */
  while ((it = sbx_list_shift(&todo)) != NULL) {
    sbx_list_append(&rt->tenants, it);
    struct sbx_tenant *t = SBX_LIST_OWNER(it, struct sbx_tenant, link);
    t->stop(t, rt->step);
  }
}

static void on_stop_timer(uv_timer_t *timer) {
  struct sbx_runtime *rt = timer->data;
  if (rt->step == SBX_STOP_ASK) {
    rt->step = SBX_STOP_FORCE;
    uv_timer_start(timer, on_stop_timer, SBX_STOP_FORCE_MS, 0);
    tell_tenants(rt);
  } else {
    rt->step = SBX_STOP_ABANDON;
    tell_tenants(rt);
    finish(rt);
  }
}

static void begin_stop(struct sbx_job *job) {
  struct sbx_runtime *rt = SBX_LIST_OWNER(job, struct sbx_runtime, stop_job);
  rt->stopping = true;
  rt->step = SBX_STOP_ASK;
  uv_timer_start(&rt->stop_timer, on_stop_timer, SBX_STOP_GRACE_MS, 0);
  tell_tenants(rt);
}

static void on_wake(uv_async_t *wake) {
  struct sbx_runtime *rt = wake->data;
  struct sbx_list todo;
  sbx_list_init(&todo);
  pthread_mutex_lock(&rt->lock);
  sbx_list_splice(&todo, &rt->jobs);
  pthread_mutex_unlock(&rt->lock);

  struct sbx_list *it;
  while ((it = sbx_list_shift(&todo)) != NULL) {
    struct sbx_job *job = SBX_LIST_OWNER(it, struct sbx_job, link);
    job->run(job);
  }
  if (rt->stopping && sbx_list_empty(&rt->tenants))
    finish(rt);
}

static void *thread_main(void *arg) {
  struct sbx_runtime *rt = arg;
  /* returns when the last handle is closed, which finish() began */
  while (uv_run(&rt->loop, UV_RUN_DEFAULT) != 0)
    ;
  return NULL;
}

uv_loop_t *sbx_runtime_loop(struct sbx_runtime *rt) {
  return &rt->loop;
}

void *sbx_runtime_scratch(struct sbx_runtime *rt) {
  return rt->scratch;
}

bool sbx_runtime_stopping(const struct sbx_runtime *rt) {
  return rt->stopping;
}

void **sbx_runtime_slot(struct sbx_runtime *rt, enum sbx_slot which) {
  return &rt->slots[which];
}

int sbx_runtime_enter(struct sbx_runtime *rt, struct sbx_tenant *tenant) {
  if (rt->stopping)
    return SBX_ECANCELLED;
  sbx_list_append(&rt->tenants, &tenant->link);
  return 0;
}

void sbx_runtime_leave(struct sbx_runtime *rt, struct sbx_tenant *tenant) {
  sbx_list_remove(&tenant->link);
  if (rt->stopping && !rt->finished)
    uv_async_send(&rt->wake); /* on_wake looks whether it was the last */
}

/* ---- any thread ---- */

bool sbx_runtime_on_thread(struct sbx_runtime *rt) {
  return pthread_equal(rt->thread, pthread_self()) != 0;
}

bool sbx_runtime_stale(const struct sbx_runtime *rt) {
  return rt->generation != sbx_forkguard_generation();
}

void sbx_runtime_post(struct sbx_runtime *rt, struct sbx_job *job) {
  if (sbx_runtime_stale(rt))
    return;
  pthread_mutex_lock(&rt->lock);
  sbx_list_append(&rt->jobs, &job->link);
  uv_async_send(&rt->wake); /* in the lock: rt may go once the job has run */
  pthread_mutex_unlock(&rt->lock);
}

/* Signals that a thread raises by its own fault stay open, for debuggers and
 * sanitizers. */
static int create_thread(struct sbx_runtime *rt) {
  static const int faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP};
  sigset_t all, old;
  sigfillset(&all);
  for (size_t i = 0; i < sizeof(faults) / sizeof(faults[0]); i++)
    sigdelset(&all, faults[i]);
  pthread_sigmask(SIG_SETMASK, &all, &old);
  int rc = pthread_create(&rt->thread, NULL, thread_main, rt);
  pthread_sigmask(SIG_SETMASK, &old, NULL);
  if (rc == 0)
    pthread_setname_np(rt->thread, "anvia.sandbox");
  return -rc;
}

static void destroy(struct sbx_runtime *rt) {
  pthread_mutex_destroy(&rt->lock);
  free(rt);
}

/* libuv aborts when it closes a descriptor of its own that is one of the
 * standard ones, which are free in a host that has closed them. */
static void fill_standard(int fds[3]) {
  for (int i = 0; i < 3; i++) {
    fds[i] = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (fds[i] > STDERR_FILENO) {
      close(fds[i]);
      fds[i] = -1;
    }
  }
}

static void free_standard(const int fds[3]) {
  for (int i = 0; i < 3; i++)
    if (fds[i] >= 0)
      close(fds[i]);
}

static void on_probe_closed(uv_handle_t *handle) {
  free(handle);
}

/* Makes the loop take all the descriptors that it will ever have, also the
 * spare one that comes with the first stream. */
static int open_loop(struct sbx_runtime *rt) {
  int fds[3];
  uv_pipe_t *probe = malloc(sizeof(*probe));
  if (!probe)
    return -ENOMEM;
  fill_standard(fds);
  int rc = uv_loop_init(&rt->loop);
  if (rc < 0) {
    free(probe);
    free_standard(fds);
    return rc;
  }
  uv_pipe_init(&rt->loop, probe, 0);
  uv_close((uv_handle_t *)probe, on_probe_closed);
  uv_timer_init(&rt->loop, &rt->stop_timer);
  rc = uv_async_init(&rt->loop, &rt->wake, on_wake);
  free_standard(fds);
  if (rc < 0) {
    finish(rt);
    uv_run(&rt->loop, UV_RUN_DEFAULT);
    uv_loop_close(&rt->loop);
  }
  return rc;
}

static int start(struct sbx_runtime **out, struct sbx_err *err) {
  struct sbx_runtime *rt = calloc(1, sizeof(*rt));
  if (!rt)
    return sbx_fail(err, -ENOMEM, "start the I/O thread");
  rt->generation = sbx_forkguard_generation();
  sbx_list_init(&rt->jobs);
  sbx_list_init(&rt->tenants);
  pthread_mutex_init(&rt->lock, NULL);

  rt->wake.data = rt;
  rt->stop_timer.data = rt;
  int rc = open_loop(rt);
  if (rc < 0) {
    sbx_fail(err, rc, "start the I/O thread");
    destroy(rt);
    return rc;
  }
  rc = create_thread(rt);
  if (rc < 0) {
    sbx_fail(err, rc, "start the I/O thread");
    finish(rt);
    uv_run(&rt->loop, UV_RUN_DEFAULT);
    uv_loop_close(&rt->loop);
    destroy(rt);
    return rc;
  }
  *out = rt;
  return 0;
}

int sbx_runtime_acquire(struct sbx_runtime **out, struct sbx_err *err) {
  int rc = sbx_forkguard_init();
  if (rc < 0)
    return sbx_fail(err, rc, "start the I/O thread");
  sbx_forkguard_lock();
  if (!current || sbx_runtime_stale(current)) {
    current = NULL; /* a parent's: its memory is left alone */
    rc = start(&current, err);
  }
  if (rc == 0) {
    current->refs++;
    *out = current;
  }
  sbx_forkguard_unlock();
  return rc;
}

void sbx_runtime_release(struct sbx_runtime *rt) {
  if (sbx_runtime_stale(rt))
    return;
  sbx_forkguard_lock();
  bool last = --rt->refs == 0;
  if (last)
    current = NULL;
  sbx_forkguard_unlock();
  if (!last)
    return;

  /* Not under the lock: tenants may need it to end, and an acquire from now
   * on starts a thread of its own. */
  rt->stop_job.run = begin_stop;
  sbx_runtime_post(rt, &rt->stop_job);
  pthread_join(rt->thread, NULL);
  uv_loop_close(&rt->loop);
  destroy(rt);
}
