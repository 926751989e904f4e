/* SPDX-License-Identifier: MIT */
/* watchdog_child.c - the watchdog process.
 *
 * It was forked from a process with threads: here only system calls and plain
 * loops over memory run, nothing that could wait for a lock of the C library
 * (no malloc, no stdio). */
#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "http/watchdog.h"

#define ENTRIES    256
#define ANSWER     (64 * 1024)
#define LOOK_MS    60000 /* for what the engine may still be creating */
#define FIRST_MS   20    /* between two looks; doubled up to ... */
#define LAST_MS    1000
#define REQUEST_MS 10000

struct entry {
  char line[SBX_WATCHDOG_LINE]; /* without its verb; empty: free */
  bool seen;                    /* it was there, and we removed it */
};

/* Not on the stack, which is a thread's. */
static struct entry entries[ENTRIES];
static char pending[2 * SBX_WATCHDOG_LINE];
static char answer[ANSWER + 1];

static int64_t now_ms(void) {
  struct timespec ts;

  clock_gettime(CLOCK_MONOTONIC, &ts);
  return (int64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

/* -- one request ------------------------------------------------------------
 */

static int connect_inet(const char *address) {
  struct sockaddr_in6 v6 = {.sin6_family = AF_INET6};
  struct sockaddr_in v4 = {.sin_family = AF_INET};
  char host[64] = "";
  unsigned port = 0;
  const char *end = strchr(address + 2, ' ');
  int fd;

  if (end == NULL || (size_t)(end - address - 2) >= sizeof(host))
    return -1;
  memcpy(host, address + 2, (size_t)(end - address - 2));
  for (const char *c = end + 1; *c >= '0' && *c <= '9'; c++)
    port = port * 10 + (unsigned)(*c - '0');
  v4.sin_port = v6.sin6_port = htons((uint16_t)port);
  if (inet_pton(AF_INET, host, &v4.sin_addr) == 1) {
    fd = socket(AF_INET, SOCK_STREAM, 0);
    if (fd >= 0 && connect(fd, (struct sockaddr *)&v4, sizeof(v4)) == 0)
      return fd;
  } else if (inet_pton(AF_INET6, host, &v6.sin6_addr) == 1) {
    fd = socket(AF_INET6, SOCK_STREAM, 0);
    if (fd >= 0 && connect(fd, (struct sockaddr *)&v6, sizeof(v6)) == 0)
      return fd;
  } else {
    return -1;
  }
  if (fd >= 0)
    close(fd);
  return -1;
}

static int connect_to(const char *address) {
  struct sockaddr_un addr = {.sun_family = AF_UNIX};
  int fd;

  if (address[0] != '/')
    return connect_inet(address);
  if (strlen(address) >= sizeof(addr.sun_path))
    return -1;
  memcpy(addr.sun_path, address, strlen(address) + 1);
  fd = socket(AF_UNIX, SOCK_STREAM, 0);
  if (fd >= 0 && connect(fd, (struct sockaddr *)&addr, sizeof(addr)) < 0) {
    close(fd);
    fd = -1;
  }
  return fd;
}

/* Sends the request and reads the answer, of HTTP/1.0, into `answer`. Returns
 * its status, or 0. */
static int request(const char *address, const char *text) {
  size_t len = strlen(text), n = 0;
  int64_t until = now_ms() + REQUEST_MS;
  int fd = connect_to(address);

  if (fd < 0)
    return 0;
  if (send(fd, text, len, MSG_NOSIGNAL) == (ssize_t)len) {
    struct pollfd p = {.fd = fd, .events = POLLIN};
    ssize_t got = 1;

    while (got > 0 && n < ANSWER && now_ms() < until) {
      if (poll(&p, 1, 1000) <= 0)
        continue;
      got = read(fd, answer + n, ANSWER - n);
      n += got > 0 ? (size_t)got : 0;
    }
  }
  close(fd);
  answer[n] = '\0';
  if (n < 12 || memcmp(answer, "HTTP/1.", 7) != 0)
    return 0;
  return (answer[9] - '0') * 100 + (answer[10] - '0') * 10 + answer[11] - '0';
}

/* -- one entry ---------------------------------------------------------------
 */

static const char head_end[] = " HTTP/1.0\r\nHost: docker\r\n"
                               "Connection: close\r\n\r\n";

/* Cuts the line into its three fields. */
static bool cut(struct entry *e, char copy[SBX_WATCHDOG_LINE],
                const char *fields[3]) {
  char *at = copy;

  memcpy(copy, e->line, SBX_WATCHDOG_LINE);
  for (int i = 0; i < 3; i++) {
    fields[i] = at;
    at = strchr(at, '\t');
    if (i == 2)
      return at == NULL;
    if (at == NULL)
      return false;
    *at++ = '\0';
  }
  return false;
}

/* Removes one of the containers that the answer names; their number. */
static int remove_listed(const char *address, const char *prefix) {
  static const char key[] = "\"Id\":\"";
  char id[80], text[SBX_WATCHDOG_LINE + 256];
  const char *at = strstr(answer, key);
  size_t n;

  if (at == NULL)
    return 0;
  at += sizeof(key) - 1;
  n = strspn(at, "0123456789abcdef");
  if (n == 0 || n >= sizeof(id))
    return 0;
  memcpy(id, at, n);
  id[n] = '\0';
  at = stpcpy(stpcpy(stpcpy(stpcpy(stpcpy(stpcpy(text, "DELETE "), prefix),
                                   "/containers/"),
                            id),
                     "?force=1&v=1"),
              head_end);
  (void)at;
  (void)request(address, text);
  return 1;
}

/* True when nothing is left to do for it. */
static bool look(struct entry *e) {
  char copy[SBX_WATCHDOG_LINE], text[SBX_WATCHDOG_LINE + 256];
  const char *fields[3];
  int status;

  if (!cut(e, copy, fields))
    return true;
  (void)stpcpy(
      stpcpy(stpcpy(stpcpy(stpcpy(stpcpy(text, "GET "), fields[1]),
                           "/containers/json?all=1&filters=%7B%22label%22%3A"
                           "%5B%22"),
                    fields[2]),
             "%22%5D%7D"),
      head_end);
  status = request(fields[0], text);
  if (status != 200)
    return false;
  if (remove_listed(fields[0], fields[1]) > 0) {
    e->seen = true;
    return false; /* until it is seen to be gone */
  }
  return e->seen;
}

/* -- all entries -------------------------------------------------------------
 */

/* Removes what is armed until it is gone or the time is over. */
static void sweep(void) {
  int64_t until = now_ms() + LOOK_MS;
  long pause = FIRST_MS;
  bool left = true;

  while (left && now_ms() < until) {
    left = false;
    for (int i = 0; i < ENTRIES; i++) {
      struct entry *e = &entries[i];

      if (e->line[0] == '\0')
        continue;
      if (look(e))
        e->line[0] = '\0';
      else
        left = true;
    }
    if (left) {
      struct timespec ts = {.tv_sec = pause / 1000,
                            .tv_nsec = pause % 1000 * 1000000};
      nanosleep(&ts, NULL);
      pause = pause * 2 < LAST_MS ? pause * 2 : LAST_MS;
    }
  }
}

static struct entry *find(const char *line) {
  for (int i = 0; i < ENTRIES; i++)
    if (strcmp(entries[i].line, line) == 0)
      return &entries[i];
  return NULL;
}

static void take_line(const char *line) {
  struct entry *e = find(line[0] == '+' ? "" : line + 1);

  if (e == NULL || strlen(line) > SBX_WATCHDOG_LINE)
    return;
  if (line[0] == '+') {
    memset(e, 0, sizeof(*e));
    memcpy(e->line, line + 1, strlen(line));
  } else {
    e->line[0] = '\0';
  }
}

static void take_lines(size_t *len) {
  char *start = pending, *end;

  while ((end = memchr(start, '\n', *len)) != NULL) {
    *end = '\0';
    take_line(start);
    *len -= (size_t)(end + 1 - start);
    start = end + 1;
  }
  memmove(pending, start, *len);
  if (*len >= SBX_WATCHDOG_LINE)
    *len = 0;
}

static void close_all_but(int fd) {
#ifdef SYS_close_range
  if ((fd == 0 || syscall(SYS_close_range, 0u, (unsigned)fd - 1, 0u) == 0) &&
      syscall(SYS_close_range, (unsigned)fd + 1, ~0u, 0u) == 0)
    return;
#endif
  struct rlimit limit = {.rlim_cur = 1024};

  getrlimit(RLIMIT_NOFILE, &limit);
  for (int i = 0; i < 65536 && (rlim_t)i < limit.rlim_cur; i++)
    if (i != fd)
      close(i);
}

void sbx_watchdog_main(int fd) {
  size_t len = 0;
  ssize_t n;

  setsid();
  if (chdir("/") < 0)
    _exit(1);
  prctl(PR_SET_NAME, "anvia.watchdog");
  close_all_but(fd);
  while ((n = read(fd, pending + len, sizeof(pending) - len)) != 0) {
    if (n < 0) {
      if (errno == EINTR)
        continue;
      break;
    }
    len += (size_t)n;
    take_lines(&len);
  }
  sweep();
  _exit(0);
}
