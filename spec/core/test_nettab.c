/* SPDX-License-Identifier: MIT */
#include "wire/nettab.h"

#include <arpa/inet.h>
#include <sys/socket.h>

#include "base/buf.h"
#include "feed.h"

#define HEAD4                                                                  \
  "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when "        \
  "retrnsmt   uid  timeout inode                                             " \
  " "                                                                          \
  "       \n"
#define HEAD6                                                                  \
  "  sl  local_address                         remote_address               "  \
  "         st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n"
#define REST                                                                   \
  " 00000000:00000000 00:00000000 00000000     0        0 3141 1 "             \
  "0000000000000000 100 0 0 10 0"
#define V4(addr, port, st) "   0: " addr ":" port " 00000000:0000 " st REST "\n"
#define ZERO16             "00000000000000000000000000000000"
#define V6(addr, port, st)                                                     \
  "  17: " addr ":" port " " ZERO16 ":0000 " st REST "\n"

static const struct sbx_ip4 own[] = {{{172, 17, 0, 2}}, {{10, 1, 2, 3}}};

/* Renders each socket as `<class letter><port> `. */
struct run {
  const char *want;
  struct sbx_nettab t;
  struct sbx_buf trace;
};

static void show(struct run *r, const struct sbx_listener *l) {
  if (l->family == 0)
    return;
  sbx_buf_appendf(&r->trace, "%c%d ", "NLOVR"[sbx_nettab_classify(l, own, 2)],
                  l -> port);
}

static void begin(void *ctx) {
  struct run *r = ctx;
  sbx_nettab_init(&r->t);
  sbx_buf_init(&r->trace, SIZE_MAX);
}

static void feed(void *ctx, const uint8_t *in, size_t len) {
  struct run *r = ctx;
  struct sbx_listener l;
  do {
    size_t n = sbx_nettab_feed(&r->t, (const char *)in, len, &l);
    REQUIRE((n > 0 || len == 0) && n <= len);
    show(r, &l);
    in += n;
    len -= n;
  } while (len > 0);
}

static void end(void *ctx) {
  struct run *r = ctx;
  struct sbx_listener l;
  for (int i = 0; i < 2; i++) { /* the second time there is nothing left */
    sbx_nettab_finish(&r->t, &l);
    show(r, &l);
  }
  CHECK_MEM(r->trace.data, r->trace.len, r->want, strlen(r->want));
  sbx_buf_fini(&r->trace);
}

static void check_table(const char *in, size_t len, const char *want) {
  struct run r = {.want = want};
  struct feed_parser p = {begin, feed, end, &r};
  feed_every_way(&p, in, len);
}

#define TABLE(in, want) check_table(in, sizeof(in) - 1, want)

static void test_ip4(void) {
  TABLE("", "");
  TABLE(HEAD4, "");
  TABLE(V4("00000000", "1F40", "0A"), "R8000 ");
  TABLE(V4("0100007F", "1F45", "0A"), "L8005 ");
  TABLE(V4("3500007F", "0035", "0A"), "L53 ");
  TABLE(V4("020011AC", "1F46", "0A"), "R8006 ");
  TABLE(V4("0302010A", "FFFF", "0A"), "R65535 ");
  TABLE(V4("040011AC", "1F46", "0A"), "O8006 ");
  TABLE(V4("00000000", "1F40", "01"), "");
  TABLE(V4("00000000", "1F40", "06"), "");
  TABLE(HEAD4 V4("0100007F", "1F40", "0A") V4("00000000", "1F40", "01")
            V4("00000000", "1F41", "0A"),
        "L8000 R8001 ");
}

static void test_ip6(void) {
  TABLE(HEAD6, "");
  TABLE(V6(ZERO16, "1F43", "0A"), "V8003 ");
  TABLE(V6("0000000000000000FFFF000000000000", "1F44", "0A"), "R8004 ");
  TABLE(V6("00000000000000000000000001000000", "1F47", "0A"), "L8007 ");
  TABLE(V6("0000000000000000FFFF00000100007F", "1F40", "0A"), "L8000 ");
  TABLE(V6("0000000000000000FFFF0000020011AC", "1F40", "0A"), "R8000 ");
  TABLE(V6("0000000000000000FFFF0000090011AC", "1F40", "0A"), "O8000 ");
  TABLE(V6("000080FE00000000FF7F5E0212345678", "1F40", "0A"), "O8000 ");
  TABLE(V6(ZERO16, "1F43", "01"), "");
  TABLE(HEAD6 V6(ZERO16, "1F43", "0A") V4("00000000", "0050", "0A"),
        "V8003 R80 ");
}

/* Lines as they reach us: without the padding, without the last newline. */
static void test_other_forms(void) {
  TABLE("0: 00000000:1F40 00000000:0000 0A", "R8000 ");
  TABLE("0: 00000000:1F40 00000000:0000 0A\n", "R8000 ");
  TABLE("123456: 00000000:1f40 00000000:0000 0a x\n", "R8000 ");
  TABLE(V4("00000000", "1F40", "0A") "   1: 00000000:1F41 00000000:0000 0",
        "R8000 ");
}

static void test_garbage(void) {
  static const char *const lines[] = {
      "",
      "\n\n\n",
      "0:",
      ": 00000000:1F40 00000000:0000 0A",
      "x: 00000000:1F40 00000000:0000 0A",
      "-1: 00000000:1F40 00000000:0000 0A",
      "0 00000000:1F40 00000000:0000 0A",
      "0: 0000000:1F40 00000000:0000 0A",
      "0: 000000000:1F40 00000000:0000 0A",
      "0: 0000000g:1F40 00000000:0000 0A",
      "0: 00000000 1F40 00000000:0000 0A",
      "0: 00000000:1F4 00000000:0000 0A",
      "0: 00000000:1F400 00000000:0000 0A",
      "0: 00000000:0000 00000000:0000 0A",
      "0: 00000000:1F40 " ZERO16 ":0000 0A",
      "0: " ZERO16 "00:1F40 " ZERO16 ":0000 0A",
      "0: 000000000000000000000000:1F40 00000000:0000 0A",
      "0: 00000000:1F40 00000000:0000 0AB",
      "0: 00000000:1F40 00000000:0000 A",
      "0: 00000000:1F40 00000000:0000",
      "0: 00000000:1F40",
      "\xff\xfe\x01 0: 00000000:1F40 00000000:0000 0A",
  };
  for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
    char in[300];
    int len = snprintf(in, sizeof(in),
                       "%s\n0: 00000000:0050 00000000:0000 0A\n", lines[i]);
    check_table(in, strlen(lines[i]), "");
    check_table(in, (size_t)len, "R80 ");
  }
  TABLE("0: 00000000:1F40\0 00000000:0000 0A\n", "");

  /* A long line is read up to what matters, a longer number is not. */
  char in[1000];
  memset(in, ' ', sizeof(in));
  memcpy(in, "0: 00000000:1F40 00000000:0000 0A", 33);
  in[998] = '\n';
  check_table(in, 999, "R8000 ");
  memset(in, '1', 998);
  memcpy(in + 998 - 33, "0: 00000000:1F40 00000000:0000 0A", 33);
  check_table(in, 999, "");
}

static void test_addresses(void) {
  struct sbx_ip4 ip;
  CHECK(sbx_ip4_parse("172.17.0.2", &ip));
  CHECK_MEM(ip.byte, 4, "\xac\x11\x00\x02", 4);
  static const char *const bad[] = {
      "",        "1.2.3",    "1.2.3.4.5", "1.2.3.256", "::1",
      "a.b.c.d", "1.2.3.4 ", " 1.2.3.4",  "1.2.3.",    "0x1.2.3.4"};
  for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
    CHECK(!sbx_ip4_parse(bad[i], &ip));

  struct sbx_listener none = {0}, any = {.family = 4, .port = 1};
  CHECK_INT(sbx_nettab_classify(&none, own, 2), SBX_LISTEN_NONE);
  CHECK_INT(sbx_nettab_classify(&any, NULL, 0), SBX_LISTEN_REACHABLE);
  /* the best of several is the greatest */
  CHECK(SBX_LISTEN_NONE < SBX_LISTEN_LOOPBACK);
  CHECK(SBX_LISTEN_LOOPBACK < SBX_LISTEN_OTHER);
  CHECK(SBX_LISTEN_OTHER < SBX_LISTEN_V6_ANY);
  CHECK(SBX_LISTEN_V6_ANY < SBX_LISTEN_REACHABLE);
}

/* Listens with a real socket; the port, or 0 when there is no IPv6 here. */
static int listen_on(int family, const char *text, int v6only, int *fd) {
  struct sockaddr_storage ss = {0};
  socklen_t len;
  ss.ss_family = (sa_family_t)family;
  if (family == AF_INET) {
    inet_pton(family, text, &((struct sockaddr_in *)&ss)->sin_addr);
    len = sizeof(struct sockaddr_in);
  } else {
    inet_pton(family, text, &((struct sockaddr_in6 *)&ss)->sin6_addr);
    len = sizeof(struct sockaddr_in6);
  }
  *fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (*fd < 0)
    return 0;
  if (family == AF_INET6)
    setsockopt(*fd, IPPROTO_IPV6, IPV6_V6ONLY, &v6only, sizeof(v6only));
  if (bind(*fd, (struct sockaddr *)&ss, len) < 0 || listen(*fd, 5) < 0 ||
      getsockname(*fd, (struct sockaddr *)&ss, &len) < 0)
    return 0;
  return ntohs(family == AF_INET ? ((struct sockaddr_in *)&ss)->sin_port
                                 : ((struct sockaddr_in6 *)&ss)->sin6_port);
}

/* The best class that this machine's own tables give for a port. */
static enum sbx_listen find_port(int port) {
  static const char *const files[] = {"/proc/self/net/tcp",
                                      "/proc/self/net/tcp6"};
  enum sbx_listen best = SBX_LISTEN_NONE;
  for (size_t i = 0; i < 2; i++) {
    FILE *f = fopen(files[i], "r");
    if (!f)
      continue;
    struct sbx_nettab t;
    char chunk[1000];
    size_t got;
    sbx_nettab_init(&t);
    while ((got = fread(chunk, 1, sizeof(chunk), f)) > 0) {
      for (size_t at = 0; at < got;) {
        struct sbx_listener l;
        at += sbx_nettab_feed(&t, chunk + at, got - at, &l);
        enum sbx_listen class = sbx_nettab_classify(&l, own, 2);
        if (l.port == port && class > best)
          best = class;
      }
    }
    fclose(f);
  }
  return best;
}

static void test_this_machine(void) {
  static const struct {
    int family;
    const char *addr;
    int v6only;
    enum sbx_listen want;
  } cases[] = {
      {AF_INET, "0.0.0.0", 0, SBX_LISTEN_REACHABLE},
      {AF_INET, "127.0.0.1", 0, SBX_LISTEN_LOOPBACK},
      {AF_INET, "127.9.8.7", 0, SBX_LISTEN_LOOPBACK},
      {AF_INET6, "::", 0, SBX_LISTEN_V6_ANY},
      {AF_INET6, "::", 1, SBX_LISTEN_V6_ANY},
      {AF_INET6, "::1", 0, SBX_LISTEN_LOOPBACK},
      {AF_INET6, "::ffff:0.0.0.0", 0, SBX_LISTEN_REACHABLE},
      {AF_INET6, "::ffff:127.0.0.1", 0, SBX_LISTEN_LOOPBACK},
  };
  if (access("/proc/self/net/tcp", R_OK) != 0)
    return;
  for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
    int fd;
    int port = listen_on(cases[i].family, cases[i].addr, cases[i].v6only, &fd);
    if (port == 0)
      fprintf(stderr, "skipped: cannot listen on %s\n", cases[i].addr);
    else
      CHECK_INT(find_port(port), cases[i].want);
    if (fd >= 0)
      close(fd);
  }
}

int main(void) {
  test_ip4();
  test_ip6();
  test_other_forms();
  test_garbage();
  test_addresses();
  test_this_machine();
  return check_done();
}
