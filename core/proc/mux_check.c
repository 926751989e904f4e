/* SPDX-License-Identifier: MIT */
/* mux_check.c - what a supervisor may say when. */
#include "proc/mux_channel.h"

const char *sbx_mux_type_name(uint8_t type) {
  switch (type) {
  case SBX_MSG_DATA:
    return "DATA";
  case SBX_MSG_EOF:
    return "EOF";
  case SBX_MSG_CREDIT:
    return "CREDIT";
  case SBX_MSG_READY:
    return "READY";
  case SBX_MSG_STARTED:
    return "STARTED";
  case SBX_MSG_FAILED:
    return "FAILED";
  case SBX_MSG_OMITTED:
    return "OMITTED";
  case SBX_MSG_EXIT:
    return "EXIT";
  case SBX_MSG_KILLED:
    return "KILLED";
  case SBX_MSG_COUNTED:
    return "COUNTED";
  case SBX_MSG_LISTENER:
    return "LISTENER";
  case SBX_MSG_ENTRY:
    return "ENTRY";
  case SBX_MSG_EVENT:
    return "EVENT";
  case SBX_MSG_DONE:
    return "DONE";
  case SBX_MSG_BYE:
    return "BYE";
  default:
    return "a frame of a type that it may not send";
  }
}

struct check {
  struct sbx_mux_channel *ch;
  const uint8_t *data;
  size_t len;
  struct sbx_mux_msg *msg;
  struct sbx_err *err;
};

static int wrong(const struct check *c, const char *what) {
  return sbx_fail(c->err, SBX_EPROTO,
                  "the supervisor broke the protocol: %s %s",
                  sbx_mux_type_name(c->msg->type), what);
}

static int undecodable(const struct check *c) {
  return wrong(c, "with a payload that cannot be decoded");
}

static int unasked(const struct check *c) {
  if (c->ch->kind == SBX_MSG_SPAWN && c->ch->state == SBX_MUX_WAITING)
    return wrong(c, "before STARTED");
  if (c->ch->kind == SBX_MSG_SPAWN && c->ch->state == SBX_MUX_EXITED)
    return wrong(c, "after EXIT");
  return wrong(c, "on a channel that cannot have it");
}

/* Of output: 1 or 2; a file that is read has STDOUT only. */
static bool is_output(const struct sbx_mux_channel *ch, uint8_t stream) {
  return stream == SBX_MSG_STDOUT ||
         (stream == SBX_MSG_STDERR && ch->kind == SBX_MSG_SPAWN);
}

static bool has_output(const struct sbx_mux_channel *ch) {
  if (ch->state != SBX_MUX_OPEN)
    return false;
  return ch->kind == SBX_MSG_SPAWN ||
         (ch->kind == SBX_MSG_FILE && ch->verb == SBX_FILE_READ &&
          ch->described);
}

static int check_data(const struct check *c) {
  struct sbx_mux_channel *ch = c->ch;
  uint8_t stream;
  size_t len;

  if (c->len < 2 || c->len - 1 > SBX_FRAME_DATA_MAX)
    return undecodable(c);
  stream = c->data[0];
  len = c->len - 1;
  if (!has_output(ch) || !is_output(ch, stream))
    return unasked(c);
  if (ch->ended[stream])
    return wrong(c, "after EOF");
  if (len > ch->may_come[stream])
    return wrong(c, "beyond its credit");
  if (ch->kind == SBX_MSG_FILE) {
    if (len > ch->limit)
      return wrong(c, "beyond what was asked for");
    ch->limit -= len;
  }
  ch->may_come[stream] -= len;
  c->msg->data.stream = stream;
  c->msg->data.data = c->data + 1;
  c->msg->data.len = len;
  return 0;
}

static int check_eof(const struct check *c) {
  struct sbx_mux_channel *ch = c->ch;

  if (c->len != 1)
    return undecodable(c);
  if (!has_output(ch) || !is_output(ch, c->data[0]))
    return unasked(c);
  if (ch->ended[c->data[0]])
    return wrong(c, "a second time");
  ch->ended[c->data[0]] = true;
  c->msg->data.stream = c->data[0];
  return 0;
}

/* Credit for input is still returned while a command ends. */
static int check_credit(const struct check *c) {
  struct sbx_mux_channel *ch = c->ch;
  uint32_t bytes;

  if (c->len != 5 || c->data[0] != SBX_MSG_STDIN)
    return undecodable(c);
  if (ch->state == SBX_MUX_WAITING ||
      (ch->kind != SBX_MSG_SPAWN &&
       (ch->kind != SBX_MSG_FILE || ch->verb != SBX_FILE_WRITE)))
    return unasked(c);
  bytes = sbx_get_u32(c->data + 1);
  if (ch->may_send + bytes > UINT32_MAX)
    return wrong(c, "beyond any measure");
  ch->may_send += bytes;
  return 0;
}

static int check_started(const struct check *c) {
  if (c->len != 4)
    return undecodable(c);
  if (c->ch->kind != SBX_MSG_SPAWN)
    return unasked(c);
  if (c->ch->state != SBX_MUX_WAITING)
    return wrong(c, "a second time");
  c->msg->pid = sbx_get_u32(c->data);
  c->ch->state = SBX_MUX_OPEN;
  c->ch->may_send = SBX_MUX_CREDIT;
  return 0;
}

static int check_failed(const struct check *c) {
  if (sbx_failed_decode(&c->msg->failed, c->data, c->len) < 0)
    return undecodable(c);
  if (c->ch->kind != SBX_MSG_SPAWN)
    return unasked(c);
  if (c->ch->state != SBX_MUX_WAITING)
    return wrong(c, "after STARTED");
  c->ch->state = SBX_MUX_OVER;
  return 0;
}

static int check_omitted(const struct check *c) {
  struct sbx_mux_channel *ch = c->ch;
  uint8_t stream;

  if (c->len != 9)
    return undecodable(c);
  stream = c->data[0];
  if (!ch->capture || !has_output(ch) || !is_output(ch, stream))
    return unasked(c);
  if (ch->ended[stream])
    return wrong(c, "after EOF");
  if (ch->omitted[stream])
    return wrong(c, "a second time");
  ch->omitted[stream] = true;
  c->msg->omitted.stream = stream;
  c->msg->omitted.bytes = sbx_get_u64(c->data + 1);
  if (c->msg->omitted.bytes > INT64_MAX)
    return wrong(c, "beyond any measure");
  return 0;
}

static int check_exit(const struct check *c) {
  struct sbx_mux_channel *ch = c->ch;

  if (sbx_exit_decode(&c->msg->exit, c->data, c->len) < 0)
    return undecodable(c);
  if (ch->kind != SBX_MSG_SPAWN)
    return unasked(c);
  if (ch->state == SBX_MUX_WAITING)
    return wrong(c, "before STARTED");
  if (ch->state == SBX_MUX_EXITED)
    return wrong(c, "a second time");
  ch->state = SBX_MUX_EXITED;
  return 0;
}

/* Answers, which may come before or after EXIT. */
static int check_answer(const struct check *c, unsigned *asked) {
  if (c->ch->kind != SBX_MSG_SPAWN || c->ch->state == SBX_MUX_WAITING)
    return unasked(c);
  if (*asked == 0)
    return wrong(c, "that nobody asked for");
  (*asked)--;
  return 0;
}

static int check_killed(const struct check *c) {
  if (sbx_killed_decode(&c->msg->killed, c->data, c->len) < 0 ||
      c->msg->killed.survivors.count % 2 != 0)
    return undecodable(c);
  return check_answer(c, &c->ch->kills);
}

static int check_counted(const struct check *c) {
  if (c->len != 4)
    return undecodable(c);
  c->msg->count = sbx_get_u32(c->data);
  return check_answer(c, &c->ch->counts);
}

static bool are_sockets(struct sbx_strs list) {
  struct sbx_str s;

  while (sbx_strs_next(&list, &s))
    if (s.len != SBX_MUX_SOCKET || (s.data[0] != 4 && s.data[0] != 6))
      return false;
  return true;
}

static int check_listener(const struct check *c) {
  if (sbx_listeners_decode(&c->msg->listeners, c->data, c->len) < 0 ||
      !are_sockets(c->msg->listeners.sockets))
    return undecodable(c);
  if (c->ch->kind != SBX_MSG_PORTS && c->ch->kind != SBX_MSG_PORT)
    return unasked(c);
  return 0;
}

static int check_entry(const struct check *c) {
  struct sbx_mux_channel *ch = c->ch;
  uint32_t count;

  if (sbx_entries_decode(&c->msg->entries, c->data, c->len) < 0)
    return undecodable(c);
  if (ch->kind != SBX_MSG_FILE)
    return unasked(c);
  count = c->msg->entries.entries.count;
  if (ch->verb == SBX_FILE_LIST) {
    if (count > ch->limit)
      return wrong(c, "beyond what was asked for");
    ch->limit -= count;
    return 0;
  }
  if (ch->verb != SBX_FILE_READ && ch->verb != SBX_FILE_STAT)
    return unasked(c);
  if (ch->described || count != 1)
    return wrong(c, "a second time");
  ch->described = true;
  return 0;
}

static int check_event(const struct check *c) {
  if (sbx_event_decode(&c->msg->event, c->data, c->len) < 0)
    return undecodable(c);
  if (c->ch->kind != SBX_MSG_FILE || c->ch->verb != SBX_FILE_WATCH)
    return unasked(c);
  return 0;
}

static int check_done(const struct check *c) {
  if (sbx_done_decode(&c->msg->done, c->data, c->len) < 0 ||
      c->msg->done.code > SBX_DONE_FAILED)
    return undecodable(c);
  if (c->ch->kind == SBX_MSG_SPAWN)
    return unasked(c);
  c->ch->state = SBX_MUX_OVER;
  return 0;
}

int sbx_mux_check(struct sbx_mux_channel *ch, const struct sbx_frame *frame,
                  struct sbx_mux_msg *msg, struct sbx_err *err) {
  struct check c = {ch, frame->data, frame->len, msg, err};

  msg->type = frame->type;
  switch (frame->type) {
  case SBX_MSG_DATA:
    return check_data(&c);
  case SBX_MSG_EOF:
    return check_eof(&c);
  case SBX_MSG_CREDIT:
    return check_credit(&c);
  case SBX_MSG_STARTED:
    return check_started(&c);
  case SBX_MSG_FAILED:
    return check_failed(&c);
  case SBX_MSG_OMITTED:
    return check_omitted(&c);
  case SBX_MSG_EXIT:
    return check_exit(&c);
  case SBX_MSG_KILLED:
    return check_killed(&c);
  case SBX_MSG_COUNTED:
    return check_counted(&c);
  case SBX_MSG_LISTENER:
    return check_listener(&c);
  case SBX_MSG_ENTRY:
    return check_entry(&c);
  case SBX_MSG_EVENT:
    return check_event(&c);
  case SBX_MSG_DONE:
    return check_done(&c);
  default:
    return wrong(&c, "on a channel");
  }
}
