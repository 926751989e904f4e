/* SPDX-License-Identifier: MIT */
#include "io/spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "io/request.h"

#define DEFAULT_PATH "/usr/local/bin:/usr/bin:/bin"

/* 0 when `path` is a file that we may run. */
static int runnable(const char *path) {
  struct stat st;
  if (stat(path, &st) < 0)
    return -errno;
  if (!S_ISREG(st.st_mode) || access(path, X_OK) < 0)
    return -EACCES;
  return 0;
}

/* Looks `name` up like a shell does: the first that can be run. Fills out, or
 * says why there is none. */
static int look_up(const char *name, const char *path, char out[PATH_MAX]) {
  size_t name_size = strlen(name) + 1;
  if (strchr(name, '/')) {
    if (name_size > PATH_MAX)
      return -ENAMETOOLONG;
    memcpy(out, name, name_size);
    return runnable(name);
  }
  int rc = -ENOENT;
  for (const char *dir = path; dir;) {
    const char *end = strchr(dir, ':');
    size_t len = end ? (size_t)(end - dir) : strlen(dir);
    if (len + 2 + name_size <= PATH_MAX) {
      if (len > 0) /* an empty entry is the current directory */
        memcpy(out, dir, len);
      else
        out[len++] = '.';
      out[len] = '/';
      memcpy(out + len + 1, name, name_size);
      int found = runnable(out);
      if (found == 0)
        return 0;
      if (found == -EACCES)
        rc = found;
    }
    dir = end ? end + 1 : NULL;
  }
  return rc;
}

/* A pipe whose ends are no standard descriptor (a host may have closed those),
 * so that moving them in the child never overwrites another. */
static int make_pipe(int fds[2]) {
  if (pipe2(fds, O_CLOEXEC) < 0)
    return -errno;
  for (int i = 0; i < 2; i++) {
    if (fds[i] > STDERR_FILENO)
      continue;
    int moved = fcntl(fds[i], F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    if (moved < 0) {
      int rc = -errno;
      close(fds[0]);
      close(fds[1]);
      return rc;
    }
    close(fds[i]);
    fds[i] = moved;
  }
  return 0;
}

static void close_all(int *fds, size_t n) {
  for (size_t i = 0; i < n; i++) {
    if (fds[i] >= 0)
      close(fds[i]);
    fds[i] = -1;
  }
}

/* All 0 or -errno, as posix_spawn's functions are errno. */
static int set_actions(posix_spawn_file_actions_t *actions,
                       const int theirs[3]) {
  int rc = 0;
  for (int i = 0; i < 3 && rc == 0; i++)
    rc = posix_spawn_file_actions_adddup2(actions, theirs[i], i);
#if defined(__GLIBC_PREREQ)
#if __GLIBC_PREREQ(2, 34)
  if (rc == 0) /* Lua's io.open() and others make descriptors that exec keeps */
    rc = posix_spawn_file_actions_addclosefrom_np(actions, STDERR_FILENO + 1);
#endif
#endif
  return -rc;
}

static int set_attributes(posix_spawnattr_t *attr) {
  sigset_t all, none;
  sigemptyset(&none);
  sigfillset(&all);
  sigdelset(&all, SIGKILL);
  sigdelset(&all, SIGSTOP);
  int rc = posix_spawnattr_setflags(attr, POSIX_SPAWN_SETSID |
                                              POSIX_SPAWN_SETSIGMASK |
                                              POSIX_SPAWN_SETSIGDEF);
  if (rc == 0)
    rc = posix_spawnattr_setsigmask(attr, &none);
  if (rc == 0)
    rc = posix_spawnattr_setsigdefault(attr, &all);
  return -rc;
}

static int start(const struct sbx_request *request, const char *path,
                 const int theirs[3], pid_t *pid) {
  char **env = request->environment;
  if (!env)
    env = sbx_request_environment(request);
  if (!env)
    return -ENOMEM;
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attr;
  int rc = -posix_spawn_file_actions_init(&actions);
  if (rc < 0)
    goto free_env;
  rc = -posix_spawnattr_init(&attr);
  if (rc < 0)
    goto free_actions;
  rc = set_actions(&actions, theirs);
  if (rc == 0)
    rc = set_attributes(&attr);
  if (rc == 0)
    rc = -posix_spawn(pid, path, &actions, &attr, request->argv, env);
  posix_spawnattr_destroy(&attr);

free_actions:
  posix_spawn_file_actions_destroy(&actions);
free_env:
  if (env != request->environment)
    free(env);
  return rc;
}

static int open_pidfd(pid_t pid) {
#ifdef SYS_pidfd_open
  return (int)syscall(SYS_pidfd_open, pid, 0); /* close-on-exec by itself */
#else
  (void)pid;
  return -1;
#endif
}

int sbx_spawn(const struct sbx_request *request, struct sbx_guard guards[3],
              struct sbx_spawned *out, struct sbx_err *err) {
  const char *name = request->argv[0];
  const char *search = request->search_path;
  if (!request->environment)
    search = getenv("PATH");
  char path[PATH_MAX];
  int rc = look_up(name, search ? search : DEFAULT_PATH, path);
  if (rc < 0)
    return sbx_fail(err, SBX_EUNAVAILABLE, "cannot run '%s': %s", name,
                    uv_strerror(rc));

  int ours[3] = {-1, -1, -1}, theirs[3] = {-1, -1, -1};
  sbx_forkguard_lock(); /* no fork sees a pipe that is not guarded yet */
  for (int i = 0; i < 3; i++) {
    int fds[2];
    rc = make_pipe(fds);
    if (rc < 0) {
      sbx_fail(err, rc, "cannot make a pipe for '%s'", name);
      goto fail;
    }
    ours[i] = fds[i == 0 ? 1 : 0];
    theirs[i] = fds[i == 0 ? 0 : 1];
  }
  rc = start(request, path, theirs, &out->pid);
  if (rc < 0) {
    rc = sbx_fail(err, SBX_EUNAVAILABLE, "cannot run '%s': %s", name,
                  uv_strerror(rc));
    goto fail;
  }
  close_all(theirs, 3);
  for (int i = 0; i < 3; i++) {
    out->pipes[i] = ours[i];
    sbx_guard_add(&guards[i], ours[i]);
  }
  sbx_forkguard_unlock();
  out->pidfd = open_pidfd(out->pid);
  return 0;

fail:
  close_all(ours, 3);
  close_all(theirs, 3);
  sbx_forkguard_unlock();
  return rc;
}
