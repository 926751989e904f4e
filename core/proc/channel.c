/* SPDX-License-Identifier: MIT */
#include "proc/channel.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/list.h"
#include "base/random.h"
#include "io/timer.h"
#include "wire/control.h"

struct pending {
  struct sbx_list link;
  char nonce[SBX_NONCE_LEN + 1];
  const struct sbx_answer_events *events;
  void *arg;
  struct sbx_timer *deadline;
  size_t lines;
};

struct sbx_channel {
  struct sbx_runtime *runtime;
  struct sbx_stream *stream;
  struct sbx_control parser;
  struct sbx_list pending;
  /* A callback may free the channel while feed is on the stack. */
  bool *gone;
};

int sbx_channel_new(struct sbx_channel **out, struct sbx_runtime *rt,
                    struct sbx_stream *stream) {
  struct sbx_channel *ch = calloc(1, sizeof(*ch));

  if (ch == NULL)
    return -ENOMEM;
  ch->runtime = rt;
  ch->stream = stream;
  sbx_control_init(&ch->parser);
  sbx_list_init(&ch->pending);
  *out = ch;
  return 0;
}

static void finish(struct pending *p, int rc) {
  const struct sbx_answer_events *events = p->events;
  void *arg = p->arg;

  sbx_list_remove(&p->link);
  sbx_timer_free(p->deadline);
  free(p);
  events->on_done(arg, rc);
}

static void on_deadline(void *arg) {
  finish(arg, SBX_ETIMEOUT);
}

void sbx_channel_free(struct sbx_channel *ch) {
  struct sbx_list *node;

  if (ch == NULL)
    return;
  if (ch->gone != NULL)
    *ch->gone = true;
  while (!sbx_list_empty(&ch->pending)) {
    node = ch->pending.next;
    finish(SBX_LIST_OWNER(node, struct pending, link), SBX_EDESTROYED);
  }
  free(ch);
}

void sbx_channel_forget(struct sbx_channel *ch, void *arg) {
  struct sbx_list *it, *tmp;

  SBX_LIST_EACH (it, tmp, &ch->pending) {
    struct pending *p = SBX_LIST_OWNER(it, struct pending, link);

    if (p->arg == arg) {
      sbx_list_remove(&p->link);
      sbx_timer_free(p->deadline);
      free(p);
    }
  }
}

static void send_line(struct sbx_channel *ch, const char *nonce,
                      const char *text) {
  char line[SBX_NONCE_LEN + 1 + SBX_CHANNEL_TEXT + 2];
  int len = snprintf(line, sizeof(line), "%s %s\n", nonce, text);

  /* A stream that has gone answers nothing: the deadline, or the end of the
   * channel, tells. */
  if (len > 0 && (size_t)len < sizeof(line))
    (void)sbx_stream_write(ch->stream, line, (size_t)len);
}

int sbx_channel_ask(struct sbx_channel *ch, const char *text,
                    uint64_t timeout_ms, const struct sbx_answer_events *events,
                    void *arg) {
  struct pending *p = calloc(1, sizeof(*p));

  if (p == NULL)
    return -ENOMEM;
  if (sbx_timer_new(&p->deadline, ch->runtime, on_deadline, p) < 0) {
    free(p);
    return -ENOMEM;
  }
  p->events = events;
  p->arg = arg;
  if (sbx_random_hex(p->nonce, SBX_NONCE_LEN) < 0) {
    sbx_timer_free(p->deadline);
    free(p);
    return -EIO;
  }
  sbx_list_append(&ch->pending, &p->link);
  sbx_timer_start(p->deadline, timeout_ms);
  send_line(ch, p->nonce, text);
  return 0;
}

void sbx_channel_tell(struct sbx_channel *ch, const char *text) {
  char nonce[SBX_NONCE_LEN + 1];

  if (sbx_random_hex(nonce, SBX_NONCE_LEN) == 0)
    send_line(ch, nonce, text);
}

static struct pending *find(struct sbx_channel *ch, const char *nonce) {
  struct sbx_list *it, *tmp;

  SBX_LIST_EACH (it, tmp, &ch->pending) {
    struct pending *p = SBX_LIST_OWNER(it, struct pending, link);

    if (strcmp(p->nonce, nonce) == 0)
      return p;
  }
  return NULL;
}

static void take_line(struct sbx_channel *ch,
                      const struct sbx_control_line *line) {
  struct pending *p = find(ch, line->nonce);

  if (p == NULL)
    return;
  if (line->payload_len == 1 && line->payload[0] == '.')
    finish(p, 0);
  else if (p->events->on_line != NULL && p->lines++ < SBX_CHANNEL_LINES)
    p->events->on_line(p->arg, line->payload, line->payload_len);
}

void sbx_channel_feed(struct sbx_channel *ch, const uint8_t *data, size_t len) {
  bool gone = false;

  ch->gone = &gone;
  while (len > 0) {
    struct sbx_control_line line;
    size_t used = sbx_control_feed(&ch->parser, data, len, &line);

    data += used;
    len -= used;
    if (line.nonce != NULL)
      take_line(ch, &line);
    if (gone)
      return;
  }
  ch->gone = NULL;
}
