#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Makes the packages of this tree twice, at two paths of different lengths, with umasks, time zones and
# languages that differ, and fails unless all results are the same to the bit.
# Usage: reproducible.sh [OPTION OF tools/package...]
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
first=$root/build/reproducible/one
second=$root/build/reproducible/another/place/of/a/longer/name
rm -rf "$root/build/reproducible"
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git -C "$root" log -1 --format=%ct)}
export SOURCE_DATE_EPOCH CCACHE_DISABLE=1
for output in "$first" "$second"; do
  mkdir -p "$output"
  "$root/tools/package" "$@" --output "$output" >"$output.names" 2>"$output.log" || {
    tail -n 40 "$output.log" >&2
    exit 1
  }
  umask 077
  export TZ=Asia/Kathmandu LANG=C HOME=/nonexistent
done
failures=0
while read -r name; do
  name=${name##*/}
  if cmp "$first/$name" "$second/$name"; then
    echo "reproducible: the same: $name $(sha256sum <"$first/$name" | cut -d' ' -f1)"
  else
    echo "reproducible: DIFFERENT: $name"
    failures=$((failures + 1))
  fi
done <"$first.names"
[ "$failures" = 0 ]
