#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs published vectors on devices that exist only here: every Nth case, or with PAES_EXHAUSTIVE all
# of them. Chains of our own stay short: as long as elsewhere they would take hours.
# Usage: vectors.sh N COMMAND [ARG...]
set -euo pipefail
if [ -n "${PAES_EXHAUSTIVE:-}" ]; then
  unset PAES_EXHAUSTIVE PAES_VECTORS_EVERY
else
  export PAES_VECTORS_EVERY=$1
fi
shift
exec "$@"
