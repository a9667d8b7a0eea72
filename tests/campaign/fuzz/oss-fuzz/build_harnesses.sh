#!/bin/bash -eu
# SPDX-License-Identifier: Apache-2.0
# Builds the fuzz harnesses for OSS-Fuzz, which sets CC, CXX, CXXFLAGS, LIB_FUZZING_ENGINE, SRC, WORK and
# OUT: each harness as a program, its seeds in HARNESS_seed_corpus.zip, its words in HARNESS.dict. The image of
# OSS-Fuzz also needs `./dev`'s packages for a build with tests (packages_run, libgtest-dev).
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../../../.." && pwd)
fuzz=$root/tests/campaign/fuzz
cmake -S "$root" -B "$WORK/paes" -G Ninja -DCMAKE_BUILD_TYPE=Debug -DPAES_TESTS=ON -DPAES_CUDA=OFF -DPAES_MPI=OFF \
  -DPAES_LIBRARY=OFF -DPAES_UNITY=ON -DPAES_TEST_KINDS=fuzz -DPAES_TEST_FOLDERS=none \
  -DCMAKE_C_COMPILER="$CC" -DCMAKE_CXX_COMPILER="$CXX" -DCMAKE_CXX_FLAGS="$CXXFLAGS" -DPAES_FUZZING_ENGINE="$LIB_FUZZING_ENGINE"
mapfile -t harnesses < <(ninja -C "$WORK/paes" -t targets all | sed -n 's/^\([a-z0-9_]*_fuzz\): phony$/\1/p')
[ ${#harnesses[@]} -gt 0 ]
ninja -C "$WORK/paes" "${harnesses[@]}"
for harness in "${harnesses[@]}"; do
  name=${harness%_fuzz}
  cp "$WORK/paes/bin/$harness" "$OUT/"
  (cd "$fuzz/corpus/$name" && python3 -m zipfile -c "$OUT/${harness}_seed_corpus.zip" ./*)
  [ ! -e "$fuzz/dictionaries/$name.dict" ] || cp "$fuzz/dictionaries/$name.dict" "$OUT/$harness.dict"
done
