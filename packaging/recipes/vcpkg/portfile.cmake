# SPDX-License-Identifier: Apache-2.0
# The library for vcpkg, as a shared one: paes's CMake package names that and the static one.
vcpkg_check_linkage(ONLY_DYNAMIC_LIBRARY)

vcpkg_download_distfile(ARCHIVE
    URLS "@URL@/paes-${VERSION}-source.tar.gz"
    FILENAME "paes-${VERSION}-source.tar.gz"
    SHA512 @SHA512@
)
vcpkg_extract_source_archive(SOURCE_PATH ARCHIVE "${ARCHIVE}")

vcpkg_cmake_configure(
    SOURCE_PATH "${SOURCE_PATH}"
    OPTIONS
        -DPAES_TESTS=OFF
        -DPAES_APPS=OFF
        -DPAES_CUDA=OFF
        -DPAES_MPI=OFF
)
vcpkg_cmake_install()
vcpkg_cmake_config_fixup(PACKAGE_NAME paes CONFIG_PATH lib/cmake/paes)
vcpkg_fixup_pkgconfig()

file(REMOVE_RECURSE "${CURRENT_PACKAGES_DIR}/debug/include")
vcpkg_install_copyright(FILE_LIST "${SOURCE_PATH}/LICENSE")
