#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The program behind DES's S-box headers: the headers are what it makes of the circuits in the tree,
# a circuit with a wrong gate is refused, and a search finds circuits, the same ones from the same
# seed. Usage: sbox.sh SBOX_PROGRAM SOURCE_FOLDER
set -euo pipefail
sbox=$1
source=$2
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

for form in "2 two_input" "3 three_input"; do
  read -r fan_in name <<<"$form"
  circuits=$source/bench/sbox/$name.circuits
  "$sbox" emit "$fan_in" "$circuits" | diff - "$source/src/cipher/des_sbox_$name.hpp" || {
    echo "FAILED: des_sbox_$name.hpp is not what $name.circuits gives"
    exit 1
  }
  # The last gate of the first circuit, complemented in one cell.
  awk 'NR == 1 { n = split($NF, part, ":"); part[2] = part[2] % 2 ? part[2] - 1 : part[2] + 1;
                 $NF = part[1] ":" part[2] } { print }' "$circuits" >"$folder/wrong"
  if "$sbox" emit "$fan_in" "$folder/wrong" >/dev/null 2>&1; then
    echo "FAILED: a wrong circuit was taken"
    exit 1
  fi
  for copy in first second; do
    "$sbox" search "$fan_in" "$folder/$copy" 7 1 2000 2>/dev/null
  done
  cmp "$folder/first" "$folder/second"
  [ "$(wc -l <"$folder/first")" = 8 ] || {
    echo "FAILED: a search did not find eight circuits"
    exit 1
  }
  "$sbox" emit "$fan_in" "$folder/first" >/dev/null
  echo "$name: header as generated, wrong gate refused, search reproducible"
done
