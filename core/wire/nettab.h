/* SPDX-License-Identifier: MIT */
/* nettab.h - reads /proc/net/tcp and /proc/net/tcp6 and tells which listening
 * sockets a published port can reach.
 *
 * The two tables differ only in the length of an address, so they may be fed
 * through one parser, one after the other. Lines that are not table lines (the
 * heading, garbage, a line cut short) are skipped. Addresses are printed by
 * the kernel as 32-bit words in its own byte order; that is little-endian on
 * every machine we support. No allocation; belongs to one thread. */
#ifndef SBX_WIRE_NETTAB_H
#define SBX_WIRE_NETTAB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Only the first part of a line matters: number, two addresses, state. */
#define SBX_NETTAB_LINE 128

struct sbx_nettab {
  size_t len;
  bool cut; /* the rest of this line is not kept */
  char line[SBX_NETTAB_LINE];
};

/* A TCP socket in state LISTEN. */
struct sbx_listener {
  uint8_t family;   /* 4 or 6; 0: none */
  uint8_t addr[16]; /* network order; for family 4 the first four bytes */
  uint16_t port;
};

struct sbx_ip4 {
  uint8_t byte[4]; /* network order */
};

/* In the order of how much good they do, so that the best of several sockets
 * on one port is the greatest. */
enum sbx_listen {
  SBX_LISTEN_NONE,
  SBX_LISTEN_LOOPBACK, /* 127/8, ::1, ::ffff:127/8 */
  SBX_LISTEN_OTHER,    /* another address: IPv6, or not one of ours */
  SBX_LISTEN_V6_ANY,   /* [::]: serves IPv4 too, or IPv6 only; only trying
                          can tell */
  SBX_LISTEN_REACHABLE /* 0.0.0.0, ::ffff:0.0.0.0, our own addresses */
};

void sbx_nettab_init(struct sbx_nettab *t);

/* Takes bytes until a listening socket is complete (out->family is then 4 or
 * 6) or the input ends (then it is 0). Returns how many it took: at least 1
 * when len > 0, so call it again with the rest. */
size_t sbx_nettab_feed(struct sbx_nettab *t, const char *in, size_t len,
                       struct sbx_listener *out);

/* End of the table: judges a last line that had no newline. */
void sbx_nettab_finish(struct sbx_nettab *t, struct sbx_listener *out);

/* One line, with or without its newline. True for a listening socket. */
bool sbx_nettab_line(const char *line, size_t len, struct sbx_listener *out);

/* Can a connection to one of the container's own IPv4 addresses reach it? */
enum sbx_listen sbx_nettab_classify(const struct sbx_listener *l,
                                    const struct sbx_ip4 *own, size_t own_len);

/* Dotted decimal, four numbers. False when it is something else. */
bool sbx_ip4_parse(const char *text, struct sbx_ip4 *out);

#endif
