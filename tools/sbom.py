#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Writes what is in packages of paes as an SPDX 2.3 document, and the same as one of CycloneDX 1.5: each file
# with its SHA-256, each part of another project that was linked or compiled in, and each package whose
# shared libraries are used. It asks the compiler which file it would link, and dpkg which package and
# version that file is of. Licences are those of docs/assurance/dependencies.json.
# Usage: sbom.py --version VERSION --build FOLDER [--cyclonedx FILE] RESULT...   (tools/package calls it)
import argparse
import hashlib
import io
import json
import os
import re
import subprocess
import sys
import tarfile
import uuid
from datetime import datetime, timezone
from functools import cache
from pathlib import Path

# What a build takes from other projects, by the compiler's name for a file of it.
HEADERS = ["CLI/CLI.hpp", "nlohmann/json.hpp", "fmt/format.h"]
ARCHIVES = ["libcrypto.a", "libgcc.a", "libstdc++.a", "libc.a"]
# What programs in packages contain if the build found these archives (PAES_STATIC_RUNTIME), by what
# its rules then have.
RUNTIME = [
    ("-static-libstdc++", "libgcc.a", ("paes",)),
    ("-static-libstdc++", "libstdc++.a", ("paes",)),
    ("/libgomp.a", "libgomp.a", ("paes", "paes-mpi", "paes-bench", "paes-mount")),
]
DEPENDENCIES = json.loads((Path(__file__).resolve().parents[1] / "docs/assurance/dependencies.json").read_text())
LICENCES = {file: row["licence"] for row in DEPENDENCIES for file in row.get("sbom", [])}
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

    def when(self):
        made = datetime.fromtimestamp(int(os.environ.get("SOURCE_DATE_EPOCH", "0")), timezone.utc)
        return made.strftime("%Y-%m-%dT%H:%M:%SZ")

    def text(self):
        body = {"packages": list(self.packages.values()), "files": self.files, "relationships": self.relations}
        digest = hashlib.sha256(json.dumps(body).encode()).hexdigest()
        return json.dumps({
            "spdxVersion": "SPDX-2.3", "dataLicense": "CC0-1.0", "SPDXID": "SPDXRef-DOCUMENT",
            "name": f"paes-{self.version}",
            "documentNamespace": f"https://spdx.org/spdxdocs/paes-{self.version}-{digest[:32]}",
            "creationInfo": {"created": self.when(), "creators": ["Tool: paes-tools-sbom"]},
        } | body, indent=1)

    def cyclonedx(self):
        """The same packages, files and relations. CycloneDX does not tell one kind of dependency from another."""
        below, depends = {}, {id: set() for id in self.packages}
        of_file = {file["SPDXID"]: file for file in self.files}
        for relation in self.relations:
            one, other = relation["spdxElementId"], relation["relatedSpdxElement"]
            if relation["relationshipType"] == "CONTAINS":
                file = of_file[other]
                hashes = [{"alg": sum["algorithm"].replace("SHA", "SHA-"), "content": sum["checksumValue"]} for sum in file["checksums"]]
                below.setdefault(one, []).append({"type": "file", "bom-ref": other, "name": file["fileName"], "hashes": hashes})
            elif one in depends:
                depends[one].add(other)
        components = []
        for id, package in self.packages.items():
            component = {"type": "library", "bom-ref": id, "name": package["name"], "version": package["versionInfo"]}
            if package["licenseDeclared"] != "NOASSERTION":
                component["licenses"] = [{"expression": package["licenseDeclared"]}]
            elif "licenseComments" in package:
                component["licenses"] = [{"license": {"name": package["licenseComments"]}}]
            if "externalRefs" in package:
                component["purl"] = package["externalRefs"][0]["referenceLocator"]
            if id in below:
                component |= {"type": "application", "components": below[id]}
            components.append(component)
        body = {
            "metadata": {
                "timestamp": self.when(), "tools": {"components": [{"type": "application", "name": "paes-tools-sbom"}]},
                "component": {"type": "application", "bom-ref": "paes", "name": "paes", "version": self.version},
            },
            "components": components,
            "dependencies": [{"ref": id, "dependsOn": sorted(others)} for id, others in depends.items()],
        }
        serial = uuid.uuid5(uuid.NAMESPACE_URL, hashlib.sha256(json.dumps(body).encode()).hexdigest())
        return json.dumps({"bomFormat": "CycloneDX", "specVersion": "1.5", "serialNumber": f"urn:uuid:{serial}", "version": 1} | body, indent=1)


def add_result(document, path, build):
    name, id = document.result(path)
    is_static = path.suffix != ".deb"
    if is_static or name in WITH_HEADERS:
        for file in HEADERS:
            document.relate(id, "STATIC_LINK", document.debian(*owner(header(file)), LICENCES[file]))
    if is_static:
        for file in ARCHIVES:
            document.relate(id, "STATIC_LINK", document.debian(*owner(archive(file)), LICENCES[file]))
        return
    for sign, file, names in RUNTIME:
        if sign in rules_of(build) and name in names:
            document.relate(id, "STATIC_LINK", document.debian(*owner(archive(file)), LICENCES[file]))
    library = cuda_library(build)
    if library and name in WITH_DEVICES:
        document.relate(id, "STATIC_LINK", document.other(
            "cudart_static", cuda_version(library), "NOASSERTION", supplier="Organization: NVIDIA Corporation",
            licenseComments=LICENCES["cudart_static"],
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
    parser.add_argument("--cyclonedx", type=Path)
    parser.add_argument("results", type=Path, nargs="+")
    options = parser.parse_args()
    document = Document(options.version)
    for path in options.results:
        add_result(document, path, options.build)
    sys.stdout.write(document.text() + "\n")
    if options.cyclonedx:
        options.cyclonedx.write_text(document.cyclonedx() + "\n")


main()
