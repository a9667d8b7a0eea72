#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Finds the folder of NIST's GCM vectors and hands it to the test program.
# Usage: gcm_vectors.sh FOLDER|"" VENV [EMULATOR...] PROGRAM; the variable PAES_VECTORS overrides
# FOLDER.
set -euo pipefail
folder=${PAES_VECTORS:-$1}
venv=$2
shift 2
if [ -z "$folder" ]; then
  for found in "$venv"/lib/python3*/site-packages/cryptography_vectors/ciphers/AES/GCM; do
    folder=$found
  done
fi
if [ ! -d "$folder" ]; then
  echo "NOT RUN: no folder $folder; ./dev setup installs PyPI cryptography_vectors into build/venv"
  exit 77
fi
exec "$@" "$folder"
