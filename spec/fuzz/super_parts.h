/* SPDX-License-Identifier: MIT */
/* super_parts.h - the supervisor's own sources in this process, with what they
 * must not do here in the hands of super_world.h, and their start over. */
#ifndef SBX_SUPER_PARTS_H
#define SBX_SUPER_PARTS_H

#include <poll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>

#include "os/lifetime.h"
#include "os/readfile.h"
#include "super_owner.h"
#include "super_place.h"
#include "supervisor/command.h"
#include "supervisor/files.h"
#include "wire/outbox.h"

/* What fuzz_supervisor.c puts in their places. */
static int world_wait(int epoll, struct epoll_event *events, int max,
                      int timeout);
static int world_watch(struct sbx_handler *h, int fd, uint32_t events);
static ssize_t world_read(int fd, void *out, size_t cap);
static ssize_t world_write(int fd, const void *data, size_t len);
static int world_poll(struct pollfd *p);
static void world_exit(void) __attribute__((noreturn));
static void parts_queued(struct sbx_outbox *o, uint32_t id, uint8_t type,
                         size_t max);
static ssize_t parts_feed(struct sbx_framer *f, const uint8_t *data, size_t len,
                          struct sbx_frame *frame, bool *done);
int supervisor_main(void);

/* ---- os and wire: what starts, waits or keeps something ------------------ */

#define epoll_wait world_wait
#define queue      loop_queue
#include "os/loop.c"
#undef queue
#undef epoll_wait

#define fork()           world_fork(l, fill, arg)
#define wait4            world_wait4
#define signalfd(...)    world_signals()
#define sigprocmask(...) ((void)0)
#define signal(...)      ((void)0)
#define on_signal        child_on_signal
#define end              child_end
#include "os/child.c"
#undef end
#undef on_signal
#undef signal
#undef sigprocmask
#undef signalfd
#undef wait4
#undef fork

#define calloc world_calloc
#define malloc world_malloc
#define find   environ_find
#include "os/environ.c"
#undef find
#undef malloc
#undef calloc

#include "wire/channels.c"

/* ---- the supervisor ------------------------------------------------------ */

#define prctl(...) ((void)0)
#define umask(...) ((void)0)
#define main       supervisor_main
#include "supervisor/main.c"
#undef main
#undef umask
#undef prctl

#define in              link_in
#define out             link_out
#define queue           link_queue
#define input           link_input
#define read            world_read
#define write           world_write
#define poll(p, ...)    world_poll(p)
#define fcntl(...)      ((void)0)
#define _exit(...)      world_exit()
#define sbx_loop_watch  world_watch
#define sbx_outbox_end  parts_queued
#define sbx_framer_feed parts_feed
#include "supervisor/link.c"
#undef sbx_framer_feed
#undef sbx_outbox_end
#undef sbx_loop_watch
#undef _exit
#undef fcntl
#undef poll
#undef write
#undef read
#undef input
#undef queue
#undef out
#undef in

#include "supervisor/dispatch.c"

#define open          place_open
#define fchownat(...) world_nothing()
#define fchmodat(...) world_nothing()
#define sbx_read_file world_accounts
#include "supervisor/lease.c"
#undef sbx_read_file
#undef fchmodat
#undef fchownat
#undef open

#define find  files_find
#define start files_start
#include "supervisor/files.c"
#undef start
#undef find

#include "supervisor/listing.c"
#include "supervisor/watch.c"

#define open    world_net_open
#define lseek   world_net_seek
#define read    world_net_read
#define watch   port_watch
#define watches port_watches
#define end     port_end
#define tables  port_tables
#include "supervisor/ports.c"
#undef tables
#undef end
#undef watches
#undef watch
#undef read
#undef lseek
#undef open

#define calloc  world_calloc
#define environ world_environ
#include "supervisor/spawn.c"
#undef environ
#undef calloc

#define kill world_kill
#define take output_take
#include "supervisor/output.c"
#undef take
#define getpid    world_getpid
#define getrlimit world_getrlimit
#define on_signal kill_on_signal
#include "supervisor/kill.c"
#undef on_signal
#undef getrlimit
#undef getpid
#undef kill

/* ---- between inputs ------------------------------------------------------ */

/* A frame goes into the queue: it has all the room that it needs, and is about
 * something that the owner still wants, as far as its frames were handled. */
static void parts_queued(struct sbx_outbox *o, uint32_t id, uint8_t type,
                         size_t max) {
  size_t body = o->frame_at + SBX_FRAME_HEAD;
  if (o->buf.len < body || o->buf.len - body > max)
    abort();
  if (input_at == input_len)
    owner_wants(id);
  sbx_outbox_end(o, id, type, max);
}

static void forget_commands(void) {
  struct sbx_list *it, *tmp;
  unsigned running = 0;
  while (!sbx_list_empty(&hunts)) {
    struct sbx_command *c =
        SBX_LIST_OWNER(hunts.next, struct sbx_command, hunt);
    sbx_list_remove(&c->hunt);
    sbx_command_free(c);
  }
  SBX_LIST_EACH (it, tmp, &children) {
    struct sbx_child *child = SBX_LIST_OWNER(it, struct sbx_child, link);
    sbx_list_remove(it);
    sbx_loop_drop(&child->report);
    child->running = false;
    running++;
    sbx_command_free(SBX_LIST_OWNER(child, struct sbx_command, child));
  }
  if (running != sbx_super.commands)
    abort();
}

static void forget_channels(void) {
  for (int i = 0; i < BUCKETS; i++)
    while (buckets[i].next && !sbx_list_empty(&buckets[i])) {
      struct sbx_channel *c =
          SBX_LIST_OWNER(buckets[i].next, struct sbx_channel, link);
      sbx_channel_close(c);
      c->ops->forget(c);
    }
  if (open_count != 0)
    abort();
}

/* Where the supervisor ends, with whatever is in its lists and on its stack. */
static void parts_reset(void) {
  forget_channels();
  forget_commands();
  while (!sbx_list_empty(&watches))
    watch_free(SBX_LIST_OWNER(watches.next, struct watch, link));
  if (port_watches.next) {
    sbx_buf_fini(&sockets.sockets);
    port_watches.next = NULL;
  }
  port_tables[0] = port_tables[1] = -1;
  memset(&tick, 0, sizeof(tick));
  memset(&next_look, 0, sizeof(next_look));
  sbx_table_fini(&table);
  sbx_framer_fini(&framer);
  memset(&reading, 0, sizeof(reading));
  input_at = input_len = 0;
  paused = false;
  life = (struct sbx_lifetime){.busy = is_busy, .over = on_over};
  if (sbx_super.workspace >= 0)
    close(sbx_super.workspace);
  sbx_super = (struct sbx_super){.workspace = -1};
  sbx_loop_drop(&signals);
  close(epoll_fd);
  batch_len = 0;
  pause_ms = 1;
  last_serial = last_id = 0;
}

#endif
