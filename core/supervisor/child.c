/* SPDX-License-Identifier: MIT */
#include "supervisor/child.h"

#include <errno.h>
#include <grp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define DEFAULT_PATH                                                           \
  "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
#define MARK_NAME "ANVIA_PROCESS_MARK"

extern char **environ;

static void fail(int report, uint8_t stage, int error) {
  struct sbx_report r;
  memset(&r, 0, sizeof(r));
  r.stage = stage;
  r.error = error;
  ssize_t n = write(report, &r, sizeof(r));
  _exit(n < 0 ? 126 : 127);
}

/* Only what it must have: also should somebody stop us before the exec. */
static void close_others(int a, int b) {
#ifdef SYS_close_range
  int low = a < b ? a : b, high = a < b ? b : a;
  syscall(SYS_close_range, low + 1, high - 1, 0);
  syscall(SYS_close_range, high + 1, ~0u, 0);
#else
  (void)a; /* all are closed by the exec */
  (void)b;
#endif
}

static int become(bool root) {
  static const gid_t root_group = 0;
  const struct sbx_user *u = &sbx_super.user;
  uid_t uid = root ? 0 : u->uid;
  gid_t gid = root ? 0 : u->gid;
  uint64_t allowed = uid == 0 ? sbx_super.capabilities : 0;

  for (unsigned cap = 0; cap < 64; cap++)
    if (((sbx_super.bounding & ~sbx_super.capabilities) >> cap & 1) &&
        prctl(PR_CAPBSET_DROP, cap, 0, 0, 0) < 0)
      return -errno;
  if ((root ? setgroups(1, &root_group)
            : setgroups(u->group_count, u->groups)) < 0 ||
      setresgid(gid, gid, gid) < 0 || setresuid(uid, uid, uid) < 0)
    return -errno;
  int rc = sbx_user_capset(allowed, allowed);
  if (rc == 0 && sbx_super.no_new_privileges &&
      prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
    rc = -errno;
  return rc;
}

static int enter(const struct sbx_str *cwd) {
  const char *path = (const char *)cwd->data;
  if (path[0] != '/' && fchdir(sbx_super.workspace) < 0)
    return -errno;
  return path[0] != '\0' && chdir(path) < 0 ? -errno : 0;
}

/* ---- the environment */

struct env {
  char **list;
  size_t len;
};

static char *find(const struct env *e, const char *name, size_t len) {
  for (size_t i = 0; i < e->len; i++)
    if (strncmp(e->list[i], name, len) == 0 && e->list[i][len] == '=')
      return e->list[i] + len + 1;
  return NULL;
}

/* There is room in the list. */
static bool put(struct env *e, const char *name, const char *value) {
  size_t len = strlen(name), at = 0;
  char *entry = malloc(len + strlen(value) + 2);
  if (!entry)
    return false;
  strcpy(entry, name);
  entry[len] = '=';
  strcpy(entry + len + 1, value);
  while (at < e->len && strncmp(e->list[at], entry, len + 1) != 0)
    at++;
  e->list[at] = entry;
  e->len += at == e->len;
  return true;
}

/* The mark is the first entry, where one look finds it. */
static bool build_environment(struct env *e, const struct sbx_msg_spawn *m) {
  const char *mark = (const char *)m->mark.data;
  bool root = m->flags & SBX_SPAWN_ROOT;
  const char *home = root ? sbx_super.root_home : sbx_super.user.home.data;
  struct sbx_strs list = m->env;
  struct sbx_str name, value;
  size_t count = 0;

  while (environ[count])
    count++;
  e->list = calloc(count + list.count + 4, sizeof(char *));
  if (!e->list || !put(e, MARK_NAME, mark))
    return false;
  for (size_t i = 0; i < count; i++)
    e->list[e->len++] = environ[i];
  /* The engine sets that of root when the image has none. */
  const char *old = find(e, "HOME", 4);
  if ((!old || strcmp(old, sbx_super.root_home) == 0) && !put(e, "HOME", home))
    return false;
  if ((m->flags & SBX_SPAWN_PTY) && !find(e, "TERM", 4) &&
      !put(e, "TERM", "xterm"))
    return false;
  while (sbx_strs_next(&list, &name) && sbx_strs_next(&list, &value))
    if (!put(e, (const char *)name.data, (const char *)value.data))
      return false;
  return put(e, MARK_NAME, mark);
}

/* ---- the program */

/* Returns why not. A file that is there, but not its interpreter, is not
 * executable. */
static uint8_t stage_of(const char *path, int error) {
  if (error == E2BIG || error == ENOMEM || error == EAGAIN || error == EMFILE ||
      error == ENFILE)
    return SBX_FAILED_REFUSED;
  if (error != ENOENT && error != ENOTDIR && error != ELOOP &&
      error != ENAMETOOLONG)
    return SBX_FAILED_NOT_EXECUTABLE;
  return access(path, F_OK) == 0 ? SBX_FAILED_NOT_EXECUTABLE
                                 : SBX_FAILED_NOT_FOUND;
}

/* Tries each directory of PATH; goes on where it is not, or may not be run. */
static void search(char **argv, const struct env *e, int report) {
  const char *path = find(e, "PATH", 4);
  uint8_t stage = SBX_FAILED_NOT_FOUND;
  int error = ENOENT;
  size_t name_len = strlen(argv[0]);
  const char *end;

  for (path = path ? path : DEFAULT_PATH;; path = end + 1) {
    end = strchrnul(path, ':');
    size_t len = (size_t)(end - path);
    char *file = malloc(len + name_len + 2);
    if (!file)
      fail(report, SBX_FAILED_REFUSED, ENOMEM);
    memcpy(file, path, len);
    file[len] = '/';
    strcpy(file + len + (len > 0),
           argv[0]); /* empty: the directory we are in */
    execve(file, argv, e->list);
    int why = errno;
    if (stage_of(file, why) == SBX_FAILED_REFUSED)
      fail(report, SBX_FAILED_REFUSED, why);
    if (stage == SBX_FAILED_NOT_FOUND && access(file, F_OK) == 0) {
      stage = SBX_FAILED_NOT_EXECUTABLE;
      error = why;
    }
    if (*end == '\0')
      fail(report, stage, error);
  }
}

static void execute(const struct sbx_msg_spawn *m, int report) {
  struct sbx_strs list = m->argv;
  struct sbx_str arg;
  struct env env = {0};
  char **argv = calloc((size_t)list.count + 1, sizeof(char *));
  sigset_t none;

  if (!argv || !build_environment(&env, m))
    fail(report, SBX_FAILED_REFUSED, ENOMEM);
  for (size_t i = 0; sbx_strs_next(&list, &arg); i++)
    argv[i] = (char *)arg.data;
  if (!argv[0] || argv[0][0] == '\0')
    fail(report, SBX_FAILED_NOT_FOUND, ENOENT);
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, NULL);
  if (!strchr(argv[0], '/'))
    search(argv, &env, report);
  execve(argv[0], argv, env.list);
  int error = errno;
  fail(report, stage_of(argv[0], error), error);
}

void sbx_child_run(uint64_t serial, const struct sbx_msg_spawn *m,
                   const int streams[3], int report) {
  bool terminal = m->flags & SBX_SPAWN_PTY;
  int rc = 0;

  sbx_kill_mark(serial);
  setsid();
  for (int i = 0; i < 3; i++)
    if (dup2(streams[terminal ? 0 : i], i) < 0)
      rc = -errno;
  close_others(report, sbx_super.workspace);
  if (terminal && ioctl(STDIN_FILENO, TIOCSCTTY, 0) < 0)
    rc = -errno;
  if (rc == 0)
    rc = become(m->flags & SBX_SPAWN_ROOT);
  if (rc < 0)
    fail(report, SBX_FAILED_REFUSED, -rc);
  rc = enter(&m->cwd);
  if (rc < 0)
    fail(report, SBX_FAILED_CWD, -rc);
  execute(m, report);
  _exit(127);
}
