/* SPDX-License-Identifier: MIT */
/* fuzz_msg.c - payloads that are decoded are encoded to the same bytes, and
 * their strings lie inside.
 *
 * Input: one byte that chooses the message, then the payload. */
#include <stdlib.h>
#include <string.h>

#include "wire/msg.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

struct payload {
  const uint8_t *data;
  size_t len;
};

static void check_str(const struct payload *p, const struct sbx_str *s) {
  if (s->data < p->data || s->data + s->len >= p->data + p->len)
    abort();
  if (s->data[s->len] != 0)
    abort();
}

static void check_text(const struct payload *p, const struct sbx_str *s) {
  check_str(p, s);
  if (strlen((const char *)s->data) != s->len)
    abort();
}

static void check_strs(const struct payload *p, struct sbx_strs list,
                       void (*check)(const struct payload *,
                                     const struct sbx_str *)) {
  struct sbx_str s;
  uint32_t count = 0, all = list.count;

  while (sbx_strs_next(&list, &s)) {
    check(p, &s);
    count++;
  }
  if (count != all || list.len != 0)
    abort();
}

static void check_same(const struct payload *p, struct sbx_buf *b, int rc) {
  if (rc != 0 || b->len != p->len || memcmp(b->data, p->data, p->len) != 0)
    abort();
  sbx_buf_fini(b);
}

/* One function for each message; `checks` are for its strings. */
#define MESSAGE(name, checks)                                                  \
  static void try_##name(const struct payload *p) {                            \
    struct sbx_msg_##name m;                                                   \
    struct sbx_buf b;                                                          \
    if (sbx_##name##_decode(&m, p->data, p->len) < 0)                          \
      return;                                                                  \
    checks;                                                                    \
    sbx_buf_init(&b, SIZE_MAX);                                                \
    check_same(p, &b, sbx_##name##_encode(&b, &m));                            \
  }

MESSAGE(hello, (check_text(p, &m.workdir), check_text(p, &m.user)))
MESSAGE(ready, check_text(p, &m.home))
MESSAGE(spawn,
        (check_text(p, &m.mark), check_text(p, &m.cwd),
         check_strs(p, m.argv, check_text), check_strs(p, m.env, check_text)))
MESSAGE(failed, check_text(p, &m.text))
MESSAGE(exit, (void)0)
MESSAGE(killed, check_strs(p, m.survivors, check_text))
MESSAGE(port, (void)0)
MESSAGE(listeners, check_strs(p, m.sockets, check_str))
MESSAGE(file, (check_text(p, &m.path), check_text(p, &m.other)))
MESSAGE(entry, (check_text(p, &m.path), check_text(p, &m.target)))
MESSAGE(entries, check_strs(p, m.entries, check_str))
MESSAGE(event, check_text(p, &m.path))
MESSAGE(done, check_text(p, &m.text))

static void (*const tries[])(const struct payload *) = {
    try_hello,   try_ready, try_spawn,     try_failed, try_exit,
    try_killed,  try_port,  try_listeners, try_file,   try_entry,
    try_entries, try_event, try_done};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len) {
  if (len < 2)
    return 0;
  uint8_t *copy = malloc(len - 1); /* ends where its memory ends */
  if (!copy)
    abort();
  memcpy(copy, data + 1, len - 1);
  struct payload p = {copy, len - 1};
  tries[data[0] % (sizeof(tries) / sizeof(tries[0]))](&p);
  free(copy);
  return 0;
}
