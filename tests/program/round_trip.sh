#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The shortest proof that the program works: encrypt to a new identity, look, verify, decrypt and
# compare, from a file and through pipes; then a damaged file must be refused without output. It
# runs in every preset, so the sanitizers see the whole program too. Usage: program/round_trip.sh PAES
set -euo pipefail
paes=$1
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"

# More than one batch of chunks, and not a whole number of them.
head -c 5000001 /dev/urandom >text
"$paes" encrypt --new-identity key.txt text
[ "$(stat -c %a key.txt)" = 600 ]
"$paes" inspect --json text.paes >inspect.json
"$paes" verify -i key.txt text.paes
"$paes" decrypt -i key.txt -o from_file text.paes
cmp text from_file
"$paes" decrypt -i key.txt - <text.paes | cmp text -
recipient=$(sed -n 's/^# public key: //p' key.txt)
cp text copy
"$paes" encrypt -r "$recipient" - <copy | "$paes" decrypt -i key.txt - | cmp text -
"$paes" decrypt -i key.txt --range 16384-16385 -o range text.paes
cmp range <(tail -c +16385 text | head -c 2)

# Files of age, many files at once, other recipients, and a file of openssl enc.
for armor in "" -a; do
  "$paes" encrypt -f --format age $armor -r "$recipient" text
  "$paes" verify -i key.txt text.age
  "$paes" age -d -i key.txt text.age | cmp text -
done
mkdir folder
for number in 1 2 3 4 5; do
  head -c $((number * 5000)) text >folder/$number
done
"$paes" encrypt -i key.txt --recursive folder --output-dir sealed
"$paes" keygen -o other.txt
"$paes" rekey --json -i key.txt -i other.txt -r "$("$paes" keygen -y other.txt)" --recursive sealed >rekey.json
"$paes" decrypt -i other.txt --recursive sealed --output-dir opened
diff -r folder opened
echo "open sesame" >pass
openssl enc -aes-256-cbc -a -md md5 -pass file:pass -in text -out text.enc 2>/dev/null
"$paes" cipher aes-256-cbc -d --openssl --no-pbkdf2 --md md5 -a --passphrase-file pass -o from_enc text.enc
cmp text from_enc

size=$(stat -c %s text.paes)
for cut in 1 16400; do
  head -c $((size - cut)) text.paes >cut.paes
  code=0
  "$paes" decrypt -i key.txt -o from_cut cut.paes 2>message || code=$?
  [ "$code" = 3 ] || { echo "cut by $cut bytes: exit code $code, not 3"; exit 1; }
  [ ! -e from_cut ] || { echo "cut by $cut bytes: an output appeared"; exit 1; }
  [ -s message ] || { echo "cut by $cut bytes: no message"; exit 1; }
done
echo "round trip: ok"
