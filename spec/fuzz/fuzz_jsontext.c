/* SPDX-License-Identifier: MIT */
/* fuzz_jsontext.c - text that is accepted, by us and then by cJSON, is written
 * out again from the tree, and must then be accepted again and give the same
 * text: nothing was lost on the way. */
#include <cjson/cJSON.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bind/jsontext.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static void put(struct sbx_buf *b, const char *data, size_t len) {
  if (sbx_buf_append(b, data, len) < 0)
    abort();
}

static cJSON *parse(const char *text, size_t len) {
  struct sbx_buf out;
  struct sbx_err err = {0};
  sbx_buf_init(&out, SIZE_MAX / 2);
  int rc = sbx_json_rewrite(&out, text, len, &err);
  if (rc != 0 && (rc != SBX_EPROTO || err.code != rc || !err.message[0]))
    abort();
  cJSON *tree = NULL;
  put(&out, "", 1);
  if (rc == 0)
    tree = cJSON_ParseWithLengthOpts((char *)out.data, out.len, NULL, 1);
  sbx_buf_fini(&out);
  return tree;
}

static void print_string(struct sbx_buf *b, char *s) {
  if (sbx_json_is_number(s))
    put(b, s + 2, strlen(s + 2));
  else if (sbx_json_quote(b, s, sbx_json_unmark(s)) < 0)
    abort();
}

/* False for what decoding refuses later: infinite numbers, numbers as keys. */
static bool print(struct sbx_buf *b, cJSON *item) {
  if (cJSON_IsString(item)) {
    print_string(b, item->valuestring);
  } else if (cJSON_IsNumber(item)) {
    if (!isfinite(item->valuedouble) ||
        sbx_buf_appendf(b, "%.17g", item->valuedouble) < 0)
      return false;
  } else if (cJSON_IsArray(item) || cJSON_IsObject(item)) {
    bool object = cJSON_IsObject(item);
    put(b, object ? "{" : "[", 1);
    for (cJSON *it = item->child; it; it = it->next) {
      if (object && sbx_json_is_number(it->string))
        return false;
      if (object)
        print_string(b, it->string);
      if (object)
        put(b, ":", 1);
      if (!print(b, it))
        return false;
      if (it->next)
        put(b, ",", 1);
    }
    put(b, object ? "}" : "]", 1);
  } else {
    put(b,
        cJSON_IsNull(item)   ? "null"
        : cJSON_IsTrue(item) ? "true"
                             : "false",
        cJSON_IsFalse(item) ? 5 : 4);
  }
  return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len) {
  char *copy = malloc(len ? len : 1);
  if (!copy)
    abort();
  if (len)
    memcpy(copy, data, len);
  cJSON *tree = parse(copy, len);
  free(copy);
  if (!tree)
    return 0;
  struct sbx_buf once, twice;
  sbx_buf_init(&once, SIZE_MAX / 2);
  sbx_buf_init(&twice, SIZE_MAX / 2);
  if (print(&once, tree)) {
    cJSON *again = parse((char *)once.data, once.len);
    if (!again || !print(&twice, again) || once.len != twice.len ||
        memcmp(once.data, twice.data, once.len) != 0)
      abort();
    cJSON_Delete(again);
  }
  cJSON_Delete(tree);
  sbx_buf_fini(&once);
  sbx_buf_fini(&twice);
  return 0;
}
