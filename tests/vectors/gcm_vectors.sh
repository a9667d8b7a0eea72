#!/usr/bin/env bash
# Finds the folder of NIST's GCM vectors and hands it to the test program.
# Usage: gcm_vectors.sh PROGRAM FOLDER|"" VENV; the variable PAES_VECTORS overrides FOLDER.
set -euo pipefail
program=$1
folder=${PAES_VECTORS:-$2}
venv=$3
if [ -z "$folder" ]; then
  for found in "$venv"/lib/python3*/site-packages/cryptography_vectors/ciphers/AES/GCM; do
    folder=$found
  done
fi
if [ ! -d "$folder" ]; then
  echo "NOT RUN: no folder $folder; ./dev setup installs PyPI cryptography_vectors into build/venv"
  exit 77
fi
exec "$program" "$folder"
