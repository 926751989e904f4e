/* SPDX-License-Identifier: MIT */
/* native.c - what the benchmark needs and Lua has not: a clock that is fine
 * enough, and a reader of the engine's attached stream that does nothing else.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <lauxlib.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

static lua_Number now_us(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (lua_Number)t.tv_sec * 1e6 + (lua_Number)t.tv_nsec / 1e3;
}

/* now_us() -> microseconds of the monotonic clock */
static int l_now_us(lua_State *L) {
  lua_pushnumber(L, now_us());
  return 1;
}

static int connect_to(const char *path) {
  struct sockaddr_un addr = {.sun_family = AF_UNIX};
  int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0)
    return -1;
  strncpy(addr.sun_path, path, sizeof(addr.sun_path) - 1);
  if (connect(fd, (struct sockaddr *)&addr, sizeof(addr)) == 0)
    return fd;
  close(fd);
  return -1;
}

/* Reads until `text` has come. */
static int await(int fd, const char *text) {
  char buf[8192];
  size_t have = 0;
  while (have < sizeof(buf)) {
    ssize_t n = read(fd, buf + have, 1);
    if (n <= 0)
      return -1;
    have += (size_t)n;
    if (memmem(buf, have, text, strlen(text)) != NULL) /* frames have zeros */
      return 0;
  }
  return -1;
}

/* drain(socket path, container) -> bytes, microseconds: attaches to a container
 * that has to say `ready` first, sends it a line, and reads to the end */
static int l_drain(lua_State *L) {
  static char buf[1 << 18];
  const char *path = luaL_checkstring(L, 1);
  const char *id = luaL_checkstring(L, 2);
  char request[512];
  lua_Number began, bytes = 0;
  ssize_t n;
  int fd = connect_to(path);
  if (fd < 0)
    return luaL_error(L, "connect %s: %s", path, strerror(errno));
  snprintf(request, sizeof(request),
           "POST /containers/%s/attach?logs=0&stream=1&stdin=1&stdout=1 "
           "HTTP/1.1\r\nHost: d\r\nConnection: Upgrade\r\nUpgrade: tcp\r\n\r\n",
           id);
  if (write(fd, request, strlen(request)) < 0 || await(fd, "\r\n\r\n") < 0)
    goto fail;
  lua_pushvalue(L, 3); /* called when attached: starts the container */
  lua_call(L, 0, 0);
  if (await(fd, "ready\n") < 0 || write(fd, "go\n", 3) != 3)
    goto fail;
  began = now_us();
  while ((n = read(fd, buf, sizeof(buf))) > 0)
    bytes += (lua_Number)n;
  close(fd);
  lua_pushnumber(L, bytes);
  lua_pushnumber(L, now_us() - began);
  return 2;

fail:
  close(fd);
  return luaL_error(L, "the stream of %s ended early", id);
}

int luaopen_bench_native(lua_State *L);
int luaopen_bench_native(lua_State *L) {
  lua_newtable(L);
  lua_pushcfunction(L, l_now_us);
  lua_setfield(L, -2, "now_us");
  lua_pushcfunction(L, l_drain);
  lua_setfield(L, -2, "drain");
  return 1;
}
