# SPDX-License-Identifier: MIT
#
# cmake -DNAME=<symbol> -DSOURCE=<script> -DTARGET=<file.c> -P embed.cmake
#
# Writes a shell script as a C string. Comments and empty lines stay behind:
# the script travels in the argument list of every command.

file(READ "${SOURCE}" text)
string(REGEX REPLACE "(^|\n)([ \t]*#[^\n]*\n)+" "\\1" text "${text}")
string(REGEX REPLACE "\n([ \t]*#[^\n]*\n)+" "\n" text "${text}")
string(REGEX REPLACE "\n\n+" "\n" text "${text}")
string(REPLACE "\\" "\\\\" text "${text}")
string(REPLACE "\"" "\\\"" text "${text}")
string(REPLACE "\n" "\\n\"\n  \"" text "${text}")
file(WRITE "${TARGET}"
     "extern const char ${NAME}[];\nconst char ${NAME}[] =\n  \"${text}\";\n")
