#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# on_engine.sh COMMAND... - runs a test on the engine that ctest has given it, one
# of the hosts in SBX_ENGINES (see engines.sh); without a list, on the caller's.
set -euo pipefail

read -ra hosts <<<"${SBX_ENGINES:-}"
slot=${CTEST_RESOURCE_GROUP_0_ENGINES:-id:0,slots:1}
slot=${slot#id:}
host=${hosts[${slot%%,*}]:-}
[[ -z $host ]] || export DOCKER_HOST=$host
exec "$@"
