#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The symbol rule of kernel objects. Each is compiled for an instruction set that not every machine
# has; a function of it that the linker could pick for others would crash them (SIGILL). So each
# object defines exactly one external symbol, its row paes::kernel_NAME, and no weak one.
# Usage: kernel_symbols.sh FOLDER_OF_OBJECTS COMPILED_KERNELS_DEF; the variable NM names another nm.
set -euo pipefail
objects=$1
bad=0
checked=0
while read -r name; do
  object=$objects/$name.cpp.o
  if [ ! -e "$object" ]; then
    echo "$name: no object $object"
    bad=1
    continue
  fi
  checked=$((checked + 1))
  # nm prints "VALUE TYPE NAME". Linkers merge or drop W, V, w, v and u. DW.ref.* is a pointer that
  # the compiler adds for exceptions: data that is the same in every object.
  symbols=$("${NM:-nm}" --demangle --defined-only --extern-only "$object" | cut -d' ' -f2- | grep -v ' DW\.ref\.' || true)
  external=$(grep -v '^[WVwvu] ' <<<"$symbols" | cut -d' ' -f2- || true)
  weak=$(grep '^[WVwvu] ' <<<"$symbols" || true)
  [ "$external" = "paes::kernel_$name" ] || {
    echo "$name: external symbols are not just paes::kernel_$name:" "$external"
    bad=1
  }
  [ -z "$weak" ] || {
    echo "$name: weak symbols:" "$weak"
    bad=1
  }
done < <(sed -n "s/^PAES_KERNEL(\([a-z0-9_]*\),.*/\1/p" "$2")
[ "$checked" -gt 0 ] || {
  echo "no kernel object was found: nothing was checked"
  bad=1
}
exit $bad
