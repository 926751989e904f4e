/* SPDX-License-Identifier: MIT */
#include "base/random.h"

#include <errno.h>
#include <stdint.h>
#include <sys/random.h>

static int random_bytes(uint8_t *out, size_t len) {
  while (len > 0) {
    ssize_t n = getrandom(out, len, 0);
    if (n < 0) {
      if (errno == EINTR)
        continue;
      return -errno;
    }
    out += n;
    len -= (size_t)n;
  }
  return 0;
}

int sbx_random_hex(char *out, size_t digits) {
  static const char hex[] = "0123456789abcdef";
  uint8_t bytes[32];
  size_t done = 0;
  while (done < digits) {
    size_t n = digits - done < sizeof(bytes) ? digits - done : sizeof(bytes);
    int rc = random_bytes(bytes, n);
    if (rc < 0) {
      out[0] = '\0';
      return rc;
    }
    for (size_t i = 0; i < n; i++)
      out[done + i] = hex[bytes[i] & 15];
    done += n;
  }
  out[digits] = '\0';
  return 0;
}

int sbx_uuid(char out[SBX_UUID_LEN + 1]) {
  int rc = sbx_random_hex(out, SBX_UUID_LEN);
  if (rc < 0)
    return rc;
  /* xxxxxxxx-xxxx-4xxx-Nxxx-xxxxxxxxxxxx, where N is 8, 9, a or b */
  int n = out[19] <= '9' ? out[19] - '0' : out[19] - 'a' + 10;
  out[8] = out[13] = out[18] = out[23] = '-';
  out[14] = '4';
  out[19] = "89ab"[n & 3];
  return 0;
}
