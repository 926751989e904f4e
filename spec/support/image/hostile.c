/* SPDX-License-Identifier: MIT */
/* hostile.c - processes that are hard to get hold of: hostile WAY NAME [OTHER]
 *
 * Each keeps NAME among its arguments, so that somebody who looks from outside
 * finds it, and lives until it is killed.
 *
 *   hop      is always another process: forks, and the parent exits
 *   breed    eight that replace each other, in sessions of their own
 *   leader   its first thread has ended, another one lives
 *   parent   a child that the parent of this one gets (CLONE_PARENT)
 *   wipe     leaves session and parent, has its environment overwritten in
 *            place, and lowers every limit that it may
 *   hidden   leaves likewise, and is not dumpable
 *   swap     exchanges the names NAME and OTHER without a pause */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static void forever(void) {
  for (;;)
    pause();
}

static void away(void) {
  for (int i = 0; i < 2; i++) {
    if (fork() != 0)
      _exit(0);
    setsid();
  }
}

static void hop(void) {
  for (;;) {
    pid_t pid = fork();
    if (pid > 0)
      _exit(0);
    if (pid == 0)
      setsid();
  }
}

static void breed(void) {
  signal(SIGCHLD, SIG_IGN);
  for (int i = 0; i < 8; i++) {
    if (fork() != 0)
      continue;
    for (;;) {
      setsid();
      usleep(500);
      if (fork() > 0)
        _exit(0);
    }
  }
}

static void *second_thread(void *arg) {
  forever();
  return arg;
}

static void leader(void) {
  pthread_t thread;
  pthread_create(&thread, NULL, second_thread, NULL);
  syscall(SYS_exit, 0);
}

static void parent(void) {
  if (syscall(SYS_clone, CLONE_PARENT | SIGCHLD, 0, 0, 0, 0) != 0)
    _exit(3);
  setsid();
}

static void lower_limits(void) {
  for (int i = 0; i < RLIM_NLIMITS; i++) {
    struct rlimit none = {0, 0};
    setrlimit((enum __rlimit_resource)i, &none);
  }
}

static void wipe(void) {
  for (char **entry = environ; *entry; entry++)
    memset(*entry, 0, strlen(*entry));
  lower_limits();
}

static void swap(const char *one, const char *other) {
  for (;;)
    renameat2(AT_FDCWD, one, AT_FDCWD, other, RENAME_EXCHANGE);
}

int main(int argc, char **argv) {
  const char *way = argc > 1 ? argv[1] : "";
  signal(SIGTERM, SIG_IGN);
  signal(SIGHUP, SIG_IGN);
  if (strcmp(way, "hop") == 0) {
    hop();
  } else if (strcmp(way, "breed") == 0) {
    breed();
  } else if (strcmp(way, "leader") == 0) {
    leader();
  } else if (strcmp(way, "parent") == 0) {
    parent();
  } else if (strcmp(way, "wipe") == 0) {
    away();
    wipe();
  } else if (strcmp(way, "hidden") == 0) {
    away();
    prctl(PR_SET_DUMPABLE, 0);
  } else if (strcmp(way, "swap") == 0 && argc == 4) {
    swap(argv[2], argv[3]);
  } else {
    return 2;
  }
  forever();
}
