# SPDX-License-Identifier: Apache-2.0
# The packages for Armv8, as `./dev package --architecture arm64` cross-builds them, in a bare root of
# that processor whose programs qemu runs (tools/check/arm64_root): installed, used beside the programs
# of this machine, and removed. In the same root the kernels' tests run.
import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import program
import pytest
from recipes import ROOT

OUTPUT = ROOT / "build/package-test-arm64"
ARM64_ROOT = str(ROOT / "tools/check/arm64_root")
TESTS = ROOT / "build/aarch64/bin"
VERSION = re.search(r"^project\(paes VERSION (\S+)", (ROOT / "CMakeLists.txt").read_text(), re.MULTILINE)[1]
MADE = {"paes", "libpaes0", "libpaes-dev", "paes-mount", "paes-bench"}
INSTALLED = ("paes", "libpaes0", "paes-mount")
LIMIT_S = 7200


def why_not():
    if "PAES_EXHAUSTIVE" not in os.environ:
        return "cross-builds all packages, a quarter of an hour: ./dev check --deep"
    done = subprocess.run([ARM64_ROOT, "--why-not"], capture_output=True, text=True, check=True)
    return done.stdout.strip() and f"no root for Armv8: {done.stdout.strip()}"


REASON = why_not()
pytestmark = pytest.mark.skipif(bool(REASON), reason=REASON or "-")


@pytest.fixture(scope="module")
def results():
    """What is made: name of a package, or kind -> file."""
    words = [ROOT / "tools/package", "--architecture", "arm64", "--output", OUTPUT]
    done = subprocess.run(words, capture_output=True, text=True, timeout=LIMIT_S, check=False)
    assert done.returncode == 0, done.stderr[-4000:]
    paths = [Path(line) for line in done.stdout.splitlines()]
    endings = {".spdx.json": "sbom", ".cdx.json": "cyclonedx"}
    names = {path: path.name.split("_")[0] if path.suffix == ".deb" else "static" for path in paths}
    return {next((kind for end, kind in endings.items() if path.name.endswith(end)), name): path for path, name in names.items()}


class Machine:
    def __init__(self):
        self.root = ROOT / "build/bare-root/arm64-test"
        subprocess.run([ARM64_ROOT, "--make", self.root], check=True, timeout=LIMIT_S)
        self.folder = self.root / "root/folder"
        self.folder.mkdir()

    def shell(self, text, code=0):
        done = subprocess.run(
            [ARM64_ROOT, self.root, "bash", "-euo", "pipefail", "-c", f"cd folder\n{text}"],
            stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=LIMIT_S, check=False,
        )
        assert done.returncode == code, f"{text}\n{done.stdout[-3000:]}\n{done.stderr[-3000:]}"
        return done.stdout


@pytest.fixture(scope="module")
def machine():
    made = Machine()
    yield made
    subprocess.run(["rm", "-rf", "--one-file-system", made.root], check=True)


@pytest.fixture(scope="module")
def installed(machine, results):
    for name in INSTALLED:
        shutil.copy(results[name], machine.folder)
    machine.shell("apt-get install -y ./*.deb >/dev/null && rm ./*.deb")
    return machine


def test_all_packages_are_there(results):
    assert set(results) == MADE | {"static", "sbom", "cyclonedx"}
    assert results["static"].name == f"paes-{VERSION}-linux-aarch64"
    assert all(results[name].name.endswith("_arm64.deb") for name in MADE)
    names = {package.get("packageFileName") for package in json.loads(results["sbom"].read_text())["packages"]}
    assert {path.name for kind, path in results.items() if kind not in ("sbom", "cyclonedx")} <= names


def test_static_program_runs_where_nothing_is_installed(machine, results):
    shutil.copy(results["static"], machine.folder / "static")
    shown = machine.shell("""
        [ "$(uname -m)" = aarch64 ]
        ! ls /usr/lib/*/libgomp.so.1 /usr/lib/*/libpaes.so.0 2>/dev/null
        echo text >plain
        ./static encrypt --new-identity key.txt plain
        ./static decrypt -i key.txt -o back plain.paes
        cmp plain back
        ./static devices
        rm ./*
    """)
    assert re.search(r"^\* armv8 +yes", shown, re.MULTILINE), shown


def test_installed_program(installed):
    shown = installed.shell("""
        [ "$(paes --version)" = "paes $(dpkg-query -W -f '${Version}' paes)" ]
        paes-mount --version
        ! ldd /usr/bin/paes | grep 'not found'
        paes devices
    """)
    assert re.search(r"^\* armv8 +yes", shown, re.MULTILINE), shown


def test_each_opens_what_the_other_wrote(installed):
    text = os.urandom(300_001)
    (installed.folder / "text").write_bytes(text)
    key = installed.folder / "key.txt"
    program.succeed("keygen", "-o", key)
    program.succeed("encrypt", "-i", key, "-o", installed.folder / "here.paes", installed.folder / "text")
    installed.shell("""
        paes verify -i key.txt here.paes
        paes decrypt -i key.txt -o back here.paes
        cmp back text
        paes encrypt -i key.txt -o there.paes text
        head -c 200000 here.paes >cut.paes
    """)
    program.succeed("decrypt", "-i", key, "-o", installed.folder / "there", installed.folder / "there.paes")
    assert (installed.folder / "there").read_bytes() == text
    installed.shell("paes verify -i key.txt cut.paes", code=3)


def test_a_mount(installed):
    """Where /dev/fuse can be opened in the root's namespace of users. The other processor's program
    reads the vault afterwards."""
    shown = installed.shell("""
        rm -rf vault shown
        mkdir vault shown
        echo "open sesame" >pass
        paes vault init --work-factor 10 --passphrase-file pass vault 2>/dev/null
        (: <>/dev/fuse) 2>/dev/null || { echo "no /dev/fuse"; exit; }
        paes mount -w --passphrase-file pass vault shown
        head -c 100000 /dev/urandom >shown/file
        sha256sum <shown/file
        mv shown/file shown/renamed
        paes umount shown
        paes mount --passphrase-file pass vault shown
        sha256sum <shown/renamed
        paes umount shown
    """)
    if "no /dev/fuse" in shown:
        pytest.skip("/dev/fuse cannot be opened in the root")
    before, after = shown.split("\n")[:2]
    assert before == after
    program.succeed("vault", "fsck", "--passphrase-file", installed.folder / "pass", installed.folder / "vault")


@pytest.mark.parametrize("name", ["kernel_tests", "message_tests"])
def test_kernels(machine, name):
    if not (TESTS / name).exists():
        pytest.skip(f"build/aarch64/bin/{name} is missing: ./dev build aarch64")
    shutil.copy(TESTS / name, machine.folder)
    shown = machine.shell(f"./{name} --gtest_filter='*armv8*' --gtest_brief=1")
    assert int(re.search(r"\[  PASSED  \] (\d+) tests?", shown)[1]) > 10, shown


def test_nothing_is_left_after_removal(installed):
    left = r"find / -xdev \( -path /root -o -path /proc -o -path /sys -o -path /dev \) -prune -o -name '*paes*' -print"
    assert "/usr/bin/paes\n" in installed.shell(left)
    installed.shell(f"apt-get purge -y {' '.join(INSTALLED)} >/dev/null")
    assert installed.shell(left) == ""
