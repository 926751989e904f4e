/* SPDX-License-Identifier: MIT */
#include "wire/msg.h"

#include <errno.h>

#include "check.h"

/* Every message as bytes, so that the wire does not change unnoticed, and back
 * again; then cut at every place, and with a byte too many. */

#define STR(text)                                                              \
  { (const uint8_t *)(text), sizeof(text) - 1 }
#define SAME_STR(a, b) CHECK_MEM((a).data, (a).len, (b).data, (b).len)
#define SAME_STRS(a, b)                                                        \
  do {                                                                         \
    CHECK_INT((a).count, (b).count);                                           \
    CHECK_MEM((a).data, (a).len, (b).data, (b).len);                           \
  } while (0)

/* Nothing that is shorter than `bytes`, or longer, is a message. */
#define REFUSED(name, bytes, size)                                             \
  do {                                                                         \
    struct sbx_msg_##name m;                                                   \
    for (size_t n = 0; n < (size); n++) {                                      \
      struct check_guard g = check_guard_new(bytes, n);                        \
      CHECK_INT(sbx_##name##_decode(&m, g.data, n), SBX_EPROTO);               \
      check_guard_free(&g);                                                    \
    }                                                                          \
    struct check_guard g = check_guard_new(NULL, (size) + 1);                  \
    memcpy(g.data, bytes, size);                                               \
    CHECK_INT(sbx_##name##_decode(&m, g.data, (size) + 1), SBX_EPROTO);        \
    check_guard_free(&g);                                                      \
    CHECK_INT(sbx_##name##_decode(&m, NULL, 0), SBX_EPROTO);                   \
  } while (0)

/* `in` encodes to `bytes` and those decode to `out`, whose strings are valid
 * until the end of the block that follows. */
#define CODEC(name, in, out, bytes)                                            \
  struct sbx_buf b_##name;                                                     \
  struct check_guard g_##name = check_guard_new(bytes, sizeof(bytes) - 1);     \
  sbx_buf_init(&b_##name, SIZE_MAX);                                           \
  CHECK_INT(sbx_##name##_encode(&b_##name, &in), 0);                           \
  CHECK_MEM(b_##name.data, b_##name.len, bytes, sizeof(bytes) - 1);            \
  REFUSED(name, bytes, sizeof(bytes) - 1);                                     \
  REQUIRE(sbx_##name##_decode(&out, g_##name.data, g_##name.len) == 0);

#define END(name)                                                              \
  sbx_buf_fini(&b_##name);                                                     \
  check_guard_free(&g_##name);

static void test_session(void) {
  static const char hello[] = "\4\3\2\1\1\10\7\6\5\4\3\2\1"
                              "\20\0\0\0\0\0\0\0\40\0\0\0\0\0\0\1"
                              "\2\0\0\0/w\0\0\0\0\0\0";
  struct sbx_msg_hello h = {.version = 0x01020304,
                            .no_new_privileges = 1,
                            .capabilities = 0x0102030405060708,
                            .ttl_ms = 16,
                            .idle_ms = 0x0100000000000020,
                            .workdir = STR("/w")};
  struct sbx_msg_hello h2;
  CODEC(hello, h, h2, hello)
  CHECK_INT(h2.version, h.version);
  CHECK_INT(h2.no_new_privileges, 1);
  CHECK_INT(h2.capabilities, h.capabilities);
  CHECK_INT(h2.ttl_ms, h.ttl_ms);
  CHECK_INT(h2.idle_ms, h.idle_ms);
  CHECK_STR((const char *)h2.workdir.data, "/w"); /* C strings in place */
  CHECK_STR((const char *)h2.user.data, "");
  END(hello)

  static const char ready[] = "\1\0\0\0\350\3\0\0\351\3\0\0\1\5\0\0\0/home\0";
  struct sbx_msg_ready r = {1, 1000, 1001, 1, STR("/home")}, r2;
  CODEC(ready, r, r2, ready)
  CHECK_INT(r2.uid, 1000);
  CHECK_INT(r2.gid, 1001);
  CHECK_INT(r2.writable, 1);
  SAME_STR(r2.home, r.home);
  END(ready)
}

static void test_spawn(void) {
  static const char bytes[] = "\13\0\0\0\2\0\0\1\0\0\0\0\0\0\0\4\0\30\0\120\0"
                              "\2\0\0\0ab\0\1\0\0\0/\0"
                              "\2\0\0\0\2\0\0\0ls\0\0\0\0\0\0"
                              "\2\0\0\0\1\0\0\0A\0\3\0\0\0x=y\0";
  static const char argv[] = "\2\0\0\0ls\0\0\0\0\0\0";
  static const char env[] = "\1\0\0\0A\0\3\0\0\0x=y\0";
  struct sbx_msg_spawn s = {
      .flags = 11,
      .keep = 2,
      .max_bytes = 0x10000,
      .credit = 0x40000,
      .rows = 24,
      .cols = 80,
      .mark = STR("ab"),
      .cwd = STR("/"),
      .argv = {(const uint8_t *)argv, sizeof(argv) - 1, 2},
      .env = {(const uint8_t *)env, sizeof(env) - 1, 2}};
  struct sbx_msg_spawn s2;
  struct sbx_str word;

  CODEC(spawn, s, s2, bytes)
  CHECK_INT(s2.flags, 11);
  CHECK_INT(s2.keep, 2);
  CHECK_INT(s2.max_bytes, 0x10000);
  CHECK_INT(s2.credit, 0x40000);
  CHECK_INT(s2.rows, 24);
  CHECK_INT(s2.cols, 80);
  SAME_STR(s2.mark, s.mark);
  SAME_STR(s2.cwd, s.cwd);
  SAME_STRS(s2.argv, s.argv);
  SAME_STRS(s2.env, s.env);
  CHECK(sbx_strs_next(&s2.argv, &word));
  CHECK_STR((const char *)word.data, "ls");
  CHECK(sbx_strs_next(&s2.argv, &word));
  CHECK_STR((const char *)word.data, "");
  CHECK(!sbx_strs_next(&s2.argv, &word));
  CHECK(!sbx_strs_next(&s2.argv, &word));
  END(spawn)
}

static void test_ends(void) {
  static const char failed[] = "\3\2\0\0\0\2\0\0\0no\0";
  struct sbx_msg_failed f = {3, 2, STR("no")}, f2;
  CODEC(failed, f, f2, failed)
  CHECK_INT(f2.stage, 3);
  CHECK_INT(f2.error, 2);
  SAME_STR(f2.text, f.text);
  END(failed)

  static const char exited[] = "\211\11\1\1\0\0\0\0\0\0\0\2\0\0\0\0\0\0\0"
                               "\3\0\0\0\0\0\0\200";
  struct sbx_msg_exit e = {137, 9, 1, 1, 2, 0x8000000000000003}, e2;
  CODEC(exit, e, e2, exited)
  CHECK_INT(e2.code, 137);
  CHECK_INT(e2.signal, 9);
  CHECK_INT(e2.oom, 1);
  CHECK_INT(e2.user_us, 1);
  CHECK_INT(e2.system_us, 2);
  CHECK_INT(e2.max_rss_kib, 0x8000000000000003);
  END(exit)

  static const char killed[] = "\2\0\0\0\2\0\0\00017\0\2\0\0\0sh\0";
  struct sbx_msg_killed k = {
      {(const uint8_t *)killed + 4, sizeof(killed) - 5, 2}};
  struct sbx_msg_killed k2;
  CODEC(killed, k, k2, killed)
  SAME_STRS(k2.survivors, k.survivors);
  END(killed)

  static const char done[] = "\22\0\0\0\2\2\0\0\0to\0";
  struct sbx_msg_done d = {18, 2, STR("to")}, d2;
  CODEC(done, d, d2, done)
  CHECK_INT(d2.error, 18);
  CHECK_INT(d2.code, 2);
  SAME_STR(d2.text, d.text);
  END(done)
}

static void test_ports(void) {
  struct sbx_msg_port p = {8080}, p2;
  CODEC(port, p, p2, "\220\37")
  CHECK_INT(p2.port, 8080);
  END(port)

  static const char listeners[] =
      "\1\0\0\0\23\0\0\0\4\177\0\0\1\0\0\0\0\0\0\0\0\0\0\0\0\220\37\0";
  struct sbx_msg_listeners l = {
      {(const uint8_t *)listeners + 4, sizeof(listeners) - 5, 1}};
  struct sbx_msg_listeners l2;
  struct sbx_str socket;
  CODEC(listeners, l, l2, listeners)
  SAME_STRS(l2.sockets, l.sockets);
  CHECK(sbx_strs_next(&l2.sockets, &socket));
  CHECK_INT(socket.len, 19);
  END(listeners)
}

static void test_files(void) {
  static const char file[] = "\2\6\0\0\0\244\1\0\0\1\0\0\0\0\0\0\0"
                             "\2\0\0\0\0\0\0\0\3\0\0\0\3\0\0\0a/b\0\1\0\0\0c\0";
  struct sbx_msg_file f = {2, 6, 0644, 1, 2, 3, STR("a/b"), STR("c")}, f2;
  CODEC(file, f, f2, file)
  CHECK_INT(f2.verb, 2);
  CHECK_INT(f2.flags, 6);
  CHECK_INT(f2.mode, 0644);
  CHECK_INT(f2.offset, 1);
  CHECK_INT(f2.length, 2);
  CHECK_INT(f2.credit, 3);
  SAME_STR(f2.path, f.path);
  SAME_STR(f2.other, f.other);
  END(file)

  static const char entry[] = "l\377\1\0\0\7\0\0\0\0\0\0\0\10\0\0\0\0\0\0\0"
                              "\1\0\0\0p\0\2\0\0\0to\0";
  struct sbx_msg_entry e = {'l', 0777, 7, 8, STR("p"), STR("to")}, e2;
  CODEC(entry, e, e2, entry)
  CHECK_INT(e2.type, 'l');
  CHECK_INT(e2.mode, 0777);
  CHECK_INT(e2.size, 7);
  CHECK_INT(e2.mtime_ms, 8);
  SAME_STR(e2.path, e.path);
  SAME_STR(e2.target, e.target);
  END(entry)

  static const char entries[] = "\2\0\0\0\0\0\0\0\0\3\0\0\0a\0b\0";
  struct sbx_msg_entries l = {
      {(const uint8_t *)entries + 4, sizeof(entries) - 5, 2}};
  struct sbx_msg_entries l2;
  CODEC(entries, l, l2, entries)
  SAME_STRS(l2.entries, l.entries);
  END(entries)

  static const char event[] = "\11\0\0\0\0\0\0\0c\1\0\0\0x\0";
  struct sbx_msg_event v = {9, 'c', STR("x")}, v2;
  CODEC(event, v, v2, event)
  CHECK_INT(v2.cursor, 9);
  CHECK_INT(v2.kind, 'c');
  SAME_STR(v2.path, v.path);
  END(event)
}

#define BAD(name, bytes)                                                       \
  do {                                                                         \
    struct sbx_msg_##name m;                                                   \
    struct check_guard g = check_guard_new(bytes, sizeof(bytes) - 1);          \
    CHECK_INT(sbx_##name##_decode(&m, g.data, g.len), SBX_EPROTO);             \
    check_guard_free(&g);                                                      \
  } while (0)

static void test_bad_strings(void) {
  BAD(event, "\11\0\0\0\0\0\0\0c\3\0\0\0x\0y\0"); /* NUL inside */
  BAD(event, "\11\0\0\0\0\0\0\0c\1\0\0\0xy");     /* none behind */
  BAD(event, "\11\0\0\0\0\0\0\0c\377\377\377\377x\0");
  BAD(event, "\11\0\0\0\0\0\0\0c\373\377\377\377x\0");
  BAD(event, "\11\0\0\0\0\0\0\0c\2\0\0\0x\0");
  BAD(killed, "\1\0\0\0\3\0\0\0x\0y\0");
  BAD(killed, "\377\377\377\377");
  BAD(killed, "\377\377\377\377\0\0\0\0\0");
  BAD(killed, "\1\0\0\0\377\377\377\377\0");
  BAD(entries, "\1\0\0\0\1\0\0\0xy");
}

static void test_encode_refused(void) {
  struct sbx_buf b;
  struct sbx_msg_event nul = {1, 'c', STR("a\0b")};
  struct sbx_msg_event fits = {1, 'c', STR("abc")};
  static const char list[] = "\1\0\0\0x\0\1\0\0\0y\0";
  struct sbx_msg_killed killed = {{(const uint8_t *)list, 12, 2}};
  struct sbx_str big = {(const uint8_t *)"", (size_t)UINT32_MAX + 1};

  sbx_buf_init(&b, 20);
  CHECK_INT(sbx_buf_append(&b, "head", 4), 0);
  CHECK_INT(sbx_event_encode(&b, &nul), -EINVAL);
  CHECK_INT(b.len, 4);
  CHECK_INT(sbx_event_encode(&b, &fits), -EMSGSIZE); /* 17 */
  CHECK_INT(b.len, 4);
  for (uint32_t count = 0; count < 4; count++) {
    killed.survivors.count = count;
    CHECK_INT(sbx_killed_encode(&b, &killed), count == 2 ? 0 : -EINVAL);
    b.len = 4;
  }
  killed.survivors.len = 11;
  CHECK_INT(sbx_killed_encode(&b, &killed), -EINVAL);
  CHECK_INT(sbx_str_append(&b, big.data, big.len), -EMSGSIZE);
  CHECK_INT(sbx_str_append(&b, "0123456789ab", 12), -EMSGSIZE);
  CHECK_INT(b.len, 4);
  CHECK_INT(sbx_str_append(&b, "0123456789a", 11), 0);
  CHECK_MEM(b.data, b.len, "head\13\0\0\0000123456789a\0", 20);
  sbx_buf_fini(&b);
}

static void test_numbers(void) {
  uint8_t p[8];
  sbx_put_u64(p, 0xf1f2f3f4f5f6f7f8);
  CHECK_MEM(p, 8, "\xf8\xf7\xf6\xf5\xf4\xf3\xf2\xf1", 8);
  CHECK(sbx_get_u64(p) == 0xf1f2f3f4f5f6f7f8);
  CHECK_INT(sbx_get_u32(p), 0xf5f6f7f8);
  CHECK_INT(sbx_get_u16(p), 0xf7f8);
}

int main(void) {
  test_session();
  test_spawn();
  test_ends();
  test_ports();
  test_files();
  test_bad_strings();
  test_encode_refused();
  test_numbers();
  return check_done();
}
