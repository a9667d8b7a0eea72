#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Compiles with nvcc so that the object says nothing of where the sources lie. nvcc makes names of the
# source's whole path, and no option of it changes that. So the steps that it lists (--dryrun) are run
# here, with the file's name in place of the path. Only packages are built so (PAES_REPRODUCIBLE).
# Usage: nvcc_anywhere.sh NVCC ARGUMENT...
set -eu
steps=$("$@" --dryrun 2>&1) || {
  printf '%s\n' "$steps" >&2
  exit 1
}
eval "$(printf '%s\n' "$steps" | sed -n '
  s/^#\$ //
  t ours
  d
  :ours
  /^\(PATH\|LD_LIBRARY_PATH\|CICC_PATH\|NVVMIR_LIBRARY_DIR\)=/{s/^\([A-Z_]*\)=\(.*\)/export \1='"'\2'"'/p;d}
  /^[A-Z_]*=/d
  /^-- /d
  s/\(--orig_src_path_name "\)[^"]*\//\1/
  p')"
