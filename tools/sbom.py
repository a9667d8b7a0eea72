#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Writes what is in packages of paes as an SPDX 2.3 document: each file with its SHA-256, each part of
# another project that was linked or compiled in, and each package whose shared libraries are used. It
# asks the compiler which file it would link, and dpkg which package and version that file is of.
# Usage: sbom.py --version VERSION --build FOLDER RESULT...   (tools/package calls it)
import argparse
import hashlib
import io
import json
import os
import re
import subprocess
import sys
import tarfile
from datetime import datetime, timezone
from functools import cache
from pathlib import Path

# What a build takes from other projects: a file of it, by the compiler's name for it, and its licence.
GCC = "GPL-3.0-or-later WITH GCC-exception-3.1"
HEADERS = [
    ("CLI/CLI.hpp", "BSD-3-Clause"),
    ("nlohmann/json.hpp", "MIT"),
    ("fmt/format.h", "MIT"),
]
ARCHIVES = [
    ("libcrypto.a", "Apache-2.0"),
    ("libgcc.a", GCC),
    ("libstdc++.a", GCC),
    ("libc.a", "LGPL-2.1-or-later"),
]
# What programs in packages contain if the build found these archives (PAES_STATIC_RUNTIME), by what
# its rules then have.
RUNTIME = [
    ("-static-libstdc++", "libgcc.a", GCC, ("paes",)),
    ("-static-libstdc++", "libstdc++.a", GCC, ("paes",)),
    ("/libgomp.a", "libgomp.a", GCC, ("paes", "paes-mpi", "paes-bench", "paes-mount")),
]
# Programs whose objects contain headers of other projects, and those with only code for devices.
WITH_HEADERS = ("paes", "paes-mpi", "paes-bench", "paes-mount")
WITH_DEVICES = ("paes", "paes-mpi", "paes-bench", "libpaes0", "libpaes-dev")
# What a result depends on because it starts one of its programs; nothing of it is linked.
STARTED = ("fuse3",)
OURS = "Apache-2.0"
COMPILER = os.environ.get("CXX", "g++")


def output_of(*command):
    return subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout


@cache
def owner(path):
    """The Debian package that owns a file: its name, version, source and the source's version."""
    for name in (path, os.path.realpath(path), path.removeprefix("/usr"), "/usr" + path):
        found = subprocess.run(["dpkg", "-S", name], capture_output=True, text=True, check=False)
        if found.returncode == 0:
            return described(found.stdout.split(": ")[0].split(",")[0])
    raise SystemExit(f"sbom: no package has the file {path}")


def described(package):
    fields = "${Package}\t${Version}\t${source:Package}\t${source:Version}\n"
    return tuple(output_of("dpkg-query", "-W", "-f", fields, package).splitlines()[0].split("\t"))


def header(name):
    """Where the compiler finds a header."""
    done = subprocess.run(
        [COMPILER, "-x", "c++", "-E", "-M", "-"],
        input=f"#include <{name}>\n", stdout=subprocess.PIPE, text=True, check=True,
    )
    return re.search(rf"(/\S*/{re.escape(name)})(?=\s|$)", done.stdout)[1]


def archive(name):
    path = output_of(COMPILER, f"-print-file-name={name}").strip()
    if "/" not in path:
        raise SystemExit(f"sbom: the compiler finds no {name}")
    return os.path.normpath(path)


@cache
def rules_of(build):
    rules = build / "package/build.ninja"
    return rules.read_text() if rules.exists() else ""


def cuda_library(build):
    """The run-time library of CUDA that was linked, or None."""
    found = re.search(r"(/\S*/libcudart_static\.a)", rules_of(build))
    return found and Path(found[1])


def cuda_version(library):
    """The version in NVIDIA's toolkit, or of the package from PyPI, or else in the header."""
    library = library.resolve()
    for folder in library.parents:
        listed = folder / "version.json"
        if listed.exists():
            return json.loads(listed.read_text())["cuda_cudart"]["version"]
        for installed in (*folder.glob("nvidia_cuda_runtime-*"), *folder.glob("dist-info/nvidia_cuda_runtime-*")):
            return re.match(r"nvidia_cuda_runtime-([0-9.]+)\.", installed.name)[1]
    for folder in library.parents:
        for name in ("include/cuda_runtime_api.h", "../include/cuda_runtime_api.h"):
            if (folder / name).exists():
                number = int(re.search(r"#define CUDART_VERSION +(\d+)", (folder / name).read_text())[1])
                return f"{number // 1000}.{number % 1000 // 10}"
    raise SystemExit(f"sbom: no version of {library}")


def identifier(*words):
    return "SPDXRef-" + re.sub(r"[^A-Za-z0-9.-]+", "-", "-".join(words))


def contents(result):
    """(name, bytes) of each regular file of a package, in order."""
    if result.suffix != ".deb":
        return [(result.name, result.read_bytes())]
    packed = subprocess.run(["dpkg-deb", "--fsys-tarfile", result], stdout=subprocess.PIPE, check=True).stdout
    with tarfile.open(fileobj=io.BytesIO(packed)) as tar:
        return sorted((m.name, tar.extractfile(m).read()) for m in tar if m.isreg())


class Document:
    def __init__(self, version):
        self.packages, self.files, self.relations = {}, [], []
        self.version = version

    def relate(self, one, relation, other):
        self.relations.append({"spdxElementId": one, "relationshipType": relation, "relatedSpdxElement": other})

    def other(self, name, version, licence, **more):
        """A package of another project."""
        id = identifier("Package", name)
        found = self.packages.setdefault(id, {
            "SPDXID": id, "name": name, "versionInfo": version, "downloadLocation": "NOASSERTION",
            "filesAnalyzed": False, "licenseConcluded": "NOASSERTION", "licenseDeclared": licence,
            "copyrightText": "NOASSERTION",
        } | more)
        if found["licenseDeclared"] == "NOASSERTION":
            found["licenseDeclared"] = licence
        return id

    def debian(self, package, version, source, source_version, licence="NOASSERTION"):
        return self.other(package, version, licence, sourceInfo=f"Debian source {source} {source_version}",
                          externalRefs=[{"referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl",
                                         "referenceLocator": f"pkg:deb/debian/{package}@{version}".replace("+", "%2B")}])

    def result(self, path):
        name = path.name.split("_")[0] if path.suffix == ".deb" else path.name
        id = identifier("Package", name)
        data, sums = path.read_bytes(), []
        for inside, text in contents(path):
            file = identifier("File", name, inside)
            sums.append(hashlib.sha1(text).hexdigest())
            self.files.append({
                "SPDXID": file, "fileName": inside if inside.startswith("./") else "./" + inside,
                "checksums": [{"algorithm": "SHA1", "checksumValue": sums[-1]},
                              {"algorithm": "SHA256", "checksumValue": hashlib.sha256(text).hexdigest()}],
                "licenseConcluded": "NOASSERTION", "copyrightText": "NOASSERTION",
            })
            self.relate(id, "CONTAINS", file)
        self.packages[id] = {
            "SPDXID": id, "name": name, "versionInfo": self.version, "packageFileName": path.name,
            "downloadLocation": "NOASSERTION", "filesAnalyzed": True,
            "packageVerificationCode": {
                "packageVerificationCodeValue": hashlib.sha1("".join(sorted(sums)).encode()).hexdigest()},
            "checksums": [{"algorithm": "SHA256", "checksumValue": hashlib.sha256(data).hexdigest()}],
            "licenseConcluded": "NOASSERTION", "licenseDeclared": OURS, "copyrightText": "NOASSERTION",
        }
        self.relate("SPDXRef-DOCUMENT", "DESCRIBES", id)
        return name, id

    def text(self):
        when = datetime.fromtimestamp(int(os.environ.get("SOURCE_DATE_EPOCH", "0")), timezone.utc)
        body = {"packages": list(self.packages.values()), "files": self.files, "relationships": self.relations}
        digest = hashlib.sha256(json.dumps(body).encode()).hexdigest()
        return json.dumps({
            "spdxVersion": "SPDX-2.3", "dataLicense": "CC0-1.0", "SPDXID": "SPDXRef-DOCUMENT",
            "name": f"paes-{self.version}",
            "documentNamespace": f"https://spdx.org/spdxdocs/paes-{self.version}-{digest[:32]}",
            "creationInfo": {"created": when.strftime("%Y-%m-%dT%H:%M:%SZ"), "creators": ["Tool: paes-tools-sbom"]},
        } | body, indent=1)


def add_result(document, path, build):
    name, id = document.result(path)
    is_static = path.suffix != ".deb"
    if is_static or name in WITH_HEADERS:
        for file, licence in HEADERS:
            document.relate(id, "STATIC_LINK", document.debian(*owner(header(file)), licence))
    if is_static:
        for file, licence in ARCHIVES:
            document.relate(id, "STATIC_LINK", document.debian(*owner(archive(file)), licence))
        return
    for sign, file, licence, names in RUNTIME:
        if sign in rules_of(build) and name in names:
            document.relate(id, "STATIC_LINK", document.debian(*owner(archive(file)), licence))
    library = cuda_library(build)
    if library and name in WITH_DEVICES:
        document.relate(id, "STATIC_LINK", document.other(
            "cudart_static", cuda_version(library), "NOASSERTION", supplier="Organization: NVIDIA Corporation",
            licenseComments="NVIDIA's CUDA EULA, which allows to distribute it as a part of a program",
            comment=f"libcudart_static.a, SHA-256 {hashlib.sha256(library.read_bytes()).hexdigest()}"))
    for needed in re.findall(r"(?:^|, )([a-z0-9.+-]+)", output_of("dpkg-deb", "-f", path, "Depends").strip()):
        if needed.startswith(("paes", "libpaes")):
            document.relate(id, "DEPENDS_ON", identifier("Package", needed))
        else:
            # So far nothing links development files.
            how = "DEPENDS_ON" if name.endswith("-dev") or needed in STARTED else "DYNAMIC_LINK"
            document.relate(id, how, document.debian(*described(needed)))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--version", required=True)
    parser.add_argument("--build", type=Path, required=True)
    parser.add_argument("results", type=Path, nargs="+")
    options = parser.parse_args()
    document = Document(options.version)
    for path in options.results:
        add_result(document, path, options.build)
    sys.stdout.write(document.text() + "\n")


main()
