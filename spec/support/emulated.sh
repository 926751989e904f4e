#!/bin/sh
# SPDX-License-Identifier: MIT
#
# emulated.sh: the supervisor for another architecture as a program of this one;
# SBX_EMULATOR and SBX_EMULATED say which. The tests start it as PID 1.
exec "$SBX_EMULATOR" "$SBX_EMULATED"
