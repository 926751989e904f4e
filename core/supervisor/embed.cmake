# SPDX-License-Identifier: MIT
#
# cmake -DARCH=<arch> -DSOURCE=<program> -DTARGET=<file.c> -P embed.cmake
#
# Writes a program as a struct sbx_program.

file(READ "${SOURCE}" bytes HEX)
file(SHA256 "${SOURCE}" digest)
string(REGEX REPLACE "(................................)" "\\1\n" bytes "${bytes}")
string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${bytes}")
file(WRITE "${TARGET}" "#include \"proc/program.h\"

static const uint8_t bytes[] = {
${bytes}};

extern const struct sbx_program sbx_program_${ARCH};
const struct sbx_program sbx_program_${ARCH} = {
    \"${ARCH}\", bytes, sizeof(bytes), \"${digest}\"};
")
