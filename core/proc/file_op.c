/* SPDX-License-Identifier: MIT */
#include "proc/file_op.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* What a listing may take. */
#define LISTING_MAX (64u * 1024u * 1024u)

#define BAD_ENTRY   "ENTRY with a name that cannot be one"

void sbx_file_options_fini(struct sbx_file_options *options) {
  free(options->path);
  free(options->other);
  free(options->data);
  memset(options, 0, sizeof(*options));
}

static void settle(struct sbx_file_op *op) {
  sbx_mux_forget(op->channel);
  op->channel = NULL;
  sbx_timer_free(op->timer);
  op->timer = NULL;
}

static void finish(struct sbx_file_op *op, const struct sbx_err *err) {
  settle(op);
  sbx_session_op_complete(&op->base, err != NULL ? err->code : 0, err);
}

static void fail(struct sbx_file_op *op, int code, const char *text) {
  struct sbx_err err = {0};

  sbx_fail(&err, code, "%s", text);
  finish(op, &err);
}

static void abandon(struct sbx_session_op *sop, const struct sbx_err *err) {
  finish((struct sbx_file_op *)sop, err);
}

static void cancel(struct sbx_op *base) {
  fail((struct sbx_file_op *)base, SBX_ECANCELLED, "cancelled");
}

static void on_timer(void *arg) {
  fail(arg, SBX_ETIMEOUT, "the supervisor did not answer in time");
}

static void on_lost(void *arg) {
  struct sbx_file_op *op = arg;
  struct sbx_err err = {0};

  sbx_session_explain(op->base.session, &err);
  finish(op, &err);
}

/* ---- entries ---- */

/* A name or a relative path as a directory can have it: whoever uses it as a
 * path must not be led elsewhere. */
static bool is_below(const struct sbx_str *path, bool nested) {
  const char *from = (const char *)path->data;
  const char *end = from + path->len;

  while (from <= end) {
    const char *slash = memchr(from, '/', (size_t)(end - from));
    size_t len = (size_t)((slash != NULL ? slash : end) - from);

    if (len == 0 || (len == 1 && from[0] == '.') ||
        (len == 2 && from[0] == '.' && from[1] == '.') ||
        (slash != NULL && !nested))
      return false;
    if (slash == NULL)
      return true;
    from = slash + 1;
  }
  return false;
}

static int add_entry(struct sbx_file_op *op, const struct sbx_str *text) {
  struct sbx_msg_entry e;
  bool lists = op->options.verb == SBX_FILE_LIST;

  if (sbx_entry_decode(&e, text->data, text->len) < 0)
    return SBX_EPROTO;
  if (lists ? !is_below(&e.path, op->options.recursive) : e.path.len > 0)
    return SBX_EPROTO;
  if (op->count == op->cap) {
    size_t cap = op->cap == 0 ? 64 : op->cap * 2;
    void *grown = realloc(op->entries, cap * sizeof(*op->entries));

    if (grown == NULL)
      return -ENOMEM;
    op->entries = grown;
    op->cap = cap;
  }
  op->entries[op->count++] = (struct sbx_file_entry){
      .type = e.type,
      .mode = e.mode,
      .size = e.size,
      .mtime_ms = e.mtime_ms,
      .path = e.path,
      .target = e.target,
  };
  return 0;
}

/* Keeps the bytes of a frame and adds its entries, which point into them. */
static int add_entries(struct sbx_file_op *op, struct sbx_strs list) {
  struct sbx_str text;
  uint8_t *block;
  int rc;

  if (list.len > LISTING_MAX - op->block_bytes)
    return SBX_EFILESIZE;
  block = malloc(list.len + 1);
  if (block == NULL || sbx_buf_append(&op->blocks, &block, sizeof(block)) < 0) {
    free(block);
    return -ENOMEM;
  }
  op->block_bytes += list.len;
  memcpy(block, list.data, list.len);
  list.data = block;
  while (sbx_strs_next(&list, &text))
    if ((rc = add_entry(op, &text)) < 0)
      return rc;
  return 0;
}

static int compare(const void *a, const void *b) {
  const struct sbx_str *x = &((const struct sbx_file_entry *)a)->path;
  const struct sbx_str *y = &((const struct sbx_file_entry *)b)->path;
  int order = memcmp(x->data, y->data, x->len < y->len ? x->len : y->len);

  return order != 0 ? order : (x->len > y->len) - (x->len < y->len);
}

void sbx_file_op_sort(struct sbx_file_op *op) {
  if (op->count > 1)
    qsort(op->entries, op->count, sizeof(*op->entries), compare);
}

static void on_entries(struct sbx_file_op *op, struct sbx_strs list) {
  int rc = add_entries(op, list);
  uint64_t size;

  if (rc == SBX_EPROTO) {
    sbx_mux_blame(op->channel, BAD_ENTRY);
    fail(op, rc, "the supervisor broke the protocol: " BAD_ENTRY);
  } else if (rc == SBX_EFILESIZE) {
    fail(op, rc, "the listing is too long");
  } else if (rc < 0) {
    fail(op, SBX_EINTERNAL, "out of memory");
  } else if (op->options.whole && op->count > 0) {
    size = op->entries[0].size;
    if (size > op->options.length) {
      op->too_large = true;
      fail(op, SBX_EFILESIZE, "the file is too large");
    } else if (sbx_buf_reserve(&op->data, (size_t)size) < 0) {
      fail(op, SBX_EINTERNAL, "out of memory");
    }
  }
}

/* ---- reading ---- */

/* How many of the bytes stand before the part that is wanted. */
static size_t skip(struct sbx_file_op *op, const uint8_t *data, size_t len) {
  size_t used = 0;

  while (op->lines_left > 0 && used < len) {
    const uint8_t *end = memchr(data + used, '\n', len - used);

    if (end == NULL)
      return len;
    used = (size_t)(end - data) + 1;
    op->lines_left--;
  }
  if (op->lines_left == 0 && op->bytes_left > 0) {
    size_t n =
        op->bytes_left < len - used ? (size_t)op->bytes_left : len - used;

    op->bytes_left -= n;
    used += n;
  }
  return used;
}

static void on_bytes(struct sbx_file_op *op, const uint8_t *data, size_t len) {
  uint64_t most = op->options.whole && op->count > 0 ? op->entries[0].size
                                                     : op->options.length;
  size_t skipped = skip(op, data, len);
  uint64_t room = most - op->data.len;
  size_t wanted = len - skipped < room ? len - skipped : (size_t)room;

  if (sbx_buf_append(&op->data, data + skipped, wanted) < 0) {
    fail(op, SBX_EINTERNAL, "out of memory");
    return;
  }
  sbx_mux_consumed(op->channel, SBX_MSG_STDOUT, len);
  /* A file that has grown, or the end of a part that was looked for. Otherwise
   * DONE is on its way. */
  if (len - skipped > wanted ||
      (op->options.skip_lines > 0 && op->data.len == most))
    finish(op, NULL);
}

/* ---- writing ---- */

static void send_data(struct sbx_file_op *op) {
  size_t rest = op->options.data_len - op->sent;
  size_t room;

  while (rest > 0 && (room = sbx_mux_room(op->channel)) > 0) {
    size_t len = rest < room ? rest : room;

    int rc = sbx_mux_send(op->channel, op->options.data + op->sent, len);

    if (rc == -ENOMEM)
      fail(op, SBX_EINTERNAL, "out of memory");
    if (rc < 0) /* an end that has come is told by DONE */
      return;
    op->sent += len;
    rest -= len;
  }
  if (rest == 0)
    sbx_mux_send_eof(op->channel);
}

static void on_room(void *arg) {
  struct sbx_file_op *op = arg;

  if (op->options.verb == SBX_FILE_WRITE && op->sent < op->options.data_len)
    send_data(op);
}

/* ---- the end ---- */

int sbx_file_explain(const struct sbx_msg_done *done, struct sbx_err *err) {
  static const int codes[] = {
      [SBX_DONE_NOT_FOUND] = SBX_ENOTFOUND, [SBX_DONE_PATH] = SBX_EPATH,
      [SBX_DONE_TOO_LARGE] = SBX_EFILESIZE, [SBX_DONE_REFUSED] = SBX_EINTERNAL,
      [SBX_DONE_FAILED] = SBX_EPATH,
  };

  if (done->code == SBX_DONE_OK)
    return 0;
  if (done->code == SBX_DONE_REFUSED)
    return sbx_fail(err, SBX_EINTERNAL, "the supervisor refused it: %s",
                    strerror((int)done->error));
  return sbx_fail(err, codes[done->code], "%s", strerror((int)done->error));
}

static void on_done(struct sbx_file_op *op, const struct sbx_msg_done *done) {
  bool describes =
      op->options.verb == SBX_FILE_READ || op->options.verb == SBX_FILE_STAT;
  struct sbx_err err = {0};

  if (sbx_file_explain(done, &err) < 0) {
    op->error = done->error;
    op->other_at_fault = done->text.len == 2 &&
                         memcmp(done->text.data, "to", 2) == 0 &&
                         op->options.verb == SBX_FILE_RENAME;
    finish(op, &err);
  } else if (describes && op->count == 0) {
    fail(op, SBX_EPROTO, "the supervisor did not say what the entry is");
  } else {
    finish(op, NULL);
  }
}

static void on_msg(void *arg, const struct sbx_mux_msg *msg) {
  struct sbx_file_op *op = arg;

  if (msg->type == SBX_MSG_ENTRY)
    on_entries(op, msg->entries.entries);
  else if (msg->type == SBX_MSG_DATA)
    on_bytes(op, msg->data.data, msg->data.len);
  else if (msg->type == SBX_MSG_DONE)
    on_done(op, &msg->done);
}

/* ---- the beginning ---- */

static int open_channel(struct sbx_file_op *op, struct sbx_mux *mux) {
  static const struct sbx_mux_channel_events events = {
      .on_msg = on_msg,
      .on_room = on_room,
      .on_lost = on_lost,
  };
  const struct sbx_file_options *o = &op->options;
  bool searches = o->verb == SBX_FILE_READ && o->skip_lines > 0;
  struct sbx_msg_file file = {
      .verb = (uint8_t)o->verb,
      .flags = (o->recursive ? SBX_FILE_RECURSIVE : 0u) |
               (o->parents ? SBX_FILE_PARENTS : 0u) |
               (o->has_mode ? SBX_FILE_MODE : 0u),
      .mode = o->mode,
      .offset = searches ? 0 : o->offset,
      .length = searches                    ? UINT64_MAX
                : o->verb == SBX_FILE_WRITE ? o->data_len
                                            : o->length,
      .credit = SBX_MUX_CREDIT,
      .path = {(const uint8_t *)o->path, strlen(o->path)},
  };

  if (o->other != NULL)
    file.other = (struct sbx_str){(const uint8_t *)o->other, strlen(o->other)};
  op->lines_left = searches ? o->skip_lines : 0;
  op->bytes_left = searches ? o->offset : 0;
  return sbx_mux_file(mux, &file, &events, op, &op->channel);
}

static void start(struct sbx_op *base) {
  struct sbx_file_op *op = (struct sbx_file_op *)base;
  struct sbx_session *s = op->base.session;
  struct sbx_mux *mux;

  op->base.abandon = abandon;
  if (!sbx_session_op_enter(&op->base))
    return;
  mux = s->mux;
  if (mux == NULL) {
    fail(op, SBX_EINTERNAL, "file operations need the supervisor");
    return;
  }
  if (sbx_timer_new(&op->timer, s->runtime, on_timer, op) < 0) {
    fail(op, SBX_EINTERNAL, "out of memory");
    return;
  }
  sbx_timer_start(op->timer, op->options.timeout_ms);
  sbx_mux_cork(mux); /* what is small leaves in one piece */
  if (open_channel(op, mux) < 0)
    fail(op, SBX_EINTERNAL, "the operation could not be sent");
  else if (op->options.verb == SBX_FILE_WRITE)
    send_data(op);
  sbx_mux_uncork(mux);
}

static void free_op(struct sbx_op *base) {
  struct sbx_file_op *op = (struct sbx_file_op *)base;
  uint8_t **blocks = (uint8_t **)(void *)op->blocks.data;
  size_t i;

  for (i = 0; i < op->blocks.len / sizeof(*blocks); i++)
    free(blocks[i]);
  sbx_buf_fini(&op->blocks);
  free(op->entries);
  sbx_buf_fini(&op->data);
  sbx_file_options_fini(&op->options);
  sbx_session_op_fini(&op->base);
  free(op);
}

const struct sbx_op_class sbx_file_op_class = {
    .name = "file",
    .start = start,
    .cancel = cancel,
    .free = free_op,
};

struct sbx_file_op *sbx_file_op_new(struct sbx_mailbox *mb,
                                    struct sbx_session *s) {
  struct sbx_file_op *op = calloc(1, sizeof(*op));

  if (op == NULL)
    return NULL;
  sbx_session_op_init(&op->base, &sbx_file_op_class, mb, s);
  sbx_buf_init(&op->data, SIZE_MAX);
  sbx_buf_init(&op->blocks, SIZE_MAX);
  return op;
}
