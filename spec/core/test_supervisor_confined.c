/* SPDX-License-Identifier: MIT */
/* What the supervisor's file operations do not do: what the user may not, and
 * anything outside of the workspace, also while somebody moves its entries. */
#include <pthread.h>

#include "base/buf.h"
#include "files_owner.h"
#include "wire/msg.h"

static void rights(void) {
  if (geteuid() != 0)
    return;
  sbx_super.user.uid = 65534;
  fake_sh("mkdir locked; echo old >locked/f; chmod 755 locked; echo s >shut;"
          "chmod 600 shut; mkdir cell; chmod 700 cell; mkdir cell/x");
  CHECK_INT(write_all("locked/f", "new"), EACCES);
  CHECK_INT(a.code, SBX_DONE_PATH);
  CHECK_INT(read_all("shut"), EACCES);
  CHECK_INT(on(SBX_FILE_STAT, "cell/x"), EACCES);
  CHECK_INT(deep(SBX_FILE_LIST, "cell"), EACCES);
  CHECK_INT(on(SBX_FILE_WATCH, "cell"), EACCES);
  CHECK_INT(deep(SBX_FILE_REMOVE, "locked"), EACCES);
  CHECK_INT(deep(SBX_FILE_LIST, "."), 0);
  CHECK_INT(a.entries, 4); /* without what is in the cell */
  CHECK_INT(write_all("mine", "x"), 0);
  fake_sh("test $(stat -c %u mine) = 65534; test old = $(cat locked/f);"
          "test \"$(ls -A locked)\" = f");
  sbx_super.user.uid = 0;
}

/* Somebody swaps a directory and a link that leads out, and a file and such a
 * link, as fast as possible. */
static atomic_bool racing;

static void *racer(void *arg) {
  char one[128], two_[128], f[128], g[128];
  (void)arg;
  snprintf(one, sizeof(one), "%s/work/swap", fake_dir);
  snprintf(two_, sizeof(two_), "%s/work/other", fake_dir);
  snprintf(f, sizeof(f), "%s/work/in/file", fake_dir);
  snprintf(g, sizeof(g), "%s/work/in/link", fake_dir);
  while (racing) {
    renameat2(AT_FDCWD, one, AT_FDCWD, two_, RENAME_EXCHANGE);
    renameat2(AT_FDCWD, f, AT_FDCWD, g, RENAME_EXCHANGE);
  }
  return NULL;
}

static void races(void) {
  pthread_t thread;
  unsigned good = 0, tries = 0;
  fake_sh("mkdir swap in; ln -s \"$PWD/../out\" other; echo mine >swap/secret;"
          "echo mine >in/file; ln -s \"$PWD/../out/secret\" in/link;"
          "ls -lA --time-style=full-iso ../out >../before");
  racing = true;
  REQUIRE(pthread_create(&thread, NULL, racer, NULL) == 0);
  uint64_t until = sbx_now_ms() + 500;
  while (sbx_now_ms() < until) {
    const char *paths[] = {"swap/secret", "in/file", "other/secret", "in/link"};
    for (int i = 0; i < 4; i++) {
      int rc = read_all(paths[i]);
      tries++;
      if (rc == 0) {
        good++;
        CHECK(a.data.len > 0 && a.data.data[0] == 'm');
      }
      write_all(paths[i], "mine\n");
    }
    on(SBX_FILE_MKDIR, "swap/new");
    write_all("other/deep/er", "mine\n");
    on(SBX_FILE_STAT, "swap/secret");
    if (a.error == 0)
      CHECK_INT(a.last.size, 5);
    two(SBX_FILE_SYMLINK, "swap/sym", "x");
    two(SBX_FILE_RENAME, "swap/sym", "other/sym");
    on(SBX_FILE_REMOVE, "other/sym");
    deep(SBX_FILE_REMOVE, "swap/deep");
    deep(SBX_FILE_LIST, "swap");
    if (a.error == 0 && a.names.len)
      CHECK(!memmem(a.names.data, a.names.len, "there", 5));
  }
  racing = false;
  pthread_join(thread, NULL);
  CHECK(good > 0);
  CHECK(tries > good);
  fake_sh("ls -lA --time-style=full-iso ../out >../after;"
          "cmp ../before ../after");
  fprintf(stderr, "races: %u of %u reads came through\n", good, tries);
}

int main(void) {
  void (*const cases[])(void) = {rights, races};
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
  reset();
  fake_close();
  return check_done();
}
