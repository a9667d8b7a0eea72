#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What the libraries show: libpaes.so the functions of the C headers under PAES_0, and the C++ classes
# in their inline namespace; libpaes.a the same names. The first can be loaded, and each C header
# compiles alone.
# Usage: exports.sh ROOT LIBPAES.SO LIBPAES.A LOADED_IN_C
set -euo pipefail
root=$1 shared=$2 static=$3 loaded=$4
bad=0
complain() {
  echo "$*"
  bad=1
}

# Prints the names that are not paes's, one a line.
strangers() {
  grep -vE '^(paes_[a-z0-9_]+|(typeinfo for |typeinfo name for |vtable for )?paes::v0::.*)$' || true
}
# A name that must be found to be a stranger, so that this shows more than an empty list.
[ "$(printf 'paes_gcm_new\npaes::v0::Gcm::Gcm()\npaes::stream::copy()\nopen\n' | strangers | wc -l)" = 2 ] || complain "strangers() finds none"

names_of() { nm "$@" --defined-only --format=posix --demangle "$library" 2>/dev/null | sed -nE 's/ [A-Za-z]( [0-9a-f]*){0,2} *$//p'; }
library=$shared
names=$(names_of -D | sed 's/@.*//' | grep -vxE 'PAES_0|PAES_CXX_0')
others=$(strangers <<<"$names")
[ -z "$others" ] || complain "$shared shows what is not paes's: $others"
library=$static
others=$(names_of -g | strangers)
[ -z "$others" ] || complain "$static defines what is not paes's: $others"
# What the library needs of others must be there. Only what the compiler itself asks for may be missing.
weak=$(nm --undefined-only "$static" 2>/dev/null | sed -n 's/^ *w //p' | grep -vE '^(_ZTH|__cxa_)' || true)
[ -z "$weak" ] || complain "$static needs these only if they are there: $weak"

declared=$("$root/tools/check/c_interface.py" --names "$root" | sort)
library=$shared
defined=$(grep '^paes_' <<<"$names" | sort)
[ "$declared" = "$defined" ] || complain "the headers and $shared differ:" "$(diff <(echo "$declared") <(echo "$defined") || true)"
library=$static
defined=$(names_of -g | grep '^paes_' | sort)
[ "$declared" = "$defined" ] || complain "the headers and $static differ:" "$(diff <(echo "$declared") <(echo "$defined") || true)"

# Each header can be the only one, in C and in C++. `./dev check` looks for warnings.
for header in "$root"/include/paes/*.h; do
  cc -std=c99 -fsyntax-only -I "$root/include" -include "$header" -x c - <<<"int main(void) { return 0; }" || complain "$header: is no C"
  c++ -std=c++20 -fsyntax-only -I "$root/include" -include "$header" -x c++ - <<<"int main() {}" || complain "$header: is no C++"
done

# shellcheck disable=SC2086 # one word a name
"$loaded" "$shared" $declared || complain "$shared cannot be loaded and used"
! "$loaded" "$shared" paes_no_such_function >/dev/null || complain "loaded_in_c finds what is not there"
exit $bad
