/* SPDX-License-Identifier: MIT */
/* The supervisor's file operations, with openat2() and without. */
#include <sys/socket.h>
#include <sys/un.h>

#include "base/buf.h"
#include "files_owner.h"
#include "wire/msg.h"

static void content(void) {
  static uint8_t data[3 * 1024 * 1024 + 17];
  const size_t sizes[] = {0,     1,      65535,  65536,
                          65537, 262144, 262145, sizeof(data)};
  for (size_t i = 0; i < sizeof(data); i++)
    data[i] = (uint8_t)(i * 7 + i / 256);
  for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
    CHECK_INT(write_mode("f", data, sizes[i], -1), 0);
    CHECK_INT(read_all("f"), 0);
    CHECK_INT(a.entries, 1);
    CHECK_INT(a.last.size, sizes[i]);
    CHECK(a.data.len == sizes[i] &&
          (sizes[i] == 0 || memcmp(a.data.data, data, sizes[i]) == 0));
    read_part("f", 0, sizes[i], 1 + (uint32_t)sizes[i] / 3);
    CHECK_INT(a.data.len, sizes[i]);
  }
  CHECK_INT(read_part("f", 100, 5, 1), 0);
  CHECK_MEM(a.data.data, a.data.len, data + 100, 5);
  CHECK_INT(read_part("f", sizeof(data) - 3, 100, 100), 0);
  CHECK_INT(a.data.len, 3);
  CHECK_INT(read_part("f", sizeof(data), 100, 100), 0);
  CHECK_INT(a.data.len, 0);
  CHECK_INT(read_part("f", UINT64_MAX, 100, 100), 0);
  CHECK_INT(read_part("f", 0, 0, 0), 0);
  CHECK_INT(a.data.len, 0);
  write_all("d/e/f", "deep");
  check_read("d/e/f", "deep");
  check_list("d/e", "ff ");
}

/* Nothing is sent beyond the credit, and the end needs none. */
static void credit(void) {
  struct sbx_frame f;
  uint8_t raw[5] = {SBX_MSG_STDOUT, 3};
  int rc = 0;
  write_all("f", "0123456789");
  uint32_t id = fake_start((struct sbx_msg_file){.verb = SBX_FILE_READ,
                                                 .path = fake_str("f"),
                                                 .length = ANY,
                                                 .credit = 7});
  for (int i = 0; i < 5; i++)
    fake_round();
  REQUIRE(fake_get(&f) && f.type == SBX_MSG_ENTRY);
  REQUIRE(fake_get(&f) && f.type == SBX_MSG_DATA);
  CHECK_MEM(f.data + 1, f.len - 1, "0123456", 7);
  CHECK(!fake_get(&f));
  CHECK(fake_send(id, SBX_MSG_CREDIT, raw, 5, &rc) && rc == 0);
  for (int i = 0; i < 5; i++)
    fake_round();
  REQUIRE(fake_get(&f) && f.type == SBX_MSG_DATA);
  CHECK_MEM(f.data + 1, f.len - 1, "789", 3);
  REQUIRE(fake_get(&f) && f.type == SBX_MSG_DONE); /* the file is at its end */
  CHECK(!fake_send(id, SBX_MSG_CREDIT, raw, 5, &rc));

  id = fake_start((struct sbx_msg_file){.verb = SBX_FILE_READ,
                                        .path = fake_str("f"),
                                        .length = ANY,
                                        .credit = 1u << 31});
  CHECK(fake_send(id, SBX_MSG_CREDIT, raw, 5, &rc) && rc == SBX_EPROTO);
  raw[0] = SBX_MSG_STDERR;
  CHECK(fake_send(id, SBX_MSG_CREDIT, raw, 5, &rc) && rc == SBX_EPROTO);
  CHECK(fake_send(id, SBX_MSG_DATA, raw, 5, &rc) && rc == SBX_EPROTO);
  fake_forget(id);
  while (fake_get(&f))
    ;
}

static void links(void) {
  fake_sh("echo real >real; ln -s real l2; mkdir -p d/e; ln -s ../../real "
          "d/e/up; ln -s l2 l3; ln -s \"$PWD/real\" abs; ln -s d/e dir;"
          "ln -s \"$PWD\" self; ln -s \"$PWD/d/../self//./d/e/\" back;"
          "ln -s \"$PWD\" ../out/there; ln -s \"$PWD/../out/there/real\" via");
  const char *good[] = {"l2",  "l3",        "d/e/up",       "abs", "dir/up",
                        "via", "self/real", "self/back/up", NULL};
  for (int i = 0; good[i]; i++)
    check_read(good[i], "real\n");

  fake_sh("ln -s ../out/secret h; ln -s a b; ln -s $PWD/../out/secret a;"
          "ln -s ../../../../../../../../etc c; ln -s / root; ln -s .. up;"
          "ln -s ../../../../../../../etc/passwd d/x; ln -s /no/such no;"
          "ln -s d/../../out o");
  const char *bad[] = {"h",    "a",  "b",  "c/passwd",      "root/etc/passwd",
                       "d/x",  "up", "no", "up/out/secret", "o/secret",
                       "root", NULL};
  for (int i = 0; bad[i]; i++) {
    if (!CHECK_INT(read_all(bad[i]), EXDEV))
      fprintf(stderr, "  for %s\n", bad[i]);
    CHECK_INT(a.code, SBX_DONE_PATH);
    CHECK_INT(write_all(bad[i], "p"), EXDEV);
  }
  CHECK_INT(on(SBX_FILE_LIST, "c"), EXDEV);
  CHECK_INT(on(SBX_FILE_WATCH, "c"), EXDEV);
  CHECK_INT(on(SBX_FILE_STAT, "o/secret"), EXDEV);
  CHECK_INT(on(SBX_FILE_REMOVE, "o/secret"), EXDEV);
  CHECK_INT(deep(SBX_FILE_REMOVE, "o/secret"), EXDEV);
  CHECK_INT(on(SBX_FILE_MKDIR, "o/new"), EXDEV);
  CHECK_INT(on(SBX_FILE_MKDIR, "o"), EXDEV);
  CHECK_INT(write_all("o/new/deep/y", "p"), EXDEV);
  CHECK_INT(two(SBX_FILE_SYMLINK, "o/new", "x"), EXDEV);
  CHECK_INT(two(SBX_FILE_RENAME, "o/secret", "p"), EXDEV);
  CHECK_STR(a.text, "");
  CHECK_INT(two(SBX_FILE_RENAME, "real", "o/p"), EXDEV);
  CHECK_STR(a.text, "to");
  for (const char *const *p =
           (const char *const[]){"..", "../out/secret", "d/../../out/secret",
                                 "d/e/../../..", NULL};
       *p; p++)
    CHECK_INT(read_all(*p), EXDEV);
  CHECK_INT(read_all("/etc/passwd"), ENOENT); /* it is below, too */
  fake_sh("test \"$(ls -A ../out)\" = \"$(printf 'secret\\nthere')\";"
          "test secret = $(cat ../out/secret)");

  fake_sh("ln -s real l; ln -s fresh dangling; ln -s n/o/t gone; ln -s q/ s;"
          "ln -s circle circle; ln -s d/ slash; ln -s . dot; ln -s d/.. dd;"
          "ln -s real/ trail");
  CHECK_INT(write_all("l", "new"), 0);
  CHECK_INT(write_all("dangling", "made"), 0);
  check_read("real", "new");
  check_read("fresh", "made");
  on(SBX_FILE_STAT, "l");
  check_names("l>real ");
  CHECK_INT(read_all("gone"), ENOENT);
  CHECK_INT(write_all("gone", "x"), ENOENT);
  CHECK_INT(write_all("gone/x", "x"), ENOENT);
  CHECK_INT(write_all("s/x", "x"), ENOENT);
  CHECK_INT(a.code, SBX_DONE_NOT_FOUND);
  CHECK_INT(read_all("circle"), ELOOP);
  CHECK_INT(write_all("circle/x", "x"), ELOOP);
  CHECK_INT(read_all("trail"), ENOTDIR);
  for (const char *const *p =
           (const char *const[]){"slash", "dot", "dd", "self", "d", ".", NULL};
       *p; p++) {
    CHECK_INT(read_all(*p), EISDIR);
    CHECK_INT(write_all(*p, "x"), EISDIR);
  }
  check_list("slash/e", "lup>../../real ");
  CHECK_INT(write_all("dir/made/here", "x"), 0);
  check_read("d/e/made/here", "x");

  fake_sh("ln -s real n0; i=0; while [ $i -lt 45 ]; do ln -s n$i n$((i+1)); "
          "i=$((i+1)); done; printf one >'n\n\n'; ln -s 'n\n\n' nl");
  check_read("n39", "new");
  CHECK_INT(read_all("n41"), ELOOP);
  check_read("nl", "one");
}

static void special(void) {
  struct sockaddr_un addr = {.sun_family = AF_UNIX};
  int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  snprintf(addr.sun_path, sizeof(addr.sun_path), "%s/work/sock", fake_dir);
  CHECK_INT(bind(fd, (struct sockaddr *)&addr, sizeof(addr)), 0);
  fake_sh("mkfifo ff; ln -s ff to-fifo");
  for (const char *const *p =
           (const char *const[]){"ff", "to-fifo", "sock", NULL};
       *p; p++) {
    CHECK_INT(read_all(*p), ENXIO);
    CHECK_INT(write_all(*p, "x"), ENXIO);
    CHECK_INT(a.code, SBX_DONE_PATH);
    CHECK_INT(on(SBX_FILE_LIST, *p), ENOTDIR);
    CHECK_INT(write_all("ff/x", "x"), ENOTDIR);
  }
  ask((struct sbx_msg_file){
      .verb = SBX_FILE_LIST, .path = fake_str("."), .length = ANY});
  CHECK_INT(a.entries, 3);
  close(fd);
}

static void written(void) {
  fake_sh("echo old >f; ln f other; chmod 4755 f");
  CHECK_INT(write_all("f", "new"), 0);
  fake_sh("test \"$(stat -c %a f)\" = 755; test old = $(cat other)");
  CHECK_INT(write_mode("f", "x", 1, 0600), 0);
  CHECK_INT(write_mode("n/g", "x", 1, 07777), 0);
  CHECK_INT(write_all("n/h", "x"), 0);
  fake_sh("test \"$(stat -c %a f n n/g n/h | xargs)\" = '600 755 777 644'");
  CHECK_INT(write_all("f/x", "x"), ENOTDIR);
  CHECK_INT(read_all("f/x"), ENOTDIR);
  CHECK_INT(write_all("n", "x"), EISDIR);
  CHECK_INT(ask((struct sbx_msg_file){.verb = SBX_FILE_WRITE,
                                      .path = fake_str("no/such")}),
            ENOENT); /* without PARENTS */
  fake_sh("test \"$(ls -A . n | xargs)\" = '.: f n other n: g h'");
}

/* A write that does not end well leaves the old file, and no other. */
static void unwritten(void) {
  const struct sbx_msg_file m = {
      .verb = SBX_FILE_WRITE, .path = fake_str("f"), .length = 4};
  int rc = 0;
  write_all("f", "old");
  for (int way = 0; way < 5; way++) {
    reset();
    uint32_t id = fake_start(m);
    fake_sh("test $(ls -A | wc -l) = 2; test old = $(cat f)");
    if (way == 0)
      send_data(id, (const uint8_t *)"01234", 5);
    else
      send_data(id, (const uint8_t *)"012", 3);
    if (way == 1)
      fake_send(id, SBX_MSG_EOF, "", 1, &rc);
    if (way == 2) { /* there was no memory for a frame */
      struct sbx_frame f = {.id = id, .type = SBX_MSG_DATA, .len = 2};
      f.skipped = true;
      rc = fake_channel(id)->ops->frame(fake_channel(id), &f);
    }
    CHECK_INT(rc, 0);
    if (way <= 2) {
      finish(id);
      CHECK_INT(a.error, way == 2 ? ENOMEM : EMSGSIZE);
      CHECK_INT(a.code, way == 2 ? SBX_DONE_REFUSED : SBX_DONE_FAILED);
    } else if (way == 3) {
      fake_sh("rm f; mkdir f");
      send_data(id, (const uint8_t *)"3", 1);
      fake_send(id, SBX_MSG_EOF, "", 1, &rc);
      CHECK_INT(finish(id), EISDIR);
      fake_sh("rmdir f; echo old >f");
    } else {
      CHECK(fake_send(id, SBX_MSG_CREDIT, "\0\1\0\0\0", 5, &rc));
      CHECK_INT(rc, SBX_EPROTO);
      fake_forget(id);
      collect(id);
    }
    fake_sh("test f = $(ls -A); test old = $(cat f)");
  }
}

static void listing(void) {
  fake_sh("printf 12345 >f; mkdir d; ln -s f l; mkfifo p; echo x >d/x; "
          "mkdir d/e; echo y >d/e/y; ln -s .. d/up; touch -d @1000000000.25 f");
  deep(SBX_FILE_LIST, ".");
  CHECK_INT(a.entries, 8);
  deep(SBX_FILE_LIST, "d/e");
  check_names("fy ");
  CHECK_INT(on(SBX_FILE_LIST, "l"), ENOTDIR);
  CHECK_INT(on(SBX_FILE_STAT, "f"), 0);
  check_names("f ");
  CHECK_INT(a.last.size, 5);
  CHECK_INT(a.last.mtime_ms, 1000000000250);
  CHECK_INT(a.last.mode, 0644);
  on(SBX_FILE_STAT, ".");
  check_names("d ");
  on(SBX_FILE_STAT, "p");
  check_names("o ");
  CHECK_INT(on(SBX_FILE_STAT, "none"), ENOENT);
  CHECK_INT(on(SBX_FILE_LIST, "none"), ENOENT);
  CHECK_INT(on(SBX_FILE_LIST, "f"), ENOTDIR);
  clean();
  fake_sh("seq -f 'a-name-that-is-somewhat-longer-%g' 5000 | xargs touch;"
          "mkdir -p d/d/d; seq -f d/d/d/%g 100 | xargs touch");
  deep(SBX_FILE_LIST, ".");
  CHECK_INT(a.error, 0);
  CHECK_INT(a.entries, 5103);
  CHECK(a.frames < 30);
  ask((struct sbx_msg_file){.verb = SBX_FILE_LIST,
                            .path = fake_str("."),
                            .length = 1000,
                            .flags = SBX_FILE_RECURSIVE});
  CHECK_INT(a.entries, 1000);
  CHECK_INT(on(SBX_FILE_LIST, "."), 0); /* none */
  CHECK_INT(a.entries, 0);
}

static void entries(void) {
  CHECK_INT(on(SBX_FILE_MKDIR, "a/b/c"), 0);
  CHECK_INT(on(SBX_FILE_MKDIR, "a/b"), 0);
  CHECK_INT(on(SBX_FILE_MKDIR, "."), 0);
  CHECK_INT(ask((struct sbx_msg_file){.verb = SBX_FILE_MKDIR,
                                      .path = fake_str("m/n"),
                                      .flags = SBX_FILE_MODE,
                                      .mode = 0710}),
            0);
  fake_sh("test \"$(stat -c %a m m/n | xargs)\" = '755 710'; rm -r m");
  write_all("a/f", "x");
  CHECK_INT(on(SBX_FILE_MKDIR, "a/f"), ENOTDIR);
  CHECK_INT(on(SBX_FILE_REMOVE, "a"), ENOTEMPTY);
  CHECK_INT(a.code, SBX_DONE_PATH);
  CHECK_INT(on(SBX_FILE_REMOVE, "a/b/c"), 0);
  CHECK_INT(two(SBX_FILE_RENAME, "a", "z"), 0);
  CHECK_INT(two(SBX_FILE_RENAME, "z/f", "z"), EISDIR);
  CHECK_STR(a.text, "to");
  write_all("g", "y");
  CHECK_INT(two(SBX_FILE_RENAME, "z", "g"), ENOTDIR);
  CHECK_INT(two(SBX_FILE_RENAME, "g", "g"), 0);
  CHECK_INT(two(SBX_FILE_RENAME, "z", "z"), 0);
  CHECK_INT(two(SBX_FILE_RENAME, "g", "z/f"), 0);
  check_read("z/f", "y");
  CHECK_INT(two(SBX_FILE_RENAME, "z", "z/b/z"), EINVAL);
  CHECK_INT(two(SBX_FILE_RENAME, "none", "q"), ENOENT);
  CHECK_STR(a.text, "");
  CHECK_INT(two(SBX_FILE_RENAME, "z/f", "no/q"), ENOENT);
  CHECK_STR(a.text, "to");
  fake_sh("mkdir d; ln -s d l; ln -s d n; echo h >h; ln h i; mkdir e");
  CHECK_INT(two(SBX_FILE_RENAME, "h", "n"), 0);
  CHECK_INT(two(SBX_FILE_RENAME, "i", "n"), 0); /* the same file */
  CHECK_INT(two(SBX_FILE_RENAME, "e", "l"), 0);
  fake_sh(
      "test \"$(ls -A | xargs)\" = 'd l n z'; test -d l; test h = $(cat n)");
  CHECK_INT(two(SBX_FILE_SYMLINK, "s", "../any/where"), 0);
  CHECK_INT(two(SBX_FILE_SYMLINK, "s", "x"), EEXIST);
  CHECK_INT(two(SBX_FILE_SYMLINK, "q/s", "x"), ENOENT);
  CHECK_INT(deep(SBX_FILE_REMOVE, "s"), 0);
  CHECK_INT(deep(SBX_FILE_REMOVE, "z"), 0);
  fake_sh("mkdir -p t/a/b t/c; cd t; ln -s ../../../out a/out;"
          "seq -f x%g 3000 | xargs touch; seq -f a/b/%g 150 | xargs mkdir;"
          "seq -f a/b/%g/x 150 | xargs touch");
  CHECK_INT(deep(SBX_FILE_REMOVE, "t"), 0);
  fake_sh("test \"$(ls -A | xargs)\" = 'd l n'; test -e ../out/secret");
  CHECK(on(SBX_FILE_REMOVE, ".") > 0);
  CHECK(deep(SBX_FILE_REMOVE, ".") > 0);
  CHECK(deep(SBX_FILE_REMOVE, "d/.") > 0);
  CHECK_INT(on(0, "d"), EINVAL);
  fake_sh("test \"$(ls -A | xargs)\" = 'd l n'");
}

/* Trees that are deeper than a path is long. */
static void depth(void) {
  char name[201];
  struct sbx_place at;
  memset(name, 'n', 200);
  name[200] = '\0';
  int dir = openat(sbx_super.workspace, ".", O_PATH | O_CLOEXEC);
  for (int i = 0; i < 60; i++) {
    CHECK_INT(mkdirat(dir, name, 0755), 0);
    int next = openat(dir, name, O_PATH | O_CLOEXEC);
    close(dir);
    dir = next;
  }
  close(dir);
  CHECK_INT(deep(SBX_FILE_LIST, "."), 0);
  CHECK(a.entries >= 20 && a.entries < 60);
  CHECK_INT(deep(SBX_FILE_REMOVE, name), 0);
  check_list(".", "");

  char path[PATH_MAX + 1];
  memset(path, '/', PATH_MAX);
  path[PATH_MAX] = '\0';
  CHECK_INT(on(SBX_FILE_STAT, path), ENAMETOOLONG);
  for (int i = 0; i < PATH_MAX - 1; i++)
    path[i] = i % 2 ? '/' : 'd';
  path[sbx_beneath_by_hand ? 801 : PATH_MAX - 3] = '\0';
  CHECK_INT(on(SBX_FILE_MKDIR, path), 0);
  CHECK_INT(on(SBX_FILE_STAT, path), 0);
  CHECK_INT(deep(SBX_FILE_REMOVE, "d"), 0);
  memset(path, 'x', 300);
  path[300] = '\0';
  CHECK_INT(write_all(path, "x"), ENAMETOOLONG);
  /* As many ".." as a link can hold cost no time. */
  for (int i = 0; i + 3 < PATH_MAX - 1; i += 5)
    memcpy(path + i, "d/../", 6);
  on(SBX_FILE_MKDIR, "d");
  CHECK_INT(symlinkat(path, sbx_super.workspace, "l"), 0);
  for (int i = 0; i < 20; i++) {
    int rc = sbx_beneath_find(&at, sbx_super.workspace,
                              "l/l/l/l/l/l/l/l/l/l/l/l", 0);
    CHECK(rc == 0 || rc == -ELOOP);
    if (rc == 0)
      sbx_beneath_close(&at);
  }
}

static void forgotten(void) {
  fake_sh("mkdir t; seq -f t/%g 3000 | xargs touch; truncate -s 10M big");
  for (int rounds = 0; rounds < 3; rounds++) {
    struct sbx_frame f;
    uint32_t ids[3];
    ids[0] = fake_start((struct sbx_msg_file){
        .verb = SBX_FILE_LIST, .path = fake_str("t"), .length = ANY});
    ids[1] = fake_start((struct sbx_msg_file){.verb = SBX_FILE_READ,
                                              .path = fake_str("big"),
                                              .length = ANY,
                                              .credit = 1 << 20});
    ids[2] = fake_start((struct sbx_msg_file){.verb = SBX_FILE_REMOVE,
                                              .path = fake_str("t"),
                                              .flags = SBX_FILE_RECURSIVE});
    for (int i = 0; i < rounds; i++)
      fake_round();
    for (int i = 0; i < 3; i++)
      fake_forget(ids[i]);
    while (fake_get(&f))
      ;
    fake_round();
    CHECK(!fake_get(&f));
  }
  fake_sh("test -d t && test -e t/3000 || test -n \"$(ls t)\"");
}

int main(void) {
  void (*const cases[])(void) = {content, credit,    links,   special,
                                 written, unwritten, listing, entries,
                                 depth,   forgotten};
  fake_open();
  int fds = fake_fds();
  for (int way = 0; way < 2; way++) {
    sbx_beneath_by_hand = way == 1;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
      cases[i]();
      clean();
      fake_sh("rm -f ../out/there");
      if (!CHECK_INT(fake_fds(), fds))
        fprintf(stderr, "  after case %zu\n", i);
    }
  }
  CHECK_INT(on(SBX_FILE_STAT, "."), 0);
  close(sbx_super.workspace);
  sbx_super.workspace = -1;
  CHECK_INT(on(SBX_FILE_STAT, "."), ENODEV);
  reset();
  fake_close();
  return check_done();
}
