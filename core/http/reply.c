/* SPDX-License-Identifier: MIT */
#include "http/reply.h"

#include <cjson/cJSON.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/utf8.h"

static cJSON *parse(const struct sbx_buf *body) {
  if (body->len == 0)
    return NULL;
  return cJSON_ParseWithLength((const char *)body->data, body->len);
}

static bool is_id(const char *s) {
  size_t n = strlen(s);

  return n > 0 && n <= SBX_ID_MAX &&
         strspn(s, "0123456789abcdefghijklmnopqrstuvwxyz"
                   "ABCDEFGHIJKLMNOPQRSTUVWXYZ-_") == n;
}

bool sbx_reply_id(const struct sbx_buf *body, const char *name,
                  char out[SBX_ID_MAX + 1]) {
  cJSON *tree = parse(body);
  const char *s =
      cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(tree, name));
  bool found = s != NULL && is_id(s);

  if (found)
    memcpy(out, s, strlen(s) + 1);
  cJSON_Delete(tree);
  return found;
}

bool sbx_reply_integer(const struct sbx_buf *body, const char *name,
                       long *out) {
  cJSON *tree = parse(body);
  const cJSON *n = cJSON_GetObjectItemCaseSensitive(tree, name);
  bool found = cJSON_IsNumber(n) && fabs(n->valuedouble) <= 2147483647.0 &&
               n->valuedouble == floor(n->valuedouble);

  if (found)
    *out = (long)n->valuedouble;
  cJSON_Delete(tree);
  return found;
}

bool sbx_reply_boolean(const struct sbx_buf *body, const char *name,
                       bool *out) {
  cJSON *tree = parse(body);
  const cJSON *b = cJSON_GetObjectItemCaseSensitive(tree, name);
  bool found = cJSON_IsBool(b) != 0;

  if (found)
    *out = cJSON_IsTrue(b) != 0;
  cJSON_Delete(tree);
  return found;
}

void sbx_reply_message(const struct sbx_buf *body, int status, char *out,
                       size_t size) {
  cJSON *tree = parse(body);
  const char *s =
      cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(tree, "message"));
  size_t len = s != NULL ? strlen(s) : 0;

  if (len == 0 && tree == NULL && body->len > 0) {
    s = (const char *)body->data;
    len = strnlen(s, body->len);
  }
  if (len == 0) {
    snprintf(out, size, "the engine answered with status %d", status);
  } else {
    if (len > size - 1)
      len = sbx_utf8_trim_end((const uint8_t *)s, size - 1);
    memcpy(out, s, len);
    out[len] = '\0';
  }
  for (char *c = out; *c != '\0'; c++)
    if (*c == '\n' || *c == '\r')
      *c = ' ';
  cJSON_Delete(tree);
}
