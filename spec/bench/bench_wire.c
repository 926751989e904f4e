/* SPDX-License-Identifier: MIT */
/* bench_wire.c - what keeping and scanning output costs. Prints figures only.
 *
 *   cc -O2 -D_GNU_SOURCE -Icore spec/bench/bench_wire.c \
 *     core/base/{buf,capture,clock,err,random,ring,utf8}.c \
 *     core/wire/marker.c -o build/bench_wire && build/bench_wire
 *
 * A stream of 512 MiB goes by in chunks of 64 KiB, as it comes from a pipe.
 * "memcpy" copies each chunk once, into a place as large as the ring, which is
 * the least that keeping it can cost. Each figure is the best of five. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/capture.h"
#include "base/clock.h"
#include "base/random.h"
#include "base/ring.h"
#include "wire/marker.h"

#define CHUNK    ((size_t)64 * 1024)
#define CAP      ((size_t)1024 * 1024)
#define SOURCE   ((size_t)4 * 1024 * 1024) /* read round and round */
#define STREAM   ((size_t)512 * 1024 * 1024)
#define SNAPSHOT ((size_t)16 * 1024 * 1024) /* one snapshot after so much */
#define ROUNDS   5

static uint8_t source[SOURCE];
static uint8_t *place;    /* CAP bytes */
static uint8_t *snapshot; /* CAP bytes */
static volatile uint64_t sink;

static void bench_memcpy(void) {
  for (size_t at = 0; at < STREAM; at += CHUNK) {
    memcpy(place + at % CAP, source + at % SOURCE, CHUNK);
    __asm__ volatile("" : : "r"(place) : "memory");
  }
}

static void bench_ring(void) {
  struct sbx_ring *r;
  if (sbx_ring_new(&r, CAP) < 0)
    abort();
  for (size_t at = 0; at < STREAM; at += CHUNK) {
    if (sbx_ring_push(r, source + at % SOURCE, CHUNK) < 0)
      abort();
    if ((at + CHUNK) % SNAPSHOT == 0)
      sink += sbx_ring_copy(r, 0, snapshot, CAP, NULL);
  }
  sbx_ring_free(r);
}

static void bench_capture(void) {
  struct sbx_capture *c;
  struct sbx_captured out;
  if (sbx_capture_new(&c, CAP, SBX_KEEP_BOTH) < 0)
    abort();
  for (size_t at = 0; at < STREAM; at += CHUNK)
    if (sbx_capture_push(c, source + at % SOURCE, CHUNK) < 0)
      abort();
  if (sbx_capture_finish(c, &out) < 0)
    abort();
  sink += out.len;
  free(out.data);
  sbx_capture_free(c);
}

static void bench_marker(void) {
  char uuid[SBX_UUID_LEN + 1];
  struct sbx_marker m;
  struct sbx_marker_event ev;
  if (sbx_uuid(uuid) < 0)
    abort();
  sbx_marker_init(&m, uuid, SBX_EXPECT_EXIT);
  for (size_t at = 0; at < STREAM; at += CHUNK) {
    for (size_t used = 0; used < CHUNK;) {
      ssize_t n =
          sbx_marker_feed(&m, source + at % SOURCE + used, CHUNK - used, &ev);
      if (n <= 0)
        abort();
      used += (size_t)n;
      sink += ev.out_len;
    }
  }
}

/* GiB/s */
static double measure(void (*run)(void)) {
  uint64_t best = UINT64_MAX;
  for (int i = 0; i < ROUNDS; i++) {
    uint64_t start = sbx_now_ns();
    run();
    uint64_t took = sbx_now_ns() - start;
    if (took < best)
      best = took;
  }
  return (double)STREAM / (double)best / 1.073741824;
}

static void fill_zero(void) {
  memset(source, 0, SOURCE);
}

static void fill_text(void) {
  static const char line[] = "src/main.c:42:7: warning: unused variable 'x'\n";
  for (size_t i = 0; i < SOURCE; i++)
    source[i] = (uint8_t)line[i % (sizeof(line) - 1)];
}

static void fill_random(void) {
  uint64_t x = 88172645463325252u;
  for (size_t i = 0; i < SOURCE; i++) {
    x ^= x << 13;
    x ^= x >> 7;
    x ^= x << 17;
    source[i] = (uint8_t)(x >> 32);
  }
}

static void fill_fragments(void) {
  static const char unit[] = "\x1e"
                             "ANVIA_EXIT:";
  for (size_t i = 0; i < SOURCE; i++)
    source[i] = (uint8_t)unit[i % (sizeof(unit) - 1)];
}

int main(void) {
  static const struct {
    const char *name;
    void (*fill)(void);
  } inputs[] = {{"zero bytes", fill_zero},
                {"text", fill_text},
                {"random bytes", fill_random},
                {"marker fragments", fill_fragments}};
  place = malloc(CAP);
  snapshot = malloc(CAP);
  if (!place || !snapshot)
    return 1;
  fill_random();
  memset(place, 1, CAP);
  memset(snapshot, 1, CAP);

  double base = measure(bench_memcpy), ring = measure(bench_ring);
  double capture = measure(bench_capture);
  printf("memcpy                    %7.2f GiB/s\n", base);
  printf("ring, push + snapshot     %7.2f GiB/s  %.2f x memcpy's time\n", ring,
         base / ring);
  printf("capture, both ends        %7.2f GiB/s  %.2f x memcpy's time\n",
         capture, base / capture);
  for (size_t i = 0; i < sizeof(inputs) / sizeof(inputs[0]); i++) {
    inputs[i].fill();
    printf("marker, %-17s %7.2f GiB/s\n", inputs[i].name,
           measure(bench_marker));
  }
  free(place);
  free(snapshot);
  return 0;
}
