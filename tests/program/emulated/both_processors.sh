#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What the program for one processor writes, the one for another opens, and finds damage in: containers
# with either cipher, files of age, raw modes, and vaults. There is little data, because OTHER_PAES is
# emulated. Usage: both_processors.sh PAES OTHER_PAES
set -Eeuo pipefail
trap 'echo "both processors: line $LINENO failed: $BASH_COMMAND" >&2' ERR
own=$1
other=$2
[ -x "$own" ] || {
  echo "not run: both processors: $own is missing (./dev build release)"
  exit 77
}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"

# Otherwise one program may stand for both.
[ "$("$own" devices)" != "$("$other" devices)" ] || {
  echo "both processors: the two programs have the same kernels"
  exit 1
}

# Some chunks, the last of them partial.
head -c 200001 /dev/urandom >text
"$own" keygen -o key.txt >/dev/null 2>&1
recipient=$("$other" keygen -y key.txt)

# check_pair NAME WRITER READER
check_pair() {
  local cipher
  for cipher in 128 256; do
    "$2" encrypt -r "$recipient" --suite "aes-$cipher-gcm" -o "$1-$cipher.paes" text
    "$3" verify -i key.txt "$1-$cipher.paes"
    "$3" decrypt -i key.txt -o opened "$1-$cipher.paes"
    cmp text opened
    rm opened
  done
  "$3" decrypt -i key.txt --range 16383-16384 -o part "$1-256.paes"
  cmp part <(dd if=text bs=1 skip=16383 count=2 status=none)
  rm part
  # The last byte of the last chunk's tag.
  head -c -1 "$1-256.paes" >damaged
  tail -c 1 "$1-256.paes" | tr '\000-\377' '\001-\377\000' >>damaged
  local code=0
  "$3" verify -i key.txt damaged 2>message || code=$?
  [ "$code" = 3 ]
  "$2" encrypt --format age -a -r "$recipient" -o "$1.age" text
  "$3" decrypt -i key.txt -o opened "$1.age"
  cmp text opened
  rm opened
}
check_pair own-to-other "$own" "$other"
check_pair other-to-own "$other" "$own"

# In raw modes, the same key and IV give the same bytes.
head -c 32 /dev/urandom >key32
head -c 24 /dev/urandom >key24
for mode in aes-256-ctr aes-256-cbc aes-128-xts des-ede3-cbc; do
  key=key32 digits=32 legacy=()
  [ "${mode%%-*}" = aes ] || key=key24 digits=16 legacy=(--legacy)
  iv=$(head -c $digits <<<0f1e2d3c4b5a69788796a5b4c3d2e1f0)
  "$own" cipher "$mode" "${legacy[@]}" --key "$key" --iv "$iv" -o own.raw text
  "$other" cipher "$mode" "${legacy[@]}" --key "$key" --iv "$iv" -o other.raw text
  cmp own.raw other.raw
  "$other" cipher "$mode" -d --key "$key" --iv "$iv" -o back.raw own.raw
  cmp text back.raw
  rm ./*.raw
done

# A vault of each, which the other one reads. Only a mount writes files into it.
echo "open sesame" >pass
for writer in own other; do
  reader=$([ "$writer" = own ] && echo other || echo own)
  mkdir "vault-$writer"
  "${!writer}" vault init --work-factor 10 --passphrase-file pass "vault-$writer"
  "${!reader}" vault info "vault-$writer" >/dev/null
  "${!reader}" vault fsck --passphrase-file pass "vault-$writer"
done
mount=${own%/*}/paes-mount
if [ -x "$mount" ] && [ -w /dev/fuse ] && command -v fusermount3 >/dev/null; then
  mkdir shown
  trap '"$own" umount "$folder/shown" 2>/dev/null || true; rm -rf "$folder"' EXIT
  "$mount" -o rw --passphrase-file pass vault-other shown
  cp text shown/text
  "$own" umount shown
  "$other" vault fsck --passphrase-file pass vault-other
  file=$(find vault-other -type f -size +100k)
  printf 'damage' | dd of="$file" bs=1 seek=5000 conv=notrunc status=none
  code=0
  "$other" vault fsck --passphrase-file pass vault-other >message 2>&1 || code=$?
  [ "$code" = 3 ]
else
  echo "not run: files of a vault: no paes-mount, /dev/fuse or fusermount3 here"
fi
echo "both processors: ok"
