/* SPDX-License-Identifier: MIT */
/* super_owner.h - what an owner knows of a session by the bytes that went down
 * and came up. Whatever it sends itself, what comes is as PROTOCOL.md says. */
#ifndef SBX_SUPER_OWNER_H
#define SBX_SUPER_OWNER_H

#include <stdlib.h>
#include <string.h>

#include "wire/frame.h"
#include "wire/msg.h"

#define OWNER_CHANNELS 8192
#define FIRST_CREDIT   262144

struct side {
  uint32_t id, pid;
  uint8_t type, verb;
  uint32_t flags;
  bool forgotten, started, over, exited, eof[2], ended, told;
  uint64_t credit[2], sent, back; /* of DATA down: bytes, credit given back */
  uint64_t length, cursor;
  unsigned kills, counts;
};

static struct {
  struct sbx_framer down, up;
  bool hello, shutdown, ready, bye;
  bool garbled, full; /* down: what follows is not looked at; is too much */
  bool fault;         /* it may have sent what ends the session */
  size_t len;
  struct side sides[OWNER_CHANNELS];
} owner;

static void must(bool what) {
  if (!what)
    abort();
}

static void owner_init(void) {
  owner.hello = owner.shutdown = owner.ready = owner.bye = false;
  owner.garbled = owner.full = owner.fault = false;
  owner.len = 0;
  sbx_framer_init(&owner.down, SBX_FRAME_DOWN_MAX);
  sbx_framer_init(&owner.up, SBX_FRAME_UP_MAX);
}

static void owner_fini(void) {
  sbx_framer_fini(&owner.down);
  sbx_framer_fini(&owner.up);
}

static struct side *owner_find(uint32_t id) {
  size_t low = 0, high = owner.len;
  while (low < high) {
    size_t i = (low + high) / 2;
    if (owner.sides[i].id == id)
      return &owner.sides[i];
    if (owner.sides[i].id < id)
      low = i + 1;
    else
      high = i;
  }
  return NULL;
}

/* All that was sent has been handled. */
static void owner_wants(uint32_t id) {
  const struct side *s = owner_find(id);
  must(id == 0 || (s && !s->forgotten));
}

/* ---- down ---------------------------------------------------------------- */

static void owner_opens(const struct sbx_frame *f) {
  struct sbx_msg_spawn spawn;
  struct sbx_msg_file file;
  struct side *s = &owner.sides[owner.len];
  if (f->id == 0 || owner.len == OWNER_CHANNELS ||
      (owner.len > 0 && f->id <= owner.sides[owner.len - 1].id)) {
    owner.full = owner.len == OWNER_CHANNELS;
    owner.garbled = owner.fault = true;
    return;
  }
  memset(s, 0, sizeof(*s));
  owner.len++;
  s->id = f->id;
  s->type = f->type;
  if (f->type == SBX_MSG_SPAWN &&
      sbx_spawn_decode(&spawn, f->data, f->len) == 0) {
    s->credit[0] = s->credit[1] = spawn.credit;
    s->flags = spawn.flags;
    s->length = spawn.max_bytes;
    s->eof[1] = spawn.flags & SBX_SPAWN_PTY;
  } else if (f->type == SBX_MSG_FILE &&
             sbx_file_decode(&file, f->data, f->len) == 0) {
    s->verb = file.verb;
    s->credit[0] = file.credit;
    s->length = file.length;
  } else if (f->len != (f->type == SBX_MSG_PORT ? 2 : 0) ||
             f->type == SBX_MSG_SPAWN || f->type == SBX_MSG_FILE ||
             (f->len == 2 && sbx_get_u16(f->data) == 0)) {
    owner.fault = true;
  }
}

static bool may_write(const struct side *s, const struct sbx_frame *f) {
  bool takes = s->type == SBX_MSG_SPAWN ? s->flags & SBX_SPAWN_STDIN
                                        : s->verb == SBX_FILE_WRITE;
  if (!takes || s->ended || f->len < 1 || f->data[0] != SBX_MSG_STDIN)
    return false;
  if (f->type == SBX_MSG_EOF)
    return f->len == 1;
  return f->len > 1 && f->len <= 1 + SBX_FRAME_DATA_MAX &&
         s->sent + f->len - 1 <= FIRST_CREDIT + s->back;
}

static bool may_give(const struct side *s, const struct sbx_frame *f) {
  if (f->len != 5 || f->data[0] < 1 || f->data[0] > 2)
    return false;
  return s->type == SBX_MSG_SPAWN ||
         (s->verb == SBX_FILE_READ && f->data[0] == 1 &&
          s->credit[0] + sbx_get_u32(f->data + 1) <= 1u << 31);
}

/* Is this frame one that the protocol has for the channel? */
static bool is_allowed(const struct side *s, const struct sbx_frame *f) {
  switch (f->type) {
  case SBX_MSG_DATA:
  case SBX_MSG_EOF:
    return may_write(s, f);
  case SBX_MSG_CREDIT:
    return may_give(s, f);
  case SBX_MSG_FORGET:
    return f->len == 0;
  case SBX_MSG_COUNT:
    return s->type == SBX_MSG_SPAWN && f->len == 0;
  case SBX_MSG_KILL:
    return s->type == SBX_MSG_SPAWN && f->len == 8;
  case SBX_MSG_RESIZE:
    return s->type == SBX_MSG_SPAWN && f->len == 4;
  case SBX_MSG_SIGNAL:
    return s->type == SBX_MSG_SPAWN && f->len == 4 && f->data[0] >= 1 &&
           sbx_get_u32(f->data) <= 64;
  }
  return false;
}

static void owner_says(struct side *s, const struct sbx_frame *f) {
  owner.fault |= !is_allowed(s, f);
  switch (f->type) {
  case SBX_MSG_CREDIT:
    if (may_give(s, f))
      s->credit[f->data[0] - 1] += sbx_get_u32(f->data + 1);
    break;
  case SBX_MSG_DATA:
    s->sent += f->len > 0 ? f->len - 1 : 0;
    break;
  case SBX_MSG_EOF:
    s->ended = true;
    break;
  case SBX_MSG_KILL:
    s->kills++;
    break;
  case SBX_MSG_COUNT:
  case SBX_MSG_SIGNAL:
    s->counts++;
    break;
  case SBX_MSG_FORGET:
    s->forgotten = true;
    break;
  }
}

static void owner_sends(const struct sbx_frame *f) {
  struct side *s = owner_find(f->id);
  struct sbx_msg_hello hello;
  if (f->type == SBX_MSG_HELLO) {
    owner.fault |= owner.hello || f->id != 0 ||
                   sbx_hello_decode(&hello, f->data, f->len) < 0;
    owner.hello = true;
    return;
  }
  owner.fault |= !owner.ready;
  if (f->type == SBX_MSG_SHUTDOWN || f->type == SBX_MSG_TOUCH) {
    owner.shutdown |= f->type == SBX_MSG_SHUTDOWN;
    owner.fault |= f->len > 0 || f->id != 0;
  } else if (f->type == SBX_MSG_SPAWN || f->type == SBX_MSG_FILE ||
             f->type == SBX_MSG_PORTS || f->type == SBX_MSG_PORT) {
    owner_opens(f);
  } else if (s) {
    owner_says(s, f);
  } else {
    owner.fault = true;
  }
}

static void owner_down(const uint8_t *data, size_t len) {
  struct sbx_frame f;
  bool whole;
  while (len > 0 && !owner.garbled) {
    ssize_t n = sbx_framer_feed(&owner.down, data, len, &f, &whole);
    if (n < 0) {
      owner.garbled = owner.fault = true;
      return;
    }
    data += n;
    len -= (size_t)n;
    if (whole)
      owner_sends(&f);
  }
}

/* ---- up ------------------------------------------------------------------ */

static void up_session(const struct sbx_frame *f) {
  struct sbx_msg_ready ready;
  struct sbx_msg_done done;
  must(owner.hello || f->type == SBX_MSG_BYE);
  switch (f->type) {
  case SBX_MSG_READY:
    must(sbx_ready_decode(&ready, f->data, f->len) == 0);
    must(!owner.ready && ready.version == SBX_MSG_VERSION);
    owner.ready = true;
    break;
  case SBX_MSG_DONE:
    must(sbx_done_decode(&done, f->data, f->len) == 0);
    must(!owner.ready && done.code != SBX_DONE_OK);
    break;
  case SBX_MSG_BYE:
    must(f->len == 1 && f->data[0] >= SBX_BYE_SHUTDOWN &&
         f->data[0] <= SBX_BYE_PROTOCOL);
    must(f->data[0] != SBX_BYE_SHUTDOWN || owner.shutdown);
    must(f->data[0] != SBX_BYE_PROTOCOL || owner.fault);
    owner.bye = true;
    break;
  default:
    abort();
  }
}

static void up_data(struct side *s, const struct sbx_frame *f) {
  must(f->len > 1 && f->len <= 1 + SBX_FRAME_DATA_MAX);
  must(f->data[0] == SBX_MSG_STDOUT || f->data[0] == SBX_MSG_STDERR);
  uint64_t *credit = &s->credit[f->data[0] - SBX_MSG_STDOUT];
  must(f->len - 1 <= *credit && !s->eof[f->data[0] - SBX_MSG_STDOUT]);
  *credit -= f->len - 1;
}

static void up_credit(struct side *s, const struct sbx_frame *f) {
  must(f->len == 5 && f->data[0] == SBX_MSG_STDIN && !s->exited);
  s->back += sbx_get_u32(f->data + 1);
  must(s->back <= s->sent);
}

static void up_command(struct side *s, const struct sbx_frame *f) {
  struct sbx_msg_failed failed;
  struct sbx_msg_killed killed;
  struct sbx_msg_exit ended;
  int i = f->len > 0 && f->data[0] == SBX_MSG_STDERR;
  switch (f->type) {
  case SBX_MSG_STARTED:
    must(!s->started && f->len == 4);
    s->started = true;
    s->pid = sbx_get_u32(f->data);
    break;
  case SBX_MSG_FAILED:
    must(!s->started && sbx_failed_decode(&failed, f->data, f->len) == 0);
    must(failed.stage >= SBX_FAILED_REFUSED &&
         failed.stage <= SBX_FAILED_NOT_EXECUTABLE);
    s->over = true;
    break;
  case SBX_MSG_DATA:
    must(s->started && !s->exited);
    up_data(s, f);
    break;
  case SBX_MSG_EOF:
    must(s->started && f->len == 1 && f->data[0] == 1 + i && !s->eof[i]);
    s->eof[i] = true;
    break;
  case SBX_MSG_OMITTED:
    must(s->started && f->len == 9 && f->data[0] == 1 + i && !s->eof[i]);
    must((s->flags & SBX_SPAWN_CAPTURE) && sbx_get_u64(f->data + 1) > 0);
    break;
  case SBX_MSG_EXIT:
    must(sbx_exit_decode(&ended, f->data, f->len) == 0);
    must(s->started && !s->exited && s->eof[0] && s->eof[1]);
    s->exited = true;
    break;
  case SBX_MSG_KILLED:
    must(sbx_killed_decode(&killed, f->data, f->len) == 0);
    must(killed.survivors.count % 2 == 0 && s->kills-- > 0);
    break;
  case SBX_MSG_COUNTED:
    must(f->len == 4 && s->counts-- > 0);
    break;
  case SBX_MSG_CREDIT:
    must(s->flags & SBX_SPAWN_STDIN);
    up_credit(s, f);
    break;
  default:
    abort();
  }
}

static void up_entries(struct side *s, const struct sbx_frame *f) {
  struct sbx_msg_entries list;
  struct sbx_msg_entry entry;
  struct sbx_str one;
  must(s->verb == SBX_FILE_LIST || s->verb == SBX_FILE_READ ||
       s->verb == SBX_FILE_STAT);
  must(sbx_entries_decode(&list, f->data, f->len) == 0);
  must(list.entries.count > 0);
  if (s->verb == SBX_FILE_LIST) {
    must(list.entries.count <= s->length);
    s->length -= list.entries.count;
  } else {
    must(list.entries.count == 1 && !s->told);
  }
  while (sbx_strs_next(&list.entries, &one))
    must(sbx_entry_decode(&entry, one.data, one.len) == 0);
  s->told = true;
}

static void up_event(struct side *s, const struct sbx_frame *f) {
  struct sbx_msg_event e;
  must(s->verb == SBX_FILE_WATCH);
  must(sbx_event_decode(&e, f->data, f->len) == 0);
  must(s->told ? e.cursor > s->cursor && strchr("cmdl", e.kind)
               : e.kind == 'r');
  s->told = true;
  s->cursor = e.cursor;
}

static void up_other(struct side *s, const struct sbx_frame *f) {
  struct sbx_msg_listeners sockets_now;
  struct sbx_msg_done done;
  struct sbx_str one;
  switch (f->type) {
  case SBX_MSG_DONE:
    must(sbx_done_decode(&done, f->data, f->len) == 0);
    must(done.code <= SBX_DONE_FAILED && (done.code == 0) == (done.error == 0));
    s->over = true;
    break;
  case SBX_MSG_LISTENER:
    must(s->type != SBX_MSG_FILE);
    must(sbx_listeners_decode(&sockets_now, f->data, f->len) == 0);
    while (sbx_strs_next(&sockets_now.sockets, &one))
      must(one.len == 19 && (one.data[0] == 4 || one.data[0] == 6));
    break;
  case SBX_MSG_ENTRY:
    up_entries(s, f);
    break;
  case SBX_MSG_EVENT:
    up_event(s, f);
    break;
  case SBX_MSG_DATA:
    must(s->verb == SBX_FILE_READ && s->told && f->data[0] == 1);
    up_data(s, f);
    must(f->len - 1 <= s->length);
    s->length -= f->len - 1;
    break;
  case SBX_MSG_CREDIT:
    must(s->verb == SBX_FILE_WRITE);
    up_credit(s, f);
    break;
  default:
    abort();
  }
}

static void owner_up(const uint8_t *data, size_t len) {
  struct sbx_frame f;
  bool whole;
  while (len > 0) {
    must(!owner.bye); /* nothing is behind it */
    ssize_t n = sbx_framer_feed(&owner.up, data, len, &f, &whole);
    must(n > 0);
    data += n;
    len -= (size_t)n;
    if (!whole)
      continue;
    if (f.id == 0) {
      up_session(&f);
      continue;
    }
    struct side *s = owner_find(f.id);
    must(owner.ready && s && !s->over);
    if (s->type == SBX_MSG_SPAWN)
      up_command(s, &f);
    else
      up_other(s, &f);
  }
}

#endif
