/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "supervisor/command.h"

extern char **environ;

static uint64_t last_serial;

void sbx_command_free(struct sbx_command *c) {
  if (c->channel.id != 0 || c->child.running || sbx_list_is_linked(&c->hunt))
    return;
  for (int i = 0; i < 2; i++) {
    sbx_tap_drop(&c->out[i].tap);
    sbx_shipment_fini(&c->out[i].shipment);
  }
  sbx_feeder_fini(&c->in);
  sbx_turn_drop(&c->shipping);
  sbx_alarm_stop(&c->early);
  free(c);
}

static bool is_over(const struct sbx_command *c) {
  return !c->child.running && c->out[0].tap.handler.fd < 0 &&
         c->out[1].tap.handler.fd < 0;
}

void sbx_command_check(struct sbx_command *c) {
  if (c->channel.id == 0)
    sbx_command_free(c);
  else if (is_over(c) && !c->concluded)
    sbx_turn_queue(&c->shipping);
}

static void conclude(struct sbx_command *c) {
  sbx_exit_encode(sbx_link_begin(), &c->exit);
  sbx_link_end(c->channel.id, SBX_MSG_EXIT);
  c->concluded = true;
  sbx_alarm_stop(&c->early);
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

static void on_early(struct sbx_alarm *t) {
  sbx_turn_queue(&SBX_LIST_OWNER(t, struct sbx_command, early)->shipping);
}

/* It goes on, and what it prints is thrown away. */
static void forget(struct sbx_channel *channel) {
  struct sbx_command *c = SBX_LIST_OWNER(channel, struct sbx_command, channel);
  sbx_turn_drop(&c->shipping);
  sbx_alarm_stop(&c->early);
  sbx_feeder_fini(&c->in);
  for (int i = 0; i < 2; i++) {
    sbx_shipment_fini(&c->out[i].shipment);
    sbx_tap_mute(&c->out[i].tap);
  }
  sbx_command_free(c);
}

static void on_started(struct sbx_child *child) {
  struct sbx_command *c = SBX_LIST_OWNER(child, struct sbx_command, child);
  uint8_t pid[4];
  sbx_put_u32(pid, (uint32_t)child->pid);
  if (c->channel.id != 0)
    sbx_link_send(c->channel.id, SBX_MSG_STARTED, pid, sizeof(pid));
  for (int i = 0; i < 2; i++)
    sbx_tap_wake(&c->out[i].tap);
}

static void on_failed(struct sbx_child *child,
                      const struct sbx_launch_report *why) {
  struct sbx_command *c = SBX_LIST_OWNER(child, struct sbx_command, child);
  if (c->channel.id == 0)
    return;
  sbx_link_failed(c->channel.id, (uint8_t)why->stage, why->error);
  sbx_channel_close(&c->channel);
  forget(&c->channel);
}

static void on_ended(struct sbx_child *child) {
  struct sbx_command *c = SBX_LIST_OWNER(child, struct sbx_command, child);
  sbx_census_exit(&c->exit, child->status, &child->usage);
  c->exit.oom =
      c->exit.signal == SIGKILL && sbx_kill_oom_count() > c->oom_kills;
  sbx_super.commands--;
  sbx_lease_touch();
  sbx_feeder_close(&c->in);
  for (int i = 0; i < 2; i++)
    sbx_tap_finish(&c->out[i].tap);
  sbx_command_check(c);
}

static int on_frame(struct sbx_channel *channel,
                    const struct sbx_frame *frame) {
  struct sbx_command *c = SBX_LIST_OWNER(channel, struct sbx_command, channel);
  const int terminal = c->terminal ? c->out[0].tap.handler.fd : -1;
  switch (frame->type) {
  case SBX_MSG_DATA:
  case SBX_MSG_EOF:
    return c->concluded ? 0 : sbx_input_frame(c, frame);
  case SBX_MSG_CREDIT:
    return sbx_output_credit(c, frame);
  case SBX_MSG_RESIZE:
    if (frame->len != 4 || !frame->data)
      return SBX_EPROTO;
    if (terminal >= 0)
      sbx_launch_resize(terminal, sbx_get_u16(frame->data),
                        sbx_get_u16(frame->data + 2));
    return 0;
  default:
    return sbx_kill_frame(c, frame);
  }
}

static void init(struct sbx_command *c, const struct sbx_msg_spawn *m) {
  c->child.report.fd = -1;
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
  for (int i = 0; i < 2; i++) {
    sbx_tap_init(&c->out[i].tap);
    c->out[i].command = c;
    c->out[i].stream = (uint8_t)(SBX_MSG_STDOUT + i);
    c->out[i].credit = m->credit;
    c->out[i].done = c->terminal && i == 1;
  }
}

/* Takes our ends as far as it gets. */
static int open_streams(struct sbx_command *c, const struct sbx_msg_spawn *m,
                        struct sbx_launch_ends *ours) {
  size_t cap = m->max_bytes < SIZE_MAX ? (size_t)m->max_bytes : SIZE_MAX;
  int rc = 0;

  for (int i = 0; i < 2 && rc == 0 && ours->output[i] >= 0; i++) {
    struct sbx_output *o = &c->out[i];
    if (c->captures)
      rc = sbx_shipment_init(&o->shipment, cap, (enum sbx_keep)m->keep);
    if (rc == 0 && (rc = sbx_output_open(o, ours->output[i])) == 0)
      ours->output[i] = -1;
  }
  if (rc == 0 && ours->input >= 0 && (rc = sbx_input_open(c, ours->input)) == 0)
    ours->input = -1;
  return rc;
}

/* In the child: its arguments and its environment. */
static bool fill(struct sbx_launch *l, const void *arg) {
  const struct sbx_msg_spawn *m = arg;
  const char *const *homes = sbx_super.homes;
  struct sbx_strs argv = m->argv, env = m->env;
  struct sbx_str a, b;
  size_t i = 0;

  l->argv = calloc((size_t)argv.count + 1, sizeof(char *));
  if (!l->argv || !sbx_env_init(&l->env, environ, env.count + 3))
    return false;
  while (sbx_strs_next(&argv, &a))
    l->argv[i++] = (char *)a.data;
  /* The engine sets that of root when the image has none. */
  const char *home = sbx_env_get(&l->env, "HOME");
  if ((!home || strcmp(home, homes[1]) == 0) &&
      !sbx_env_put(&l->env, "HOME", homes[m->flags & SBX_SPAWN_ROOT ? 1 : 0]))
    return false;
  if (l->terminal && !sbx_env_get(&l->env, "TERM") &&
      !sbx_env_put(&l->env, "TERM", "xterm"))
    return false;
  while (sbx_strs_next(&env, &a) && sbx_strs_next(&env, &b))
    if (!sbx_env_put(&l->env, (const char *)a.data, (const char *)b.data))
      return false;
  return sbx_env_put(&l->env, "ANVIA_PROCESS_MARK", (const char *)m->mark.data);
}

static int start(struct sbx_command *c, const struct sbx_msg_spawn *m) {
  static const struct sbx_child_ops ops = {on_started, on_failed, on_ended};
  struct sbx_launch_ends ours;
  struct sbx_launch l = {.creds =
                             sbx_super.creds[m->flags & SBX_SPAWN_ROOT ? 1 : 0],
                         .terminal = m->flags & SBX_SPAWN_PTY,
                         .home = sbx_super.workspace,
                         .cwd = (const char *)m->cwd.data};
  int rc;

  init(c, m);
  rc = sbx_launch_open(&l, m->flags & SBX_SPAWN_STDIN, m->rows, m->cols, &ours);
  if (rc < 0)
    return rc;
  rc = open_streams(c, m, &ours);
  sbx_kill_mark(&l, c->serial);
  if (rc == 0)
    rc = sbx_child_start(&c->child, &ops, &l, &ours, fill, m);
  sbx_launch_close(&l);
  sbx_launch_close_ends(&ours);
  return rc;
}

void sbx_spawn_start(uint32_t id, const struct sbx_msg_spawn *m) {
  static const struct sbx_channel_ops ops = {on_frame, forget};
  struct sbx_command *c = calloc(1, sizeof(*c));
  int rc = c ? start(c, m) : -ENOMEM;
  if (rc == 0) {
    sbx_super.commands++;
    sbx_channel_open(&c->channel, id, &ops);
    return;
  }
  if (c)
    sbx_command_free(c);
  sbx_link_failed(id, SBX_FAILED_REFUSED, -rc);
}
