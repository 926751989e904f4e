/* SPDX-License-Identifier: MIT */
/* File operations against a supervisor that does what the path says. */
#include "file_peer.h"
#include "proc/file_op.h"

static struct sbx_mailbox *mb;

static struct sbx_file_op *new_op(struct sbx_session *s,
                                  enum sbx_file_verb verb, const char *path) {
  struct sbx_file_op *op = sbx_file_op_new(mb, s);

  REQUIRE(op != NULL);
  op->options.verb = verb;
  op->options.path = strdup(path);
  op->options.length = 1000;
  op->options.timeout_ms = 10000;
  return op;
}

static struct sbx_file_op *run(struct sbx_file_op *op) {
  sbx_op_submit(&op->base.op);
  await(mb, &op->base.op);
  return op;
}

static void end(struct sbx_file_op *op) {
  sbx_op_unref(&op->base.op);
}

static void reads_whole_files(void) {
  static const struct {
    const char *path, *data;
    int rc;
    unsigned error;
  } cases[] = {
      {"hello", "hello", 0, 0},           {"grows", "abc", 0, 0},
      {"shrinks", "abc", 0, 0},           {"large", "", SBX_EFILESIZE, 0},
      {"undescribed", "", SBX_EPROTO, 0}, {"missing", "", SBX_ENOTFOUND, 2},
      {"full", "", SBX_EINTERNAL, 24},
  };
  struct sbx_session *s = peer_session(mb);
  struct sbx_file_op *op;
  size_t i;

  for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
    op = new_op(s, SBX_FILE_READ, cases[i].path);
    op->options.whole = true;
    run(op);
    CHECK_INT(op->base.op.rc, cases[i].rc);
    CHECK_INT(op->error, cases[i].error);
    CHECK_MEM(op->data.data, op->data.len, cases[i].data,
              strlen(cases[i].data));
    CHECK_INT(op->too_large, cases[i].rc == SBX_EFILESIZE);
    end(op);
  }
  close_session(mb, s);
}

static void finds_the_part_that_is_wanted(void) {
  static const struct {
    uint64_t lines, bytes, length;
    const char *data;
  } cases[] = {
      {1, 0, 100, "two\n\nfour\n"},
      {1, 2, 3, "o\n\n"},
      {2, 0, 1, "\n"},
      {3, 1, 100, "our\n"},
      {4, 0, 100, ""},
      {9, 9, 100, ""},
      {1, 100, 100, ""},
  };
  struct sbx_session *s = peer_session(mb);
  struct sbx_file_op *op;
  size_t i;

  for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
    op = new_op(s, SBX_FILE_READ, "lines");
    op->options.skip_lines = cases[i].lines;
    op->options.offset = cases[i].bytes;
    op->options.length = cases[i].length;
    run(op);
    CHECK_INT(op->base.op.rc, 0);
    CHECK_MEM(op->data.data, op->data.len, cases[i].data,
              strlen(cases[i].data));
    end(op);
  }
  close_session(mb, s);
}

static void hangs_no_longer_than_it_may(void) {
  struct sbx_session *s = peer_session(mb);
  struct sbx_file_op *op = new_op(s, SBX_FILE_READ, "hangs");

  op->options.timeout_ms = 50;
  run(op);
  CHECK_INT(op->base.op.rc, SBX_ETIMEOUT);
  end(op);

  op = new_op(s, SBX_FILE_READ, "hangs");
  sbx_op_submit(&op->base.op);
  sbx_op_cancel(&op->base.op);
  await(mb, &op->base.op);
  CHECK_INT(op->base.op.rc, SBX_ECANCELLED);
  end(op);

  op = new_op(s, SBX_FILE_READ, "hangs");
  sbx_op_submit(&op->base.op);
  CHECK_INT(sbx_session_close(s), 0);
  await(mb, &op->base.op);
  CHECK_INT(op->base.op.rc, SBX_EDESTROYED);
  end(op);
  close_session(mb, s);
}

/* More than the credit that there is at first, and less. */
static void writes_under_credit(void) {
  static const size_t sizes[] = {0, 1, 65536, 262144, 262145, 5000000};
  struct sbx_session *s = peer_session(mb);
  struct sbx_file_op *op;
  size_t i;

  for (i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
    op = new_op(s, SBX_FILE_WRITE, "sink");
    op->options.data = calloc(1, sizes[i] + 1);
    op->options.data_len = sizes[i];
    run(op);
    CHECK_INT(op->base.op.rc, SBX_EPATH); /* as the peer answers */
    CHECK_INT(op->error, 27);
    end(op);
  }
  close_session(mb, s);
}

static void lists_sorted(void) {
  struct sbx_session *s = peer_session(mb);
  struct sbx_file_op *op = run(new_op(s, SBX_FILE_LIST, "=a"));

  CHECK_INT(op->base.op.rc, 0);
  REQUIRE(op->count == 3);
  sbx_file_op_sort(op);
  CHECK(strcmp((const char *)op->entries[0].path.data, "a") == 0);
  CHECK(strcmp((const char *)op->entries[1].path.data, "ab") == 0);
  CHECK(strcmp((const char *)op->entries[2].path.data, "b") == 0);
  CHECK_INT(op->entries[0].type, 'd');
  CHECK_INT(op->entries[0].mtime_ms, 1234);
  end(op);

  op = new_op(s, SBX_FILE_LIST, "=d/.x/..y");
  op->options.recursive = true;
  CHECK_INT(run(op)->base.op.rc, 0);
  end(op);
  op = run(new_op(s, SBX_FILE_STAT, "x"));
  CHECK_INT(op->base.op.rc, 0);
  CHECK_INT(op->entries[0].size, 7);
  end(op);
  close_session(mb, s);
}

/* Names that would lead somewhere else: such a peer is not listened to. */
static void refuses_names_that_lead_elsewhere(void) {
  static const char *const names[] = {"=",       "=.",  "=..",   "=a/b",
                                      "=/a",     "=a/", "=../a", "=a//b",
                                      "=a/../b", "=a/."};
  size_t i;

  for (i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
    struct sbx_session *s = peer_session(mb);
    struct sbx_file_op *op = new_op(s, SBX_FILE_LIST, names[i]);

    op->options.recursive = strcmp(names[i], "=a/b") != 0;
    run(op);
    CHECK_INT(op->base.op.rc, SBX_EPROTO);
    CHECK(strstr(op->base.op.err.message, "broke the protocol") != NULL);
    end(op);
    op = run(new_op(s, SBX_FILE_READ, "hello"));
    CHECK(op->base.op.rc != 0); /* the session is over */
    end(op);
    close_session(mb, s);
  }
}

static void says_which_path_is_at_fault(void) {
  struct sbx_session *s = peer_session(mb);
  struct sbx_file_op *op = new_op(s, SBX_FILE_RENAME, "from");

  op->options.other = strdup("x");
  run(op);
  CHECK_INT(op->base.op.rc, SBX_EPATH);
  CHECK(!op->other_at_fault);
  end(op);
  op = new_op(s, SBX_FILE_RENAME, "other");
  op->options.other = strdup("x");
  run(op);
  CHECK(op->other_at_fault);
  CHECK_INT(op->error, 18);
  end(op);
  close_session(mb, s);
}

int main(int argc, char **argv) {
  struct sbx_err err = {0};

  if (argc > 1 && strcmp(argv[1], PEER) == 0)
    return peer();
  REQUIRE(sbx_mailbox_new(&mb, &err) == 0);
  reads_whole_files();
  finds_the_part_that_is_wanted();
  hangs_no_longer_than_it_may();
  writes_under_credit();
  lists_sorted();
  refuses_names_that_lead_elsewhere();
  says_which_path_is_at_fault();
  sbx_mailbox_close(mb);
  sbx_mailbox_unref(mb);
  return check_done();
}
