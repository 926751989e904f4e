/* SPDX-License-Identifier: MIT */
/* program.h - the supervisor's programs, which are part of this library. */
#ifndef SBX_PROC_PROGRAM_H
#define SBX_PROC_PROGRAM_H

#include <stddef.h>
#include <stdint.h>

struct sbx_program {
  const char *arch; /* in the engine's words: "amd64", "arm64" */
  const uint8_t *data;
  size_t len;
  const char *sha256; /* of data; 64 lower-case hex digits */
};

/* Those that a compiler was found for; NULL is the last. */
extern const struct sbx_program *const sbx_programs[];

/* NULL when there is none. */
const struct sbx_program *sbx_program_find(const char *arch);

#endif
