# SPDX-License-Identifier: Apache-2.0
# The recipes for other package managers (packaging/recipes), as a release fills them in, before the tools
# that read them: rattler-build, Ruby, Nix, CMake and Conan. Those from PyPI are in build/recipes, where
# `./dev check --deep` puts them.
import hashlib
import json
import os
import re
import shutil
import subprocess

import pytest
from recipes import ROOT
from test_release import VERSION, clone, release

TOOLS = ROOT / "build/recipes/bin"
LIMIT_S = 7200


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Of a release, whose recipes name it as the place to fetch the sources from."""
    tree = clone(tmp_path_factory.mktemp("tree") / "paes")
    made = tmp_path_factory.mktemp("made") / "release"
    release(tree, "--only", "source,recipes", "--output", made, "--url", f"file://{made}")
    return made


@pytest.fixture(scope="module")
def recipes(folder, tmp_path_factory):
    unpacked = tmp_path_factory.mktemp("recipes")
    subprocess.run(["tar", "-xf", folder / f"paes-{VERSION}-recipes.tar.gz", "-C", unpacked], check=True)
    return unpacked / f"paes-{VERSION}-recipes"


def tool(name):
    if not (TOOLS / name).exists():
        pytest.skip(f"{name} is not in build/recipes: ./dev check --deep")
    return str(TOOLS / name)


def installed(name, package):
    if shutil.which(name) is None:
        pytest.skip(f"{name} is missing (Debian package {package})")
    return name


def run(*words, errors=subprocess.PIPE, **more):
    done = subprocess.run(
        words, stdout=subprocess.PIPE, stderr=errors, text=True, timeout=LIMIT_S, check=False, stdin=subprocess.DEVNULL, **more,
    )
    assert done.returncode == 0, f"{done.stdout[-3000:]}\n{(done.stderr or '')[-3000:]}"
    return done.stdout


# Prints a recipe as rattler-build understands it, with the compilers of conda-forge.
RENDER = """
import json, sys
from rattler_build import Stage0Recipe, VariantConfig
variants = Stage0Recipe.from_file(sys.argv[1]).render(VariantConfig({"cxx_compiler": ["gxx"], "c_stdlib": ["sysroot"]}))
print(json.dumps([variant.recipe.to_dict() for variant in variants]))
"""


def test_conda_forge(folder, recipes):
    rendered = json.loads(run(tool("python3"), "-c", RENDER, recipes / "conda-forge/recipe.yaml"))
    assert len(rendered) == 1
    packed = folder / f"paes-{VERSION}-source.tar.gz"
    assert rendered[0]["package"] == {"name": "paes", "version": VERSION}
    assert rendered[0]["source"] == [{"url": f"file://{packed}", "sha256": hashlib.sha256(packed.read_bytes()).hexdigest()}]
    assert {"openssl", "libfuse3"} < set(rendered[0]["requirements"]["host"])


def test_homebrew(recipes):
    run(installed("ruby", "ruby"), "-wc", recipes / "homebrew/paes.rb")


def test_nix(recipes):
    run(installed("nix-instantiate", "nix-bin"), "--parse", recipes / "nix/default.nix")


# The functions of vcpkg, which say how they were called.
VCPKG = r"""
function(say name)
  list(JOIN ARGN " " words)
  message("${name} ${words}")
endfunction()
foreach(name check_linkage download_distfile extract_source_archive cmake_configure cmake_install cmake_config_fixup
        fixup_pkgconfig install_copyright)
  cmake_language(EVAL CODE "function(vcpkg_${name})\n say(${name} \${ARGN})\nendfunction()")
endforeach()
set(VERSION "@VERSION@")
set(CURRENT_PACKAGES_DIR "${CMAKE_CURRENT_BINARY_DIR}/none")
include("${PORT}/portfile.cmake")
"""


def test_vcpkg(folder, recipes, tmp_path):
    manifest = json.loads((recipes / "vcpkg/vcpkg.json").read_text())
    assert manifest["name"] == "paes" and manifest["version"] == VERSION and manifest["license"] == "Apache-2.0"
    names = [item if isinstance(item, str) else item["name"] for item in manifest["dependencies"]]
    assert all(re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", name) for name in names)
    assert names == sorted(names), "vcpkg wants them in this order"
    (tmp_path / "port.cmake").write_text(VCPKG.replace("@VERSION@", VERSION))
    said = subprocess.run(
        ["cmake", f"-DPORT={recipes / 'vcpkg'}", "-P", tmp_path / "port.cmake"], capture_output=True, text=True, check=True,
        cwd=tmp_path,
    ).stderr.splitlines()
    packed = folder / f"paes-{VERSION}-source.tar.gz"
    assert said[0] == "check_linkage ONLY_DYNAMIC_LIBRARY"
    assert said[1].startswith("download_distfile ARCHIVE ") and f"URLS file://{packed} " in said[1]
    assert said[1].endswith(f"SHA512 {hashlib.sha512(packed.read_bytes()).hexdigest()}")
    assert any(line.startswith("cmake_configure") and "-DPAES_APPS=OFF" in line for line in said)
    assert any(line.startswith("cmake_config_fixup PACKAGE_NAME paes CONFIG_PATH lib/cmake/paes") for line in said)


# libcrypto of this machine, as a package of Conan's.
OPENSSL = """
from conan import ConanFile


class SystemOpenssl(ConanFile):
    name = "openssl"
    version = "{version}"
    settings = "os", "arch"

    def package_info(self):
        self.cpp_info.set_property("cmake_find_mode", "both")
        self.cpp_info.set_property("cmake_file_name", "OpenSSL")
        self.cpp_info.components["crypto"].set_property("cmake_target_name", "OpenSSL::Crypto")
        self.cpp_info.components["crypto"].system_libs = ["crypto"]
        self.cpp_info.components["crypto"].includedirs = []
"""
PROFILE = """
[settings]
os=Linux
arch={arch}
build_type=Release
compiler=gcc
compiler.version={gcc}
compiler.libcxx=libstdc++11
compiler.cppstd=20
"""


def test_conan(recipes, tmp_path):
    """Builds the package, and its test package, which runs."""
    if "PAES_EXHAUSTIVE" not in os.environ:
        pytest.skip("builds the library, some minutes: ./dev check --deep")
    conan = tool("conan")
    environment = os.environ | {"CONAN_HOME": str(tmp_path / "home")}
    version = run("pkg-config", "--modversion", "libcrypto").strip()
    gcc = run("g++", "-dumpversion").split(".")[0].strip()
    arch = {"aarch64": "armv8"}.get(os.uname().machine, os.uname().machine)
    (tmp_path / "profile").write_text(PROFILE.format(arch=arch, gcc=gcc))
    (tmp_path / "openssl").mkdir()
    (tmp_path / "openssl/conanfile.py").write_text(OPENSSL.format(version=version))
    create = [conan, "create", "--profile:all", tmp_path / "profile", "--no-remote"]
    run(*create, tmp_path / "openssl", env=environment)
    done = run(*create, recipes / "conan", env=environment, errors=subprocess.STDOUT)
    # What the test package's program in C prints.
    assert re.search(rf"^{re.escape(VERSION)}$", done, re.MULTILINE), done[-2000:]
