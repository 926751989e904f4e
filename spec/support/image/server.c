/* SPDX-License-Identifier: MIT */
/* server.c - the one program of the image without a shell: /server [PORT]
 * answers every connection with "ok\n"; without a port it only waits. */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

static int listen_on(unsigned short port) {
  struct sockaddr_in addr = {.sin_family = AF_INET, .sin_port = htons(port)};
  int one = 1;
  int fd = socket(AF_INET, SOCK_STREAM, 0);
  if (fd < 0 ||
      setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one)) != 0 ||
      bind(fd, (struct sockaddr *)&addr, sizeof(addr)) != 0 ||
      listen(fd, 16) != 0)
    exit(1);
  return fd;
}

int main(int argc, char **argv) {
  if (argc < 2) {
    for (;;)
      pause();
  }
  int fd = listen_on((unsigned short)atoi(argv[1]));
  for (;;) {
    int client = accept(fd, NULL, NULL);
    if (client < 0)
      continue;
    if (write(client, "ok\n", 3) != 3)
      _exit(1);
    close(client);
  }
}
