/* SPDX-License-Identifier: MIT */
/* supervisor_help.h - drives the real supervisor: PID 1 of its own pid and
 * mount namespaces on this machine, with the capabilities that a container
 * gives it. Needs root. */
#ifndef SBX_SUPERVISOR_HELP_H
#define SBX_SUPERVISOR_HELP_H

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "base/buf.h"
#include "base/capture.h"
#include "base/clock.h"
#include "check.h"
#include "wire/frame.h"
#include "wire/msg.h"

#define MARK "0123456789abcdef0123456789abcdef"

/* chown dac_override fowner kill setgid setuid setpcap */
#define SUPERVISOR_CAPABILITIES 0x1ebu
#define WAIT_MS                 10000

struct sup {
  pid_t pid; /* outside of the namespace */
  int down, up;
  struct sbx_framer framer;
  uint8_t in[65536];
  size_t at, len;
  bool ended; /* end of the stream */
  uint32_t last_id;
  char workspace[32];
};

static const char *sup_program(void) {
  static char path[512];
  const char *program = getenv("SBX_SUPERVISOR_PROGRAM");
  const char *build = getenv("SBX_BUILD");
  if (program)
    return program;
  snprintf(path, sizeof(path), "%s/core/supervisor/supervisor-%s",
           build ? build : ".",
#ifdef __aarch64__
           "arm64"
#else
           "amd64"
#endif
  );
  return path;
}

/* False when this machine cannot run the tests. */
static bool sup_is_possible(void) {
  if (geteuid() == 0 && access(sup_program(), X_OK) == 0)
    return true;
  fprintf(stderr, "skipped: needs root and %s\n", sup_program());
  return false;
}

static void sup_child(const int down[2], const int up[2]) {
  dup2(down[0], 0);
  dup2(up[1], 1);
  syscall(SYS_close_range, 3, ~0u, 0);
  if (mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
      mount("proc", "/proc", "proc", 0, NULL) < 0)
    _exit(99);
  for (int cap = 0; cap < 64; cap++)
    if (!((uint64_t)SUPERVISOR_CAPABILITIES >> cap & 1))
      prctl(PR_CAPBSET_DROP, cap, 0, 0, 0);
  execl(sup_program(), "supervisor", (char *)NULL);
  _exit(98);
}

static void sup_start(struct sup *s) {
  int down[2], up[2];
  memset(s, 0, sizeof(*s));
  strcpy(s->workspace, "/tmp/anvia-XXXXXX");
  REQUIRE(mkdtemp(s->workspace) != NULL);
  REQUIRE(pipe2(down, O_CLOEXEC) == 0 && pipe2(up, O_CLOEXEC) == 0);
  s->pid = (pid_t)syscall(SYS_clone, CLONE_NEWPID | CLONE_NEWNS | SIGCHLD, 0, 0,
                          0, 0);
  REQUIRE(s->pid >= 0);
  if (s->pid == 0)
    sup_child(down, up);
  close(down[0]);
  close(up[1]);
  s->down = down[1];
  s->up = up[0];
  sbx_framer_init(&s->framer, SBX_FRAME_UP_MAX);
}

/* Waits for its end, at most WAIT_MS; the status, or -1. */
static inline int sup_wait(struct sup *s) {
  int status = -1;
  for (int i = 0; i < WAIT_MS / 5 && s->pid > 0; i++) {
    if (waitpid(s->pid, &status, WNOHANG) == s->pid) {
      s->pid = 0;
      return status;
    }
    usleep(5000);
  }
  return -1;
}

static void sup_end(struct sup *s) {
  close(s->down);
  if (s->pid > 0 && sup_wait(s) < 0) {
    check_true(__FILE__, __LINE__, "it ends with its lease", 0);
    kill(s->pid, SIGKILL);
    waitpid(s->pid, NULL, 0);
  }
  close(s->up);
  sbx_framer_fini(&s->framer);
  CHECK(rmdir(s->workspace) == 0);
}

static void sup_raw(struct sup *s, const void *data, size_t len) {
  const uint8_t *p = data;
  while (len > 0) {
    ssize_t n = write(s->down, p, len);
    if (n <= 0)
      return; /* it has ended; the test sees that */
    p += n;
    len -= (size_t)n;
  }
}

static void sup_send(struct sup *s, uint32_t id, uint8_t type, const void *data,
                     size_t len) {
  struct sbx_buf b;
  sbx_buf_init(&b, SBX_FRAME_DOWN_MAX + SBX_FRAME_HEAD);
  REQUIRE(sbx_frame_append(&b, id, type, data, len) == 0);
  sup_raw(s, b.data, b.len);
  sbx_buf_fini(&b);
}

static inline void sup_u32(struct sup *s, uint32_t id, uint8_t type,
                           uint32_t value) {
  uint8_t raw[4];
  sbx_put_u32(raw, value);
  sup_send(s, id, type, raw, sizeof(raw));
}

static inline void sup_kill(struct sup *s, uint32_t id, uint64_t grace_ms) {
  uint8_t raw[8];
  sbx_put_u64(raw, grace_ms);
  sup_send(s, id, SBX_MSG_KILL, raw, sizeof(raw));
}

static inline void sup_credit(struct sup *s, uint32_t id, uint8_t stream,
                              uint32_t n) {
  uint8_t raw[5] = {stream};
  sbx_put_u32(raw + 1, n);
  sup_send(s, id, SBX_MSG_CREDIT, raw, sizeof(raw));
}

static inline void sup_data(struct sup *s, uint32_t id, const void *data,
                            size_t len) {
  uint8_t raw[1 + SBX_FRAME_DATA_MAX] = {SBX_MSG_STDIN};
  if (len > 0)
    memcpy(raw + 1, data, len);
  sup_send(s, id, SBX_MSG_DATA, raw, 1 + len);
}

static inline void sup_eof(struct sup *s, uint32_t id) {
  uint8_t stream = SBX_MSG_STDIN;
  sup_send(s, id, SBX_MSG_EOF, &stream, 1);
}

/* The next frame, within ms. It is valid until the next call. */
static bool sup_next(struct sup *s, struct sbx_frame *frame, int ms) {
  uint64_t end = sbx_now_ms() + (uint64_t)ms;
  for (;;) {
    bool done = false;
    while (s->at < s->len && !done) {
      ssize_t n = sbx_framer_feed(&s->framer, s->in + s->at, s->len - s->at,
                                  frame, &done);
      REQUIRE(n > 0);
      s->at += (size_t)n;
    }
    if (done)
      return true;
    struct pollfd p = {.fd = s->up, .events = POLLIN};
    uint64_t now = sbx_now_ms();
    if (s->ended || now >= end || poll(&p, 1, (int)(end - now)) <= 0)
      return false;
    ssize_t n = read(s->up, s->in, sizeof(s->in));
    s->at = 0;
    s->len = n > 0 ? (size_t)n : 0;
    s->ended = n <= 0;
  }
}

/* A frame of this type and channel; others are dropped. */
static bool sup_expect(struct sup *s, uint32_t id, uint8_t type,
                       struct sbx_frame *frame) {
  while (sup_next(s, frame, WAIT_MS))
    if (frame->id == id && frame->type == type)
      return true;
  fprintf(stderr, "no frame of type %d for %u\n", type, id);
  return check_true(__FILE__, __LINE__, "the frame comes", 0);
}

static inline void sup_hello_as(struct sup *s, const char *user,
                                uint64_t ttl_ms, uint64_t idle_ms) {
  struct sbx_msg_hello m = {.version = SBX_MSG_VERSION,
                            .no_new_privileges = 1,
                            .ttl_ms = ttl_ms,
                            .idle_ms = idle_ms};
  struct sbx_buf b;
  m.workdir = (struct sbx_str){(uint8_t *)s->workspace, strlen(s->workspace)};
  m.user = (struct sbx_str){(const uint8_t *)user, strlen(user)};
  sbx_buf_init(&b, 4096);
  REQUIRE(sbx_hello_encode(&b, &m) == 0);
  sup_send(s, 0, SBX_MSG_HELLO, b.data, b.len);
  sbx_buf_fini(&b);
}

static void sup_open(struct sup *s, const char *user) {
  struct sbx_frame f;
  sup_start(s);
  sup_hello_as(s, user, 0, 0);
  REQUIRE(sup_expect(s, 0, SBX_MSG_READY, &f));
}

/* What is not given is as a plain command wants it. */
struct sup_spawn {
  const char *argv[8];
  const char *env[5];
  const char *cwd;
  uint32_t flags, credit; /* credit 0: plenty */
  bool no_credit;
  uint64_t max_bytes;
  uint8_t keep;
};

static struct sbx_strs sup_strs(struct sbx_buf *b, const char *const *list) {
  struct sbx_strs out = {NULL, 0, 0};
  sbx_buf_init(b, SBX_FRAME_DOWN_MAX);
  for (; list[out.count]; out.count++)
    REQUIRE(sbx_str_append(b, list[out.count], strlen(list[out.count])) == 0);
  out.data = b->data;
  out.len = b->len;
  return out;
}

static uint32_t sup_spawn(struct sup *s, const struct sup_spawn *o) {
  struct sbx_msg_spawn m = {.flags = o->flags,
                            .keep = o->keep,
                            .max_bytes = o->max_bytes,
                            .rows = 24,
                            .cols = 80};
  const char *cwd = o->cwd ? o->cwd : "";
  struct sbx_buf argv, env, b;
  m.credit = o->no_credit ? 0 : o->credit ? o->credit : 1u << 30;
  m.mark = (struct sbx_str){(const uint8_t *)MARK, strlen(MARK)};
  m.cwd = (struct sbx_str){(const uint8_t *)cwd, strlen(cwd)};
  m.argv = sup_strs(&argv, o->argv);
  m.env = sup_strs(&env, o->env);
  sbx_buf_init(&b, SBX_FRAME_DOWN_MAX);
  REQUIRE(sbx_spawn_encode(&b, &m) == 0);
  sup_send(s, ++s->last_id, SBX_MSG_SPAWN, b.data, b.len);
  sbx_buf_fini(&argv);
  sbx_buf_fini(&env);
  sbx_buf_fini(&b);
  return s->last_id;
}

#define SUP_SH(script)                                                         \
  {                                                                            \
    .argv = { "/bin/sh", "-c", script }                                        \
  }

/* How a command went. */
struct sup_result {
  struct sbx_buf out[2];
  uint64_t omitted[2];
  size_t omitted_at[2];
  bool eof[2], started, exited, killed;
  uint32_t pid, survivors;
  struct sbx_msg_failed failed; /* stage 0: it was started */
  struct sbx_msg_exit exit;
};

static void sup_result_init(struct sup_result *r) {
  memset(r, 0, sizeof(*r));
  for (int i = 0; i < 2; i++)
    sbx_buf_init(&r->out[i], 512u * 1024 * 1024);
}

static void sup_result_fini(struct sup_result *r) {
  for (int i = 0; i < 2; i++)
    sbx_buf_fini(&r->out[i]);
}

/* Takes a frame into the result. */
static void sup_take(struct sup_result *r, const struct sbx_frame *f) {
  struct sbx_msg_killed killed;
  int i = f->len > 0 && f->data[0] == SBX_MSG_STDERR;
  switch (f->type) {
  case SBX_MSG_STARTED:
    r->started = true;
    r->pid = sbx_get_u32(f->data);
    break;
  case SBX_MSG_FAILED:
    CHECK(sbx_failed_decode(&r->failed, f->data, f->len) == 0);
    break;
  case SBX_MSG_DATA:
    CHECK(r->started && !r->exited && !r->eof[i] && f->len > 1);
    sbx_buf_append(&r->out[i], f->data + 1, f->len - 1);
    break;
  case SBX_MSG_OMITTED:
    r->omitted[i] += sbx_get_u64(f->data + 1);
    r->omitted_at[i] = r->out[i].len;
    break;
  case SBX_MSG_EOF:
    r->eof[i] = true;
    break;
  case SBX_MSG_EXIT:
    CHECK(sbx_exit_decode(&r->exit, f->data, f->len) == 0);
    r->exited = true;
    break;
  case SBX_MSG_KILLED:
    CHECK(sbx_killed_decode(&killed, f->data, f->len) == 0);
    r->killed = true;
    r->survivors = killed.survivors.count / 2;
    break;
  }
}

/* Follows a command to its EXIT or FAILED. */
static void sup_follow(struct sup *s, uint32_t id, struct sup_result *r) {
  struct sbx_frame f;
  while (!r->exited && r->failed.stage == 0) {
    if (!sup_next(s, &f, WAIT_MS)) {
      check_true(__FILE__, __LINE__, "the command ends", 0);
      return;
    }
    if (f.id == id)
      sup_take(r, &f);
  }
}

/* Runs a command to its end; the caller frees the result. */
static struct sup_result sup_run(struct sup *s, const struct sup_spawn *o) {
  struct sup_result r;
  sup_result_init(&r);
  uint32_t id = sup_spawn(s, o);
  sup_follow(s, id, &r);
  if (r.exited)
    sup_send(s, id, SBX_MSG_FORGET, NULL, 0);
  return r;
}

static inline bool sup_printed(const struct sup_result *r, int stream,
                               const char *text) {
  const struct sbx_buf *b = &r->out[stream];
  bool same = b->len == strlen(text) &&
              (b->len == 0 || memcmp(b->data, text, b->len) == 0);
  if (!same)
    fprintf(stderr, "printed: %.*s\n", (int)b->len, (const char *)b->data);
  return same;
}

/* Runs it and judges its standard output. */
static inline void sup_prints(struct sup *s, const struct sup_spawn *o,
                              const char *text) {
  struct sup_result r = sup_run(s, o);
  CHECK(sup_printed(&r, 0, text));
  sup_result_fini(&r);
}

static inline uint32_t sup_count(struct sup *s, uint32_t id) {
  struct sbx_frame f;
  sup_send(s, id, SBX_MSG_COUNT, NULL, 0);
  return sup_expect(s, id, SBX_MSG_COUNTED, &f) ? sbx_get_u32(f.data) : 999;
}

#endif
