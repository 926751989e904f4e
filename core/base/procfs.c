/* SPDX-License-Identifier: MIT */
#include "base/procfs.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

const char *sbx_pid_text(char out[SBX_PID_TEXT], long pid) {
  char *at = out + SBX_PID_TEXT - 1;
  *at = '\0';
  do {
    *--at = (char)('0' + pid % 10);
    pid /= 10;
  } while (pid > 0 && at > out);
  return at;
}

bool sbx_procfs_each(int proc, bool (*each)(int proc, long pid)) {
  _Alignas(struct dirent) char entries[8192];
  bool all = lseek(proc, 0, SEEK_SET) == 0;
  long n;

  /* Not readdir: that has to be allocated. */
  while ((n = syscall(SYS_getdents64, proc, entries, sizeof(entries))) > 0)
    for (long at = 0; at < n;) {
      const struct dirent *d = (const void *)(entries + at);
      long pid = strtol(d->d_name, NULL, 10);
      if (pid > 1 && pid != getpid() && !each(proc, pid))
        all = false;
      at += d->d_reclen;
    }
  return all && n == 0;
}

int sbx_procfs_open(int proc, long pid, const char *name) {
  char path[64], number[SBX_PID_TEXT];
  const char *digits = sbx_pid_text(number, pid);
  size_t len = strlen(digits), name_len = strlen(name);

  if (len + name_len + 2 > sizeof(path))
    return -ENAMETOOLONG;
  memcpy(path, digits, len);
  path[len] = '/';
  memcpy(path + len + 1, name, name_len + 1);
  int fd = openat(proc, path, O_RDONLY | O_CLOEXEC);
  return fd < 0 ? -errno : fd;
}

ssize_t sbx_procfs_read(int proc, long pid, const char *name, char *out,
                        size_t cap) {
  int fd = sbx_procfs_open(proc, pid, name);
  if (fd < 0)
    return fd;
  ssize_t n = read(fd, out, cap);
  if (n < 0)
    n = -errno;
  close(fd);
  return n;
}
