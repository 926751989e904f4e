/* SPDX-License-Identifier: MIT */
#include "bind/jsontext.h"

#include <errno.h>

#include "check.h"

/* Input that ends where readable memory ends. */
static int rewrite(const char *text, size_t len, struct sbx_buf *out,
                   struct sbx_err *err) {
  struct check_guard g = check_guard_new(text, len);
  int rc = sbx_json_rewrite(out, (const char *)g.data, len, err);
  check_guard_free(&g);
  return rc;
}

static void what_cjson_would_lose_is_marked(void) {
  static const struct {
    const char *text, *want;
  } cases[] = {
      {"", ""},
      {" {\"a\": [1, -2.5e+3, true, false, null]} ",
       " {\"a\": [1, -2.5e+3, true, false, null]} "},
      {"\"\\u0000\"", "\"\\u00010\""},
      {"\"\\u0001\"", "\"\\u00011\""},
      {"\"a\\u0000b\\u0001\\u0002\\n\"", "\"a\\u00010b\\u00011\\u0002\\n\""},
      {"9007199254740992", "9007199254740992"},
      {"-9007199254740992", "-9007199254740992"},
      {"9007199254740993", "\"\\u0001n9007199254740993\""},
      {"-9223372036854775808", "\"\\u0001n-9223372036854775808\""},
      {"\"\\ud83d\\ude00\"", "\"\\ud83d\\ude00\""},
  };
  for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
    struct sbx_buf out;
    sbx_buf_init(&out, 1000);
    CHECK_INT(rewrite(cases[i].text, strlen(cases[i].text), &out, NULL), 0);
    CHECK_MEM(out.data, out.len, cases[i].want, strlen(cases[i].want));
    sbx_buf_fini(&out);
  }
}

static void refusals_say_where(void) {
  static const struct {
    const char *text, *want;
  } cases[] = {
      {"[1, 01]", "invalid JSON at byte 5: malformed number"},
      {"\"\\ud800\"", "invalid JSON at byte 2: half of a surrogate pair"},
      {"\"\n\"", "invalid JSON at byte 2: control character in a string"},
      {"\"\x80\"", "invalid JSON at byte 2: not UTF-8"},
      {"\"abc", "invalid JSON at byte 5: a string without an end"},
      {"\"\\", "invalid JSON at byte 2: unknown escape in a string"},
      {"\v", "invalid JSON at byte 1: unexpected character"},
      {"9223372036854775808", "invalid JSON at byte 1: integer out of range"},
  };
  for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
    struct sbx_buf out;
    struct sbx_err err = {0};
    sbx_buf_init(&out, 1000);
    CHECK_INT(rewrite(cases[i].text, strlen(cases[i].text), &out, &err),
              SBX_EPROTO);
    CHECK_STR(err.message, cases[i].want);
    sbx_buf_fini(&out);
  }
}

/* Whatever is cut off or changed: no byte beyond the end is looked at. */
static void no_cut_reads_beyond_the_end(void) {
  static const char text[] =
      "{\"k\\u0000\":[\"\\ud83d\\ude00\xe6\x97\xa5\",-12.5e-7,true,false,null,"
      "9223372036854775807]}";
  size_t len = sizeof(text) - 1;
  for (size_t from = 0; from < len; from++) {
    for (size_t to = from; to <= len; to++) {
      struct sbx_buf out;
      sbx_buf_init(&out, 1000);
      int rc = rewrite(text + from, to - from, &out, NULL);
      CHECK(rc == 0 || rc == SBX_EPROTO);
      sbx_buf_fini(&out);
    }
  }
}

static void unmark_undoes_the_marks(void) {
  char text[] = "a\x01"
                "0b\x01"
                "1c";
  CHECK_INT(sbx_json_unmark(text), 5);
  CHECK_MEM(text, 5,
            "a\0b\x01"
            "c",
            5);
  char plain[] = "plain";
  CHECK_INT(sbx_json_unmark(plain), 5);
  CHECK(sbx_json_is_number("\x01n12"));
  CHECK(!sbx_json_is_number("\x01"
                            "1n12"));
  CHECK(!sbx_json_is_number(""));
}

static void quote_escapes_what_must_be(void) {
  struct sbx_buf out;
  sbx_buf_init(&out, 1000);
  CHECK_INT(sbx_json_quote(&out, "a\"\\\n\t\0\x1f\x7f\xc3\xa9/", 11), 0);
  static const char want[] =
      "\"a\\\"\\\\\\n\\t\\u0000\\u001f\\u007f\xc3\xa9/\"";
  CHECK_MEM(out.data, out.len, want, sizeof(want) - 1);
  sbx_buf_clear(&out);
  CHECK_INT(sbx_json_quote(&out, "\xff", 1), -EINVAL);
  CHECK_INT(sbx_json_quote(&out, "\xc3", 1), -EINVAL);
  sbx_buf_clear(&out);
  CHECK_INT(sbx_json_quote(&out, NULL, 0), 0);
  CHECK_MEM(out.data, out.len, "\"\"", 2);
  sbx_buf_fini(&out);
}

static void depth_and_size_are_limited(void) {
  struct sbx_buf out;
  struct sbx_err err = {0};
  char deep[SBX_JSON_DEPTH + 1];
  memset(deep, '[', sizeof(deep));
  sbx_buf_init(&out, 1000);
  CHECK_INT(rewrite(deep, SBX_JSON_DEPTH, &out, &err), 0);
  CHECK_INT(rewrite(deep, SBX_JSON_DEPTH + 1, &out, &err), SBX_EPROTO);
  CHECK_STR(err.message, "invalid JSON at byte 129: nested too deep");
  CHECK_INT(sbx_json_rewrite(&out, deep, SBX_JSON_SIZE + 1, NULL), SBX_EPROTO);
  sbx_buf_fini(&out);
}

int main(void) {
  what_cjson_would_lose_is_marked();
  refusals_say_where();
  no_cut_reads_beyond_the_end();
  unmark_undoes_the_marks();
  quote_escapes_what_must_be();
  depth_and_size_are_limited();
  return check_done();
}
