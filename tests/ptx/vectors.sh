#!/usr/bin/env bash
# Runs published vectors on devices that exist only here: every Nth case, or with PAES_EXHAUSTIVE all.
# Usage: vectors.sh N COMMAND [ARG...]
set -euo pipefail
export PAES_VECTORS_EVERY=$1
shift
[ -z "${PAES_EXHAUSTIVE:-}" ] || PAES_VECTORS_EVERY=1
exec "$@"
