/* SPDX-License-Identifier: MIT */
#include "proc/mux.h"

#include "feed.h"
#include "mux_help.h"

/* ---- what may come ---- */

struct frame {
  uint32_t id;
  uint8_t type;
  const char *data;
  size_t len;
};

#define FRAME(id, type, text)                                                  \
  { id, SBX_MSG_##type, text, sizeof(text) - 1 }
#define READY     FRAME(0, READY, READY_BYTES)
#define STARTED   FRAME(1, STARTED, "\7\0\0\0")
#define EXITED    FRAME(1, EXIT, EXIT_BYTES)
#define OUT(text) FRAME(1, DATA, "\1" text)
#define ERR(text) FRAME(1, DATA, "\2" text)
/* a list of one ENTRY: its elements are the owner's to look at */
#define ENTRY_BYTES "\1\0\0\0\1\0\0\0x\0"
#define SOCKET_BYTES                                                           \
  "\1\0\0\0\x13\0\0\0"                                                         \
  "\4\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0P\0\0"

static const struct {
  enum kind kind;
  const char *log;
  struct frame frames[8];
} allowed[] = {
    {NONE, "ready 51;", {READY}},
    {NONE, "ready 51;bye 2;", {READY, FRAME(0, BYE, "\2"), {9, 9, "", 0}}},
    {NONE, "refused no;", {FRAME(0, DONE, "\1\0\0\0\5\2\0\0\0no\0")}},
    {SPAWN,
     "ready 51;started 7;data 1 2 hi;data 2 1 x;eof 2;exit 3 0;",
     {READY, STARTED, OUT("hi"), ERR("x"), FRAME(1, EOF, "\2"), EXITED,
      FRAME(1, CREDIT, "\0\5\0\0\0")}},
    {SPAWN, "ready 51;failed 3 2;", {READY, FRAME(1, FAILED, FAILED_BYTES)}},
    {CAPTURE,
     "ready 51;started 7;data 1 1 a;omitted 1 258;data 1 1 z;exit 3 0;",
     {READY, STARTED, OUT("a"), FRAME(1, OMITTED, "\1\2\1\0\0\0\0\0\0"),
      OUT("z"), EXITED}},
    {READ,
     "ready 51;entry 1;data 1 5 hello;done 0;",
     {READY, FRAME(1, ENTRY, ENTRY_BYTES), OUT("hello"),
      FRAME(1, DONE, DONE_BYTES)}},
    {WRITE,
     "ready 51;done 0;",
     {READY, FRAME(1, CREDIT, "\0\5\0\0\0"), FRAME(1, DONE, DONE_BYTES)}},
    {LIST,
     "ready 51;entry 1;entry 1;done 0;",
     {READY, FRAME(1, ENTRY, ENTRY_BYTES), FRAME(1, ENTRY, ENTRY_BYTES),
      FRAME(1, DONE, DONE_BYTES)}},
    {WATCH,
     "ready 51;event r;",
     {READY, FRAME(1, EVENT, "\1\0\0\0\0\0\0\0r\0\0\0\0\0")}},
    {PORTS,
     "ready 51;listener 1;done 0;",
     {READY, FRAME(1, LISTENER, SOCKET_BYTES), FRAME(1, DONE, DONE_BYTES)}},
    {PORT,
     "ready 51;listener 0;listener 1;",
     {READY, FRAME(1, LISTENER, "\0\0\0\0"), FRAME(1, LISTENER, SOCKET_BYTES)}},
};

/* Each breaks the protocol with its last frame. */
static const struct {
  enum kind kind;
  const char *what;
  struct frame frames[6];
} forbidden[] = {
    {NONE, "never opened", {READY, FRAME(1, STARTED, "\7\0\0\0")}},
    {SPAWN, "never opened", {READY, FRAME(2, STARTED, "\7\0\0\0")}},
    {NONE, "READY outside", {READY, READY}},
    {NONE, "READY outside", {FRAME(0, READY, "\1\0\0\0")}},
    {NONE,
     "version 2",
     {FRAME(0, READY, "\2\0\0\0\0\0\0\0\0\0\0\0\1\1\0\0\0/\0")}},
    {NONE, "DONE outside", {READY, FRAME(0, DONE, DONE_BYTES)}},
    {NONE, "BYE outside", {READY, FRAME(0, BYE, "\5")}},
    {NONE, "BYE outside", {READY, FRAME(0, BYE, "\1\1")}},
    {NONE, "may not send", {READY, FRAME(0, HELLO, "")}},
    {NONE, "DATA outside", {READY, FRAME(0, DATA, "\1x")}},
    {SPAWN, "may not send", {READY, FRAME(1, SPAWN, "")}},
    {SPAWN, "may not send", {READY, {1, 0, "", 0}}},
    {SPAWN, "may not send", {READY, {1, 255, "", 0}}},
    {SPAWN, "READY on a channel", {READY, FRAME(1, READY, READY_BYTES)}},
    {SPAWN, "STARTED a second time", {READY, STARTED, STARTED}},
    {SPAWN, "STARTED with a payload", {READY, FRAME(1, STARTED, "\7\0\0")}},
    {SPAWN,
     "FAILED after STARTED",
     {READY, STARTED, FRAME(1, FAILED, FAILED_BYTES)}},
    {SPAWN, "FAILED with a payload", {READY, FRAME(1, FAILED, "\3\2\0")}},
    {SPAWN, "EXIT before STARTED", {READY, EXITED}},
    {SPAWN, "EXIT a second time", {READY, STARTED, EXITED, EXITED}},
    {SPAWN, "EXIT with a payload", {READY, STARTED, FRAME(1, EXIT, "\3\0")}},
    {SPAWN, "DATA before STARTED", {READY, OUT("x")}},
    {SPAWN, "DATA after EXIT", {READY, STARTED, EXITED, OUT("x")}},
    {SPAWN, "DATA after EOF", {READY, STARTED, FRAME(1, EOF, "\1"), OUT("x")}},
    {SPAWN,
     "DATA on a channel that cannot",
     {READY, STARTED, FRAME(1, DATA, "\0x")}},
    {SPAWN,
     "DATA on a channel that cannot",
     {READY, STARTED, FRAME(1, DATA, "\3x")}},
    {SPAWN, "DATA with a payload", {READY, STARTED, FRAME(1, DATA, "\1")}},
    {SPAWN, "DATA with a payload", {READY, STARTED, FRAME(1, DATA, "")}},
    {SPAWN,
     "DATA beyond its credit",
     {READY, STARTED, OUT("0123456789012345678901234567890123456789"),
      OUT("0123456789012345678901234567890123456789"),
      OUT("0123456789012345678901234567890123456789")}},
    {SPAWN,
     "EOF a second time",
     {READY, STARTED, FRAME(1, EOF, "\1"), FRAME(1, EOF, "\1")}},
    {SPAWN, "EOF before STARTED", {READY, FRAME(1, EOF, "\1")}},
    {SPAWN, "EOF with a payload", {READY, STARTED, FRAME(1, EOF, "\1\1")}},
    {SPAWN,
     "OMITTED on a channel that cannot",
     {READY, STARTED, FRAME(1, OMITTED, "\1\2\1\0\0\0\0\0\0")}},
    {CAPTURE,
     "OMITTED a second time",
     {READY, STARTED, FRAME(1, OMITTED, "\1\2\1\0\0\0\0\0\0"),
      FRAME(1, OMITTED, "\1\2\1\0\0\0\0\0\0")}},
    {CAPTURE,
     "OMITTED after EXIT",
     {READY, STARTED, EXITED, FRAME(1, OMITTED, "\1\2\1\0\0\0\0\0\0")}},
    {CAPTURE,
     "OMITTED after EOF",
     {READY, STARTED, FRAME(1, EOF, "\1"),
      FRAME(1, OMITTED, "\1\2\1\0\0\0\0\0\0")}},
    {CAPTURE,
     "beyond any measure",
     {READY, STARTED, FRAME(1, OMITTED, "\1\2\1\0\0\0\0\0\xff")}},
    {CAPTURE,
     "OMITTED with a payload",
     {READY, STARTED, FRAME(1, OMITTED, "\1\2")}},
    {SPAWN,
     "KILLED that nobody asked for",
     {READY, STARTED, FRAME(1, KILLED, "\0\0\0\0")}},
    {SPAWN,
     "KILLED with a payload",
     {READY, STARTED, FRAME(1, KILLED, "\1\0\0\0\1\0\0\0x\0")}},
    {SPAWN, "KILLED before STARTED", {READY, FRAME(1, KILLED, "\0\0\0\0")}},
    {SPAWN,
     "COUNTED that nobody asked for",
     {READY, STARTED, FRAME(1, COUNTED, "\0\0\0\0")}},
    {SPAWN,
     "COUNTED with a payload",
     {READY, STARTED, FRAME(1, COUNTED, "\0\0\0")}},
    {SPAWN, "CREDIT before STARTED", {READY, FRAME(1, CREDIT, "\0\1\0\0\0")}},
    {SPAWN,
     "CREDIT with a payload",
     {READY, STARTED, FRAME(1, CREDIT, "\1\1\0\0\0")}},
    {SPAWN,
     "beyond any measure",
     {READY, STARTED, FRAME(1, CREDIT, "\0\xff\xff\xff\xff")}},
    {SPAWN,
     "LISTENER on a channel",
     {READY, STARTED, FRAME(1, LISTENER, SOCKET_BYTES)}},
    {SPAWN,
     "ENTRY on a channel",
     {READY, STARTED, FRAME(1, ENTRY, ENTRY_BYTES)}},
    {SPAWN, "DONE on a channel", {READY, STARTED, FRAME(1, DONE, DONE_BYTES)}},
    {READ, "STARTED on a channel", {READY, STARTED}},
    {READ, "FAILED on a channel", {READY, FRAME(1, FAILED, FAILED_BYTES)}},
    {READ, "EXIT on a channel", {READY, EXITED}},
    {READ, "DATA on a channel that cannot", {READY, OUT("x")}},
    {READ,
     "DATA on a channel that cannot",
     {READY, FRAME(1, ENTRY, ENTRY_BYTES), ERR("x")}},
    {READ,
     "beyond what was asked for",
     {READY, FRAME(1, ENTRY, ENTRY_BYTES), OUT("abcdef")}},
    {READ,
     "ENTRY a second time",
     {READY, FRAME(1, ENTRY, ENTRY_BYTES), FRAME(1, ENTRY, ENTRY_BYTES)}},
    {READ, "CREDIT on a channel", {READY, FRAME(1, CREDIT, "\0\1\0\0\0")}},
    {READ,
     "DONE with a payload",
     {READY, FRAME(1, DONE, "\0\0\0\0\x63\0\0\0\0\0")}},
    {READ,
     "EVENT on a channel",
     {READY, FRAME(1, EVENT, "\1\0\0\0\0\0\0\0r\0\0\0\0\0")}},
    {READ,
     "OMITTED on a channel",
     {READY, FRAME(1, OMITTED, "\1\2\1\0\0\0\0\0\0")}},
    {WRITE, "DATA on a channel that cannot", {READY, OUT("x")}},
    {WRITE, "ENTRY on a channel", {READY, FRAME(1, ENTRY, ENTRY_BYTES)}},
    {MKDIR, "ENTRY on a channel", {READY, FRAME(1, ENTRY, ENTRY_BYTES)}},
    {LIST,
     "beyond what was asked for",
     {READY, FRAME(1, ENTRY,
                   "\6\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0"
                   "\0\0\0\0\0")}},
    {LIST, "ENTRY with a payload", {READY, FRAME(1, ENTRY, "\1\0\0\0")}},
    {LIST, "EOF on a channel", {READY, FRAME(1, EOF, "\1")}},
    {WATCH, "EVENT with a payload", {READY, FRAME(1, EVENT, "\1\0\0\0")}},
    {PORTS,
     "LISTENER with a payload",
     {READY, FRAME(1, LISTENER, "\1\0\0\0\1\0\0\0x\0")}},
    {PORT, "KILLED on a channel", {READY, FRAME(1, KILLED, "\0\0\0\0")}},
    {PORT, "COUNTED on a channel", {READY, FRAME(1, COUNTED, "\0\0\0\0")}},
};

static void append_frames(struct sbx_buf *b, const struct frame *f, size_t n) {
  for (size_t i = 0; i < n && f[i].data != NULL; i++)
    CHECK_INT(sbx_frame_append(b, f[i].id, f[i].type, f[i].data, f[i].len), 0);
}

struct script {
  enum kind kind;
  struct peer peer;
  struct side side;
  const char *log;  /* NULL: it breaks, */
  const char *what; /* and says this */
};

static void script_begin(void *ctx) {
  struct script *s = ctx;

  peer_init(&s->peer);
  CHECK_INT(open_kind(&s->peer, s->kind, &s->side), 0);
}

static void script_feed(void *ctx, const uint8_t *in, size_t len) {
  sbx_mux_feed(((struct script *)ctx)->peer.mux, in, len);
}

static void script_end(void *ctx) {
  struct script *s = ctx;

  if (s->log != NULL) {
    check_log(&s->peer, s->log);
    CHECK_INT(s->peer.broken.code, 0);
  } else {
    CHECK_INT(s->peer.broken.code, SBX_EPROTO);
    if (!CHECK(strstr(s->peer.broken.message, s->what) != NULL))
      fprintf(stderr, "  \"%s\" is not in \"%s\"\n", s->what,
              s->peer.broken.message);
  }
  sbx_mux_forget(s->side.channel);
  peer_fini(&s->peer);
}

static void test_scripts(void) {
  struct script s = {0};
  struct feed_parser parser = {script_begin, script_feed, script_end, &s};
  struct sbx_buf b;
  size_t i;

  sbx_buf_init(&b, SIZE_MAX / 2);
  for (i = 0; i < sizeof(allowed) / sizeof(allowed[0]); i++) {
    s.kind = allowed[i].kind;
    s.log = allowed[i].log;
    append_frames(&b, allowed[i].frames, 8);
    feed_every_way(&parser, b.data, b.len);
    sbx_buf_clear(&b);
  }
  s.log = NULL;
  for (i = 0; i < sizeof(forbidden) / sizeof(forbidden[0]); i++) {
    s.kind = forbidden[i].kind;
    s.what = forbidden[i].what;
    append_frames(&b, forbidden[i].frames, 6);
    /* nothing that comes later is looked at */
    append_frames(&b, &(struct frame)READY, 1);
    feed_every_way(&parser, b.data, b.len);
    sbx_buf_clear(&b);
  }
  s.kind = NONE;
  s.what = "not a frame";
  feed_every_way(&parser, "\0\0\0\xff\0\0\0\0\0\0\0\0", 12);
  feed_every_way(&parser, "\0\0\0\0\0\0\0\0\1\1\0\0", 12);
  feed_every_way(&parser, "\1\0\2\0\0\0\0\0\1\0\0\0", 12);
  sbx_buf_fini(&b);
}

/* The owner may give up its channel, or all of it, wherever it is called. */
static void test_giving_up(void) {
  for (int way = 0; way < 3; way++)
    for (size_t i = 0; i < sizeof(allowed) / sizeof(allowed[0]); i++)
      for (size_t at = 0; at < 8 && allowed[i].frames[at].data != NULL; at++) {
        struct peer p;
        struct side s;
        struct sbx_buf b;

        sbx_buf_init(&b, SIZE_MAX / 2);
        peer_init(&p);
        CHECK_INT(open_kind(&p, allowed[i].kind, &s), 0);
        append_frames(&b, allowed[i].frames, at);
        sbx_mux_feed(p.mux, b.data, b.len);
        sbx_buf_clear(&b);
        p.free_in_event = way != 1;
        s.forget_in_event = way != 0;
        append_frames(&b, allowed[i].frames + at, 8 - at);
        sbx_mux_feed(p.mux, b.data, b.len);
        sbx_buf_fini(&b);
        if (s.channel != NULL)
          side_forget(&s);
        peer_fini(&p);
      }
}

int main(void) {
  test_scripts();
  test_giving_up();
  return check_done();
}
