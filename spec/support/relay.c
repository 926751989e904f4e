/* SPDX-License-Identifier: MIT */
/* relay.c - stands between a client and an engine, so that a spec can stop the
 * engine (SIGSTOP) or take it away (SIGKILL) without touching it:
 * relay SOCKET TARGET. Ends with its parent. Signals go to its process group. */
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

static int open_socket(const char *path, int listening) {
  struct sockaddr_un addr = {.sun_family = AF_UNIX};
  int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0 || strlen(path) >= sizeof(addr.sun_path))
    _exit(1);
  memcpy(addr.sun_path, path, strlen(path) + 1);
  if (!listening) {
    if (connect(fd, (struct sockaddr *)&addr, sizeof(addr)) != 0)
      _exit(1);
    return fd;
  }
  unlink(path);
  if (bind(fd, (struct sockaddr *)&addr, sizeof(addr)) != 0 ||
      listen(fd, 64) != 0)
    _exit(1);
  return fd;
}

static int write_all(int fd, const char *data, ssize_t len) {
  while (len > 0) {
    ssize_t n = write(fd, data, (size_t)len);
    if (n <= 0)
      return -1;
    data += n;
    len -= n;
  }
  return 0;
}

/* False: that direction is over, and the other side was told. */
static int pass(int from, int to) {
  static char data[65536];
  ssize_t n = read(from, data, sizeof(data));
  if (n > 0 && write_all(to, data, n) == 0)
    return 1;
  shutdown(to, SHUT_WR);
  return 0;
}

static void serve(int client, int engine) {
  struct pollfd fds[2] = {{.fd = client, .events = POLLIN},
                          {.fd = engine, .events = POLLIN}};
  while (fds[0].fd >= 0 || fds[1].fd >= 0) {
    if (poll(fds, 2, -1) < 0)
      return;
    if (fds[0].revents && !pass(client, engine))
      fds[0].fd = -1;
    if (fds[1].revents && !pass(engine, client))
      fds[1].fd = -1;
    if (fds[1].fd < 0)
      return; /* the engine hung up */
  }
}

int main(int argc, char **argv) {
  if (argc != 3)
    return 2;
  setpgid(0, 0);
  signal(SIGPIPE, SIG_IGN);
  signal(SIGCHLD, SIG_IGN);
  int server = open_socket(argv[1], 1);
  for (;;) {
    int client = accept(server, NULL, NULL);
    if (client < 0)
      continue;
    if (fork() == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      serve(client, open_socket(argv[2], 0));
      _exit(0);
    }
    close(client);
  }
}
