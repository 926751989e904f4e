/* SPDX-License-Identifier: MIT */
#include "base/buf.h"
#include "fake_super.h"
#include "wire/msg.h"

/* What a watch was told, as "c:path m:path "; kinds are r c m d l. */
static struct sbx_buf told;
static uint64_t cursor; /* of the last event */
static int ended;       /* the error of a DONE; -1: none came */

static void reset(void) {
  sbx_buf_clear(&told);
  ended = -1;
}

static void take_frames(uint32_t id) {
  struct sbx_frame f;
  struct sbx_msg_done done;
  struct sbx_msg_event e;
  while (fake_get(&f)) {
    if (f.id != id)
      continue;
    if (f.type == SBX_MSG_DONE) {
      REQUIRE(sbx_done_decode(&done, f.data, f.len) == 0);
      ended = (int)done.error;
      continue;
    }
    REQUIRE(f.type == SBX_MSG_EVENT);
    REQUIRE(sbx_event_decode(&e, f.data, f.len) == 0);
    CHECK(e.kind == 'r' || e.cursor >= cursor);
    cursor = e.cursor;
    sbx_buf_append(&told, &e.kind, 1);
    sbx_buf_append(&told, ":", 1);
    sbx_buf_append(&told, e.path.data, e.path.len);
    sbx_buf_append(&told, " ", 1);
  }
}

/* Until nothing more comes. */
static void settle(uint32_t id) {
  for (int quiet = 0; quiet < 5; quiet++) {
    size_t before = told.len;
    fake_round();
    take_frames(id);
    if (told.len > before || !sbx_list_empty(&fake_turns))
      quiet = 0;
  }
}

static uint32_t watch_from(const char *path, uint32_t flags, uint64_t from) {
  reset();
  uint32_t id = fake_start((struct sbx_msg_file){.verb = SBX_FILE_WATCH,
                                                 .path = fake_str(path),
                                                 .flags = flags,
                                                 .offset = from});
  settle(id);
  return id;
}

static void check_told(uint32_t id, const char *want) {
  settle(id);
  CHECK_MEM(told.len ? told.data : (uint8_t *)"", told.len, want, strlen(want));
  reset();
}

static bool was_told(const char *what) {
  return told.len && memmem(told.data, told.len, what, strlen(what));
}

static void one_directory(void) {
  fake_sh("mkdir d d/sub; echo x >d/old");
  uint32_t id = watch_from("d", 0, 0);
  check_told(id, "r: ");
  fake_sh("echo x >d/new; echo y >>d/old");
  check_told(id, "c:new m:new m:old ");
  fake_sh("for i in 1 2 3 4; do echo y >>d/old; done"); /* one is enough */
  check_told(id, "m:old ");
  fake_sh("mv d/new d/moved; rm d/old; chmod 600 d/moved");
  check_told(id, "d:new c:moved d:old m:moved ");
  fake_sh("mv d/moved out; mv out d/in; echo x >d/sub/deeper; echo x >e");
  check_told(id, "d:moved c:in ");
  fake_forget(id);
  fake_sh("echo x >d/unseen");
  check_told(id, "");
}

static void tree(void) {
  fake_sh("mkdir -p t/a/b t/c; ln -s ../t t/loop");
  uint32_t id = watch_from("t", SBX_FILE_RECURSIVE, 0);
  check_told(id, "r: ");
  fake_sh("echo x >t/a/b/f; mkdir t/new");
  check_told(id, "c:a/b/f m:a/b/f c:new ");
  fake_sh("echo x >t/new/f");
  check_told(id, "c:new/f m:new/f ");
  /* What is made before the new directory is watched is found. */
  fake_sh("mkdir -p t/x/y/z; echo x >t/x/y/z/f");
  settle(id);
  CHECK(was_told("c:x ") && was_told("c:x/y/z ") && was_told("c:x/y/z/f "));
  reset();
  fake_sh("mv t/x t/c/x2");
  settle(id);
  CHECK(was_told("d:x c:c/x2 ") && was_told("c:c/x2/y/z/f "));
  reset();
  fake_sh("echo x >>t/c/x2/y/z/f");
  check_told(id, "m:c/x2/y/z/f ");
  fake_sh("mv t/c/x2 gone");
  check_told(id, "d:c/x2 ");
  fake_sh("echo x >>gone/y/z/f; rm -r gone; rm -r t/a");
  check_told(id, "d:a/b/f d:a/b d:a ");
  fake_forget(id);
}

static void coming_back(void) {
  fake_sh("mkdir d; echo x >d/f");
  uint32_t id = watch_from("d", 0, 0);
  fake_sh("echo x >d/1");
  settle(id);
  uint64_t seen = cursor;
  fake_forget(id);
  fake_sh("echo x >d/2");
  settle(id);
  id = watch_from("d", 0, seen);
  check_told(id, "r: c:2 m:2 ");
  uint32_t second = watch_from("d", 0, seen); /* both at once */
  check_told(second, "r: c:2 m:2 ");
  fake_sh("echo x >d/3");
  for (int i = 0; i < 3; i++)
    fake_round();
  CHECK(fake_out.len > 0);
  take_frames(second);
  CHECK(was_told("c:3 m:3 "));
  fake_forget(second);
  fake_forget(id);

  /* Too much has happened meanwhile. */
  seen = cursor;
  fake_sh("seq -f d/%g 2000 | xargs touch");
  id = watch_from("d", 0, seen);
  CHECK(was_told("l: "));
  CHECK(was_told(":2000 ") && !was_told(":1000 "));
  fake_forget(id);

  /* Cursors of nothing that is known: another directory, another life. */
  id = watch_from("d", 0, cursor + 1000);
  CHECK(told.len > 6 && memcmp(told.data, "r: l: ", 6) == 0);
  fake_forget(id);
  fake_sh("mkdir e");
  id = watch_from("e", 0, 3);
  check_told(id, "r: l: ");
  fake_forget(id);
  seen = cursor;
  fake_sh("rmdir e; mkdir e");
  id = watch_from("e", 0, seen);
  check_told(id, "r: l: ");
  fake_forget(id);
}

/* The kernel's queue runs over; what was made meanwhile is watched then. */
static void overflow(void) {
  fake_sh("mkdir d");
  uint32_t id = watch_from("d", SBX_FILE_RECURSIVE, 0);
  check_told(id, "r: ");
  for (int i = 0; i < 20000; i++) {
    const char *name = i % 2 ? "d/a" : "d/b";
    mknodat(sbx_super.workspace, name, S_IFREG | 0600, 0);
    unlinkat(sbx_super.workspace, name, 0);
  }
  fake_sh("mkdir -p d/late/later");
  settle(id);
  CHECK(was_told("l: "));
  reset();
  fake_sh("echo x >d/late/later/f");
  settle(id);
  CHECK(was_told("c:late/later/f "));
  fake_forget(id);
}

static void limits(void) {
  uint32_t ids[WATCHES_MAX];
  char name[16];
  for (int i = 0; i < WATCHES_MAX; i++) {
    snprintf(name, sizeof(name), "d%d", i);
    CHECK_INT(mkdirat(sbx_super.workspace, name, 0755), 0);
    ids[i] = watch_from(name, 0, 0);
    check_told(ids[i], "r: ");
  }
  watch_from(".", 0, 0);
  CHECK_INT(ended, EMFILE);
  uint32_t again = watch_from("d3", 0, 0); /* shares one */
  check_told(again, "r: ");
  fake_forget(ids[7]);
  uint32_t id = watch_from(".", 0, 0);
  check_told(id, "r: ");
  fake_forget(id);
  fake_forget(again);
  for (int i = 0; i < WATCHES_MAX; i++)
    fake_forget(ids[i]);

  watch_from("none", 0, 0);
  CHECK_INT(ended, ENOENT);
  fake_sh("echo x >file; ln -s ../out out; ln -s d1 link; mkfifo ff");
  watch_from("file", 0, 0);
  CHECK_INT(ended, ENOTDIR);
  watch_from("ff", 0, 0);
  CHECK_INT(ended, ENOTDIR);
  watch_from("out", 0, 0);
  CHECK_INT(ended, EXDEV);
  id = watch_from("link", 0, 0);
  check_told(id, "r: ");
  int rc = 0;
  CHECK(fake_send(id, SBX_MSG_DATA, "\0x", 2, &rc) && rc == SBX_EPROTO);
  fake_forget(id);
  id = fake_start((struct sbx_msg_file){.verb = SBX_FILE_WATCH,
                                        .path = fake_str("d2"),
                                        .flags = SBX_FILE_RECURSIVE});
  fake_forget(id); /* before it is ready */
  settle(id);
}

/* A file that is written is one event; the piece of it is none. */
static void written(void) {
  int rc = 0;
  uint32_t id = watch_from(".", 0, 0);
  check_told(id, "r: ");
  uint32_t file = fake_start((struct sbx_msg_file){
      .verb = SBX_FILE_WRITE, .path = fake_str("f"), .length = 1});
  fake_send(file, SBX_MSG_DATA, "\0x", 2, &rc);
  fake_send(file, SBX_MSG_EOF, "", 1, &rc);
  check_told(id, "c:f ");
  fake_forget(id);
}

/* The user may not look. */
static void rights(void) {
  if (geteuid() != 0)
    return;
  fake_sh("mkdir shut open open/shut open/o; chmod 700 shut open/shut");
  sbx_super.user.uid = 65534;
  watch_from("shut", 0, 0);
  CHECK_INT(ended, EACCES);
  uint32_t id = watch_from("open", SBX_FILE_RECURSIVE, 0);
  check_told(id, "r: ");
  fake_sh("echo x >open/shut/f; echo x >open/o/f");
  check_told(id, "c:o/f m:o/f ");
  fake_forget(id);
  sbx_super.user.uid = 0;
}

int main(void) {
  void (*const cases[])(void) = {one_directory, tree,    coming_back, overflow,
                                 limits,        written, rights};
  sbx_buf_init(&told, SIZE_MAX);
  fake_open();
  int fds = fake_fds();
  for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
    cases[i]();
    fake_sh("chmod -R u+rwx .; rm -rf ./* ./.[!.]* ./..?*");
    while (!sbx_list_empty(&watches))
      watch_free(SBX_LIST_OWNER(watches.next, struct watch, link));
    CHECK_INT(watch_count, 0);
    if (!CHECK_INT(fake_fds(), fds))
      fprintf(stderr, "  after case %zu\n", i);
  }
  sbx_buf_fini(&told);
  fake_close();
  return check_done();
}
