# SPDX-License-Identifier: Apache-2.0
# The library for Conan 2.
from conan import ConanFile
from conan.errors import ConanInvalidConfiguration
from conan.tools.build import check_min_cppstd
from conan.tools.cmake import CMake, CMakeToolchain, cmake_layout
from conan.tools.files import copy, get

required_conan_version = ">=2.0"


class PaesConan(ConanFile):
    name = "paes"
    version = "@VERSION@"
    description = "Bulk encryption on all cores: authenticated seekable files, messages, keystream"
    license = "Apache-2.0"
    topics = ("encryption", "aes", "age", "gcm")
    package_type = "shared-library"
    settings = "os", "arch", "compiler", "build_type"
    generators = ("CMakeDeps",)

    def layout(self):
        cmake_layout(self, src_folder="src")

    def requirements(self):
        self.requires("openssl/[>=3.0 <4]")
        self.requires("nlohmann_json/[>=3.10 <4]", visible=False)  # headers, compiled in

    def validate(self):
        if self.settings.os != "Linux":
            raise ConanInvalidConfiguration("paes is for Linux")
        check_min_cppstd(self, 20)

    def source(self):
        get(self, **self.conan_data["sources"][self.version], strip_root=True)

    def generate(self):
        toolchain = CMakeToolchain(self)
        # The tree's own presets stay the only ones.
        toolchain.user_presets_path = False
        for option in ("PAES_TESTS", "PAES_APPS", "PAES_CUDA", "PAES_MPI"):
            toolchain.cache_variables[option] = "OFF"
        toolchain.generate()

    def build(self):
        cmake = CMake(self)
        cmake.configure()
        cmake.build(target="packaged")

    def package(self):
        copy(self, "LICENSE", src=self.source_folder, dst=f"{self.package_folder}/licenses")
        cmake = CMake(self)
        cmake.install(component="library")
        cmake.install(component="development")

    def package_info(self):
        self.cpp_info.libs = ["paes"]
        # The package has files of its own for CMake.
        self.cpp_info.set_property("cmake_find_mode", "none")
        self.cpp_info.builddirs = ["lib/cmake/paes"]
