/* SPDX-License-Identifier: MIT */
#include "proc/program.h"

#include <string.h>

const struct sbx_program *sbx_program_find(const char *arch) {
  for (size_t i = 0; sbx_programs[i] != NULL; i++)
    if (strcmp(sbx_programs[i]->arch, arch) == 0)
      return sbx_programs[i];
  return NULL;
}
