#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Every kernel is tested by some processor: this one or, for instructions that it lacks, an emulated
# one (tools/emulate/run). Runs the unit tests that know kernels here, then those again that were
# skipped for want of instructions; a kernel that neither ran is a failure, as is a test.
# Usage: emulated_kernels.sh FOLDER_OF_PROGRAMS [KERNEL...], where each KERNEL (default: vaes512)
# must be among those that ran.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
bin=$1
shift
[ $# -gt 0 ] || set -- vaes512
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

# From GoogleTest's output: the tests that passed, and those skipped because "this processor lacks"
# something. The reason stands on the line before the verdict; names may end with "/KERNEL".
passed() { sed -n 's/^\[       OK \] \([^ ]*\) .*/\1/p' "$@"; }
lacking() { sed -n '/this processor lacks/{n;s/^\[  SKIPPED \] \([^ ]*\) .*/\1/p}' "$@"; }
kernels() { sed -n 's,^Kernels/.*/,,p' | sort -u | paste -sd' '; }

commands=()
: >"$folder/emulated"
for program in kernel_tests message_tests rows_tests; do
  "$bin/$program" --gtest_color=no >"$folder/$program" || {
    grep -A5 -E 'Failure|^\[  FAILED' "$folder/$program"
    echo "$program failed on this processor"
    exit 1
  }
  lacking "$folder/$program" >"$folder/wanted"
  [ -s "$folder/wanted" ] || continue
  cat "$folder/wanted" >>"$folder/wanted_all"
  commands+=(-- "$bin/$program" "--gtest_filter=$(paste -sd: "$folder/wanted")")
done

echo "ran on this processor: $(passed "$folder"/*_tests | kernels)"
if [ ${#commands[@]} -gt 0 ]; then
  code=0
  "$here/../emulate/run" "${commands[@]:1}" >"$folder/emulated" || code=$?
  echo "ran on the emulated processor: $(passed "$folder/emulated" | kernels)"
  # A test that the emulator lacks instructions for, or loses, counts as failed; one that skips what
  # the kernel does not offer does not.
  while read -r test; do
    grep -qF -e "[       OK ] $test (" -e "[  SKIPPED ] $test (" "$folder/emulated" || {
      echo "$test: did not pass on the emulated processor"
      code=1
    }
  done <"$folder/wanted_all"
  if [ "$code" != 0 ] || [ -n "$(lacking "$folder/emulated")" ]; then
    grep -v -E '^\[ +(RUN|OK) ' "$folder/emulated"
    echo "the emulated processor's tests failed"
    exit 1
  fi
fi

for kernel in "$@" $(sed -n 's,^\[ RUN      \] Kernels/.*/,,p' "$folder"/*_tests | sort -u); do
  [[ " $(passed "$folder"/*_tests "$folder/emulated" | kernels) " == *" $kernel "* ]] || {
    echo "$kernel ran on no processor"
    exit 1
  }
done
