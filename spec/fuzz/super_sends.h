/* SPDX-License-Identifier: MIT */
/* super_sends.h - what an owner sends, from a byte or two that say which. */
#ifndef SBX_SUPER_SENDS_H
#define SBX_SUPER_SENDS_H

#include <string.h>

#include "base/buf.h"
#include "super_owner.h"

static struct {
  struct sbx_buf bytes; /* to the supervisor */
  uint32_t last_id;
  bool any; /* there are new ones */
} sent;

static void send_frame(uint32_t id, uint8_t type, const void *data,
                       size_t len) {
  must(sbx_frame_append(&sent.bytes, id, type, data, len) == 0);
  sent.any = true;
}

static struct sbx_str str(const char *text) {
  return (struct sbx_str){(const uint8_t *)text, strlen(text)};
}

static void send_hello(unsigned who, uint8_t n) {
  static const char *const users[] = {"u", "", "0:0", "65531", "u:more", "no"};
  static const uint64_t times[] = {0, 0, 100, UINT64_MAX};
  struct sbx_msg_hello m = {.version = SBX_MSG_VERSION,
                            .no_new_privileges = n & 1,
                            .capabilities = n & 2 ? UINT64_MAX : 0,
                            .ttl_ms = times[n / 4 % 4],
                            .idle_ms = times[n / 16 % 4],
                            .workdir = str(who == 15 ? "/" : "/w"),
                            .user = str(users[who % 6])};
  struct sbx_buf b = {.max = SIZE_MAX};
  must(sbx_hello_encode(&b, &m) == 0);
  send_frame(0, SBX_MSG_HELLO, b.data, b.len);
  sbx_buf_fini(&b);
}

static void send_spawn(unsigned who, uint8_t n) {
  static const uint32_t credits[] = {1u << 20, 0, 1, 70000};
  static const uint64_t keeps[] = {100, 0, 5, 1u << 20};
  static const char marks[2][33] = {"0123456789abcdef0123456789abcdef", "x"};
  struct sbx_buf argv = {.max = SIZE_MAX}, env = {.max = SIZE_MAX},
                 b = {.max = SIZE_MAX};
  struct sbx_msg_spawn m = {.flags = who,
                            .keep = n % 3,
                            .credit = credits[n / 4 % 4],
                            .max_bytes = keeps[n / 16 % 4],
                            .rows = n,
                            .mark = str(marks[n / 64 % 2]),
                            .cwd = str(n & 128 ? "/" : "")};
  must(sbx_str_append(&argv, "sh", 2) == 0 &&
       sbx_str_append(&env, "A", 1) == 0);
  must(sbx_str_append(&env, "HOME", n % 5) == 0);
  m.argv = (struct sbx_strs){argv.data, argv.len, 1};
  m.env = (struct sbx_strs){env.data, env.len, 2};
  must(sbx_spawn_encode(&b, &m) == 0);
  send_frame(++sent.last_id, SBX_MSG_SPAWN, b.data, b.len);
  sbx_buf_fini(&argv);
  sbx_buf_fini(&env);
  sbx_buf_fini(&b);
}

static void send_file(unsigned who, uint8_t n, uint8_t more) {
  static const char *const paths[] = {".",   "a",   "d",     "d/f",
                                      "d/e", "../", "d/e/f", "l/./a"};
  static const uint64_t lengths[] = {1u << 20, 0, 1, UINT64_MAX};
  struct sbx_msg_file m = {.verb = (uint8_t)(1 + who % 9),
                           .flags = n & 7,
                           .mode = more & 128 ? 0 : 0700,
                           .offset = n & 8 ? more & 3 : 0,
                           .length = lengths[more & 3],
                           .credit = more & 4 ? 3 : 1u << 20,
                           .path = str(paths[n >> 5]),
                           .other = str(paths[more >> 3 & 7])};
  struct sbx_buf b = {.max = SIZE_MAX};
  if (m.verb == SBX_FILE_WRITE)
    m.length = more;
  must(sbx_file_encode(&b, &m) == 0);
  send_frame(++sent.last_id, SBX_MSG_FILE, b.data, b.len);
  sbx_buf_fini(&b);
}

static void send_port(uint8_t n) {
  uint8_t raw[2];
  sbx_put_u16(raw, n);
  if (n == 0)
    send_frame(++sent.last_id, SBX_MSG_PORTS, NULL, 0);
  else
    send_frame(++sent.last_id, SBX_MSG_PORT, raw, sizeof(raw));
}

static void send_control(uint32_t id, uint8_t n) {
  static const struct {
    uint8_t type, len;
  } kinds[] = {{SBX_MSG_EOF, 1},    {SBX_MSG_FORGET, 0}, {SBX_MSG_COUNT, 0},
               {SBX_MSG_SIGNAL, 4}, {SBX_MSG_KILL, 8},   {SBX_MSG_RESIZE, 4},
               {SBX_MSG_CREDIT, 5}, {SBX_MSG_CREDIT, 5}};
  uint8_t raw[8] = {0}, kind = n % 8;
  raw[0] = n / 8;
  if (kinds[kind].type == SBX_MSG_CREDIT) {
    raw[0] = (uint8_t)(kind - 5);
    sbx_put_u32(raw + 1, n / 8 * 5000u);
  } else if (kind == 0) {
    raw[0] = 0;
  }
  send_frame(id, kinds[kind].type, raw, kinds[kind].len);
}

static uint32_t id_of(unsigned who) {
  return sent.last_id > who ? sent.last_id - who : 1;
}

#endif
