/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/wait.h>
#include <unistd.h>

#include "supervisor/command.h"

#define SPARE_FDS 16 /* for looking at /proc and at files */

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
  sbx_feeder_fini(&c->in);
  sbx_loop_drop(&c->exec);
  sbx_turn_drop(&c->shipping);
  sbx_timer_stop(&c->early);
  if (sbx_list_is_linked(&c->link))
    sbx_list_remove(&c->link);
  free(c);
}

void sbx_command_free(struct sbx_command *c) {
  if (c->channel.id == 0 && !c->running && !sbx_list_is_linked(&c->hunt))
    destroy(c);
}

static bool is_over(const struct sbx_command *c) {
  return !c->running && c->out[0].handler.fd < 0 && c->out[1].handler.fd < 0;
}

void sbx_command_check(struct sbx_command *c) {
  if (c->channel.id == 0)
    sbx_command_free(c);
  else if (is_over(c) && !c->concluded)
    sbx_turn_queue(&c->shipping);
}

static uint64_t us_of(struct timeval t) {
  return (uint64_t)t.tv_sec * 1000000 + (uint64_t)t.tv_usec;
}

static void conclude(struct sbx_command *c) {
  struct sbx_msg_exit m = {.oom = c->oom};
  m.signal = (uint8_t)(WIFSIGNALED(c->status) ? WTERMSIG(c->status) : 0);
  m.code = (uint8_t)(m.signal ? 128 + m.signal : WEXITSTATUS(c->status));
  m.user_us = us_of(c->usage.ru_utime);
  m.system_us = us_of(c->usage.ru_stime);
  m.max_rss_kib = (uint64_t)c->usage.ru_maxrss;
  sbx_exit_encode(sbx_link_begin(), &m);
  sbx_link_end(c->channel.id, SBX_MSG_EXIT);
  c->concluded = true;
  sbx_feeder_fini(&c->in);
}

static void ship(struct sbx_turn *t) {
  struct sbx_command *c = SBX_LIST_OWNER(t, struct sbx_command, shipping);
  bool over = is_over(c), all = true;
  for (int i = 0; i < 2; i++)
    if (!sbx_output_ship(&c->out[i])) {
      all = false;
      if (over && c->out[i].credit > 0)
        sbx_turn_queue(t); /* it lacked room */
    }
  if (all && over)
    conclude(c);
}

static void on_early(struct sbx_timer *t) {
  struct sbx_command *c = SBX_LIST_OWNER(t, struct sbx_command, early);
  if (c->running && c->channel.id != 0)
    sbx_turn_queue(&c->shipping);
}

static void forget(struct sbx_channel *channel) {
  struct sbx_command *c = SBX_LIST_OWNER(channel, struct sbx_command, channel);
  sbx_turn_drop(&c->shipping);
  sbx_feeder_fini(&c->in);
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
    sbx_link_failed(id, (uint8_t)report.stage, report.error);
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

static void on_end(struct sbx_command *c, int status) {
  if (c->exec.fd >= 0)
    on_exec(&c->exec, 0);
  c->running = false;
  c->status = status;
  c->oom = WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL &&
           sbx_kill_oom_count() > c->oom_kills;
  sbx_super.commands--;
  sbx_lease_touch();
  sbx_feeder_close(&c->in);
  for (int i = 0; i < 2; i++)
    sbx_output_finish(&c->out[i]);
  sbx_command_check(c);
}

void sbx_spawn_reap(void) {
  struct sbx_list *it, *tmp;
  struct rusage usage;
  int status;
  pid_t pid;

  /* Orphans come here too, and children that others made for us. */
  while ((pid = wait4(-1, &status, WNOHANG | __WALL, &usage)) > 0) {
    SBX_LIST_EACH (it, tmp, &commands) {
      struct sbx_command *c = SBX_LIST_OWNER(it, struct sbx_command, link);
      if (!c->running || c->pid != pid)
        continue;
      c->usage = usage;
      on_end(c, status);
      break;
    }
    sbx_kill_look();
  }
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
    return c->concluded ? 0 : sbx_input_frame(c, frame);
  case SBX_MSG_CREDIT:
    return on_credit(c, frame);
  case SBX_MSG_RESIZE:
    if (frame->len != 4 || !frame->data)
      return SBX_EPROTO;
    if (c->terminal && c->out[0].handler.fd >= 0)
      sbx_launch_resize(c->out[0].handler.fd, sbx_get_u16(frame->data),
                        sbx_get_u16(frame->data + 2));
    return 0;
  default:
    return sbx_kill_frame(c, frame);
  }
}

static const struct sbx_channel_ops command_ops = {on_frame, forget};

static void init(struct sbx_command *c, const struct sbx_msg_spawn *m) {
  c->exec.fd = -1;
  c->exec.ready = on_exec;
  c->shipping.take = ship;
  c->shipping.sends = true;
  c->early.fire = on_early;
  c->captures = m->flags & SBX_SPAWN_CAPTURE;
  c->terminal = m->flags & SBX_SPAWN_PTY;
  c->serial = ++last_serial;
  c->oom_kills = sbx_kill_oom_count();
  if (m->mark.len < sizeof(c->mark))
    memcpy(c->mark, m->mark.data, m->mark.len);
  sbx_feeder_init(&c->in);
  for (int i = 0; i < 2; i++)
    c->out[i] = (struct sbx_output){.handler = {.fd = -1},
                                    .command = c,
                                    .stream = (uint8_t)(SBX_MSG_STDOUT + i),
                                    .credit = m->credit,
                                    .done = c->terminal && i == 1};
}

/* Takes our ends as far as it gets. */
static int watch(struct sbx_command *c, const struct sbx_msg_spawn *m,
                 struct sbx_launch_ends *ours) {
  size_t cap = m->max_bytes < SIZE_MAX ? (size_t)m->max_bytes : SIZE_MAX;
  struct rlimit fds;
  int rc = 0;

  if (getrlimit(RLIMIT_NOFILE, &fds) == 0 &&
      (rlim_t)ours->report + SPARE_FDS > fds.rlim_cur)
    return -EMFILE;
  for (int i = 0; i < 2 && rc == 0; i++) {
    struct sbx_output *o = &c->out[i];
    if (c->captures && !o->done)
      rc = sbx_capture_new(&o->capture, cap, (enum sbx_keep)m->keep);
    if (rc == 0 && ours->output[i] >= 0)
      rc = sbx_output_open(o, ours->output[i]);
    if (rc == 0)
      ours->output[i] = -1;
  }
  if (rc == 0 && ours->input >= 0 && (rc = sbx_input_open(c, ours->input)) == 0)
    ours->input = -1;
  if (rc == 0 && (rc = sbx_loop_watch(&c->exec, ours->report, EPOLLIN)) == 0)
    ours->report = -1;
  return rc;
}

static bool build_environment(struct sbx_environ_list *e,
                              const struct sbx_msg_spawn *m) {
  const char *const *homes = sbx_super.homes;
  struct sbx_strs list = m->env;
  struct sbx_str name, value;
  bool good = sbx_env_init(e, environ, list.count + 3);
  const char *home = good ? sbx_env_get(e, "HOME") : NULL;

  /* The engine sets that of root when the image has none. */
  if (good && (!home || strcmp(home, homes[1]) == 0))
    good = sbx_env_put(e, "HOME", homes[m->flags & SBX_SPAWN_ROOT ? 1 : 0]);
  if (good && (m->flags & SBX_SPAWN_PTY) && !sbx_env_get(e, "TERM"))
    good = sbx_env_put(e, "TERM", "xterm");
  while (good && sbx_strs_next(&list, &name) && sbx_strs_next(&list, &value))
    good = sbx_env_put(e, (const char *)name.data, (const char *)value.data);
  return good &&
         sbx_env_put(e, "ANVIA_PROCESS_MARK", (const char *)m->mark.data);
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

static int start(struct sbx_command *c, const struct sbx_msg_spawn *m) {
  struct sbx_launch_ends ours;
  struct sbx_launch l = {.creds =
                             sbx_super.creds[m->flags & SBX_SPAWN_ROOT ? 1 : 0],
                         .terminal = c->terminal,
                         .home = sbx_super.workspace,
                         .cwd = (const char *)m->cwd.data};
  int rc =
      sbx_launch_open(&l, m->flags & SBX_SPAWN_STDIN, m->rows, m->cols, &ours);
  if (rc == 0)
    rc = watch(c, m, &ours);
  if (rc == 0) {
    sbx_kill_mark(&l, c->serial);
    c->pid = fork();
    if (c->pid == 0)
      run(&l, m);
    rc = c->pid < 0 ? -errno : 0;
  }
  sbx_launch_close(&l);
  sbx_launch_close_ends(&ours);
  return rc;
}

void sbx_spawn_start(uint32_t id, const struct sbx_msg_spawn *m) {
  struct sbx_command *c = calloc(1, sizeof(*c));
  int rc = -ENOMEM;

  if (!commands.next)
    sbx_list_init(&commands);
  if (c) {
    init(c, m);
    rc = start(c, m);
  }
  if (rc < 0) {
    if (c)
      destroy(c);
    sbx_link_failed(id, SBX_FAILED_REFUSED, -rc);
    return;
  }
  c->running = true;
  sbx_super.commands++;
  sbx_list_append(&commands, &c->link);
  sbx_channel_open(&c->channel, id, &command_ops);
}
