#!/usr/bin/env bash
# Nothing in the release programs takes a key, salt or nonce of the caller's choice for a file of
# paes: reuse of any of them breaks AES-GCM. Looks at its symbols, its options and what it makes. Usage: no_injection.sh
# BUILD_FOLDER
set -euo pipefail
paes=$1/bin/paes
programs=("$paes")
# Also those that measure. A link is another name of one of them; a build without MPI has none of ranks.
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

# The library's only door for tests. That it still has this name shows that this looks for the
# right thing.
door=encrypt_with_salt
nm --demangle "$1"/libpaes_stream.a 2>/dev/null | grep " T .*$door" >"$folder/found" || complain "libpaes_stream.a has no $door: what do tests use now?"
# A device that is emulated leaves what it computes in the memory of the process.
for program in "${programs[@]}"; do
  ! nm --demangle "$program" | grep "$door" || complain "$program contains $door"
  ! nm --demangle "$program" | grep -E 'Emulat(edRuntime|ion::of)' || complain "$program contains an emulated device"
done
! nm --demangle "$1"/src/cuda/libpaes_cuda.a | grep -i emulat || complain "libpaes_cuda.a contains an emulated device"
nm --demangle "$1"/tests/emulated/libemulated_device.a 2>/dev/null | grep EmulatedRuntime >"$folder/found" || complain "libemulated_device.a has no EmulatedRuntime: what do tests use now?"

# Every option of every subcommand.
for program in "${programs[@]}"; do
  for command in $("$program" --help | sed -n '/^Subcommands:/,/^$/s/^  \([a-z]*\) .*/\1/p'); do
    options=$("$program" "$command" --help | grep -oE -- '--[a-z-]+')
    # Raw modes have the caller's key and IV by their nature; a salt is random there, too.
    [ "$command" = cipher ] && options=$(grep -vxE -- '--iv' <<<"$options")
    if grep -E <<<"$options" 'salt|nonce|seed|-iv|input-key|file-key|random|test'; then
      complain "$program $command: an option like that must not exist"
    fi
  done
done

# No variable of the environment steers the main job.
for variable in $(strings -n 4 "${programs[@]}" | grep -xE '[A-Z][A-Z0-9]*_[A-Z0-9_]+' | grep -iE 'paes|salt|nonce|seed'); do
  complain "the programs know a variable $variable"
done

# The same input twice, to the same recipient: key, salt and commitment differ.
echo text >"$folder/text"
recipient=$("$paes" keygen -o "$folder/key" 2>&1 | grep -oE 'age1[0-9a-z]+' | head -n 1)
"$paes" encrypt -q -r "$recipient" -o "$folder/a" "$folder/text"
"$paes" encrypt -q -r "$recipient" -o "$folder/b" "$folder/text"
k=$(od -An -tu1 -j 11 -N 1 "$folder/a")
salt() { tail -c +$((4096 * k - 56 + 1)) "$1" | head -c 24 | od -An -tx1; }
[ "$(salt "$folder/a")" != "$(salt "$folder/b")" ] || complain "two files have the same salt"
exit $bad
