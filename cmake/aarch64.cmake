# SPDX-License-Identifier: Apache-2.0
# Compiles for Armv8 on another processor and runs the result through qemu's user emulation.
# Everything is linked statically, so that no Arm libraries need be installed to run it. Debian
# packages: g++-aarch64-linux-gnu, qemu-user-static (from forky on qemu-user).
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
set(CMAKE_EXE_LINKER_FLAGS_INIT -static)
find_program(PAES_QEMU_AARCH64 NAMES qemu-aarch64-static qemu-aarch64 REQUIRED)
set(CMAKE_CROSSCOMPILING_EMULATOR ${PAES_QEMU_AARCH64})
# By name, so that the linker takes the static library.
set(OpenMP_gomp_LIBRARY gomp CACHE STRING "")
