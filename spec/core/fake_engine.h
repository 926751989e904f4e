/* SPDX-License-Identifier: MIT */
/* fake_engine.h - an engine that answers what a test tells it to, on a Unix
 * socket, in a thread of its own.
 *
 * Each connection is answered from the list of answers, one for each request
 * (whose head and body of Content-Length are read first). */
#ifndef SBX_FAKE_ENGINE_H
#define SBX_FAKE_ENGINE_H

#include <pthread.h>
#include <stdatomic.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "check.h"

enum fake_way {
  FAKE_WHOLE,   /* at once */
  FAKE_BYTES,   /* byte by byte, each in a packet of its own */
  FAKE_TRICKLE, /* byte by byte, then the connection is closed */
  FAKE_CLOSE,   /* at once, then the connection is closed */
  FAKE_HANG,    /* at once, then nothing more until the peer goes away */
  FAKE_ENDLESS, /* over and over again, until the peer goes away */
  FAKE_ECHO     /* at once; then the input comes back in a frame of stdout */
};

struct fake_answer {
  const char *expect; /* what the request begins with; NULL: anything */
  enum fake_way way;
  const char *text;
  size_t len; /* 0: strlen(text) */
};

struct fake_engine {
  char path[64], endpoint[80];
  int listener;
  pthread_t thread;
  const struct fake_answer *answers;
  size_t count;
  atomic_size_t next; /* answers given */
  atomic_int connections;
};

static inline int fake_send(int fd, const void *data, size_t len) {
  return send(fd, data, len, MSG_NOSIGNAL) == (ssize_t)len ? 0 : -1;
}

/* Reads one request; its length, or 0 at the end of the connection. */
static inline size_t fake_read(int fd, char *buf, size_t size) {
  size_t len = 0;

  for (;;) {
    ssize_t n = recv(fd, buf + len, size - 1 - len, 0);
    char *end, *header;
    size_t body = 0;

    if (n <= 0)
      return 0;
    len += (size_t)n;
    buf[len] = '\0';
    end = strstr(buf, "\r\n\r\n");
    if (end == NULL)
      continue;
    header = strstr(buf, "Content-Length: ");
    if (header != NULL && header < end)
      body = strtoul(header + 16, NULL, 10);
    if (len >= (size_t)(end + 4 - buf) + body)
      return len;
  }
}

static inline void fake_drain(int fd) {
  char byte[256];

  while (recv(fd, byte, sizeof(byte), 0) > 0)
    ;
}

static inline void fake_echo(int fd) {
  uint8_t frame[8 + 4096] = {1};
  ssize_t n;

  while ((n = recv(fd, frame + 8, 4096, 0)) > 0) {
    frame[6] = (uint8_t)(n >> 8);
    frame[7] = (uint8_t)n;
    if (fake_send(fd, frame, (size_t)n + 8) < 0)
      return;
  }
}

/* 0: the connection can take another request. */
static inline int fake_give(int fd, const struct fake_answer *a) {
  size_t len = a->len ? a->len : strlen(a->text);
  int rc = 0;

  if (a->way == FAKE_BYTES || a->way == FAKE_TRICKLE) {
    for (size_t i = 0; i < len && rc == 0; i++) {
      rc = fake_send(fd, a->text + i, 1);
      usleep(200);
    }
    return a->way == FAKE_BYTES ? rc : -1;
  }
  if (len > 0)
    rc = fake_send(fd, a->text, len);
  if (a->way == FAKE_ENDLESS)
    while (rc == 0)
      rc = fake_send(fd, a->text, len);
  if (a->way == FAKE_HANG)
    fake_drain(fd);
  if (a->way == FAKE_ECHO && rc == 0)
    fake_echo(fd);
  return a->way == FAKE_WHOLE ? rc : -1;
}

struct fake_conn {
  struct fake_engine *engine;
  int fd;
};

static inline void *fake_serve(void *arg) {
  struct fake_conn *c = arg;
  struct fake_engine *e = c->engine;
  static _Thread_local char buf[64 * 1024];

  while (fake_read(c->fd, buf, sizeof(buf)) > 0) {
    size_t i = atomic_fetch_add(&e->next, 1);

    if (i >= e->count) {
      CHECK_STR("a request that nobody expected", buf);
      break;
    }
    if (e->answers[i].expect != NULL &&
        strncmp(buf, e->answers[i].expect, strlen(e->answers[i].expect)) != 0)
      CHECK_STR(buf, e->answers[i].expect);
    if (fake_give(c->fd, &e->answers[i]) < 0)
      break;
  }
  close(c->fd);
  free(c);
  return NULL;
}

static inline void *fake_main(void *arg) {
  struct fake_engine *e = arg;
  pthread_t threads[64];
  size_t n = 0;
  int fd;

  while ((fd = accept(e->listener, NULL, NULL)) >= 0) {
    struct fake_conn *c = malloc(sizeof(*c));

    REQUIRE(c != NULL && n < 64);
    *c = (struct fake_conn){e, fd};
    atomic_fetch_add(&e->connections, 1);
    REQUIRE(pthread_create(&threads[n++], NULL, fake_serve, c) == 0);
  }
  while (n > 0)
    pthread_join(threads[--n], NULL);
  return NULL;
}

static inline void fake_start(struct fake_engine *e,
                              const struct fake_answer *answers, size_t count) {
  struct sockaddr_un addr = {.sun_family = AF_UNIX};
  static atomic_int number;

  memset(e, 0, sizeof(*e));
  e->answers = answers;
  e->count = count;
  snprintf(e->path, sizeof(e->path), "/tmp/anvia-fake-%d-%d.sock",
           (int)getpid(), atomic_fetch_add(&number, 1));
  snprintf(e->endpoint, sizeof(e->endpoint), "unix://%s", e->path);
  strcpy(addr.sun_path, e->path);
  e->listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  REQUIRE(bind(e->listener, (struct sockaddr *)&addr, sizeof(addr)) == 0);
  REQUIRE(listen(e->listener, 16) == 0);
  REQUIRE(pthread_create(&e->thread, NULL, fake_main, e) == 0);
}

/* All answers must have been asked for. */
static inline void fake_stop(struct fake_engine *e) {
  shutdown(e->listener, SHUT_RDWR);
  pthread_join(e->thread, NULL);
  close(e->listener);
  unlink(e->path);
  CHECK_INT(atomic_load(&e->next), e->count);
}

#endif
