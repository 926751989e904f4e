/* SPDX-License-Identifier: MIT */
#include "bind/jsontext.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"

#define EXACT            (INT64_C(1) << 53) /* of a double */
#define CJSON_MAX_DIGITS 60 /* its parser cuts numbers at 63 bytes */

struct scan {
  const char *text;
  size_t len;
  size_t at;
  struct sbx_buf *out;
  struct sbx_err *err;
};

static int refuse(struct scan *s, const char *what) {
  return sbx_fail(s->err, SBX_EPROTO, "invalid JSON at byte %zu: %s", s->at + 1,
                  what);
}

static int put(struct scan *s, const char *data, size_t len) {
  int rc = sbx_buf_append(s->out, data, len);
  return rc < 0 ? sbx_fail(s->err, rc, "JSON text") : 0;
}

/* The byte `ahead` of the current one; 0 at the end (a NUL is nowhere valid).
 */
static char peek(const struct scan *s, size_t ahead) {
  return s->at + ahead < s->len ? s->text[s->at + ahead] : '\0';
}

static bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

/* ---- strings ---- */

/* The value of \uXXXX at the current place, or -1. */
static long unicode_escape(const struct scan *s, size_t ahead) {
  if (peek(s, ahead) != '\\' || peek(s, ahead + 1) != 'u')
    return -1;
  long value = 0;
  for (size_t i = 2; i < 6; i++) {
    char c = peek(s, ahead + i);
    long digit;
    if (is_digit(c))
      digit = c - '0';
    else if (c >= 'a' && c <= 'f')
      digit = c - 'a' + 10;
    else if (c >= 'A' && c <= 'F')
      digit = c - 'A' + 10;
    else
      return -1;
    value = value * 16 + digit;
  }
  return value;
}

static int scan_escape(struct scan *s) {
  if (peek(s, 1) != 'u') {
    if (!peek(s, 1) || !strchr("\"\\/bfnrt", peek(s, 1)))
      return refuse(s, "unknown escape in a string");
    int rc = put(s, s->text + s->at, 2);
    s->at += 2;
    return rc;
  }
  long unit = unicode_escape(s, 0);
  size_t len = 6;
  int rc;
  if (unit < 0)
    return refuse(s, "\\u needs four hex digits");
  if (unit <= 1) {
    rc = put(s, unit == 0 ? "\\u00010" : "\\u00011", 7);
  } else {
    if (unit >= 0xd800 && unit <= 0xdfff) {
      long low = unicode_escape(s, 6);
      if (unit >= 0xdc00 || low < 0xdc00 || low > 0xdfff)
        return refuse(s, "half of a surrogate pair");
      len = 12;
    }
    rc = put(s, s->text + s->at, len);
  }
  s->at += len;
  return rc;
}

static int scan_string(struct scan *s) {
  int rc = put(s, "\"", 1);
  s->at++;
  while (rc == 0) {
    size_t from = s->at;
    char c;
    while ((c = peek(s, 0)) != '"' && c != '\\') {
      if (s->at >= s->len)
        return refuse(s, "a string without an end");
      if ((unsigned char)c < 0x20)
        return refuse(s, "control character in a string");
      size_t n =
          sbx_utf8_char((const uint8_t *)s->text + s->at, s->len - s->at);
      if (n == 0)
        return refuse(s, "not UTF-8");
      s->at += n;
    }
    rc = put(s, s->text + from, s->at - from);
    if (rc == 0 && c == '\\') {
      rc = scan_escape(s);
    } else if (rc == 0) {
      s->at++;
      return put(s, "\"", 1);
    }
  }
  return rc;
}

/* ---- numbers ---- */

static size_t digits(const struct scan *s, size_t ahead) {
  size_t n = 0;
  while (is_digit(peek(s, ahead + n)))
    n++;
  return n;
}

/* Length of the number at the current place, by the grammar; 0 for none. */
static size_t number_length(const struct scan *s, bool *integer) {
  size_t n = peek(s, 0) == '-' ? 1 : 0;
  size_t whole = digits(s, n);
  if (whole == 0 || (whole > 1 && peek(s, n) == '0'))
    return 0;
  n += whole;
  *integer = true;
  if (peek(s, n) == '.') {
    size_t fraction = digits(s, n + 1);
    if (fraction == 0)
      return 0;
    n += 1 + fraction;
    *integer = false;
  }
  if (peek(s, n) == 'e' || peek(s, n) == 'E') {
    n++;
    if (peek(s, n) == '+' || peek(s, n) == '-')
      n++;
    size_t exponent = digits(s, n);
    if (exponent == 0)
      return 0;
    n += exponent;
    *integer = false;
  }
  return n;
}

static int scan_number(struct scan *s) {
  bool integer;
  size_t n = number_length(s, &integer);
  if (n == 0)
    return refuse(s, "malformed number");
  bool marked = n > CJSON_MAX_DIGITS;
  if (integer) {
    char copy[24];
    if (n >= sizeof(copy))
      return refuse(s, "integer out of range");
    memcpy(copy, s->text + s->at, n);
    copy[n] = '\0';
    errno = 0;
    long long value = strtoll(copy, NULL, 10);
    if (errno == ERANGE)
      return refuse(s, "integer out of range");
    marked = value > EXACT || value < -EXACT;
  }
  int rc = marked ? put(s, "\"\\u0001n", 8) : 0;
  if (rc == 0)
    rc = put(s, s->text + s->at, n);
  if (rc == 0 && marked)
    rc = put(s, "\"", 1);
  s->at += n;
  return rc;
}

/* ---- the rest ---- */

static int scan_word(struct scan *s) {
  static const char *const words[] = {"null", "true", "false"};
  for (size_t i = 0; i < 3; i++) {
    size_t n = strlen(words[i]);
    if (s->len - s->at >= n && memcmp(s->text + s->at, words[i], n) == 0) {
      s->at += n;
      return put(s, words[i], n);
    }
  }
  return refuse(s, "unexpected character");
}

int sbx_json_rewrite(struct sbx_buf *out, const char *text, size_t len,
                     struct sbx_err *err) {
  struct scan scan = {.text = text, .len = len, .out = out, .err = err};
  struct scan *s = &scan;
  unsigned depth = 0;
  int rc = 0;
  if (len > SBX_JSON_SIZE)
    return sbx_fail(err, SBX_EPROTO, "JSON text of more than %zu MiB",
                    SBX_JSON_SIZE >> 20);
  while (rc == 0 && s->at < len) {
    char c = text[s->at];
    if (c == '"') {
      rc = scan_string(s);
    } else if (c == '-' || is_digit(c)) {
      rc = scan_number(s);
    } else if (c && strchr(" \t\r\n,:[]{}", c)) {
      if (c == '[' || c == '{')
        depth++;
      else if ((c == ']' || c == '}') && depth > 0)
        depth--;
      if (depth > SBX_JSON_DEPTH)
        return refuse(s, "nested too deep");
      rc = put(s, &c, 1);
      s->at++;
    } else {
      rc = scan_word(s);
    }
  }
  return rc;
}

size_t sbx_json_unmark(char *s) {
  char *to = s;
  for (const char *from = s; *from; from++) {
    if (*from == SBX_JSON_MARK) {
      from++; /* the rewriting has put '0' or '1' there */
      *to++ = *from == '0' ? '\0' : SBX_JSON_MARK;
    } else {
      *to++ = *from;
    }
  }
  return (size_t)(to - s);
}

int sbx_json_quote(struct sbx_buf *out, const char *s, size_t len) {
  int rc = sbx_buf_append(out, "\"", 1);
  size_t at = 0;
  while (rc == 0 && at < len) {
    size_t from = at;
    while (at < len && (unsigned char)s[at] >= 0x20 && s[at] != '"' &&
           s[at] != '\\' && s[at] != '\x7f') {
      size_t n = sbx_utf8_char((const uint8_t *)s + at, len - at);
      if (n == 0)
        return -EINVAL;
      at += n;
    }
    rc = sbx_buf_append(out, s + from, at - from);
    if (rc < 0 || at == len)
      break;
    unsigned char c = (unsigned char)s[at++];
    if (c == '"' || c == '\\')
      rc = sbx_buf_appendf(out, "\\%c", c);
    else if (c == '\n')
      rc = sbx_buf_append(out, "\\n", 2);
    else if (c == '\t')
      rc = sbx_buf_append(out, "\\t", 2);
    else
      rc = sbx_buf_appendf(out, "\\u%04x", c);
  }
  return rc < 0 ? rc : sbx_buf_append(out, "\"", 1);
}
