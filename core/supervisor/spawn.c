/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/wait.h>
#include <unistd.h>

#include "supervisor/command.h"

#define SPARE_FDS 16 /* for looking at /proc and at files */
#define MARK_NAME "ANVIA_PROCESS_MARK"

extern char **environ;

static struct sbx_list commands;
static uint64_t last_serial;

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
  if (sbx_list_is_linked(&c->link))
    sbx_list_remove(&c->link);
  free(c);
}

void sbx_command_free(struct sbx_command *c) {
  if (c->channel.id == 0 && !c->running && !sbx_list_is_linked(&c->hunt))
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
  struct sbx_launch_report report;
  uint32_t id = c->channel.id;
  uint8_t pid[4];
  ssize_t n = read(h->fd, &report, sizeof(report));

  (void)events;
  if (n < 0 && (errno == EAGAIN || errno == EINTR))
    return;
  sbx_loop_drop(h);
  if (id != 0 && n == sizeof(report)) {
    sbx_link_failed(id, (uint8_t)report.stage, report.error, "");
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
      sbx_launch_resize(c->out[0].handler.fd, sbx_get_u16(frame->data),
                        sbx_get_u16(frame->data + 2));
    return 0;
  default:
    return sbx_kill_frame(c, frame);
  }
}

static const struct sbx_channel_ops command_ops = {on_frame, forget};

/* Closes fd when it was not taken. */
static int kept(int rc, int fd) {
  if (rc < 0 && fd >= 0)
    close(fd);
  return rc;
}

static int open_output(struct sbx_output *o, int *theirs) {
  int ours;
  int rc = sbx_launch_pipe(0, &ours, theirs);
  return rc < 0 ? rc : kept(sbx_output_open(o, ours), ours);
}

static int open_terminal(struct sbx_command *c, const struct sbx_msg_spawn *m,
                         struct sbx_launch *l) {
  int ours, input;
  int rc = sbx_launch_terminal(l->creds.uid, m->rows, m->cols, &ours,
                               &l->streams[0]);
  if (rc == 0)
    rc = kept(sbx_output_open(&c->out[0], ours), ours);
  if (rc < 0 || !(m->flags & SBX_SPAWN_STDIN))
    return rc;
  input = fcntl(ours, F_DUPFD_CLOEXEC, 3);
  return input < 0 ? -errno : kept(sbx_input_open(&c->in, input), input);
}

static int open_streams(struct sbx_command *c, const struct sbx_msg_spawn *m,
                        struct sbx_launch *l) {
  int ours = -1, rc = 0;
  if (c->terminal)
    return open_terminal(c, m, l);
  if (m->flags & SBX_SPAWN_STDIN) {
    rc = sbx_launch_pipe(1, &ours, &l->streams[0]);
    if (rc == 0)
      rc = kept(sbx_input_open(&c->in, ours), ours);
  } else if ((l->streams[0] = open("/dev/null", O_RDONLY | O_CLOEXEC)) < 0) {
    rc = -errno;
  }
  for (int i = 0; i < 2 && rc == 0; i++)
    rc = open_output(&c->out[i], &l->streams[1 + i]);
  return rc;
}

static int open_exec(struct sbx_command *c, int *theirs) {
  struct rlimit limit;
  int ours;
  int rc = sbx_launch_pipe(0, &ours, theirs);
  if (rc < 0)
    return rc;
  if (getrlimit(RLIMIT_NOFILE, &limit) == 0 &&
      (rlim_t)ours + SPARE_FDS > limit.rlim_cur)
    return kept(-EMFILE, ours);
  c->exec.ready = on_exec;
  return kept(sbx_loop_watch(&c->exec, ours, EPOLLIN), ours);
}

/* The mark is the first entry, where one look finds it. */
static bool build_environment(struct sbx_environ_list *e,
                              const struct sbx_msg_spawn *m) {
  char *none[] = {NULL};
  const char *mark = (const char *)m->mark.data;
  const char *home = m->flags & SBX_SPAWN_ROOT ? sbx_super.root_home
                                               : sbx_super.user.home.data;
  struct sbx_strs list = m->env;
  struct sbx_str name, value;
  size_t count = 0;

  while (environ[count])
    count++;
  if (!sbx_env_init(e, none, count + list.count + 3) ||
      !sbx_env_put(e, MARK_NAME, mark))
    return false;
  for (size_t i = 0; i < count; i++)
    e->entries[e->len++] = environ[i];
  /* The engine sets that of root when the image has none. */
  const char *old = sbx_env_get(e, "HOME");
  if ((!old || strcmp(old, sbx_super.root_home) == 0) &&
      !sbx_env_put(e, "HOME", home))
    return false;
  if ((m->flags & SBX_SPAWN_PTY) && !sbx_env_get(e, "TERM") &&
      !sbx_env_put(e, "TERM", "xterm"))
    return false;
  while (sbx_strs_next(&list, &name) && sbx_strs_next(&list, &value))
    if (!sbx_env_put(e, (const char *)name.data, (const char *)value.data))
      return false;
  return sbx_env_put(e, MARK_NAME, mark);
}

/* In the child. */
static void run(struct sbx_launch *l, const struct sbx_msg_spawn *m) {
  struct sbx_strs list = m->argv;
  struct sbx_str arg;

  l->argv = calloc((size_t)list.count + 1, sizeof(char *));
  if (!l->argv || !build_environment(&l->env, m))
    sbx_launch_fail(l->report, SBX_LAUNCH_REFUSED, ENOMEM);
  for (size_t i = 0; sbx_strs_next(&list, &arg); i++)
    l->argv[i] = (char *)arg.data;
  sbx_launch_run(l);
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

static void init_launch(struct sbx_launch *l, const struct sbx_msg_spawn *m) {
  static const gid_t root_group = 0;
  const struct sbx_user *u = &sbx_super.user;
  const bool root = m->flags & SBX_SPAWN_ROOT;
  *l = (struct sbx_launch){
      .creds = {.uid = root ? 0 : u->uid,
                .gid = root ? 0 : u->gid,
                .groups = root ? &root_group : u->groups,
                .group_count = root ? 1 : u->group_count,
                .capabilities = sbx_super.capabilities,
                .no_new_privileges = sbx_super.no_new_privileges},
      .streams = {-1, -1, -1},
      .terminal = m->flags & SBX_SPAWN_PTY,
      .report = -1,
      .home = sbx_super.workspace,
      .cwd = (const char *)m->cwd.data};
}

void sbx_spawn_start(uint32_t id, const struct sbx_msg_spawn *m) {
  struct sbx_launch l;
  struct sbx_command *c = calloc(1, sizeof(*c));
  int rc = c ? prepare(c, m) : -ENOMEM;

  if (!commands.next)
    sbx_list_init(&commands);
  init_launch(&l, m);
  if (rc == 0)
    rc = open_streams(c, m, &l);
  if (rc == 0)
    rc = open_exec(c, &l.report);
  if (rc == 0) {
    sbx_kill_mark(&l, c->serial);
    c->pid = fork();
    if (c->pid == 0)
      run(&l, m);
    rc = c->pid < 0 ? -errno : 0;
  }
  for (int i = 0; i < 3; i++)
    kept(-1, l.streams[i]);
  kept(-1, l.report);
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
