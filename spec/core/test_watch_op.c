/* SPDX-License-Identifier: MIT */
/* Watching, with a supervisor that does what the path says. */
#include "file_peer.h"
#include "proc/file_op.h"
#include "proc/watch_op.h"

static struct sbx_mailbox *mb;

static struct sbx_watch_op *new_watch(struct sbx_session *s, const char *path,
                                      uint64_t since) {
  struct sbx_watch_op *op = sbx_watch_op_new(mb, s);

  REQUIRE(op != NULL);
  op->path = strdup(path);
  op->since = since;
  op->timeout_ms = 10000;
  sbx_op_submit(&op->base.op);
  return op;
}

/* The cursor of the next event, its kind in *kind; 0: there is none. */
static uint64_t next_event(struct sbx_watch_op *op, char *kind) {
  uint64_t deadline = sbx_now_ms() + 10000, cursor;
  struct sbx_chunk *chunk;
  char text[40] = "";

  while ((chunk = sbx_op_read(&op->base.op)) == NULL) {
    struct sbx_op *news;

    if (sbx_op_done(&op->base.op) || !CHECK(sbx_now_ms() < deadline))
      return 0;
    news = sbx_mailbox_next(mb, 100);
    if (news != NULL)
      sbx_op_unref(news);
  }
  memcpy(text, chunk->data, chunk->len < 39 ? chunk->len : 39);
  free(chunk);
  *kind = text[0];
  cursor = strtoull(text + 1, NULL, 10);
  CHECK(strchr(text, ' ') != NULL);
  return cursor;
}

/* Five thousand events of two hundred bytes do not fit into the queue: the
 * watch is given up and taken up again until all have come, each once. */
static void misses_nothing_when_the_reader_is_slow(void) {
  struct sbx_session *s = peer_session(mb);
  struct sbx_watch_op *op = new_watch(s, "flood", 7);
  uint64_t i;
  char kind;

  CHECK_INT(next_event(op, &kind), 7);
  CHECK_INT(kind, 'r');
  usleep(200000);
  for (i = 8; i <= 5000; i++) {
    if (!CHECK_INT(next_event(op, &kind), i))
      break;
    if (!CHECK_INT(kind, i % 3 == 0 ? 'd' : 'c'))
      break;
  }
  sbx_op_cancel(&op->base.op);
  await(mb, &op->base.op);
  CHECK_INT(op->base.op.rc, SBX_ECANCELLED);
  sbx_op_unref(&op->base.op);
  close_session(mb, s);
}

static void ends_with_what_it_watches(void) {
  struct sbx_session *s = peer_session(mb);
  struct sbx_watch_op *op = new_watch(s, "gone", 0);

  await(mb, &op->base.op);
  CHECK_INT(op->base.op.rc, SBX_ENOTFOUND);
  CHECK_INT(op->error, 2);
  sbx_op_unref(&op->base.op);

  op = sbx_watch_op_new(mb, s);
  op->path = strdup("silent");
  op->timeout_ms = 50;
  sbx_op_submit(&op->base.op);
  await(mb, &op->base.op);
  CHECK_INT(op->base.op.rc, SBX_ETIMEOUT);
  sbx_op_unref(&op->base.op);

  op = new_watch(s, "flood", 5000);
  CHECK_INT(sbx_session_close(s), 0);
  await(mb, &op->base.op);
  CHECK_INT(op->base.op.rc, SBX_EDESTROYED);
  sbx_op_unref(&op->base.op);
  close_session(mb, s);
}

int main(int argc, char **argv) {
  struct sbx_err err = {0};

  if (argc > 1 && strcmp(argv[1], PEER) == 0)
    return peer();
  REQUIRE(sbx_mailbox_new(&mb, &err) == 0);
  misses_nothing_when_the_reader_is_slow();
  ends_with_what_it_watches();
  sbx_mailbox_close(mb);
  sbx_mailbox_unref(mb);
  return check_done();
}
