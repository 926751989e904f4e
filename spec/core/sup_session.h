/* SPDX-License-Identifier: MIT */
/* sup_session.h - a session whose container is the real supervisor as PID 1 of
 * its own pid and mount namespaces on this machine, without an engine. Needs
 * root. */
#ifndef SBX_SUP_SESSION_H
#define SBX_SUP_SESSION_H

#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "local_session.h"

/* chown dac_override fowner kill setgid setuid setpcap */
#define SUP_CAPABILITIES UINT64_C(0x1eb)
#define SUP_CONTAINER    "--container"

static inline const char *sup_program_path(void) {
  static char path[512];
  const char *build = getenv("SBX_BUILD");

  snprintf(path, sizeof(path), "%s/core/supervisor/supervisor-%s",
           build ? build : ".",
#ifdef __aarch64__
           "arm64"
#else
           "amd64"
#endif
  );
  return path;
}

/* False when this machine cannot run the tests. */
static inline bool sup_session_is_possible(void) {
  if (geteuid() == 0 && access(sup_program_path(), X_OK) == 0)
    return true;
  fprintf(stderr, "skipped: needs root and %s\n", sup_program_path());
  return false;
}

/* What the "engine's client" does: the test itself, with SUP_CONTAINER and a
 * program as its arguments. Its status is that of the container. */
static inline int sup_container(const char *program) {
  int status = 0;
  pid_t pid = (pid_t)syscall(SYS_clone, CLONE_NEWPID | CLONE_NEWNS | SIGCHLD, 0,
                             0, 0, 0);

  if (pid < 0)
    return 97;
  if (pid == 0) {
    if (mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
        mount("proc", "/proc", "proc", 0, NULL) < 0)
      _exit(99);
    for (int cap = 0; cap < 64; cap++)
      if (!(SUP_CAPABILITIES >> cap & 1))
        prctl(PR_CAPBSET_DROP, cap, 0, 0, 0);
    execl(program, "supervisor", (char *)NULL);
    _exit(98);
  }
  close(0);
  close(1);
  if (waitpid(pid, &status, 0) != pid)
    return 96;
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static inline struct sbx_request *container_request(const char *program) {
  struct sbx_request *r = NULL;
  char self[512] = "";

  REQUIRE(readlink("/proc/self/exe", self, sizeof(self) - 1) > 0);
  REQUIRE(sbx_request_new(&r) == 0);
  sbx_request_arg(r, self, strlen(self));
  sbx_request_arg(r, SUP_CONTAINER, strlen(SUP_CONTAINER));
  sbx_request_arg(r, program, strlen(program));
  REQUIRE(sbx_request_seal(r) == 0);
  return r;
}

/* Any attach request in place of the container. */
static inline struct sbx_session *
session_over(struct sbx_mailbox *mb, struct sbx_request *attach,
             const char *user, uint64_t ttl_ms, uint64_t idle_ms,
             size_t max_processes) {
  struct sbx_session_options options = {
      .workdir = strdup("/tmp"),
      .attach = attach,
      .ttl_ms = ttl_ms,
      .idle_ms = idle_ms,
      .max_processes = max_processes,
      .max_output = 65536,
      .supervisor = true,
      .user = strdup(user),
      .no_new_privileges = true,
  };
  struct sbx_session *s = NULL;
  struct sbx_err err = {0};

  REQUIRE(sbx_session_new(&s, mb, &options, &err) == 0);
  return s;
}

static inline struct sbx_session *sup_session(struct sbx_mailbox *mb,
                                              size_t max_processes,
                                              uint64_t ttl_ms,
                                              uint64_t idle_ms) {
  return session_over(mb, container_request(sup_program_path()), "", ttl_ms,
                      idle_ms, max_processes);
}

#endif
