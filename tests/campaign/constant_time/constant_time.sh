#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs one subject of constant_time under valgrind. A kernel that claims constant time must give no
# report; one that does not, and a planted dependence, must give one: silence would mean that nothing
# was looked at. Usage: constant_time.sh PROGRAM SUBJECT
set -euo pipefail
program=$1
subject=$2
if ! command -v valgrind >/dev/null; then
  echo "NOT RUN: valgrind is missing (Debian package valgrind)"
  exit 77
fi
status=0
output=$(valgrind --quiet --error-exitcode=99 "$program" "$subject" 2>&1) || status=$?
sed -n 1,40p <<<"$output"
case $subject in
  planted-* | compute | tables | des_compute | des_tables)
    # Memcheck names what it saw; another way to fail would not do.
    if [ "$status" = 99 ] && grep -Eq 'depends on uninitialised|of size [0-9]+' <<<"$output"; then
      echo "$subject: reported, as it must be"
      exit 0
    fi
    echo "FAILED: $subject was not reported (status $status)"
    exit 1
    ;;
esac
if [ "$status" = 77 ]; then
  echo "NOT RUN: $subject: not under valgrind's processor"
fi
exit "$status"
