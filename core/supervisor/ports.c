/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "supervisor/super.h"
#include "wire/listening.h"

#define TICK_MS     5
#define TICK_FACTOR 4 /* of the time that one reading takes */

struct watch {
  struct sbx_channel channel;
  struct sbx_list link;
  struct sbx_turn turn; /* tells what there is now */
  uint16_t port;        /* 0: all, once */
  uint64_t told;        /* sum of what was told */
};

static struct sbx_list watches;
static struct sbx_alarm tick;
static struct sbx_listening sockets; /* the last reading */
static int tables[2] = {-1, -1};

/* One reading serves all who watch. */
static void read_tables(void) {
  static const char *const paths[2] = {"/proc/net/tcp", "/proc/net/tcp6"};
  ssize_t n;

  sbx_listening_clear(&sockets);
  for (int i = 0; i < 2; i++) {
    if (tables[i] < 0)
      tables[i] = open(paths[i], O_RDONLY | O_CLOEXEC);
    if (tables[i] < 0 || lseek(tables[i], 0, SEEK_SET) < 0)
      continue;
    while ((n = read(tables[i], sbx_scratch, SBX_SCRATCH)) > 0)
      sbx_listening_feed(&sockets, (const char *)sbx_scratch, (size_t)n);
    sbx_listening_finish(&sockets);
  }
}

static void end(struct sbx_channel *c) {
  struct watch *w = SBX_LIST_OWNER(c, struct watch, channel);
  sbx_turn_drop(&w->turn);
  sbx_list_remove(&w->link);
  if (sbx_list_empty(&watches))
    sbx_alarm_stop(&tick);
  free(w);
}

static void take(struct sbx_turn *t) {
  struct watch *w = SBX_LIST_OWNER(t, struct watch, turn);
  uint32_t id = w->channel.id;
  if (w->told == 0)
    read_tables();
  w->told = sbx_listening_sum(&sockets, w->port);
  sbx_listening_encode(&sockets, w->port, sbx_link_begin());
  sbx_link_end(id, SBX_MSG_LISTENER);
  if (w->port != 0)
    return;
  sbx_link_done(id, SBX_DONE_OK, 0, "");
  sbx_channel_close(&w->channel);
  end(&w->channel);
}

static void on_tick(struct sbx_alarm *t) {
  struct sbx_list *it, *tmp;
  uint64_t began = sbx_now_ms();
  read_tables();
  SBX_LIST_EACH (it, tmp, &watches) {
    struct watch *w = SBX_LIST_OWNER(it, struct watch, link);
    if (sbx_listening_sum(&sockets, w->port) != w->told)
      sbx_turn_queue(&w->turn);
  }
  uint64_t wait = (sbx_now_ms() - began) * TICK_FACTOR;
  sbx_alarm_set(t, began + (wait > TICK_MS ? wait : TICK_MS));
}

void sbx_ports_start(uint32_t id, uint16_t port) {
  static const struct sbx_channel_ops ops = {sbx_channel_no_frame, end};
  struct watch *w = calloc(1, sizeof(*w));
  if (!watches.next) {
    sbx_list_init(&watches);
    sbx_listening_init(&sockets);
  }
  if (!w) {
    sbx_link_done(id, SBX_DONE_REFUSED, ENOMEM, "");
    return;
  }
  w->port = port;
  w->turn.take = take;
  w->turn.sends = true;
  sbx_list_append(&watches, &w->link);
  sbx_channel_open(&w->channel, id, &ops);
  sbx_turn_queue(&w->turn);
  tick.fire = on_tick;
  if (port != 0 && !sbx_list_is_linked(&tick.link))
    sbx_alarm_set(&tick, sbx_now_ms() + TICK_MS);
}
