/* SPDX-License-Identifier: MIT */
#include "http/conn.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <netdb.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

/* A Unix socket's queue of callers can be full; the kernel does not say when
 * there is room again. */
#define AGAIN_MS 5

enum state { STARTING, RESOLVING, OPEN, ENDED };

struct sbx_conn {
  union {
    uv_handle_t handle;
    uv_stream_t stream;
    uv_pipe_t pipe;
    uv_tcp_t tcp;
  } uv;
  uv_connect_t connect;
  uv_shutdown_t shutdown;
  uv_getaddrinfo_t resolve;
  struct sbx_runtime *rt;
  struct sbx_endpoint *endpoint;
  const struct sbx_conn_events *events; /* NULL once closed */
  void *arg;
  struct sbx_tenant tenant;
  struct sbx_guard guard;
  struct sbx_timer *timer; /* the next try, or an early failure */
  struct sbx_list link;
  struct sbx_buf early; /* written before the connection stood */
  struct sbx_err failure;
  enum state state;
  size_t pending;
  bool has_handle;
  bool stood;
  bool ending; /* shut down, or to be so */
  bool paused;
  bool closed;
};

struct write {
  uv_write_t req;
  struct sbx_conn *conn;
  size_t len;
  uint8_t data[];
};

/* -- the end ------------------------------------------------------------------
 */

static void release(struct sbx_conn *c) {
  sbx_buf_fini(&c->early);
  sbx_endpoint_unref(c->endpoint);
  free(c);
}

static void on_closed(uv_handle_t *handle) {
  release(handle->data);
}

void sbx_conn_close(struct sbx_conn *c) {
  if (c->closed)
    return;
  c->closed = true;
  c->events = NULL;
  sbx_list_remove(&c->link);
  sbx_timer_free(c->timer);
  sbx_runtime_leave(c->rt, &c->tenant);
  if (c->has_handle) {
    sbx_guard_remove(&c->guard);
    uv_close(&c->uv.handle, on_closed);
  } else if (c->state == RESOLVING) {
    uv_cancel((uv_req_t *)&c->resolve); /* on_resolved releases it */
  } else {
    release(c);
  }
}

static void end(struct sbx_conn *c, const struct sbx_err *err) {
  const struct sbx_conn_events *events = c->events;

  if (c->state == ENDED || events == NULL)
    return;
  c->state = ENDED;
  if (c->has_handle)
    uv_read_stop(&c->uv.stream);
  events->on_end(c->arg, err);
}

/* No connection could be made. libuv has no handle for it, or a dead one. */
static void fail(struct sbx_conn *c, int rc) {
  struct sbx_err err = {0};

  sbx_fail(&err, SBX_EUNAVAILABLE,
           "cannot connect to the Docker daemon at %s: %s", c->endpoint->text,
           uv_strerror(rc));
  end(c, &err);
}

/* -- reading ------------------------------------------------------------------
 */

static void on_alloc(uv_handle_t *handle, size_t size, uv_buf_t *buf) {
  struct sbx_conn *c = handle->data;

  (void)size;
  *buf = uv_buf_init(sbx_runtime_scratch(c->rt), SBX_SCRATCH_SIZE);
}

static void on_read(uv_stream_t *stream, ssize_t n, const uv_buf_t *buf) {
  struct sbx_conn *c = stream->data;
  struct sbx_err err = {0};

  if (n > 0 && c->events != NULL) {
    c->events->on_data(c->arg, (const uint8_t *)buf->base, (size_t)n);
  } else if (n == UV_EOF) {
    end(c, NULL);
  } else if (n < 0) {
    sbx_fail(&err, SBX_EUNAVAILABLE, "the connection to the engine broke: %s",
             uv_strerror((int)n));
    end(c, &err);
  }
}

void sbx_conn_pause(struct sbx_conn *c) {
  c->paused = true;
  if (c->state == OPEN)
    uv_read_stop(&c->uv.stream);
}

void sbx_conn_resume(struct sbx_conn *c) {
  if (c->paused && c->state == OPEN)
    uv_read_start(&c->uv.stream, on_alloc, on_read);
  c->paused = false;
}

/* -- writing ------------------------------------------------------------------
 */

static void on_shutdown(uv_shutdown_t *req, int status) {
  (void)req;
  (void)status; /* a peer that has gone shows when we read */
}

static void end_output(struct sbx_conn *c) {
  uv_shutdown(&c->shutdown, &c->uv.stream, on_shutdown);
}

static void on_written(uv_write_t *req, int status) {
  struct write *w = SBX_LIST_OWNER(req, struct write, req);
  struct sbx_conn *c = w->conn;

  (void)status; /* as above */
  c->pending -= w->len;
  free(w);
  if (c->pending == 0 && c->events != NULL && c->events->on_drain != NULL)
    c->events->on_drain(c->arg);
}

static int write_now(struct sbx_conn *c, const void *data, size_t len) {
  struct write *w = len <= INT_MAX ? malloc(sizeof(*w) + len) : NULL;
  uv_buf_t buf;

  if (w == NULL)
    return -ENOMEM;
  w->conn = c;
  w->len = len;
  memcpy(w->data, data, len);
  buf = uv_buf_init((char *)w->data, (unsigned)len);
  if (uv_write(&w->req, &c->uv.stream, &buf, 1, on_written) < 0) {
    free(w);
    return -EPIPE;
  }
  c->pending += len;
  return 0;
}

int sbx_conn_write(struct sbx_conn *c, const void *data, size_t len) {
  if (c->ending || c->state == ENDED || c->closed)
    return -EPIPE;
  if (c->state == OPEN)
    return write_now(c, data, len);
  return sbx_buf_append(&c->early, data, len) < 0 ? -ENOMEM : 0;
}

void sbx_conn_shutdown(struct sbx_conn *c) {
  if (c->ending)
    return;
  c->ending = true;
  if (c->state == OPEN)
    end_output(c);
}

/* -- connecting ---------------------------------------------------------------
 */

/* libuv queues what is written while it still connects. */
static void begin(struct sbx_conn *c) {
  int rc = 0;

  c->state = OPEN;
  if (c->early.len > 0)
    rc = write_now(c, c->early.data, c->early.len);
  sbx_buf_fini(&c->early);
  if (c->ending)
    end_output(c);
  if (rc == 0 && !c->paused)
    rc = uv_read_start(&c->uv.stream, on_alloc, on_read);
  if (rc < 0 && rc != UV_ENOTCONN)
    fail(c, rc);
}

/* A guarded socket that is no standard descriptor, or -errno. */
static int make_socket(struct sbx_conn *c, int domain) {
  int rc = 0, fd, moved;

  sbx_forkguard_lock();
  fd = socket(domain, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0)
    rc = -errno;
  if (fd >= 0 && fd <= STDERR_FILENO) {
    moved = fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    rc = moved < 0 ? -errno : 0;
    close(fd);
    fd = moved;
  }
  if (rc == 0)
    sbx_guard_add(&c->guard, fd);
  sbx_forkguard_unlock();
  return rc < 0 ? rc : fd;
}

static void drop_socket(struct sbx_conn *c, int fd) {
  sbx_guard_remove(&c->guard);
  close(fd);
}

static void connect_unix(struct sbx_conn *c) {
  struct sockaddr_un addr = {.sun_family = AF_UNIX};
  int fd = make_socket(c, AF_UNIX);
  int rc;

  if (fd < 0) {
    fail(c, fd);
    return;
  }
  strncpy(addr.sun_path, c->endpoint->path, sizeof(addr.sun_path) - 1);
  do
    rc = connect(fd, (struct sockaddr *)&addr, sizeof(addr)) < 0 ? -errno : 0;
  while (rc == -EINTR);
  if (rc < 0) {
    drop_socket(c, fd);
    if (rc == -EAGAIN)
      sbx_timer_start(c->timer, AGAIN_MS);
    else
      fail(c, rc);
    return;
  }
  uv_pipe_init(sbx_runtime_loop(c->rt), &c->uv.pipe, 0);
  c->uv.handle.data = c;
  c->has_handle = true;
  rc = uv_pipe_open(&c->uv.pipe, fd);
  if (rc < 0) {
    drop_socket(c, fd);
    fail(c, rc);
    return;
  }
  c->stood = true;
  begin(c);
}

static void on_connected(uv_connect_t *req, int status) {
  struct sbx_conn *c = req->handle->data;

  c->stood = status == 0;
  if (status < 0 && !c->closed)
    fail(c, status);
  else if (!c->closed && !c->paused && c->state == OPEN)
    uv_read_start(&c->uv.stream, on_alloc, on_read);
}

static void connect_tcp(struct sbx_conn *c, const struct sockaddr *addr) {
  int fd = make_socket(c, addr->sa_family);
  int rc;

  c->state = STARTING;
  if (fd < 0) {
    fail(c, fd);
    return;
  }
  uv_tcp_init(sbx_runtime_loop(c->rt), &c->uv.tcp);
  c->uv.handle.data = c;
  c->has_handle = true;
  rc = uv_tcp_open(&c->uv.tcp, fd);
  if (rc < 0)
    drop_socket(c, fd);
  else
    rc = uv_tcp_connect(&c->connect, &c->uv.tcp, addr, on_connected);
  if (rc < 0) {
    fail(c, rc);
    return;
  }
  uv_tcp_nodelay(&c->uv.tcp, 1);
  begin(c);
}

static void on_resolved(uv_getaddrinfo_t *req, int status,
                        struct addrinfo *list) {
  struct sbx_conn *c = req->data;

  c->state = STARTING;
  if (c->closed)
    release(c);
  else if (status < 0)
    fail(c, status);
  else
    connect_tcp(c, list->ai_addr);
  uv_freeaddrinfo(list);
}

static void resolve(struct sbx_conn *c) {
  struct addrinfo hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM};
  struct sockaddr_in v4;
  struct sockaddr_in6 v6;
  const char *host = c->endpoint->host;
  char port[8];
  int rc;

  if (strcmp(host, "localhost") == 0)
    host = "127.0.0.1";
  if (uv_ip4_addr(host, c->endpoint->port, &v4) == 0) {
    connect_tcp(c, (struct sockaddr *)&v4);
    return;
  }
  if (uv_ip6_addr(host, c->endpoint->port, &v6) == 0) {
    connect_tcp(c, (struct sockaddr *)&v6);
    return;
  }
  snprintf(port, sizeof(port), "%u", c->endpoint->port);
  c->resolve.data = c;
  rc = uv_getaddrinfo(sbx_runtime_loop(c->rt), &c->resolve, on_resolved, host,
                      port, &hints);
  if (rc < 0)
    fail(c, rc);
  else
    c->state = RESOLVING;
}

static void on_try(void *arg) {
  struct sbx_conn *c = arg;

  if (c->endpoint->is_unix)
    connect_unix(c);
  else
    resolve(c);
}

static void on_stop(struct sbx_tenant *tenant, enum sbx_stop step) {
  struct sbx_conn *c = SBX_LIST_OWNER(tenant, struct sbx_conn, tenant);

  c->events->on_stop(c->arg, step);
}

int sbx_conn_open(struct sbx_conn **out, struct sbx_runtime *rt,
                  struct sbx_endpoint *endpoint,
                  const struct sbx_conn_events *events, void *arg,
                  struct sbx_err *err) {
  struct sbx_conn *c = calloc(1, sizeof(*c));
  int rc;

  if (c == NULL)
    return sbx_fail(err, -ENOMEM, "connect to the engine");
  c->rt = rt;
  c->events = events;
  c->arg = arg;
  c->tenant.stop = on_stop;
  sbx_list_init(&c->link);
  sbx_buf_init(&c->early, SBX_CONN_EARLY_MAX);
  rc = sbx_timer_new(&c->timer, rt, on_try, c);
  if (rc < 0) {
    free(c);
    return sbx_fail(err, rc, "connect to the engine");
  }
  rc = sbx_runtime_enter(rt, &c->tenant);
  if (rc < 0) {
    sbx_timer_free(c->timer);
    free(c);
    return sbx_fail(err, rc, "the library is being closed");
  }
  c->endpoint = sbx_endpoint_ref(endpoint);
  /* from the loop, so that a failure comes as an event like any other */
  sbx_timer_start(c->timer, 0);
  *out = c;
  return 0;
}

void sbx_conn_own(struct sbx_conn *c, const struct sbx_conn_events *events,
                  void *arg) {
  c->events = events;
  c->arg = arg;
}

/* -- for the pool -------------------------------------------------------------
 */

struct sbx_endpoint *sbx_conn_endpoint(const struct sbx_conn *c) {
  return c->endpoint;
}

struct sbx_runtime *sbx_conn_runtime(const struct sbx_conn *c) {
  return c->rt;
}

bool sbx_conn_stood(const struct sbx_conn *c) {
  return c->stood;
}

bool sbx_conn_is_quiet(const struct sbx_conn *c) {
  uv_os_fd_t fd;
  char byte;

  if (c->state != OPEN || c->ending || c->pending > 0 ||
      uv_fileno(&c->uv.handle, &fd) < 0)
    return false;
  return recv(fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) < 0 &&
         (errno == EAGAIN || errno == EWOULDBLOCK);
}

struct sbx_list *sbx_conn_link(struct sbx_conn *c) {
  return &c->link;
}

struct sbx_conn *sbx_conn_of_link(struct sbx_list *link) {
  return SBX_LIST_OWNER(link, struct sbx_conn, link);
}
