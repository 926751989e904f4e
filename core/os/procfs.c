/* SPDX-License-Identifier: MIT */
#include "os/procfs.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "os/creds.h"

static int proc_fd = -1, oom_fd = -1;

const char *sbx_pid_text(char out[SBX_PID_TEXT], long pid) {
  char *at = out + SBX_PID_TEXT - 1;
  *at = '\0';
  do {
    *--at = (char)('0' + pid % 10);
    pid /= 10;
  } while (pid > 0 && at > out);
  return at;
}

int sbx_procfs_init(void) {
  oom_fd = open("/sys/fs/cgroup/memory.events", O_RDONLY | O_CLOEXEC);
  if (oom_fd < 0)
    oom_fd =
        open("/sys/fs/cgroup/memory/memory.oom_control", O_RDONLY | O_CLOEXEC);
  proc_fd = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  return proc_fd < 0 ? -errno : 0;
}

bool sbx_procfs_each(bool (*each)(long pid)) {
  _Alignas(struct dirent) char entries[8192];
  bool all = lseek(proc_fd, 0, SEEK_SET) == 0;
  long n;

  /* Not readdir: that has to be allocated. */
  while ((n = syscall(SYS_getdents64, proc_fd, entries, sizeof(entries))) > 0)
    for (long at = 0; at < n;) {
      const struct dirent *d = (const void *)(entries + at);
      long pid = strtol(d->d_name, NULL, 10);
      if (pid > 1 && pid != getpid() && !each(pid))
        all = false;
      at += d->d_reclen;
    }
  return all && n == 0;
}

static ssize_t read_file(const char *path, char *out, size_t cap) {
  int fd = openat(proc_fd, path, O_RDONLY | O_CLOEXEC);
  if (fd < 0)
    return -errno;
  ssize_t n = read(fd, out, cap);
  if (n < 0)
    n = -errno;
  close(fd);
  return n;
}

ssize_t sbx_procfs_read(long pid, const char *name, char *out, size_t cap) {
  char path[64], number[SBX_PID_TEXT];
  const char *digits = sbx_pid_text(number, pid);
  size_t len = strlen(digits), name_len = strlen(name);

  if (len + name_len + 2 > sizeof(path))
    return -ENAMETOOLONG;
  memcpy(path, digits, len);
  path[len] = '/';
  memcpy(path + len + 1, name, name_len + 1);
  ssize_t n = read_file(path, out, cap);
  if (n == -EACCES) {
    sbx_creds_enter();
    n = read_file(path, out, cap);
    sbx_creds_leave();
  }
  return n;
}

ssize_t sbx_procfs_read_oom(char *out, size_t cap) {
  ssize_t n = oom_fd < 0 ? -1 : pread(oom_fd, out, cap, 0);
  return n < 0 ? -errno : n;
}
