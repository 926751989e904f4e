/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include "supervisor/child.h"

#define SPARE_FDS 16 /* for looking at /proc and at files */

static struct sbx_list commands;
static uint64_t last_serial;

static bool is_listed(const struct sbx_list *l) {
  return l->next && l->next != l;
}

static void destroy(struct sbx_command *c) {
  for (int i = 0; i < 2; i++) {
    sbx_turn_drop(&c->out[i].turn);
    sbx_loop_drop(&c->out[i].handler);
    sbx_capture_free(c->out[i].capture);
    free(c->out[i].kept.data);
  }
  sbx_loop_drop(&c->in.handler);
  sbx_loop_drop(&c->exec);
  sbx_buf_fini(&c->in.buf);
  sbx_turn_drop(&c->conclusion);
  if (is_listed(&c->link))
    sbx_list_remove(&c->link);
  free(c);
}

void sbx_command_free(struct sbx_command *c) {
  if (c->channel.id == 0 && !c->running && !is_listed(&c->hunt))
    destroy(c);
}

void sbx_command_check(struct sbx_command *c) {
  if (c->channel.id == 0)
    sbx_command_free(c);
  else if (!c->running && !c->concluded && c->out[0].handler.fd < 0 &&
           c->out[1].handler.fd < 0)
    sbx_turn_queue(&c->conclusion);
}

int sbx_command_break(struct sbx_command *c) {
  if (c->running)
    kill(c->pid, SIGKILL);
  sbx_input_close(&c->in);
  return 0;
}

static void send_exit(struct sbx_command *c) {
  const struct rusage *u = &c->usage;
  struct sbx_msg_exit m = {.oom = c->oom};
  if (WIFSIGNALED(c->status))
    m.signal = (uint8_t)WTERMSIG(c->status);
  m.code = (uint8_t)(m.signal ? 128 + m.signal : WEXITSTATUS(c->status));
  m.user_us =
      (uint64_t)u->ru_utime.tv_sec * 1000000 + (uint64_t)u->ru_utime.tv_usec;
  m.system_us =
      (uint64_t)u->ru_stime.tv_sec * 1000000 + (uint64_t)u->ru_stime.tv_usec;
  m.max_rss_kib = (uint64_t)u->ru_maxrss;
  sbx_exit_encode(sbx_link_begin(), &m);
  sbx_link_end(c->channel.id, SBX_MSG_EXIT);
}

static void conclude(struct sbx_turn *t) {
  struct sbx_command *c = SBX_LIST_OWNER(t, struct sbx_command, conclusion);
  for (int i = 0; i < 2; i++)
    if (!sbx_output_ship(&c->out[i])) {
      if (c->out[i].credit > 0)
        sbx_turn_queue(t);
      return;
    }
  c->concluded = true;
  sbx_buf_fini(&c->in.buf);
  c->in.buf.max = 0;
  send_exit(c);
}

static void forget(struct sbx_channel *channel) {
  struct sbx_command *c = SBX_LIST_OWNER(channel, struct sbx_command, channel);
  sbx_turn_drop(&c->conclusion);
  sbx_input_close(&c->in);
  for (int i = 0; i < 2; i++)
    sbx_output_ignore(&c->out[i]);
  sbx_command_free(c);
}

/* The pipe closes by itself when the program is executed. */
static void on_exec(struct sbx_handler *h, uint32_t events) {
  struct sbx_command *c = SBX_LIST_OWNER(h, struct sbx_command, exec);
  struct sbx_report report;
  uint32_t id = c->channel.id;
  uint8_t pid[4];
  ssize_t n = read(h->fd, &report, sizeof(report));

  (void)events;
  if (n < 0 && (errno == EAGAIN || errno == EINTR))
    return;
  sbx_loop_drop(h);
  if (id != 0 && n == sizeof(report)) {
    sbx_link_failed(id, report.stage, report.error, "");
    sbx_channel_close(&c->channel);
    forget(&c->channel);
    return;
  }
  sbx_put_u32(pid, (uint32_t)c->pid);
  if (id != 0)
    sbx_link_send(id, SBX_MSG_STARTED, pid, sizeof(pid));
  for (int i = 0; i < 2; i++)
    if (c->out[i].handler.fd >= 0)
      sbx_turn_queue(&c->out[i].turn);
}

static void on_end(struct sbx_command *c, int status,
                   const struct rusage *usage) {
  if (c->exec.fd >= 0)
    on_exec(&c->exec, 0);
  c->running = false;
  c->status = status;
  c->usage = *usage;
  c->oom = WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL &&
           sbx_kill_oom_count() > c->oom_kills;
  sbx_super.commands--;
  sbx_lease_touch();
  sbx_input_close(&c->in);
  for (int i = 0; i < 2; i++)
    sbx_output_finish(&c->out[i]);
  sbx_command_check(c);
}

void sbx_spawn_reap(void) {
  struct sbx_list *it, *tmp;
  struct rusage usage;
  bool any = false;
  int status;
  pid_t pid;

  /* Orphans come here too, and children that others made for us. */
  while ((pid = wait4(-1, &status, WNOHANG | __WALL, &usage)) > 0) {
    any = true;
    SBX_LIST_EACH (it, tmp, &commands) {
      struct sbx_command *c = SBX_LIST_OWNER(it, struct sbx_command, link);
      if (c->running && c->pid == pid) {
        on_end(c, status, &usage);
        break;
      }
    }
  }
  if (any)
    sbx_kill_look();
}

static int on_credit(struct sbx_command *c, const struct sbx_frame *frame) {
  uint8_t stream;
  uint32_t bytes;
  if (sbx_read_credit(frame, &stream, &bytes) < 0 ||
      (stream != SBX_MSG_STDOUT && stream != SBX_MSG_STDERR))
    return SBX_EPROTO;
  sbx_output_credit(&c->out[stream - SBX_MSG_STDOUT], bytes);
  return 0;
}

static int resize(int fd, uint16_t rows, uint16_t cols) {
  struct winsize size = {.ws_row = rows, .ws_col = cols};
  return ioctl(fd, TIOCSWINSZ, &size) < 0 ? -errno : 0;
}

static int on_frame(struct sbx_channel *channel,
                    const struct sbx_frame *frame) {
  struct sbx_command *c = SBX_LIST_OWNER(channel, struct sbx_command, channel);
  switch (frame->type) {
  case SBX_MSG_DATA:
  case SBX_MSG_EOF:
    return c->concluded ? 0 : sbx_input_frame(&c->in, frame);
  case SBX_MSG_CREDIT:
    return on_credit(c, frame);
  case SBX_MSG_RESIZE:
    if (frame->len != 4 || !frame->data)
      return SBX_EPROTO;
    if (c->out[0].handler.fd >= 0)
      resize(c->out[0].handler.fd, sbx_get_u16(frame->data),
             sbx_get_u16(frame->data + 2));
    return 0;
  default:
    return sbx_kill_frame(c, frame);
  }
}

static const struct sbx_channel_ops command_ops = {on_frame, forget};

/* ours[0] is read, ours[1] is written. */
static int make_pipe(int *ours, int *theirs, int our_end) {
  int fds[2];
  if (pipe2(fds, O_CLOEXEC) < 0)
    return -errno;
  *ours = fds[our_end];
  *theirs = fds[1 - our_end];
  fcntl(*ours, F_SETFL, O_NONBLOCK);
  return 0;
}

static int open_output(struct sbx_output *o, int *theirs) {
  int ours;
  int rc = make_pipe(&ours, theirs, 0);
  if (rc == 0 && (rc = sbx_output_open(o, ours)) < 0)
    close(ours);
  return rc;
}

static int open_input(struct sbx_command *c, int ours) {
  int rc = ours < 0 ? -errno : sbx_input_open(&c->in, ours);
  if (rc < 0 && ours >= 0)
    close(ours);
  return rc;
}

static int open_terminal(struct sbx_command *c, const struct sbx_msg_spawn *m,
                         int *theirs) {
  bool root = m->flags & SBX_SPAWN_ROOT;
  int no = 0;
  int fd = open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC | O_NONBLOCK);
  int rc = fd < 0 ? -errno : sbx_output_open(&c->out[0], fd);
  if (rc < 0) {
    if (fd >= 0)
      close(fd);
    return rc;
  }
  if (ioctl(fd, TIOCSPTLCK, &no) < 0 ||
      (*theirs = ioctl(fd, TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC)) < 0)
    return -errno;
  rc = fchown(*theirs, root ? 0 : sbx_super.user.uid, (gid_t)-1);
  if (rc == 0)
    rc = fchmod(*theirs, 0620);
  if (rc < 0 || (rc = resize(fd, m->rows, m->cols)) < 0)
    return rc < -1 ? rc : -errno;
  if (!(m->flags & SBX_SPAWN_STDIN))
    return 0;
  return open_input(c, fcntl(fd, F_DUPFD_CLOEXEC, 3));
}

/* theirs: what the command gets as its 0, 1 and 2. */
static int open_streams(struct sbx_command *c, const struct sbx_msg_spawn *m,
                        int theirs[3]) {
  int ours, rc;
  if (m->flags & SBX_SPAWN_PTY)
    return open_terminal(c, m, &theirs[0]);
  if (m->flags & SBX_SPAWN_STDIN) {
    rc = make_pipe(&ours, &theirs[0], 1);
    if (rc == 0)
      rc = open_input(c, ours);
  } else {
    theirs[0] = open("/dev/null", O_RDONLY | O_CLOEXEC);
    rc = theirs[0] < 0 ? -errno : 0;
  }
  for (int i = 0; i < 2 && rc == 0; i++)
    rc = open_output(&c->out[i], &theirs[1 + i]);
  return rc;
}

static int open_exec(struct sbx_command *c, int *theirs) {
  struct rlimit limit;
  int ours;
  int rc = make_pipe(&ours, theirs, 0);
  if (rc < 0)
    return rc;
  c->exec.ready = on_exec;
  rc = sbx_loop_watch(&c->exec, ours, EPOLLIN);
  if (rc < 0)
    close(ours);
  else if (getrlimit(RLIMIT_NOFILE, &limit) == 0 &&
           (rlim_t)ours + SPARE_FDS > limit.rlim_cur)
    rc = -EMFILE;
  return rc;
}

static int prepare(struct sbx_command *c, const struct sbx_msg_spawn *m) {
  c->exec.fd = c->in.handler.fd = -1;
  c->conclusion.take = conclude;
  c->conclusion.sends = true;
  c->captures = m->flags & SBX_SPAWN_CAPTURE;
  c->terminal = m->flags & SBX_SPAWN_PTY;
  c->serial = ++last_serial;
  c->oom_kills = sbx_kill_oom_count();
  if (m->mark.len < sizeof(c->mark))
    memcpy(c->mark, m->mark.data, m->mark.len);
  for (int i = 0; i < 2; i++) {
    struct sbx_output *o = &c->out[i];
    o->handler.fd = -1;
    o->command = c;
    o->stream = (uint8_t)(SBX_MSG_STDOUT + i);
    o->credit = m->credit;
    o->done = c->terminal && i == 1;
  }
  for (int i = 0; i < 2 && c->captures; i++) {
    size_t cap = m->max_bytes < SIZE_MAX ? (size_t)m->max_bytes : SIZE_MAX;
    int rc = sbx_capture_new(&c->out[i].capture, cap, (enum sbx_keep)m->keep);
    if (rc < 0)
      return rc;
  }
  return 0;
}

void sbx_spawn_start(uint32_t id, const struct sbx_msg_spawn *m) {
  int theirs[3] = {-1, -1, -1}, report = -1;
  struct sbx_command *c = calloc(1, sizeof(*c));
  int rc = c ? prepare(c, m) : -ENOMEM;

  if (!commands.next)
    sbx_list_init(&commands);
  if (rc == 0)
    rc = open_streams(c, m, theirs);
  if (rc == 0)
    rc = open_exec(c, &report);
  if (rc == 0) {
    c->pid = fork();
    if (c->pid == 0)
      sbx_child_run(c->serial, m, theirs, report);
    rc = c->pid < 0 ? -errno : 0;
  }
  for (int i = 0; i < 3; i++)
    if (theirs[i] >= 0)
      close(theirs[i]);
  if (report >= 0)
    close(report);
  if (rc < 0) {
    if (c)
      destroy(c);
    sbx_link_failed(id, SBX_FAILED_REFUSED, -rc, "");
    return;
  }
  c->running = true;
  sbx_super.commands++;
  sbx_list_append(&commands, &c->link);
  sbx_channel_open(&c->channel, id, &command_ops);
}
