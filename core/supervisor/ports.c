/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "supervisor/super.h"
#include "wire/nettab.h"

#define TICK_MS       5
#define TICK_FACTOR   4 /* of the time that one reading takes */
#define LISTENER_SIZE 19
#define LISTENERS_MAX 4096 /* of one frame */

struct watch {
  struct sbx_channel channel;
  struct sbx_list link;
  struct sbx_turn turn; /* tells what there is now */
  uint16_t port;        /* 0: all, once */
  uint64_t told;        /* sum of what was told */
};

static struct sbx_list watches;
static struct sbx_timer tick;
static struct sbx_buf sockets = {.max = 1024 * 1024}; /* the last reading */
static int tables[2] = {-1, -1};

static void note(const struct sbx_listener *l) {
  uint8_t raw[LISTENER_SIZE] = {l->family};
  if (l->family == 0)
    return;
  memcpy(raw + 1, l->addr, l->family == 4 ? 4 : 16);
  sbx_put_u16(raw + 17, l->port);
  int rc = sbx_buf_append(&sockets, raw, sizeof(raw));
  (void)rc; /* the next reading may have the memory */
}

/* One reading serves all who watch. */
static void read_tables(void) {
  static const char *const paths[2] = {"/proc/net/tcp", "/proc/net/tcp6"};
  struct sbx_listener l;
  struct sbx_nettab tab;
  ssize_t n;

  sbx_buf_clear(&sockets);
  sbx_nettab_init(&tab);
  for (int i = 0; i < 2; i++) {
    if (tables[i] < 0)
      tables[i] = open(paths[i], O_RDONLY | O_CLOEXEC);
    if (tables[i] < 0 || lseek(tables[i], 0, SEEK_SET) < 0)
      continue;
    while ((n = read(tables[i], sbx_scratch, SBX_SCRATCH)) > 0)
      for (size_t at = 0; at < (size_t)n;) {
        const char *from = (const char *)sbx_scratch + at;
        at += sbx_nettab_feed(&tab, from, (size_t)n - at, &l);
        note(&l);
      }
    sbx_nettab_finish(&tab, &l);
    note(&l);
  }
}

static bool matches(const struct watch *w, const uint8_t *raw) {
  return w->port == 0 || sbx_get_u16(raw + 17) == w->port;
}

/* Does not depend on the order; never 0. */
static uint64_t sum(const struct watch *w) {
  uint64_t total = 1;
  for (size_t at = 0; at < sockets.len; at += LISTENER_SIZE) {
    uint64_t hash = 14695981039346656037u;
    for (size_t i = 0; i < LISTENER_SIZE; i++)
      hash = (hash ^ sockets.data[at + i]) * 1099511628211u;
    if (matches(w, sockets.data + at))
      total += hash | 1;
  }
  return total;
}

/* The frame is a list of strings, written in place. */
static void tell(struct watch *w) {
  struct sbx_buf *b = sbx_link_begin();
  size_t count_at = b->len;
  uint32_t count = 0;
  uint8_t raw[4] = {0};
  sbx_buf_append(b, raw, sizeof(raw));
  for (size_t at = 0; at < sockets.len && count < LISTENERS_MAX;
       at += LISTENER_SIZE)
    if (matches(w, sockets.data + at) &&
        sbx_str_append(b, sockets.data + at, LISTENER_SIZE) == 0)
      count++;
  sbx_put_u32(b->data + count_at, count);
  sbx_link_end(w->channel.id, SBX_MSG_LISTENER);
  w->told = sum(w);
}

static void end(struct sbx_channel *c) {
  struct watch *w = SBX_LIST_OWNER(c, struct watch, channel);
  sbx_turn_drop(&w->turn);
  sbx_list_remove(&w->link);
  if (sbx_list_empty(&watches))
    sbx_timer_stop(&tick);
  free(w);
}

static void take(struct sbx_turn *t) {
  struct watch *w = SBX_LIST_OWNER(t, struct watch, turn);
  uint32_t id = w->channel.id;
  if (w->told == 0)
    read_tables();
  tell(w);
  if (w->port != 0)
    return;
  sbx_link_done(id, SBX_DONE_OK, 0, "");
  sbx_channel_close(&w->channel);
  end(&w->channel);
}

static void on_tick(struct sbx_timer *t) {
  struct sbx_list *it, *tmp;
  uint64_t began = sbx_now_ms(), wait;
  read_tables();
  SBX_LIST_EACH (it, tmp, &watches) {
    struct watch *w = SBX_LIST_OWNER(it, struct watch, link);
    if (sum(w) != w->told)
      sbx_turn_queue(&w->turn);
  }
  wait = (sbx_now_ms() - began) * TICK_FACTOR;
  sbx_timer_set(t, began + (wait > TICK_MS ? wait : TICK_MS));
}

static int on_frame(struct sbx_channel *c, const struct sbx_frame *frame) {
  (void)c;
  (void)frame;
  return SBX_EPROTO;
}

static const struct sbx_channel_ops watch_ops = {on_frame, end};

void sbx_ports_start(uint32_t id, uint16_t port) {
  struct watch *w = calloc(1, sizeof(*w));
  if (!w) {
    sbx_link_done(id, SBX_DONE_REFUSED, ENOMEM, "");
    return;
  }
  if (!watches.next)
    sbx_list_init(&watches);
  w->port = port;
  w->turn.take = take;
  w->turn.sends = true;
  sbx_list_append(&watches, &w->link);
  sbx_channel_open(&w->channel, id, &watch_ops);
  sbx_turn_queue(&w->turn);
  tick.fire = on_tick;
  if (port != 0 && tick.link.next == NULL)
    sbx_timer_set(&tick, sbx_now_ms() + TICK_MS);
}
