# SPDX-License-Identifier: Apache-2.0
# Compiles for Armv8 on another processor and runs the result through qemu's user emulation. What
# programs link lies in build/arm64-root (tools/arm64_libraries), or, where that folder is missing,
# where Debian's packages for arm64 install it. Debian packages: g++-aarch64-linux-gnu, pkg-config,
# qemu-user-static (from forky on qemu-user).
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
# By name, so that the linker takes the compiler's own, static where that is asked for.
set(OpenMP_gomp_LIBRARY gomp CACHE STRING "")
set(OpenMP_pthread_LIBRARY pthread CACHE STRING "")

find_program(PAES_QEMU_AARCH64 NAMES qemu-aarch64-static qemu-aarch64)
set(CMAKE_CROSSCOMPILING_EMULATOR ${PAES_QEMU_AARCH64})
set(root ${CMAKE_CURRENT_LIST_DIR}/../build/arm64-root)
cmake_path(NORMAL_PATH root)
if(EXISTS ${root}/.done)
  set(CMAKE_FIND_ROOT_PATH ${root})
  set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
  set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
  set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
  # Headers that differ between processors: compilers look for them beside the others only in a root
  # of their own.
  foreach(language C CXX)
    set(CMAKE_${language}_FLAGS_INIT "-isystem ${root}/usr/include/aarch64-linux-gnu")
  endforeach()
  set(ENV{PKG_CONFIG_LIBDIR} ${root}/usr/lib/aarch64-linux-gnu/pkgconfig:${root}/usr/share/pkgconfig)
  set(ENV{PKG_CONFIG_SYSROOT_DIR} ${root})
else()
  set(ENV{PKG_CONFIG_LIBDIR} /usr/lib/aarch64-linux-gnu/pkgconfig:/usr/share/pkgconfig)
endif()
