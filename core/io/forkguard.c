/* SPDX-License-Identifier: MIT */
#include "io/forkguard.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct sbx_list guards = {&guards, &guards}; /* guarded by lock */
static atomic_uint generation;

static pthread_once_t once = PTHREAD_ONCE_INIT;
static int once_rc;

void sbx_forkguard_lock(void) {
  pthread_mutex_lock(&lock);
}

void sbx_forkguard_unlock(void) {
  pthread_mutex_unlock(&lock);
}

/* In the child, with the lock that was taken before the fork. Only close():
 * nothing else is safe in the child of a threaded process. */
static void after_fork_in_child(void) {
  struct sbx_list *it, *tmp;
  SBX_LIST_EACH (it, tmp, &guards) {
    struct sbx_guard *g = SBX_LIST_OWNER(it, struct sbx_guard, link);
    close(g->fd);
  }
  sbx_list_init(&guards); /* the members belong to the parent's objects */
  atomic_fetch_add(&generation, 1);
  pthread_mutex_unlock(&lock);
}

static void install(void) {
  once_rc = -pthread_atfork(sbx_forkguard_lock, sbx_forkguard_unlock,
                            after_fork_in_child);
}

int sbx_forkguard_init(void) {
  pthread_once(&once, install);
  return once_rc;
}

void sbx_guard_add(struct sbx_guard *g, int fd) {
  g->fd = fd;
  sbx_list_append(&guards, &g->link);
}

void sbx_guard_remove(struct sbx_guard *g) {
  if (!g->link.next)
    return;
  sbx_forkguard_lock();
  sbx_list_remove(&g->link);
  sbx_forkguard_unlock();
}

unsigned sbx_forkguard_generation(void) {
  return atomic_load_explicit(&generation, memory_order_relaxed);
}
