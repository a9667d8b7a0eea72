# SPDX-License-Identifier: Apache-2.0
# The packages, the static program and the SBOM that tools/package makes, on machines that have nothing
# else: they are installed, run, upgraded from this tree built as a lower version, and removed, in a bare
# root (tools/check/bare_root) that has no checkout and no compiler until a recipe asks for one. In another
# such root everything is built and tested from source.
import hashlib
import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import openssl_trap
import program
import pytest
import recipes
from recipes import ROOT

OUTPUT = ROOT / "build/package-test"
BARE_ROOT = str(ROOT / "tools/check/bare_root")
LOWER = "0.0.1"
VERSION = re.search(r"^project\(paes VERSION (\S+)", (ROOT / "CMakeLists.txt").read_text(), re.MULTILINE)[1]
HAS_CUDA = bool(os.environ.get("PAES_NVCC"))
INSTALLED = {"paes", "libpaes0", "libpaes-dev", "paes-mpi", "paes-mount", "paes-bench"}
LIMIT_S = 7200

pytestmark = [
    pytest.mark.skipif("PAES_EXHAUSTIVE" not in os.environ,
                       reason="builds all packages twice, a quarter of an hour: ./dev check --deep"),
    pytest.mark.skipif(shutil.which("dpkg-buildpackage") is None, reason="dpkg-buildpackage is missing (Debian package dpkg-dev)"),
    pytest.mark.skipif(shutil.which("dh") is None, reason="dh is missing (Debian package debhelper)"),
]


def package(*options):
    words = [ROOT / "tools/package", "--output", OUTPUT, *options]
    # As the release build of the tests, whose objects ccache then has.
    environment = dict(os.environ, PAES_CUDA="ON" if HAS_CUDA else "OFF")
    done = subprocess.run(words, capture_output=True, text=True, env=environment, timeout=LIMIT_S, check=False)
    assert done.returncode == 0, done.stderr[-4000:]
    return [Path(line) for line in done.stdout.splitlines()]


@pytest.fixture(scope="module")
def lower(tmp_path_factory):
    """The .deb files of this tree as a lower version."""
    folder = tmp_path_factory.mktemp("lower")
    return [Path(shutil.copy(path, folder)) for path in package("--debs", "--version", LOWER)]


@pytest.fixture(scope="module")
def results(lower):
    """What ./dev package makes: name of a package, or kind -> file. After `lower`, in the same folder,
    so that little is compiled twice."""
    found = {}
    for path in package():
        kinds = {".deb": path.name.split("_")[0], ".spdx.json": "sbom", ".cdx.json": "cyclonedx"}
        kind = next((kinds[end] for end in kinds if path.name.endswith(end)), "static")
        found[kind] = path
    return found


@pytest.fixture(scope="module")
def unpacked(results, tmp_path_factory):
    folder = tmp_path_factory.mktemp("unpacked")
    for name in INSTALLED:
        subprocess.run(["dpkg-deb", "-x", results[name], folder], check=True)
    return folder


def test_all_packages_are_there(results):
    assert set(results) == INSTALLED | {"static", "sbom", "cyclonedx"}
    assert results["static"].name == f"paes-{VERSION}-linux-{os.uname().machine}"


def test_lintian_finds_nothing(results):
    """Warnings are looked at when they appear, with Debian 12's lintian; later ones know more of them."""
    found = (OUTPUT / "lintian.log").read_text()
    letters = "EW" if "VERSION_CODENAME=bookworm" in Path("/etc/os-release").read_text() else "E"
    assert not re.findall(rf"^[{letters}]: .*", found, re.MULTILINE)


def test_programs_are_hardened_and_need_no_cuda(unpacked):
    for name in ("usr/bin/paes", "usr/bin/paes-bench", "usr/bin/paes-mount", "usr/bin/paes-mpi.openmpi", "usr/bin/paes-mpi.mpich"):
        shown = subprocess.run(["readelf", "-dW", unpacked / name], capture_output=True, text=True, check=True).stdout
        assert "BIND_NOW" in shown and "PIE" in shown, name
        assert not re.search(r"NEEDED.*(cuda|nvidia)|R(UN)?PATH", shown), shown


def test_distributions_build_is_hardened(results, tmp_path):
    """What Debian's blhc finds in the commands of a build with dpkg's flags, as on a distribution's machine."""
    if shutil.which("blhc") is None:
        pytest.skip("blhc is missing (Debian package blhc)")
    tree = shutil.copytree(OUTPUT / "source", tmp_path / "tree", symlinks=True, ignore=lambda folder, _: ["build"] if folder == str(OUTPUT / "source") else [])
    environment = {name: value for name, value in os.environ.items() if not re.search("FLAGS|PAES_CUDA", name)}
    subprocess.run(["debian/rules", "override_dh_auto_configure"], cwd=tree, env=environment, check=True, capture_output=True)
    commands = subprocess.run(
        ["ninja", "-C", tree / "build/package", "-t", "commands", "packaged"], stdout=subprocess.PIPE, text=True, check=True
    ).stdout
    assert "nvcc" not in commands
    log = tmp_path / "log"
    # blhc reads what follows these lines.
    log.write_text(f"dpkg-buildpackage: info: source package paes\ndpkg-buildpackage: info: host architecture amd64\n{commands}")
    done = subprocess.run(["blhc", "--all", log], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "")
    log.write_text(log.read_text().replace("-fstack-protector-strong", ""))
    assert subprocess.run(["blhc", "--all", log], capture_output=True, check=False).returncode != 0


# ---- the static program


def test_static_program_is_one_small_file(results):
    assert results["static"].stat().st_size < 10_000_000
    shown = subprocess.run(["readelf", "-lW", results["static"]], capture_output=True, text=True, check=True).stdout
    assert "INTERP" not in shown


def test_static_program_has_threads_of_its_own_alone(results, tmp_path):
    plain = tmp_path / "plain"
    plain.write_bytes(bytes(1 << 20))
    arguments = ["encrypt", "-T", "2", "--new-identity", tmp_path / "key", plain]
    for name in ("static", "dynamic"):
        program.fail(*arguments, "--schedule", name, binary=results["static"], code=program.USAGE,
                     says=f"unknown name '{name}'\n.*built without OpenMP, and has: pool")
    program.succeed(*arguments, "--schedule", "pool", binary=results["static"])


@pytest.mark.parametrize("kind", ["static", "shared"])
def test_configuration_of_openssl(results, unpacked, kind, tmp_path):
    """Nothing of it reaches the static program. The other one's kernel `openssl` shows that the trap works."""
    trap = openssl_trap.Trap(tmp_path)
    (tmp_path / "plain").write_bytes(b"text")
    binary = results["static"] if kind == "static" else unpacked / "usr/bin/paes"
    for arguments in (["encrypt", "--new-identity", "key", "plain"], openssl_trap.USES_CONFIGURATION):
        is_caught = kind == "shared" and arguments is openssl_trap.USES_CONFIGURATION
        done = subprocess.run([binary, *arguments], cwd=tmp_path, env=trap.environment, capture_output=True, check=False)
        assert (done.returncode == 0) != is_caught, done.stderr
        assert trap.was_sprung() == is_caught


# Processors of qemu, and the kernels of AES and 3DES that are chosen there.
PROCESSORS = {"qemu64": ("bitslice", "bitslice"), "Westmere": ("bitslice", "bitslice"), "max": ("aesni", "bitslice_avx2")}


@pytest.mark.parametrize("processor", PROCESSORS)
def test_static_program_on_emulated_processors(results, processor, tmp_path):
    if os.uname().machine != "x86_64":
        pytest.skip("these processors are x86-64's")
    # Newer systems have the static one under the other name.
    emulator = shutil.which("qemu-x86_64-static") or shutil.which("qemu-x86_64")
    if emulator is None:
        pytest.skip("qemu-x86_64 is missing (Debian package qemu-user-static, from forky on qemu-user)")
    emulated = [emulator, "-cpu", processor]
    shown = program.succeed("devices", prefix=emulated, binary=results["static"]).out.decode()
    assert tuple(re.findall(r"^\* (\w+) +yes", shown, re.MULTILINE)) == PROCESSORS[processor]
    plain = tmp_path / "plain"
    plain.write_bytes(os.urandom(300_001))
    key, sealed, back = tmp_path / "key", tmp_path / "sealed", tmp_path / "back"
    program.succeed("encrypt", "--new-identity", key, "-o", sealed, plain, prefix=emulated, binary=results["static"])
    # By the program under test, on this processor.
    program.succeed("decrypt", "-i", key, "-o", back, sealed)
    assert back.read_bytes() == plain.read_bytes()
    program.succeed("decrypt", "-f", "-i", key, "-o", back, sealed, prefix=emulated, binary=results["static"])
    assert back.read_bytes() == plain.read_bytes()


# ---- an image of it


def test_container_image(results, tmp_path):
    """packaging/container makes it of the static program; it encrypts in a folder of the caller."""
    if shutil.which("buildah") is None:
        pytest.skip("buildah is missing (Debian package buildah)")
    storage = ["--root", tmp_path / "root", "--runroot", tmp_path / "runroot", "--storage-driver", "vfs"]

    def buildah(command, *words):
        done = subprocess.run(["buildah", *storage, command, *words], capture_output=True, text=True, check=False, cwd=folder)
        if command == "bud" and re.search("Operation not permitted|permission denied|user namespace", done.stderr, re.IGNORECASE):
            pytest.skip(f"buildah cannot build here: {done.stderr.strip().splitlines()[-1]}")
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    folder = tmp_path / "context"
    folder.mkdir()
    shutil.copy(results["static"], folder)
    # As a browser leaves it.
    (folder / results["static"].name).chmod(0o644)
    work = tmp_path / "work"
    work.mkdir()
    (work / "plain").write_text("text")
    isolation = ["--isolation", "chroot"]
    processor = f"PROCESSOR={os.uname().machine}"
    buildah("bud", *isolation, "--build-arg", processor, "--tag", "paes", "--file", ROOT / "packaging/container/Containerfile", ".")
    container = buildah("from", "--pull-never", "localhost/paes")
    inside = buildah("mount", container)
    assert [path.name for path in Path(inside).iterdir() if path.is_file()] == ["paes"]
    assert json.loads(buildah("inspect", "--format", "{{json .OCIv1.Config.Entrypoint}}", container)) == ["/paes"]
    for words in (["encrypt", "--new-identity", "key.txt", "plain"], ["decrypt", "-i", "key.txt", "-o", "again", "plain.paes"]):
        buildah("run", *isolation, "--volume", f"{work}:/work", container, "--", "/paes", *words)
    assert (work / "again").read_text() == "text"


# ---- the SBOM


def test_sbom_is_valid_spdx(results):
    from spdx_tools.spdx.parser.parse_anything import parse_file
    from spdx_tools.spdx.validation.document_validator import validate_full_spdx_document

    found = validate_full_spdx_document(parse_file(str(results["sbom"])))
    assert not found, "\n".join(message.validation_message for message in found)


def version_of(package):
    return subprocess.run(
        ["dpkg-query", "-W", "-f", "${Version}\n", package], capture_output=True, text=True, check=True
    ).stdout.splitlines()[0]


def test_sbom_names_every_result_and_what_is_in_it(results, unpacked):
    sbom = json.loads(results["sbom"].read_text())
    by_id = {package["SPDXID"]: package for package in sbom["packages"]}
    by_file = {package.get("packageFileName"): package for package in sbom["packages"]}
    for kind, path in results.items():
        if kind not in ("sbom", "cyclonedx"):
            sums = {c["algorithm"]: c["checksumValue"] for c in by_file[path.name]["checksums"]}
            assert sums["SHA256"] == hashlib.sha256(path.read_bytes()).hexdigest()
    of_paes = [file for file in sbom["files"] if file["fileName"] == "./usr/bin/paes"]
    sums = {c["algorithm"]: c["checksumValue"] for c in of_paes[0]["checksums"]}
    assert sums["SHA256"] == hashlib.sha256((unpacked / "usr/bin/paes").read_bytes()).hexdigest()

    def linked(file, relation):
        id = by_file[file.name]["SPDXID"]
        return {
            by_id[r["relatedSpdxElement"]]["name"]: by_id[r["relatedSpdxElement"]]["versionInfo"]
            for r in sbom["relationships"]
            if (r["spdxElementId"], r["relationshipType"]) == (id, relation)
        }

    within = linked(results["static"], "STATIC_LINK")
    assert {"libssl-dev", "libc6-dev", "libcli11-dev", "nlohmann-json3-dev", "libfmt-dev"} < set(within)
    assert within["libssl-dev"] == version_of("libssl-dev")
    assert any(name.startswith("libgcc-") for name in within)
    assert any(name.startswith("libstdc++-") for name in linked(results["paes"], "STATIC_LINK"))
    assert not any(name.startswith("libstdc++6") for name in linked(results["paes"], "DYNAMIC_LINK"))
    assert "libssl3" in "".join(linked(results["libpaes0"], "DYNAMIC_LINK"))
    assert "libfuse3-3" in linked(results["paes-mount"], "DYNAMIC_LINK")
    assert "fuse3" in linked(results["paes-mount"], "DEPENDS_ON")
    assert ("cudart_static" in linked(results["paes"], "STATIC_LINK")) == HAS_CUDA


# ---- on a bare machine


class Machine:
    def __init__(self, name):
        self.root = ROOT / "build/bare-root" / name
        self.folder = self.root / "root/folder"
        subprocess.run([BARE_ROOT, "--make", self.root], check=True, timeout=LIMIT_S)
        self.folder.mkdir()

    @property
    def prefix(self):
        # Open MPI wants to be told that root means it, and that there are more ranks than processors.
        return [
            BARE_ROOT, str(self.root), "env", "OMPI_ALLOW_RUN_AS_ROOT=1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1",
            "OMPI_MCA_rmaps_base_oversubscribe=1", "sh", "-c", 'cd folder && exec "$@"', "sh",
        ]

    def run(self, *words, code=0):
        done = subprocess.run(
            [*self.prefix, *words], stdin=subprocess.DEVNULL, capture_output=True, text=True,
            timeout=LIMIT_S, check=False,
        )
        assert done.returncode == code, f"{words}\n{done.stdout[-3000:]}\n{done.stderr[-3000:]}"
        return done.stdout

    def shell(self, text):
        return self.run("bash", "-euo", "pipefail", "-c", text)


@pytest.fixture(scope="module")
def bare():
    """bare(name): makes a machine. Those of tests that passed are removed, as they are large."""
    reason = subprocess.run([BARE_ROOT, "--why-not"], capture_output=True, text=True, check=True).stdout.strip()
    if reason:
        pytest.skip(f"no bare root: {reason}")
    made = []

    def make(name):
        made.append(Machine(name))
        return made[-1]

    yield make
    for machine in made:
        subprocess.run(["rm", "-rf", "--one-file-system", machine.root], check=True)


@pytest.fixture(scope="module")
def machine(bare):
    return bare("packages")


# What a checkout would have; a bare machine has what `./dev package` made elsewhere.
DEV = """#!/bin/sh
case $1 in
  run) shift; exec paes "$@" ;;
  package | test) ;;
  *) exit 9 ;;
esac
"""


def put(machine, results):
    target = machine.folder / "build/package"
    target.mkdir(parents=True, exist_ok=True)
    for path in results.values():
        shutil.copy(path, target)
    (machine.folder / "dev").write_text(DEV)
    (machine.folder / "dev").chmod(0o755)


def test_static_program_runs_where_nothing_is_installed(machine, results):
    shutil.copy(results["static"], machine.folder / "static")
    machine.shell("""
        ! ls /usr/lib/*/libgomp.so.1
        echo text >plain
        ./static encrypt --new-identity key.txt plain
        rm plain
        ./static decrypt -i key.txt plain.paes
        grep -qx text plain
        rm plain plain.paes key.txt static
    """)


def test_lower_version_is_installed(machine, lower):
    for path in lower:
        shutil.copy(path, machine.folder)
    machine.shell(f"""
        apt-get -qq update
        apt-get install -y ./*.deb
        rm ./*.deb
        [ "$(paes --version)" = "paes {LOWER}" ]
        echo text >kept
        paes encrypt --new-identity kept-key.txt kept
    """)


def test_upgrade(machine, results):
    put(machine, results)
    machine.shell(f"""
        apt-get install -y ./build/package/*.deb
        [ "$(paes --version)" = "paes {VERSION}" ]
        paes decrypt -f -i kept-key.txt -o kept kept.paes
        grep -qx text kept
        [ ! -e "$(echo /usr/lib/*/libpaes.so.{LOWER})" ]
    """)


def test_installed_programs(machine):
    machine.shell("""
        paes-bench --version
        paes-mount --version
        paes mount --help | grep -q MOUNTPOINT
        ! ldd /usr/bin/paes | grep fuse
        mpirun --version | head -n 1 || true
        for program in paes-mpi.openmpi paes-mpi.mpich paes-mpi-bench.openmpi paes-mpi-bench.mpich; do
          ! ldd /usr/bin/$program | grep 'not found'
        done
        for program in paes paes-bench paes-mount paes-mpi paes-mpi-bench paes-mpi.openmpi paes-mpi-bench.mpich; do
          zcat /usr/share/man/man1/$program.1.gz | grep -q '^.TH PAES'
        done
        for program in paes paes-mpi paes-mount; do
          bash -n /usr/share/bash-completion/completions/$program
          [ -s /usr/share/zsh/vendor-completions/_$program ]
          [ -s /usr/share/fish/vendor_completions.d/$program.fish ]
        done
    """)


def test_device_is_built_in_and_needs_no_driver(machine):
    shown = machine.run("paes", "devices")
    assert ("this build has no CUDA" in shown) != HAS_CUDA, shown


def paragraphs(path):
    """The paragraphs of a control file of Debian's: field -> value."""
    for text in path.read_text().strip().split("\n\n"):
        yield {line.split(":")[0]: line.split(":", 1)[1].strip() for line in text.splitlines() if line[:1].strip(" #")}


def test_tests_of_the_source_package(machine):
    """As autopkgtest runs them: with the packages and what each test depends on."""
    shutil.copytree(ROOT / "examples", machine.folder / "tree/examples")
    shutil.copytree(ROOT / "packaging/debian", machine.folder / "tree/debian")
    tests = list(paragraphs(ROOT / "packaging/debian/tests/control"))
    assert {test["Tests"] for test in tests} == {path.name for path in (ROOT / "packaging/debian/tests").iterdir()} - {"control"}
    for test in tests:
        others = [name for name in test["Depends"].split(", ") if name not in INSTALLED]
        if others:
            machine.run("apt-get", "install", "-y", *others)
        machine.shell(f"""
            cd tree
            code=0
            AUTOPKGTEST_TMP=$(mktemp -d) debian/tests/{test["Tests"]} || code=$?
            [ "$code" = 0 ] || {{ [ "$code" = 77 ] && [ {test["Tests"]} = mount ] && [ ! -e /dev/fuse ]; }}
        """)
    machine.shell("rm -rf tree")


@pytest.mark.parametrize("document", ["README.md", "docs/recipes.md"])
def test_every_recipe(machine, results, document):
    """With the packages alone, and what a recipe says that it needs."""
    machine.shell("rm -rf ./* && apt-get install -y openssl openmpi-bin")
    recipes.furnish(machine.folder)
    put(machine, results)
    shutil.copytree(ROOT / "examples", machine.folder / "examples")
    static = machine.root / "usr/local/bin/paes"
    for kind, block in recipes.blocks(document):
        recipes.run_block(kind, block, machine.folder, dict(os.environ), machine.prefix)
        # It comes before the package's in the path, and has been seen.
        if static.exists():
            machine.run("paes", "verify", "--help")
            static.unlink()
    assert machine.run("which", "paes") == "/usr/bin/paes\n"


def test_nothing_is_left_after_removal(machine, results):
    left = "find / -xdev ( -path /root -o -path /proc -o -path /sys -o -path /dev -o -path /usr/local ) -prune -o -name *paes* -print"
    assert "/usr/bin/paes\n" in machine.run(*left.split())
    machine.run("apt-get", "purge", "-y", *sorted(INSTALLED))
    assert machine.run(*left.split()) == ""


def test_from_source(bare):
    """The commands of README.md for a checkout, on a machine that has git and bash."""
    machine = bare("source")
    machine.shell("apt-get -qq update && apt-get install -y git")
    listed = subprocess.run(
        ["git", "-C", ROOT, "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        stdout=subprocess.PIPE, check=True,
    ).stdout
    for name in filter(None, listed.decode().split("\0")):
        if (ROOT / name).exists():
            (machine.folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, machine.folder / name, follow_symlinks=False)
    machine.shell("git init -q && git add -A && git -c user.name=a -c user.email=a@b.c commit -qm tree")
    commands = [
        line.split("  #")[0]
        for _, block in recipes.blocks("README.md")
        for line in block.splitlines()
        if line.startswith(("./dev ", "$ ./dev "))
    ]
    assert any("./dev test" in command for command in commands)
    for command in commands:
        machine.shell(command.removeprefix("$ "))
