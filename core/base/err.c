/* SPDX-License-Identifier: MIT */
#include "base/err.h"

#include <stdio.h>
#include <string.h>

#include "base/utf8.h"

/* Codes from here up to -1 are -errno. */
#define SBX_ERRNO_MIN (-5000)

/* strerror() may share a buffer between threads; strerror_r() exists in two
 * forms, of which glibc's returns the text. */
static const char *system_text(int code, char *buf, size_t cap) {
#ifdef __GLIBC__
  return strerror_r(-code, buf, cap);
#else
  return strerror_r(-code, buf, cap) == 0 ? buf : "unknown system error";
#endif
}

/* Appends at *len; a text that does not fit ends between two characters. */
static void put_text(struct sbx_err *err, size_t *len, const char *text) {
  size_t room = sizeof(err->message) - 1 - *len;
  size_t n = strnlen(text, room + 1);
  if (n > room) {
    memcpy(err->message + *len, text, room);
    *len = sbx_utf8_trim_end((uint8_t *)err->message, *len + room);
  } else {
    memcpy(err->message + *len, text, n);
    *len += n;
  }
  err->message[*len] = '\0';
}

int sbx_vfail(struct sbx_err *err, int code, const char *fmt, va_list ap) {
  if (!err || err->code != 0)
    return code;
  err->code = code;
  int n = vsnprintf(err->message, sizeof(err->message), fmt, ap);
  if (n < 0) {
    size_t none = 0;
    put_text(err, &none, sbx_err_text(code));
    return code;
  }
  size_t len = (size_t)n;
  if (len >= sizeof(err->message)) {
    len = sizeof(err->message) - 1;
    len = sbx_utf8_trim_end((uint8_t *)err->message, len);
    err->message[len] = '\0';
  }
  if (code < 0 && code > SBX_ERRNO_MIN) {
    char buf[128];
    if (len > 0)
      put_text(err, &len, ": ");
    put_text(err, &len, system_text(code, buf, sizeof(buf)));
  }
  return code;
}

int sbx_fail(struct sbx_err *err, int code, const char *fmt, ...) {
  va_list ap;
  va_start(ap, fmt);
  sbx_vfail(err, code, fmt, ap);
  va_end(ap);
  return code;
}

static const struct known {
  int code;
  const char *lua;
  const char *text;
} known[] = {
#define SBX_X(name, number, lua, text) {name, lua, text},
    SBX_ERRORS(SBX_X)
#undef SBX_X
};

static const struct known *find(int code) {
  for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
    if (known[i].code == code)
      return &known[i];
  return NULL;
}

const char *sbx_err_name(int code) {
  const struct known *k = find(code);
  return k ? k->lua : "internal";
}

const char *sbx_err_text(int code) {
  const struct known *k = find(code);
  if (k)
    return k->text;
  return code < 0 && code > SBX_ERRNO_MIN ? "system error" : "internal error";
}
