#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Nothing in the release programs and the installed libraries takes a salt or nonce of the caller's
# choice for a file of paes, and no program takes its key: reuse breaks AES-GCM. Looks at symbols,
# headers, options and what is made. Usage: no_injection.sh BUILD_FOLDER
set -euo pipefail
paes=$1/bin/paes
programs=("$paes")
# Including those that measure. A link is another name for one of them; a build without MPI has none
# for ranks.
for program in "$1"/bin/paes-*; do
  [ ! -f "$program" ] || [ -L "$program" ] || programs+=("$program")
done
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
bad=0
complain() {
  echo "$*"
  bad=1
}

# The only way in for tests: one function in a library that is never installed, and one of the tests
# themselves. Finding them under this name shows that the search works.
door=encrypt_with_salt
for with_door in "$1/src/mpi/libpaes_mpi.a" "$1/bin/seal_fixed"; do
  nm --demangle "$with_door" 2>/dev/null | grep "$door" >"$folder/found" || complain "$with_door has no $door: what do tests use now?"
done
# A Cobblestone key and its context come from the caller, but never a salt. The shared library also
# has symbols that it does not export.
for library in "$1"/packaging/libpaes.so "$1"/packaging/libpaes.a "$1"/libpaes_stream.a; do
  nm --demangle "$library" >"$folder/symbols" 2>/dev/null
  grep -q 'ChunkCipher::seal' "$folder/symbols" || complain "$library has no symbols to look at"
  ! grep "$door" "$folder/symbols" || complain "$library contains $door"
  ! grep -E 'Emulat(edRuntime|ion::of)' "$folder/symbols" || complain "$library contains an emulated device"
done
# Comments may mention salts; names that a program can call may not.
include=$(cd "$(dirname "$0")/../../include" && pwd)
! grep -rniE '^[^/*]*salt' "$include"/paes/*.h* || complain "a public header takes a salt"
# An emulated device leaves what it computes in the process's memory.
for program in "${programs[@]}"; do
  ! nm --demangle "$program" | grep "$door" || complain "$program contains $door"
  ! nm --demangle "$program" | grep -E 'Emulat(edRuntime|ion::of)' || complain "$program contains an emulated device"
done
! nm --demangle "$1"/src/cuda/libpaes_cuda.a | grep -i emulat || complain "libpaes_cuda.a contains an emulated device"
nm --demangle "$1"/tests/support/emulated/libemulated_device.a 2>/dev/null | grep EmulatedRuntime >"$folder/found" || complain "libemulated_device.a has no EmulatedRuntime: what do tests use now?"

# Every option of every subcommand.
for program in "${programs[@]}"; do
  for command in $("$program" --help | sed -n '/^Subcommands:/,/^$/s/^  \([a-z]*\) .*/\1/p'); do
    options=$("$program" "$command" --help | grep -oE -- '--[a-z-]+')
    # In raw modes, key and IV are the caller's by nature; a salt is random there, too.
    [ "$command" = cipher ] && options=$(grep -vxE -- '--iv' <<<"$options")
    if grep -E <<<"$options" 'salt|nonce|seed|-iv|input-key|file-key|random|test'; then
      complain "$program $command: an option like that must not exist"
    fi
  done
done

# No environment variable influences the main work.
for variable in $(strings -n 4 "${programs[@]}" | grep -xE '[A-Z][A-Z0-9]*_[A-Z0-9_]+' | grep -iE 'paes|salt|nonce|seed'); do
  complain "the programs know a variable $variable"
done

# Encrypting the same input twice to the same recipient must give different keys, salts and
# commitments.
echo text >"$folder/text"
recipient=$("$paes" keygen -o "$folder/key" 2>&1 | grep -oE 'age1[0-9a-z]+' | head -n 1)
"$paes" encrypt -q -r "$recipient" -o "$folder/a" "$folder/text"
"$paes" encrypt -q -r "$recipient" -o "$folder/b" "$folder/text"
k=$(od -An -tu1 -j 11 -N 1 "$folder/a")
salt() { tail -c +$((4096 * k - 56 + 1)) "$1" | head -c 24 | od -An -tx1; }
[ "$(salt "$folder/a")" != "$(salt "$folder/b")" ] || complain "two files have the same salt"
exit $bad
