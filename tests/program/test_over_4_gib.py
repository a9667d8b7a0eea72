# SPDX-License-Identifier: Apache-2.0
# A file of more than 4 GiB by each schedule that `--schedule` has, and on one thread: what is
# encrypted opens again, and a raw mode gives the bytes that openssl gives. Most of the text is a
# hole; what is not zero lies around 4 GiB, where 32 bits end. Needs 9.5 GiB of memory for files.
import hashlib
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

import container
import pytest
from program import choices_of, succeed

EDGE = 1 << 32
TEXT_BYTES = EDGE + 5 * container.TEXT_BYTES + 333
STEP_BYTES = 4 << 20

pytestmark = pytest.mark.skipif(os.environ.get("PAES_EXHAUSTIVE") != "1", reason="takes minutes: PAES_EXHAUSTIVE=1")


@pytest.fixture(scope="module")
def roomy():
    free = shutil.disk_usage("/dev/shm").free if os.access("/dev/shm", os.W_OK) else 0
    if free < 10 << 30:
        pytest.skip(f"/dev/shm has {free >> 20} MiB free, this needs {10 << 10}")
    with tempfile.TemporaryDirectory(dir="/dev/shm") as path:
        yield Path(path)


@pytest.fixture(scope="module")
def text(roomy, random_bytes):
    path = roomy / "text"
    with open(path, "wb") as file:
        for place in (0, EDGE - (3 << 20), TEXT_BYTES - 1000):
            file.seek(place)
            file.write(random_bytes(min(6 << 20, TEXT_BYTES - place)))
        file.truncate(TEXT_BYTES)
    return path


def ways():
    return [["-T", "1"], *(["-T", "2", "--schedule", name] for name in choices_of("encrypt", "--schedule"))]


def digest_of(path):
    with open(path, "rb") as file:
        return digest_in_steps(file)


def digest_in_steps(file):
    digest = hashlib.sha256()
    while step := file.read(STEP_BYTES):
        digest.update(step)
    return digest.hexdigest()


def test_containers(text, roomy, keys):
    sealed, opened = roomy / "sealed.paes", roomy / "opened"
    for way in ways():
        succeed("encrypt", *way, "-r", keys.recipient, "-o", sealed, text, timeout_s=400)
        assert sealed.stat().st_size == container.size(TEXT_BYTES)
        succeed("decrypt", *way, "-i", keys.path, "-o", opened, sealed, timeout_s=400)
        assert opened.stat().st_size == TEXT_BYTES
        assert subprocess.run(["cmp", text, opened], check=False).returncode == 0, way
        sealed.unlink()
        opened.unlink()


def test_raw_counter_mode(text, roomy):
    key, iv = bytes(range(32)), b"\xff" * 15 + b"\xfe"
    path, made = roomy / "key", roomy / "made"
    path.write_bytes(key)
    openssl = ["openssl", "enc", "-aes-256-ctr", "-K", key.hex(), "-iv", iv.hex(), "-in", text]
    with subprocess.Popen(openssl, stdout=subprocess.PIPE) as process:
        expected = digest_in_steps(process.stdout)
    assert process.returncode == 0
    for way in ways():
        succeed("cipher", "aes-256-ctr", *way, "--key", path, "--iv", iv.hex(), "-o", made, text, timeout_s=400)
        assert digest_of(made) == expected, way
        made.unlink()
