#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Installs a build into a folder of its own, moves that folder, and builds and runs examples/outside
# against it: with CMake, and with a compiler and pkg-config alone. Usage: installed.sh BUILD FOLDER
set -euo pipefail
build=$1
folder=$2
outside=$(cd "$(dirname "$0")/../../../examples/outside" && pwd)
bad=0
complain() {
  echo "installed.sh: $*"
  bad=1
}

rm -rf "$folder"
mkdir -p "$folder"
cmake --install "$build" --prefix "$folder/first" --strip >"$folder/install.log"
# Nothing in it may know where it was installed.
mv "$folder/first" "$folder/prefix"
prefix=$folder/prefix
lib=$(dirname "$(find "$prefix" -name libpaes.so)")

for file in bin/paes share/man/man1/paes.1 share/man/man1/paes-vault.1 share/man/man1/paes-umount.1 share/bash-completion/completions/paes include/paes/file.hpp; do
  [ -e "$prefix/$file" ] || complain "$file is not installed"
done
! grep -rlF "$folder/first" "$prefix" || complain "these files name the folder they were installed to"
! grep -rlF "$build" "$prefix" || complain "these files name the folder they were built in"
configured=$(sed -n 's/^CMAKE_INSTALL_PREFIX:PATH=//p' "$build/CMakeCache.txt")
! grep -rIlwF -- "$configured" "$prefix"/lib* || complain "these files name another prefix than the one they were installed to"

# What a consumer must have: no CUDA, no MPI, nothing of the programs.
needed=$(objdump -p "$lib/libpaes.so" | sed -n 's/^ *NEEDED *//p')
! grep -vE '^lib(crypto|stdc\+\+|m|gcc_s|c|pthread|dl|rt)\.so|^ld-linux' <<<"$needed" ||
  complain "libpaes.so needs more than it should"
# Nor a run-time library of OpenMP, in either library.
! nm --undefined-only "$lib/libpaes.a" | grep -E ' (GOMP|GOACC|omp|__kmpc)_' || complain "libpaes.a calls OpenMP"
! grep -rE 'gomp|OpenMP' "$lib/pkgconfig" "$lib/cmake" || complain "what finds the library names OpenMP"
[ "$(objdump -p "$lib/libpaes.so" | sed -n 's/^ *SONAME *//p')" = libpaes.so.0 ] || complain "libpaes.so has another soname"
! grep -rhoE '#include [<"](paes/[a-z]+\.hpp|[a-z/]+\.h(pp)?)[>"]' "$prefix/include" | grep -E 'cuda|mpi|CLI|omp|openssl' ||
  complain "an installed header includes what consumers may lack"

# The build's own generator: CMake's default wants make, which a machine with ninja may lack.
generator=$(sed -n 's/^CMAKE_GENERATOR:INTERNAL=//p' "$build/CMakeCache.txt")
cmake -G "$generator" -S "$outside" -B "$folder/cmake" -DCMAKE_PREFIX_PATH="$prefix" -DCMAKE_BUILD_TYPE=Release >"$folder/cmake.log" 2>&1 ||
  { cat "$folder/cmake.log"; exit 1; }
cmake --build "$folder/cmake" >"$folder/cmake-build.log" 2>&1 || { cat "$folder/cmake-build.log"; exit 1; }
run() {
  echo "+ $*"
  LD_LIBRARY_PATH=$lib "$@" || complain "$1 failed"
}
run "$folder/cmake/object_store"
run "$folder/cmake/keystream"
run "$folder/cmake/whole_file" "$folder"
run "$folder/cmake/ranges" "$folder" 8 2 200
head -c 3000001 /dev/urandom >"$folder/text"
"$prefix/bin/paes" keygen -o "$folder/key.txt" 2>"$folder/keygen.log"
run "$folder/cmake/copy" seal "$folder/text" "$folder/text.paes" "$(grep -oE 'age1[0-9a-z]+' "$folder/keygen.log")"
run "$prefix/bin/paes" verify -i "$folder/key.txt" "$folder/text.paes"
run "$folder/cmake/copy" open "$folder/text.paes" "$folder/back" "$folder/key.txt"
cmp "$folder/text" "$folder/back" || bad=1
run "$folder/cmake/ranges_static" "$folder" 8 2 200
! ldd "$folder/cmake/ranges_static" | grep libpaes || complain "ranges_static needs the shared library"

flags() { PKG_CONFIG_PATH=$lib/pkgconfig pkg-config --dont-define-prefix "$@" paes; }
mkdir "$folder/pkg-config"
# shellcheck disable=SC2046 # words on purpose
c++ -std=c++20 -O2 "$outside/keystream.cpp" $(flags --cflags --libs) -o "$folder/pkg-config/keystream"
# shellcheck disable=SC2046
cc -std=c99 -O2 "$outside/whole_file.c" $(flags --cflags --libs) -o "$folder/pkg-config/whole_file"
# shellcheck disable=SC2046
c++ -std=c++20 -O2 "$outside/ranges.cpp" $(flags --cflags) "$lib/libpaes.a" $(flags --static --libs | sed 's/-lpaes//') -o "$folder/pkg-config/ranges_static"
# A C compiler adds no library of its own; of CUDA's static run-time library some versions need libm.
[[ " $(flags --static --libs) " == *" -lm "* ]] || complain "paes.pc does not name libm"
# shellcheck disable=SC2046
cc -std=c99 -O2 "$outside/whole_file.c" $(flags --cflags) "$lib/libpaes.a" $(flags --static --libs | sed 's/-lpaes//') -o "$folder/pkg-config/whole_file_static"
run "$folder/pkg-config/keystream"
run "$folder/pkg-config/whole_file_static" "$folder"
run "$folder/pkg-config/whole_file" "$folder"
run "$folder/pkg-config/ranges_static" "$folder" 8 2 200
# The programs of the library's page.
page=$outside/../../docs/library.md
for language in cpp c; do
  sed -n "/^\`\`\`$language\$/,/^\`\`\`\$/{/^\`\`\`/d;p}" "$page" >"$folder/pkg-config/page.$language"
  [ -s "$folder/pkg-config/page.$language" ] || continue
  standard=-std=c++20 compiler=c++
  [ $language = cpp ] || standard=-std=c99 compiler=cc
  # shellcheck disable=SC2046
  "$compiler" "$standard" "$folder/pkg-config/page.$language" $(flags --cflags --libs) -o "$folder/pkg-config/page_$language"
  (cd "$folder" && run "$folder/pkg-config/page_$language" && [ $bad = 0 ]) || bad=1
done
[ "$(flags --modversion)" = "$("$prefix/bin/paes" --version | grep -oE '[0-9]+\.[0-9]+\.[0-9]+')" ] || complain "pkg-config and the program name different versions"
exit $bad
