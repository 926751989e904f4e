/* SPDX-License-Identifier: MIT */
/* The pure pieces that the supervisor is made of. */
#include <errno.h>

#include "check.h"
#include "os/census.h"
#include "os/chase.h"
#include "os/environ.h"
#include "os/shipment.h"
#include "wire/listening.h"
#include "wire/outbox.h"

static void a_chase_terms_waits_and_kills(void) {
  struct sbx_chase c;
  sbx_chase_start(&c, 1000, 500);
  CHECK_INT(sbx_chase_look(&c, 1000, 3, 9, true), SBX_CHASE_TERM);
  CHECK_INT(sbx_chase_look(&c, 1400, 3, 9, true), SBX_CHASE_WAIT);
  CHECK_INT(sbx_chase_look(&c, 1500, 3, 9, true), SBX_CHASE_KILL);
  CHECK_INT(sbx_chase_look(&c, 1501, 0, 0, false), SBX_CHASE_WAIT);
  CHECK_INT(sbx_chase_look(&c, 1502, 0, 0, true), SBX_CHASE_AGAIN);
  CHECK_INT(sbx_chase_look(&c, 1503, 1, 12, true), SBX_CHASE_KILL);
  CHECK_INT(sbx_chase_look(&c, 1504, 0, 0, true), SBX_CHASE_AGAIN);
  CHECK_INT(sbx_chase_look(&c, 1504, 0, 0, true), SBX_CHASE_OVER);
}

static void a_chase_freezes_who_forks_and_gives_up(void) {
  struct sbx_chase c;
  sbx_chase_start(&c, 0, UINT64_MAX);
  CHECK_INT(sbx_chase_look(&c, 1u << 30, 1, 9, true), SBX_CHASE_TERM);
  sbx_chase_hurry(&c, 1000, 0);
  CHECK_INT(sbx_chase_look(&c, 1000, 1, 9, true), SBX_CHASE_KILL);
  CHECK_INT(sbx_chase_look(&c, 1001, 1, 10, true), SBX_CHASE_KILL);
  CHECK_INT(sbx_chase_look(&c, 1002, 1, 11, true), SBX_CHASE_FREEZE);
  CHECK_INT(sbx_chase_look(&c, 1999, 1, 11, true), SBX_CHASE_FREEZE);
  CHECK_INT(sbx_chase_look(&c, 2000, 1, 11, true), SBX_CHASE_OVER);
}

static void an_environment_has_each_name_once(void) {
  char a[] = "A=1", ab[] = "AB=2";
  char *from[] = {a, ab, NULL};
  struct sbx_environ_list e;
  REQUIRE(sbx_env_init(&e, from, 1));
  CHECK_STR(sbx_env_get(&e, "A"), "1");
  CHECK(sbx_env_get(&e, "B") == NULL);
  CHECK(sbx_env_put(&e, "A", "x=y"));
  CHECK(sbx_env_put(&e, "B", ""));
  CHECK(!sbx_env_put(&e, "C", "no room"));
  CHECK_STR(e.entries[0], "A=x=y");
  CHECK_STR(e.entries[1], "AB=2");
  CHECK_STR(e.entries[2], "B=");
  CHECK(e.entries[3] == NULL);
  free(e.entries[0]);
  free(e.entries[2]);
  free(e.entries);
}

static void a_path_is_walked(void) {
  static const char *const want[] = {"/bin/x", "x", "y/x", "x"};
  const char *path = "/bin::y:";
  for (size_t i = 0; i < 4; i++) {
    char *file = sbx_path_next(&path, "x");
    CHECK_STR(file, want[i]);
    free(file);
    CHECK((path == NULL) == (i == 3));
  }
}

static void a_shipment_goes_out_in_order(void) {
  struct sbx_shipment s;
  const uint8_t *data;
  uint64_t len;
  REQUIRE(sbx_shipment_init(&s, 20, SBX_KEEP_BOTH) == 0);
  sbx_shipment_push(&s, (const uint8_t *)"abcdefghij", 10);
  CHECK(sbx_shipment_next(&s, &data, &len)); /* what no cut can touch */
  CHECK_MEM(data, len, "abcdefg", 7);
  sbx_shipment_took(&s, 7);
  CHECK(!sbx_shipment_next(&s, &data, &len));
  for (int i = 0; i < 5; i++)
    sbx_shipment_push(&s, (const uint8_t *)"0123456789", 10);
  sbx_shipment_complete(&s);
  CHECK(sbx_shipment_next(&s, &data, &len));
  CHECK_MEM(data, len, "hij", 3);
  sbx_shipment_took(&s, 1);
  CHECK(sbx_shipment_next(&s, &data, &len));
  CHECK_MEM(data, len, "ij", 2);
  sbx_shipment_took(&s, 2);
  CHECK(sbx_shipment_next(&s, &data, &len));
  CHECK(data == NULL);
  CHECK_INT(len, 40);
  sbx_shipment_took(&s, 0);
  CHECK(sbx_shipment_next(&s, &data, &len));
  CHECK_MEM(data, len, "0123456789", 10);
  sbx_shipment_took(&s, 10);
  CHECK(!sbx_shipment_next(&s, &data, &len));
  sbx_shipment_fini(&s);
}

static void an_outbox_never_grows(void) {
  static uint8_t memory[100];
  struct sbx_outbox o;
  sbx_outbox_init(&o, memory, sizeof(memory));
  sbx_buf_append(sbx_outbox_begin(&o, 50), "hello", 5);
  sbx_outbox_end(&o, 7, 3, 50);
  CHECK_INT(sbx_outbox_used(&o), 17);
  CHECK_MEM(sbx_outbox_next(&o), 12, "\5\0\0\0\7\0\0\0\3\0\0", 12);
  sbx_buf_append(sbx_outbox_begin(&o, 50), "hello", 5);
  sbx_outbox_cancel(&o);
  CHECK_INT(sbx_outbox_used(&o), 17);
  sbx_outbox_begin(&o, 50)->len += 51;
  sbx_outbox_end(&o, 7, 3, 50); /* too long */
  CHECK_INT(sbx_outbox_used(&o), 17);
  sbx_outbox_took(&o, 16);
  for (int i = 0; i < 9; i++) { /* no room: left out */
    sbx_buf_append(sbx_outbox_begin(&o, 12), "hello world!", 12);
    sbx_outbox_end(&o, 7, 3, 12);
  }
  CHECK(sbx_outbox_used(&o) <= sizeof(memory));
}

static void listeners_are_summed_and_told(void) {
  static const char table[] = "  sl  local_address rem_address   st\n"
                              "   0: 0100007F:1F90 00000000:0000 0A 0 0 0\n"
                              "   1: 00000000:0050 00000000:0000 0A 0 0 0\n";
  struct sbx_listening l;
  struct sbx_msg_listeners m;
  struct sbx_buf b;
  sbx_listening_init(&l);
  uint64_t none = sbx_listening_sum(&l, 80);
  sbx_listening_feed(&l, table, 60);
  sbx_listening_feed(&l, table + 60, sizeof(table) - 1 - 60);
  sbx_listening_finish(&l);
  CHECK(sbx_listening_sum(&l, 80) != none);
  CHECK(sbx_listening_sum(&l, 81) == none);
  sbx_buf_init(&b, 1000);
  sbx_listening_encode(&l, 0, &b);
  CHECK(sbx_listeners_decode(&m, b.data, b.len) == 0);
  CHECK_INT(m.sockets.count, 2);
  sbx_buf_fini(&b);
  sbx_buf_fini(&l.sockets);
}

/* ---- a /proc of three processes */

static ssize_t read_fake(long pid, const char *name, char *out, size_t cap) {
  static const char limits[] =
      "Limit                     Soft Limit           Hard Limit  Units\n"
      "Max resident set          281474976710649      281474976710649 bytes\n"
      "Max file locks            7                    7               locks\n";
  if (pid == 9)
    return -ESRCH;
  if (pid == 8)
    return -EMFILE;
  if (strcmp(name, "stat") != 0)
    return snprintf(out, cap, "%s", limits);
  return snprintf(out, cap,
                  "%ld (a b) %c 1 %ld %ld 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 5 0",
                  pid, pid == 6 ? 'Z' : 'T', pid, pid);
}

static void a_census_takes_who_lives(void) {
  struct sbx_table t = {0};
  struct sbx_msg_killed m;
  struct sbx_buf b;
  char room[4096];
  CHECK(sbx_census_add(&t, 5, true, read_fake, room, sizeof(room)));
  CHECK(sbx_census_add(&t, 6, true, read_fake, room, sizeof(room)));
  CHECK(!sbx_census_add(&t, 8, true, read_fake, room, sizeof(room)));
  CHECK(sbx_census_add(&t, 9, true, read_fake, room, sizeof(room)));
  CHECK_INT(t.len, 1);
  CHECK_INT(sbx_table_find(&t, &(struct sbx_tree){.serial = 7}), 1);
  CHECK_INT(sbx_census_newest(&t), 5);
  CHECK(sbx_census_is_stopped(&t, 5) && !sbx_census_is_stopped(&t, 6));
  sbx_buf_init(&b, 1000);
  sbx_census_encode(&t, &b);
  CHECK(sbx_killed_decode(&m, b.data, b.len) == 0);
  CHECK_INT(m.survivors.count, 2);
  sbx_buf_fini(&b);
  CHECK_INT(sbx_table_find(&t, &(struct sbx_tree){.serial = 8}), 0);
  sbx_table_fini(&t);
  CHECK_INT(sbx_census_oom("oom 3\noom_kill 42\n", 18), 42);
  CHECK_INT(sbx_census_oom("oom_kill_disable 1", 18), 0);
}

int main(void) {
  a_chase_terms_waits_and_kills();
  a_chase_freezes_who_forks_and_gives_up();
  an_environment_has_each_name_once();
  a_path_is_walked();
  a_shipment_goes_out_in_order();
  an_outbox_never_grows();
  listeners_are_summed_and_told();
  a_census_takes_who_lives();
  return check_done();
}
