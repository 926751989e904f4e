/* SPDX-License-Identifier: MIT */
#include "http/events.h"

#include <cjson/cJSON.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "http/call.h"
#include "io/timer.h"

#define AGAIN_MS   500
#define REPORT_MAX ((size_t)64 * 1024)

/* {"type":["container"],"event":["die","oom","pause","unpause","destroy"]} */
static const char filters[] =
    "%7B%22type%22%3A%5B%22container%22%5D%2C%22event%22%3A%5B%22die%22%2C"
    "%22oom%22%2C%22pause%22%2C%22unpause%22%2C%22destroy%22%5D%7D";

struct sbx_listener_hub {
  struct sbx_runtime *rt;
  struct sbx_listener_hub *next;
  struct sbx_endpoint *endpoint;
  char *prefix;
  struct sbx_list listeners;
  struct sbx_call *call;
  struct sbx_timer *timer;
  struct sbx_buf line;
  uint64_t since_ms; /* wall clock; 0: from now on */
  int depth;         /* deliveries on the stack */
};

static void free_hub(struct sbx_listener_hub *hub) {
  struct sbx_listener_hub **at =
      (struct sbx_listener_hub **)sbx_runtime_slot(hub->rt, SBX_SLOT_EVENTS);

  while (*at != hub)
    at = &(*at)->next;
  *at = hub->next;
  if (hub->call != NULL)
    sbx_call_cancel(hub->call);
  sbx_timer_free(hub->timer);
  sbx_buf_fini(&hub->line);
  sbx_endpoint_unref(hub->endpoint);
  free(hub->prefix);
  free(hub);
}

static void settle(struct sbx_listener_hub *hub) {
  if (hub->depth == 0 && sbx_list_empty(&hub->listeners))
    free_hub(hub);
}

/* -- one report ---------------------------------------------------------------
 */

static enum sbx_note note_of(const char *action) {
  static const struct {
    const char *action;
    enum sbx_note note;
  } known[] = {
      {"die", SBX_NOTE_DIED},        {"oom", SBX_NOTE_OOM},
      {"pause", SBX_NOTE_PAUSED},    {"unpause", SBX_NOTE_NONE},
      {"destroy", SBX_NOTE_REMOVED},
  };

  for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
    if (strcmp(action, known[i].action) == 0)
      return known[i].note;
  return SBX_NOTE_UNKNOWN;
}

static void deliver(struct sbx_listener_hub *hub, const char *id,
                    enum sbx_note note, int status) {
  struct sbx_list *it, *tmp;

  SBX_LIST_EACH (it, tmp, &hub->listeners) {
    struct sbx_event_listener *l =
        SBX_LIST_OWNER(it, struct sbx_event_listener, link);

    if (strcmp(l->id, id) == 0) {
      l->on_note(l, note, status);
      return; /* a container has one lease, and the list may be another now */
    }
  }
}

static const char *text_at(const cJSON *object, const char *name) {
  return cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(object, name));
}

static void take_line(struct sbx_listener_hub *hub) {
  cJSON *tree =
      cJSON_ParseWithLength((const char *)hub->line.data, hub->line.len);
  const cJSON *actor = cJSON_GetObjectItemCaseSensitive(tree, "Actor");
  const cJSON *attributes =
      cJSON_GetObjectItemCaseSensitive(actor, "Attributes");
  const char *action = text_at(tree, "Action");
  const char *id = text_at(actor, "ID");
  const char *code = text_at(attributes, "exitCode");
  enum sbx_note note = SBX_NOTE_UNKNOWN;

  if (action != NULL && id != NULL)
    note = note_of(action);
  if (note != SBX_NOTE_UNKNOWN)
    deliver(hub, id, note, code != NULL ? atoi(code) : -1);
  cJSON_Delete(tree);
}

static int on_body(void *arg, const uint8_t *data, size_t len) {
  struct sbx_listener_hub *hub = arg;
  const uint8_t *end;
  int rc = 0;

  hub->depth++;
  while (rc == 0 && (end = memchr(data, '\n', len)) != NULL) {
    size_t n = (size_t)(end - data);

    rc = sbx_buf_append(&hub->line, data, n);
    if (rc == 0 && hub->line.len > 0)
      take_line(hub);
    sbx_buf_clear(&hub->line);
    data += n + 1;
    len -= n + 1;
  }
  if (rc == 0)
    rc = sbx_buf_append(&hub->line, data, len);
  hub->depth--;
  if (sbx_list_empty(&hub->listeners))
    sbx_timer_start(hub->timer, 0); /* not from inside its own call */
  return rc;
}

/* -- the connection -----------------------------------------------------------
 */

static void on_done(void *arg, struct sbx_call *call, int rc,
                    const struct sbx_err *err) {
  struct sbx_listener_hub *hub = arg;

  (void)call;
  (void)err;
  hub->call = NULL;
  if (rc == SBX_ECANCELLED)
    return; /* the thread is stopping */
  if (hub->since_ms == 0)
    hub->since_ms = sbx_wall_ms();
  sbx_timer_start(hub->timer, AGAIN_MS);
}

static void listen_again(void *arg) {
  static const struct sbx_call_events events = {.on_body = on_body,
                                                .on_done = on_done};
  struct sbx_listener_hub *hub = arg;
  struct sbx_call_request r = {.method = "GET"};
  char target[512];

  if (sbx_list_empty(&hub->listeners)) {
    settle(hub);
    return;
  }
  if (hub->call != NULL)
    return;
  snprintf(target, sizeof(target), "%s/events?filters=%s", hub->prefix,
           filters);
  if (hub->since_ms > 0) {
    size_t n = strlen(target);

    snprintf(target + n, sizeof(target) - n, "&since=%llu",
             (unsigned long long)(hub->since_ms / 1000));
  }
  hub->since_ms = 0;
  r.target = target;
  sbx_buf_clear(&hub->line);
  if (sbx_call_start(&hub->call, hub->rt, hub->endpoint, &r, &events, hub,
                     NULL) < 0) {
    hub->call = NULL;
    sbx_timer_start(hub->timer, AGAIN_MS);
  }
}

static struct sbx_listener_hub *new_hub(struct sbx_runtime *rt,
                                        const struct sbx_plan *plan) {
  struct sbx_listener_hub *hub = calloc(1, sizeof(*hub));
  void **slot = sbx_runtime_slot(rt, SBX_SLOT_EVENTS);

  if (hub == NULL)
    return NULL;
  hub->prefix = strdup(plan->prefix);
  if (hub->prefix == NULL ||
      sbx_timer_new(&hub->timer, rt, listen_again, hub) < 0) {
    free(hub->prefix);
    free(hub);
    return NULL;
  }
  hub->rt = rt;
  hub->endpoint = sbx_endpoint_ref(plan->endpoint);
  sbx_list_init(&hub->listeners);
  sbx_buf_init(&hub->line, REPORT_MAX);
  hub->next = *slot;
  *slot = hub;
  return hub;
}

void sbx_events_join(struct sbx_event_listener *l, struct sbx_runtime *rt,
                     const struct sbx_plan *plan) {
  struct sbx_listener_hub *hub = *sbx_runtime_slot(rt, SBX_SLOT_EVENTS);

  while (hub != NULL && (strcmp(hub->endpoint->text, plan->endpoint->text) ||
                         strcmp(hub->prefix, plan->prefix)))
    hub = hub->next;
  if (hub == NULL) {
    hub = new_hub(rt, plan);
    if (hub == NULL)
      return;
  }
  l->hub = hub;
  sbx_list_append(&hub->listeners, &l->link);
  if (hub->call == NULL && !sbx_timer_active(hub->timer))
    listen_again(hub);
}

void sbx_events_leave(struct sbx_event_listener *l) {
  struct sbx_listener_hub *hub = l->hub;

  if (hub == NULL)
    return;
  l->hub = NULL;
  sbx_list_remove(&l->link);
  settle(hub);
}
