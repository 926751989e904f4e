/* SPDX-License-Identifier: MIT */
#include "wire/quote.h"

#include <errno.h>
#include <sys/wait.h>

#include "check.h"

#define UUID "6f1c2a70-3b4d-4e5f-8a9b-0c1d2e3f4a5b"
#define MARK "0123456789abcdef0123456789abcdef"

static void test_words(void) {
  static const struct {
    const char *text, *want;
  } cases[] = {
      {"", "''"},
      {"abc", "'abc'"},
      {"$HOME `id` \\ \" ! *", "'$HOME `id` \\ \" ! *'"},
      {"it's", "'it'\\''s'"},
      {"''", "''\\'''\\'''"},
      {"a\nb", "'a'\"$anvia_nl\"'b'"},
      {"\n", "''\"$anvia_nl\"''"},
      {"\x1e\xff\t\r", "'\x1e\xff\t\r'"},
  };
  for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
    struct sbx_buf b;
    sbx_buf_init(&b, 1000);
    size_t len = strlen(cases[i].text);
    struct check_guard g = check_guard_new(cases[i].text, len);
    CHECK_INT(sbx_quote_append(&b, (char *)g.data, len), 0);
    CHECK_MEM(b.data, b.len, cases[i].want, strlen(cases[i].want));
    check_guard_free(&g);
    sbx_buf_fini(&b);
  }
}

static void test_word_refused(void) {
  struct sbx_buf b;
  sbx_buf_init(&b, 10);
  CHECK_INT(sbx_buf_append(&b, "x", 1), 0);
  CHECK_INT(sbx_quote_append(&b, "a\0b", 3), -EINVAL);
  CHECK_INT(sbx_quote_append(&b, "12345678", 8), -EMSGSIZE);
  CHECK_INT(sbx_quote_append(&b, "1234'", 5), -EMSGSIZE);
  CHECK_INT(b.len, 1);
  CHECK_INT(sbx_quote_append(&b, NULL, 0), 0);
  CHECK_INT(b.len, 3);
  sbx_buf_fini(&b);
}

static struct sbx_command command(char **argv, size_t argc, struct sbx_env *env,
                                  size_t envc) {
  return (struct sbx_command){.uuid = UUID,
                              .mark = MARK,
                              .cwd = "/workspace",
                              .argv = argv,
                              .argc = argc,
                              .env = env,
                              .envc = envc};
}

/* The text of a literal, for a field that is not const. */
static char *lit(const char *text) {
  return (char *)text;
}

static void test_header_text(void) {
  struct sbx_env env[] = {{lit("A"), lit("1")}, {lit("_b2"), lit("x\ny")}};
  char *argv[] = {lit("printf"), lit("%s"), lit("")};
  struct sbx_command cmd = command(argv, 3, env, 2);
  struct sbx_buf b;
  sbx_buf_init(&b, SBX_HEADER_MAX);
  cmd.want_stdin = true;
  CHECK_INT(sbx_header_encode(&b, &cmd, NULL), 0);
  static const char want[] =
      "anvia_uuid='" UUID "' anvia_public='" MARK "' anvia_dir='/workspace' "
      "anvia_input='1' anvia_rs='\x1e'; anvia_env() { command export A='1' "
      "_b2='x'\"$anvia_nl\"'y' 2>&-; }; set -- 'printf' '%s' ''\n";
  CHECK_MEM(b.data, b.len, want, sizeof(want) - 1);

  sbx_buf_clear(&b);
  cmd = command(argv, 1, NULL, 0);
  cmd.cwd = NULL;
  CHECK_INT(sbx_header_encode(&b, &cmd, NULL), 0);
  static const char bare[] =
      "anvia_uuid='" UUID "' anvia_public='" MARK "' anvia_dir='.' "
      "anvia_input='' anvia_rs='\x1e'; anvia_env() { :; }; set -- 'printf'\n";
  CHECK_MEM(b.data, b.len, bare, sizeof(bare) - 1);

  /* names that shells keep for themselves */
  struct sbx_env own[] = {{lit("UID"), lit("7")}, {lit("_"), lit("it's")}};
  sbx_buf_clear(&b);
  cmd = command(argv, 1, own, 2);
  CHECK_INT(sbx_header_encode(&b, &cmd, NULL), 0);
  static const char by_env[] =
      "anvia_uuid='" UUID "' anvia_public='" MARK "' anvia_dir='/workspace' "
      "anvia_input='' anvia_rs='\x1e'; anvia_env() { :; }; anvia_by=env; "
      "anvia_exec() { exec \"$anvia_by\" UID='7' _='it'\\''s' \"$@\"; }; "
      "set -- 'printf'\n";
  CHECK_MEM(b.data, b.len, by_env, sizeof(by_env) - 1);
  sbx_buf_fini(&b);
}

static void check_refused(const struct sbx_command *cmd, size_t max, int code,
                          const char *part) {
  struct sbx_err err = {0};
  struct sbx_buf b;
  sbx_buf_init(&b, max);
  sbx_buf_append(&b, "before", 6);
  CHECK_INT(sbx_header_encode(&b, cmd, &err), code);
  CHECK_MEM(b.data, b.len, "before", 6);
  CHECK_INT(err.code, code);
  if (!CHECK(strstr(err.message, part) != NULL))
    fprintf(stderr, "  message: %s\n", err.message);
  sbx_buf_fini(&b);
}

static void test_refused(void) {
  char *argv[] = {lit("true")};
  struct sbx_command cmd = command(NULL, 0, NULL, 0);
  check_refused(&cmd, SBX_HEADER_MAX, SBX_EPROCESS, "no command");

  static const char *const names[] = {"",        "1A",  "A-B",      "A B",
                                      "A=B",     "A'",  "\xe9",     "A\n",
                                      "$(true)", "A.B", "anvia_env"};
  for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
    struct sbx_env env[] = {{lit("GOOD"), lit("1")}, {lit(names[i]), lit("1")}};
    cmd = command(argv, 1, env, 2);
    check_refused(&cmd, SBX_HEADER_MAX, SBX_EPROCESS, names[i]);
  }
  cmd = command(argv, 1, NULL, 0);
  check_refused(&cmd, 60, -EMSGSIZE, "cannot encode");
}

/* The limits of the kernel, to the byte. */
static void test_too_long(void) {
  char *big = malloc(SBX_COMMAND_STRING_MAX + 2);
  REQUIRE(big != NULL);
  memset(big, '\n', SBX_COMMAND_STRING_MAX + 1); /* the longest when quoted */
  char *argv[17] = {lit("true"), big};
  for (size_t i = 2; i < 17; i++)
    argv[i] = big;
  struct sbx_buf b;
  sbx_buf_init(&b, SBX_HEADER_MAX);
  struct sbx_env env[] = {{lit("A"), big}};
  struct sbx_command cmd;

  big[SBX_COMMAND_STRING_MAX + 1] = '\0';
  cmd = command(argv, 2, NULL, 0);
  check_refused(&cmd, SBX_HEADER_MAX, SBX_EPROCESS, "arguments too long");
  big[SBX_COMMAND_STRING_MAX] = '\0';
  CHECK_INT(sbx_header_encode(&b, &cmd, NULL), 0);
  cmd = command(argv, 16, NULL, 0); /* 15 of them fit */
  sbx_buf_clear(&b);
  CHECK_INT(sbx_header_encode(&b, &cmd, NULL), 0);
  cmd = command(argv, 17, NULL, 0);
  check_refused(&cmd, SBX_HEADER_MAX, SBX_EPROCESS, "use input or a file");

  cmd = command(argv, 1, env, 1);
  check_refused(&cmd, SBX_HEADER_MAX, SBX_EPROCESS, "arguments too long");
  big[SBX_COMMAND_STRING_MAX - 2] = '\0';
  sbx_buf_clear(&b);
  CHECK_INT(sbx_header_encode(&b, &cmd, NULL), 0);
  sbx_buf_fini(&b);
  free(big);
}

static int spawn_shell(const char *shell, const char *script, FILE **to,
                       FILE **from) {
  int in[2], out[2];
  REQUIRE(pipe(in) == 0 && pipe(out) == 0);
  int pid = fork();
  REQUIRE(pid >= 0);
  if (pid == 0) {
    dup2(in[0], 0);
    dup2(out[1], 1);
    close(in[1]);
    close(out[0]);
    execl(shell, "sh", "-c", script, (char *)NULL);
    _exit(127);
  }
  close(in[0]);
  close(out[1]);
  *to = fdopen(in[1], "w");
  *from = fdopen(out[0], "r");
  REQUIRE(*to && *from);
  return pid;
}

/* A real shell must get back what went in. */
static void check_shell(const char *shell) {
  static const char script[] =
      "anvia_nl='\n'\n"
      "IFS= read -r header; eval \"$header\"; UNTOUCHED=$A; anvia_env\n"
      "printf '%s\\0' \"$anvia_uuid\" \"$anvia_public\" \"$anvia_dir\" "
      "\"$anvia_input\" \"$anvia_rs\" \"$UNTOUCHED\" \"$A\" \"$B\" \"$C\" "
      "\"$#\" \"$@\"\n"
      "cat\n";
  char every[256], text[] = "\n\nit's $HOME `id` \"\\\" \\\\ \\n %s \n!\n\n";
  for (int i = 0; i < 255; i++)
    every[i] = (char)(i + 1);
  every[255] = '\0';
  /* a read-only name of some shells must not end the others */
  struct sbx_env env[] = {{lit("A"), every},
                          {lit("UID"), lit("7")},
                          {lit("B"), text},
                          {lit("C"), lit("")}};
  char *argv[] = {lit("-n"), text, lit(""), every, lit("'"), lit("\n")};
  struct sbx_command cmd = command(argv, 6, env, 4);
  cmd.cwd = "/it's\nhere";
  const char *want[] = {UUID, MARK, cmd.cwd, "",   "\x1e", "",    every, text,
                        "",   "6",  "-n",    text, "",     every, "'",   "\n"};

  FILE *to, *from;
  struct sbx_buf b;
  sbx_buf_init(&b, SBX_HEADER_MAX);
  CHECK_INT(sbx_header_encode(&b, &cmd, NULL), 0);
  CHECK(memchr(b.data, '\n', b.len) == b.data + b.len - 1);
  int pid = spawn_shell(shell, script, &to, &from), status;
  CHECK_INT(fwrite(b.data, 1, b.len, to), b.len);
  CHECK_INT(fwrite("rest", 1, 4, to), 4);
  fclose(to);

  char got[8192];
  size_t len = fread(got, 1, sizeof(got), from), at = 0;
  for (size_t i = 0; i < sizeof(want) / sizeof(want[0]); i++) {
    size_t n = strlen(want[i]) + 1;
    CHECK_MEM(got + at, len - at < n ? len - at : n, want[i], n);
    at = at + n < len ? at + n : len;
  }
  CHECK_MEM(got + at, len - at, "rest", 4);
  fclose(from);
  CHECK_INT(waitpid(pid, &status, 0), pid);
  sbx_buf_fini(&b);
}

static void test_shells(void) {
  static const char *const shells[] = {"/bin/sh",   "/bin/dash",
                                       "/bin/bash", "/bin/ksh",
                                       "/bin/mksh", "/usr/bin/yash"};
  for (size_t i = 0; i < sizeof(shells) / sizeof(shells[0]); i++)
    if (access(shells[i], X_OK) == 0)
      check_shell(shells[i]);
}

int main(void) {
  test_words();
  test_word_refused();
  test_header_text();
  test_refused();
  test_too_long();
  test_shells();
  return check_done();
}
