/* SPDX-License-Identifier: MIT */
#include "os/launch.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <termios.h>
#include <unistd.h>

#define SPARE_FDS 16 /* that must be left, for more than programs */
#define DEFAULT_PATH                                                           \
  "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

/* `end` is ours: 0, to read, or 1, to write. */
static int open_pipe(int end, int *ours, int *theirs) {
  int fds[2];
  if (pipe2(fds, O_CLOEXEC) < 0)
    return -errno;
  *ours = fds[end];
  *theirs = fds[1 - end];
  return 0;
}

int sbx_launch_resize(int terminal, uint16_t rows, uint16_t cols) {
  struct winsize size = {.ws_row = rows, .ws_col = cols};
  return ioctl(terminal, TIOCSWINSZ, &size) < 0 ? -errno : 0;
}

static int open_terminal(struct sbx_launch *l, bool input, uint16_t rows,
                         uint16_t cols, struct sbx_launch_ends *ours) {
  int no = 0;
  int fd = open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC);

  if (fd < 0)
    return -errno;
  ours->output[0] = fd;
  if (ioctl(fd, TIOCSPTLCK, &no) < 0)
    return -errno;
  l->streams[0] = ioctl(fd, TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC);
  if (l->streams[0] < 0 || fchown(l->streams[0], l->creds.uid, (gid_t)-1) < 0 ||
      fchmod(l->streams[0], 0620) < 0)
    return -errno;
  if (input && (ours->input = fcntl(fd, F_DUPFD_CLOEXEC, 3)) < 0)
    return -errno;
  return sbx_launch_resize(fd, rows, cols);
}

static int open_pipes(struct sbx_launch *l, bool input,
                      struct sbx_launch_ends *ours) {
  int rc = 0;
  if (input)
    rc = open_pipe(1, &ours->input, &l->streams[0]);
  else if ((l->streams[0] = open("/dev/null", O_RDONLY | O_CLOEXEC)) < 0)
    rc = -errno;
  for (int i = 0; i < 2 && rc == 0; i++)
    rc = open_pipe(0, &ours->output[i], &l->streams[1 + i]);
  return rc;
}

static void close_all(int *fds, size_t count) {
  for (size_t i = 0; i < count; i++) {
    if (fds[i] >= 0)
      close(fds[i]);
    fds[i] = -1;
  }
}

void sbx_launch_close(struct sbx_launch *l) {
  close_all(l->streams, 3);
  close_all(&l->report, 1);
}

void sbx_launch_close_ends(struct sbx_launch_ends *ours) {
  close_all(&ours->input, 1);
  close_all(ours->output, 2);
  close_all(&ours->report, 1);
}

int sbx_launch_open(struct sbx_launch *l, bool input, uint16_t rows,
                    uint16_t cols, struct sbx_launch_ends *ours) {
  struct rlimit limit;
  *ours = (struct sbx_launch_ends){-1, {-1, -1}, -1};
  l->streams[0] = l->streams[1] = l->streams[2] = l->report = -1;
  int rc = l->terminal ? open_terminal(l, input, rows, cols, ours)
                       : open_pipes(l, input, ours);
  if (rc == 0)
    rc = open_pipe(0, &ours->report, &l->report);
  if (rc == 0 && getrlimit(RLIMIT_NOFILE, &limit) == 0 &&
      (rlim_t)ours->report + SPARE_FDS > limit.rlim_cur)
    rc = -EMFILE;
  if (rc < 0) {
    sbx_launch_close(l);
    sbx_launch_close_ends(ours);
  }
  return rc;
}

void sbx_launch_limit(struct sbx_launch *l, int which, int resource,
                      uint64_t value) {
  l->limits[which].resource = resource;
  l->limits[which].limit = (struct rlimit){value, value};
}

void sbx_launch_fail(int report, int stage, int error) {
  struct sbx_launch_report r = {stage, error};
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

static int prepare(const struct sbx_launch *l) {
  for (int i = 0; i < 2; i++)
    if (l->limits[i].limit.rlim_max > 0)
      setrlimit(l->limits[i].resource, &l->limits[i].limit);
  setsid();
  for (int i = 0; i < 3; i++)
    if (dup2(l->streams[l->terminal ? 0 : i], i) < 0)
      return -errno;
  close_others(l->report, l->home);
  if (l->terminal && ioctl(STDIN_FILENO, TIOCSCTTY, 0) < 0)
    return -errno;
  return sbx_creds_become(&l->creds);
}

static int enter(const struct sbx_launch *l) {
  if (l->cwd[0] != '/' && fchdir(l->home) < 0)
    return -errno;
  return l->cwd[0] != '\0' && chdir(l->cwd) < 0 ? -errno : 0;
}

static bool is_shortage(int error) {
  return error == E2BIG || error == ENOMEM || error == EAGAIN ||
         error == EMFILE || error == ENFILE;
}

/* A file that is there, but not its interpreter, is not executable. */
static int stage_of(const char *file, int error) {
  if (is_shortage(error))
    return SBX_LAUNCH_REFUSED;
  if (error != ENOENT && error != ENOTDIR && error != ELOOP &&
      error != ENAMETOOLONG)
    return SBX_LAUNCH_NOT_EXECUTABLE;
  return access(file, F_OK) == 0 ? SBX_LAUNCH_NOT_EXECUTABLE
                                 : SBX_LAUNCH_NOT_FOUND;
}

/* The kernel says EACCES of it. */
static int error_of(const char *file, int error) {
  struct stat st;
  return stat(file, &st) == 0 && S_ISDIR(st.st_mode) ? EISDIR : error;
}

/* Goes on where it is not, and where it may not be run. */
static void search(const struct sbx_launch *l) {
  const char *path = sbx_env_get(&l->env, "PATH");
  int stage = SBX_LAUNCH_NOT_FOUND, error = ENOENT;

  for (path = path ? path : DEFAULT_PATH; path;) {
    char *file = sbx_path_next(&path, l->argv[0]);
    if (!file)
      sbx_launch_fail(l->report, SBX_LAUNCH_REFUSED, ENOMEM);
    execve(file, l->argv, l->env.entries);
    int why = errno;
    if (is_shortage(why))
      sbx_launch_fail(l->report, SBX_LAUNCH_REFUSED, why);
    if (stage == SBX_LAUNCH_NOT_FOUND && access(file, F_OK) == 0) {
      stage = SBX_LAUNCH_NOT_EXECUTABLE;
      error = why;
    }
  }
  sbx_launch_fail(l->report, stage, error);
}

void sbx_launch_run(const struct sbx_launch *l) {
  sigset_t none;
  int rc = prepare(l);
  if (rc < 0)
    sbx_launch_fail(l->report, SBX_LAUNCH_REFUSED, -rc);
  rc = enter(l);
  if (rc < 0)
    sbx_launch_fail(l->report, SBX_LAUNCH_CWD, -rc);
  if (!l->argv[0] || l->argv[0][0] == '\0')
    sbx_launch_fail(l->report, SBX_LAUNCH_NOT_FOUND, ENOENT);
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, NULL);
  if (!strchr(l->argv[0], '/'))
    search(l);
  execve(l->argv[0], l->argv, l->env.entries);
  rc = errno;
  sbx_launch_fail(l->report, stage_of(l->argv[0], rc),
                  error_of(l->argv[0], rc));
}
