#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Checks that can only say yes prove nothing: hands each of ours something bad and expects a no.
# Usage: self_test.sh
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"

must_fail() {
  local why=$1
  shift
  if "$@" >/dev/null 2>&1; then
    echo "self-test: $why passed"
    exit 1
  fi
}
must_pass() {
  "$@" || {
    echo "self-test: a good example failed"
    exit 1
  }
}

# Symbol rule: an object that obeys it, one that contains an inline function of a shared header (a
# weak symbol), one with a second external symbol, a missing one.
echo 'PAES_KERNEL(probe, any, "")' >kernels.def
compile() { printf 'namespace paes { %s extern const int kernel_probe; const int kernel_probe = 1; }\n' "$1" | g++ -O0 -x c++ -c -o probe.cpp.o -; }
compile 'namespace { int twice(int x) { return 2 * x; } } static int (*volatile use)(int) = twice;'
must_pass "$here/kernel_symbols.sh" . kernels.def
compile 'inline int twice(int x) { return 2 * x; } static int (*volatile use)(int) = twice;'
must_fail "a kernel object with a weak symbol" "$here/kernel_symbols.sh" . kernels.def
compile 'int twice(int x) { return 2 * x; }'
must_fail "a kernel object with two external symbols" "$here/kernel_symbols.sh" . kernels.def
rm probe.cpp.o
must_fail "a missing kernel object" "$here/kernel_symbols.sh" . kernels.def

# Include rule: an arrow that is followed, one that is reversed, a header outside its folder.
mkdir -p src/core src/cipher apps
echo '#include "core/bytes.hpp"' >src/cipher/good.cpp
must_pass "$here/include_rule.py" .
echo '#include "cipher/block.hpp"' >src/core/bad.hpp
must_fail "a reversed include" "$here/include_rule.py" .
echo '#include <immintrin.h>' >src/core/bad.hpp
must_fail "immintrin.h outside src/kernel" "$here/include_rule.py" .
echo '  #  include <omp.h>' >src/core/bad.hpp
must_fail "omp.h outside src/exec/schedule" "$here/include_rule.py" .
rm src/core/bad.hpp
mkdir -p src/mpi src/stream
echo '#include <mpi.h>' >src/mpi/good.hpp
echo '#include "stream/part.hpp"' >src/mpi/good.cpp
must_pass "$here/include_rule.py" .
echo '#include <mpi.h>' >src/stream/bad.hpp
must_fail "mpi.h outside src/mpi" "$here/include_rule.py" .
echo '#include "mpi/placement.hpp"' >src/stream/bad.hpp
must_fail "an arrow from stream to mpi" "$here/include_rule.py" .
rm src/stream/bad.hpp
mkdir -p apps/{cli,paes} bench/paes-mpi-bench
echo '#include "cli/report.hpp"' >bench/paes-mpi-bench/good.cpp
must_pass "$here/include_rule.py" .
echo '#include "paes-mpi-bench/runs.hpp"' >apps/paes/bad.cpp
must_fail "an arrow from apps to bench" "$here/include_rule.py" .
rm apps/paes/bad.cpp
echo '#include "cli/b.hpp"' >apps/cli/a.hpp
echo '#include "cli/c.hpp"' >apps/cli/b.hpp
touch apps/cli/c.hpp
must_pass "$here/include_rule.py" .
echo '#include "cli/a.hpp"' >apps/cli/c.cpp
must_fail "a circle of files" "$here/include_rule.py" .
rm apps/cli/[abc].*
mkdir bench/rows
echo '#include <immintrin.h>' >bench/rows/good.cpp
echo '#include "rows/rows.hpp"' >bench/paes-mpi-bench/good.cpp
must_pass "$here/include_rule.py" .
cp bench/rows/good.cpp bench/paes-mpi-bench/bad.cpp
must_fail "immintrin.h in a program" "$here/include_rule.py" .
rm bench/paes-mpi-bench/bad.cpp

mkdir -p bench/gpu src/cuda tools/gpu
touch bench/gpu/good.cu src/cuda/good.cu
must_pass "$here/include_rule.py" .
touch tools/gpu/bad.cu
must_fail "device code outside src/cuda and bench/gpu" "$here/include_rule.py" .

# The arrows of ARCHITECTURE.md: the tree's own; then one too many, one too few, one that nothing
# needs.
root=$here/../..
rm -r src apps bench tools
ln -s "$root"/{src,apps,bench,include,tests,python,packaging,tools,docs} .
cp "$root/ARCHITECTURE.md" .
must_pass "$here/include_rule.py" .
sed -i 's/^bench -> apps -> mpi/core -> exec   &/' ARCHITECTURE.md
must_fail "an arrow that is only drawn" "$here/include_rule.py" .
sed 's/ *apps -> cuda -> message//' "$root/ARCHITECTURE.md" >ARCHITECTURE.md
must_fail "an arrow that is not drawn" "$here/include_rule.py" .
sed '/^src\/exec\//d' "$root/ARCHITECTURE.md" >ARCHITECTURE.md
must_fail "a folder that is not drawn" "$here/include_rule.py" .
sed 's/^src\/exec\//src\/execute\//' "$root/ARCHITECTURE.md" >ARCHITECTURE.md
must_fail "a folder that is only drawn" "$here/include_rule.py" .
mkdir rule
sed 's/"crypto": \["core"\]/"crypto": ["core", "exec"]/' "$here/include_rule.py" >rule/include_rule.py
sed 's/^bench -> apps -> mpi/crypto -> exec   &/' "$root/ARCHITECTURE.md" >ARCHITECTURE.md
must_fail "an arrow that no include needs" python3 rule/include_rule.py .

# File names: those of the tree; a name in two folders; an exception that is no longer needed.
git init -q names
(cd "$root" && git ls-files -co --exclude-standard -z src include apps bench tests python tools examples | tar --null -T - -cf -) | tar -xf - -C names
must_pass "$here/file_names.py" names
touch names/src/core/outcome.cpp
must_fail "a name that two folders have" "$here/file_names.py" names
rm names/src/core/outcome.cpp names/tests/program/vault.py
must_fail "an exception that is none any more" "$here/file_names.py" names

# Assurance: what the tree says; a page that was edited, a dependency that has no row, a promise whose test has gone.
mkdir assured
(cd "$root" && git ls-files -co --exclude-standard -z | tar --null --ignore-failed-read -T - -cf - 2>/dev/null) | tar -xf - -C assured
assured() { "$root/tools/assurance/assurance.py" --root assured --check; }
must_pass assured
sed -i 's/not run yet/holds/' assured/docs/assurance.md
must_fail "a page that says more than was recorded" assured
cp "$root/docs/assurance.md" assured/docs
sed -i 's/libfmt-dev/& libother-dev/' assured/dev
must_fail "a package that nobody has described" assured
cp "$root/dev" assured
sed -i 's/^def test_flipped_bits/def test_other/' assured/tests/program/test_tamper.py
must_fail "a promise whose test has gone" assured
rm -r assured

# Width of documents: a wide table, a long address and what tools write are allowed; a long line is
# not.
mkdir documents
wide=$(printf 'wide %.0s' {1..30})
printf '%s\n' "| $wide |" "[paes](https://${wide// /})" "<!-- numbers: -->" "$wide" "<!-- end of numbers -->" >documents/good.md
must_pass "$here/markdown_width.py" documents
echo "$wide" >>documents/good.md
must_fail "a long line of a document" "$here/markdown_width.py" documents

# Links of documents: to a file, a heading, one of two equal headings, outside code, over two lines;
# then missing targets.
mkdir -p links/docs links/src
cd links
cat >good.md <<'END'
# One `more` thing, [too](docs/there.md)!
## Same
## Same
[here](#one-more-thing-too) [two](#same-1) [there, and on
two lines](docs/there.md#a-b) ![picture](docs/picture.svg)
`[code](gone.md)` [net](https://a/gone.md)
```
[block](gone.md)
```
END
printf '# A, b\n[up](../good.md)\n' >docs/there.md
touch docs/picture.svg
echo '// See docs/there.md.' >src/good.hpp
must_pass "$here/markdown_links.py" .
for link in '[to](gone.md)' '![of](docs/gone.svg)' '[to](docs/there.md#gone)' '[to](#same-2)' '[to](../src)' '[to](/docs/there.md)' \
  '[on two' 'lines](gone.md)' '[to]: gone.md'; do
  echo "$link" >>bad.md
  case $link in *two) continue ;; esac
  must_fail "a link that leads nowhere, $link," "$here/markdown_links.py" .
  rm bad.md
done
must_pass "$here/markdown_links.py" .
echo '// See docs/gone.md.' >src/bad.hpp
must_fail "a comment that names a page that is not there" "$here/markdown_links.py" .
cd ..

# Glossary: a word with another meaning, two types of one name, a document that lacks a word.
mkdir -p glossary/src/{stream,message}
cd glossary
echo '// A buffer for the keystream engine.' >src/stream/good.hpp
must_pass "$here/glossary.py" .
echo '// The engine takes a buffer.' >src/stream/bad.hpp
must_fail "a device that is called an engine" "$here/glossary.py" .
echo '// Each thread has a batch.' >src/stream/bad.hpp
must_fail "a buffer that is called a batch" "$here/glossary.py" .
echo '// Its grain is 16 bytes.' >src/stream/bad.hpp
must_fail "a piece that is called a grain" "$here/glossary.py" .
echo 'struct Request {' >src/stream/bad.hpp
must_fail "what a user asked of a command, called a request" "$here/glossary.py" .
echo 'struct Piece {};' | tee src/stream/bad.hpp >src/message/piece.hpp
must_fail "a second type of one name" "$here/glossary.py" .
rm src/stream/bad.hpp
cp "$root/ARCHITECTURE.md" .
must_pass "$here/glossary.py" .
sed -i '/^| stripe |/d' ARCHITECTURE.md
must_fail "a glossary that lacks a word" "$here/glossary.py" .
cd ..

# Generated files, from a program with one option: good ones; then an edited completion, an option
# without its entry, an entry without its option, a choice that the page does not name.
mkdir -p generated/{programs,completions,docs/man,docs/schema}
cd generated
cat >programs/paes <<'END'
#!/bin/sh
echo '{"summary": "", "operands": [], "encrypted_suffixes": [], "commands": [], "options": [{"names": ["--way"],
  "value": "up|down", "choices": ["up", "down"], "repeats": false, "hidden": false, "help": "which way"}]}'
END
chmod +x programs/paes
generated() { python3 "$root/tools/generate/generate.py" --root . "$@" programs; }
page() { printf '.SH OPTIONS\n.TP\n.B %s\n%s\n' "$1" "$2" >docs/man/paes.1; }
page '\-\-way' 'Is up or down.'
must_fail "a completion that is not there" generated --check
must_pass generated >/dev/null
must_pass generated --check
sed -i 's/--way/--path/' completions/paes.bash
must_fail "a stale completion" generated --check
must_pass generated >/dev/null
page '\-\-way' 'Is up.'
must_fail "a choice that the page does not name" generated --check
page '\-\-path' 'Is up or down.'
must_fail "an entry without its option" generated --check
page '' 'Is up or down.'
must_fail "an option without its entry" generated --check
cd ..

# Warnings: of a file without any, of one that had a warning when it was compiled long ago, of one
# about which nothing is known, of a build of nothing.
mkdir warnings
cd warnings
cat >build.ninja <<END
rule CXX_COMPILER
  command = $root/tools/keep_warnings g++ -Wall -c \$in -o \$out
build some.o: CXX_COMPILER some.cpp
END
build() {
  ninja --quiet >/dev/null
  "$here/warnings" .
}
echo 'int some() { return 1; }' >some.cpp
must_pass build
rm some.o.warnings
must_fail "an object that nobody knows to be without warnings" build
echo 'int some() { int unused; return 1; }' >some.cpp
must_fail "a warning" build
must_fail "a warning of an earlier build" build
echo 'int some() { return 2; }' >some.cpp
must_pass build
rm some.o
must_fail "a build of nothing" "$here/warnings" .
echo 'int some() { return }' >some.cpp
must_fail "a compiler that failed" ninja --quiet
cd ..

# Public headers: two without a reason to warn, and a page; then each with one, and a page without a
# program.
mkdir -p headers/include/paes headers/docs
cd headers
public_headers() {
  cp "$root"/include/paes/{error.h,error.hpp,export.h} include/paes
  # shellcheck disable=SC2016  # these are no commands
  printf '```cpp\nint main() {%s}\n```\n' "${1:-}" >docs/library.md
  [ $# -lt 3 ] || echo "$3" >>"include/paes/$2"
  "$here/public_headers" .
}
must_pass public_headers
must_fail "a warning in a header of C" public_headers '' error.h 'static inline int some(void) { int unused; return 1; }'
must_fail "a warning in a header of C++" public_headers '' error.hpp 'inline int some() { int unused; return 1; }'
must_fail "a warning in a program of the page" public_headers ' int unused; '
page_without_program() {
  echo text >docs/library.md
  "$here/public_headers" .
}
must_fail "a page without a program" page_without_program
cd ..

# C interface: the recorded one; then headers that lack, change or add something, a declaration that
# the check does not understand, a library without a function.
mkdir interface
cd interface
c_interface() {
  rm -rf include packaging
  cp -r "$root/include" .
  mkdir packaging
  cp "$root"/packaging/{exports.map,libpaes.abi} packaging
  # The arguments are a header and a sed command for it.
  [ $# -lt 2 ] || sed -i "$2" "include/paes/$1"
  [ $# -lt 2 ] || ! cmp -s "include/paes/$1" "$root/include/paes/$1" || return 0
  "$here/c_interface.py" . ${3:+"$3"}
}
must_pass c_interface
must_fail "a C function less" c_interface cipher.h '/^size_t paes_cipher_iv_bytes/d'
must_fail "a C function that takes another type" c_interface file.h 's/int paes_source_descriptor(int /&unsigned /'
must_fail "a C function more" c_interface error.h 's/^const char\* paes_version(void);/&\nint paes_more(void);/'
must_fail "a struct with another member" c_interface file.h 's/^  int overwrite;/  int more; &/'
must_fail "a callback that takes another type" c_interface file.h 's/paes_write)(void\* user, const/paes_write)(void* user,/'
must_fail "a declaration that is not understood" c_interface error.h 's/^const char\* paes_version/extern &/; s/paes_version(/paes_version (/'
must_fail "a library without a function" c_interface error.h 's/^$/ /' "$(command -v true)"
cd ..

# Form of files: a good tree; then bytes that are not UTF-8, no newline at the end, CR, blanks,
# tabs; a makefile.
mkdir form
cd form
cp "$root/.editorconfig" .
file_form() {
  # shellcheck disable=SC2059  # the format is what is tested
  printf "$2" >"$1"
  "$root/build/check/bin/python3" "$here/file_form.py" .
}
must_pass file_form good.cpp 'int main() {\n  return 0;\n}\n'
must_fail "a file that is not UTF-8" file_form bad.md '\351t\351\n'
must_fail "a file without a newline at its end" file_form bad.md 'text'
must_fail "a carriage return" file_form bad.md 'text\r\n'
must_fail "blanks at the end of a line" file_form bad.md 'text \n'
must_fail "a tab that indents" file_form bad.md '\ttext\n'
must_pass file_form bad.md '  text\n'
mkdir -p packaging/debian tests/unit/corpus
must_pass file_form packaging/debian/rules 'all:\n\tmake\n'
must_fail "a makefile that is indented by blanks" file_form packaging/debian/rules 'all:\n    make\n'
rm packaging/debian/rules
must_pass file_form tests/unit/corpus/seed '\351 \r'
cd ..

# Licence: of C++, of a program, of a completion; then a file without one, one with it too late, one
# with another.
mkdir licence
cd licence
licence='SPDX-License-Identifier: Apache-2.0'
printf '// %s\n// What it is.\n' "$licence" >good.cpp
printf '#!/bin/sh\n# %s\n' "$licence" >good
printf '#compdef paes\n# %s\n' "$licence" >_paes
must_pass "$here/spdx.py" .
echo '// What it is.' >bad.hpp
must_fail "a source without its licence" "$here/spdx.py" .
printf '// What it is.\n// %s\n' "$licence" >bad.hpp
must_fail "a source that begins with something else" "$here/spdx.py" .
echo '// SPDX-License-Identifier: MIT' >bad.hpp
must_fail "a source under another licence" "$here/spdx.py" .
rm bad.hpp
printf '#!/bin/sh\n' >bad
must_fail "a program without its licence" "$here/spdx.py" .
cd ..

# Format: with a copy of the tree's rules, C++ and Python that the formatters would leave unchanged,
# and some that they would not.
must_pass "$here/format" --check "$root/examples/one_message.cpp" "$root/README.md"
cp "$root/.clang-format" .
echo 'int  main( ) {}' >badly_formatted.cpp
must_fail "a source that is not formatted" "$here/format" --check badly_formatted.cpp

# Python: an unused import, and an undefined name.
mkdir python_rules
cp "$root/ruff.toml" python_rules
echo 'print(undefined)' >python_rules/bad.py
must_fail "a name that is not defined" "$root/build/check/bin/ruff" check --quiet --no-cache python_rules

# Workflows: the tree's own; then an unknown key, an action pinned only by its tag, a job without a
# time limit, no limit on permissions, a form without its name, YAML with a tab.
workflows() {
  rm -rf workflows
  mkdir workflows
  cp -r "$root"/.github "$root"/.yamllint "$root/.pre-commit-config.yaml" workflows
  [ $# = 0 ] || sed -i "$2" "workflows/$1"
  [ $# = 0 ] || ! cmp -s "workflows/$1" "$root/$1" || return 0
  "$here/workflows" workflows
}
ci=.github/workflows/ci.yml
must_pass workflows
must_fail "a workflow with an unknown key" workflows "$ci" 's/^    steps:/    stages:/'
must_fail "an action that may change" workflows "$ci" 's/@[0-9a-f]\{40\} # v/@v/'
must_fail "a job without a limit of time" workflows "$ci" '/^    timeout-minutes:/d'
must_fail "a workflow with all permissions" workflows "$ci" '/^permissions:/,/^$/d'
must_fail "a form without a name" workflows .github/ISSUE_TEMPLATE/bug.yml '/^name:/d'
must_fail "hooks that are no YAML" workflows .pre-commit-config.yaml 's/^  - repo/\t- repo/'

# Reference of the headers: comments that name a header and a function that do not exist; the tree's
# own; then a function, a class and an example that the reference lacks.
mkdir reference
cd reference
cp -r "$root/include" "$root/examples" .
mkdir -p tools packaging
cp -r "$root/tools/docs" tools
cp "$root/packaging/libpaes.abi" packaging
reference() {
  cp "$root/include/paes/error.h" include/paes
  sed -i "$1" include/paes/error.h
  tools/docs/build . made
}
must_fail "a comment that names no header" reference 's,What can be done about the last failure,& (paes/none.hpp),'
must_fail "a comment that names no function" reference 's,What can be done about the last failure,& (paes_none),'
must_pass reference ''
complete() { tools/docs/complete.py . made; }
must_pass complete
sed -i "s/name='paes_version'/name='paes_more'/" packaging/libpaes.abi
must_fail "a function that the reference lacks" complete
cp "$root/packaging/libpaes.abi" packaging
echo 'struct More {' >>include/paes/error.hpp
must_fail "a class that the reference lacks" complete
cp "$root/include/paes/error.hpp" include/paes
touch examples/more.cpp
must_fail "an example that the reference lacks" complete
cd ..

# clang-tidy on two files at once: good ones; a finding in the second; one in a header; two files that
# define the same name, first good, then with a finding.
mkdir -p tidy/src
cd tidy
tidy() {
  printf '[%s,%s]\n' \
    "{\"directory\": \"$PWD\", \"command\": \"c++ -o first.o -c $PWD/src/first.cpp\", \"file\": \"$PWD/src/first.cpp\"}" \
    "{\"directory\": \"$PWD\", \"command\": \"c++ -o second.o -c $PWD/src/second.cpp\", \"file\": \"$PWD/src/second.cpp\"}" \
    >compile_commands.json
  printf "%s\n" "$PWD"/src/*.cpp | "$here/tidy.py" "$root/build/check/bin/clang-tidy" .
}
echo 'int* first() { return nullptr; }' >src/first.cpp
echo 'int* second() { return nullptr; }' >src/second.cpp
must_pass tidy
[ "$(grep -c include tidy/*/together.cpp)" = 2 ] || { echo "self-test: two files were not looked at together" && exit 1; }
echo 'int* second() { return 0; }' >src/second.cpp
must_fail "a finding in the second of two files" tidy
echo 'inline int* third() { return 0; }' >src/third.hpp
echo '#include "third.hpp"' >src/second.cpp
must_fail "a finding in a header" tidy
echo 'int* first() { return nullptr; }' >src/second.cpp
must_pass tidy
echo 'int* first() { return 0; }' >src/second.cpp
must_fail "a finding in a file that defines its neighbour's name" tidy
cd ..

# Recipes: good ones, then one that cannot be parsed, one with an option that CMake lacks, one without a
# library, one that knows a sum.
mkdir recipes
(cd "$root" && cp --parents -r packaging/recipes CMakeLists.txt apps/CMakeLists.txt cmake src/mpi/CMakeLists.txt "$folder/recipes")
cd recipes
recipes() { "$root/build/check/bin/python3" "$here/package_recipes.py" .; }
with() {
  local file=packaging/recipes/$1
  cp "$file" kept
  sed -i "$2" "$file"
  must_fail "$3" recipes
  mv kept "$file"
}
must_pass recipes
with conda-forge/recipe.yaml 's/^context:/context: [/' "a recipe that cannot be parsed"
with vcpkg/portfile.cmake 's/-DPAES_APPS=OFF/-DPAES_PROGRAMS=OFF/' "a recipe with an option that CMake lacks"
with nix/default.nix '/^    fmt$/d' "a recipe without a library that CMake looks for"
with conan/conandata.yml "s/@SHA256@/$(printf '%064d' 0)/" "a recipe that knows a sum"
must_pass recipes
cd ..
