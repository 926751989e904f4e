/* SPDX-License-Identifier: MIT */
/* jsontext.h - makes JSON text safe for cJSON, which keeps strings as C strings
 * and numbers as doubles. Pure functions; no Lua, no cJSON.
 *
 * Tokens that would lose something are rewritten as strings with a mark, the
 * character U+0001:
 *   inside a string, U+0000 is U+0001 '0' and U+0001 is U+0001 '1';
 *   a number that is not exact as a double, or too long for cJSON's parser, is
 *   the string U+0001 'n' <the number's text>.
 * What cJSON is lax about (control characters, odd numbers, lone surrogates,
 * bytes that are not UTF-8) is refused here; that the tokens stand in a right
 * order is for cJSON to find out. */
#ifndef SBX_BIND_JSONTEXT_H
#define SBX_BIND_JSONTEXT_H

#include <stdbool.h>

#include "base/buf.h"
#include "base/err.h"

#define SBX_JSON_MARK  '\x01'
#define SBX_JSON_DEPTH 128
#define SBX_JSON_SIZE  ((size_t)64 * 1024 * 1024)

/* Appends the rewritten text. 0, -ENOMEM, or SBX_EPROTO with a message that
 * says where. */
int sbx_json_rewrite(struct sbx_buf *out, const char *text, size_t len,
                     struct sbx_err *err);

/* Is this string of the rewritten text a number? Then its text is s + 2. */
static inline bool sbx_json_is_number(const char *s) {
  return s[0] == SBX_JSON_MARK && s[1] == 'n';
}

/* Undoes the marks in place; returns the length. */
size_t sbx_json_unmark(char *s);

/* Appends s as a JSON string. 0, -ENOMEM; -EINVAL: not UTF-8. */
int sbx_json_quote(struct sbx_buf *out, const char *s, size_t len);

#endif
