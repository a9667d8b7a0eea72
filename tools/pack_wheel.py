#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Makes a wheel for one system and Python out of the pure wheel of the package, which has everything
# but the extension module. Two runs give the same bytes. tools/wheels calls it.
# Usage: pack_wheel.py PURE_WHEEL TAG OUTPUT_FOLDER NAME_INSIDE=FILE...   TAG as in cp312-abi3-manylinux_2_28_x86_64;
#                      a name that begins with licenses/ goes to the folder of terms
import base64
import csv
import hashlib
import io
import os
import re
import sys
import time
import zipfile
from pathlib import Path


def record(name, data):
    digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
    return name, f"sha256={digest}", len(data)


def tagged(text, tag):
    """The file WHEEL of a wheel that is for this tag alone."""
    text = re.sub(r"(?m)^Root-Is-Purelib: .*$", "Root-Is-Purelib: false", text)
    return re.sub(r"(?m)^Tag: .*\n", "", text).rstrip("\n") + f"\nTag: {tag}\n\n"


def main():
    pure, tag, folder = Path(sys.argv[1]), sys.argv[2], Path(sys.argv[3])
    with zipfile.ZipFile(pure) as wheel:
        files = {name: wheel.read(name) for name in wheel.namelist() if not name.endswith("/")}
    about = next(name for name in files if name.endswith(".dist-info/WHEEL")).rpartition("/")[0]
    del files[f"{about}/RECORD"]
    files[f"{about}/WHEEL"] = tagged(files[f"{about}/WHEEL"].decode(), tag).encode()
    for addition in sys.argv[4:]:
        name, _, file = addition.partition("=")
        files[f"{about}/{name}" if name.startswith("licenses/") else name] = Path(file).read_bytes()
    lines = io.StringIO()
    rows = csv.writer(lines, lineterminator="\n")
    # The order that others use, too: what tells of the wheel comes last.
    names = sorted(files, key=lambda name: (name.startswith(about), name))
    rows.writerows(record(name, files[name]) for name in names)
    rows.writerow((f"{about}/RECORD", "", ""))
    files[f"{about}/RECORD"] = lines.getvalue().encode()
    when = time.gmtime(max(int(os.environ["SOURCE_DATE_EPOCH"]), 315532800))[:6]  # zip begins in 1980
    output = folder / f"{about.removesuffix('.dist-info')}-{tag}.whl"
    with zipfile.ZipFile(output, "w") as wheel:
        for name in [*names, f"{about}/RECORD"]:
            entry = zipfile.ZipInfo(name, when)
            entry.create_system = 3
            entry.external_attr = (0o100755 if name.endswith(".so") else 0o100644) << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            wheel.writestr(entry, files[name], compresslevel=9)
    print(output)


main()
