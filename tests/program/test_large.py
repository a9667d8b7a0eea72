# SPDX-License-Identifier: Apache-2.0
# One gibibyte both ways, opened and made by others, and the memory cap: 128 MiB plus 16 MiB a
# thread however large the file, from a file and through pipes. Streams throughout; needs 3.3 GiB
# for a minute on the roomiest of the temporary folder and /dev/shm.
import concurrent.futures
import contextlib
import hashlib
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

import age_file
import container
import program
import pytest
from program import PAES, clean_environment

TEXT_BYTES = 1 << 30
ROOM_BYTES = 3 * TEXT_BYTES + (256 << 20)
STEP_BYTES = 4 << 20
THREADS = 2
CAP_BYTES = (128 << 20) + THREADS * (16 << 20)


@pytest.fixture(scope="module")
def roomy():
    places = [tempfile.gettempdir(), "/dev/shm"]
    places = [place for place in places if os.access(place, os.W_OK)]
    place = max(places, key=lambda place: shutil.disk_usage(place).free)
    free = shutil.disk_usage(place).free
    if free < ROOM_BYTES:
        pytest.skip(f"{place} has {free >> 20} MiB free, this needs {ROOM_BYTES >> 20}")
    with tempfile.TemporaryDirectory(dir=place) as path:
        yield Path(path)


def text_pieces():
    """Cheap, and no piece repeats: each is a keyed rotation of one random block."""
    block = hashlib.shake_256(b"paes").digest(STEP_BYTES)
    for i in range(TEXT_BYTES // STEP_BYTES):
        number = i.to_bytes(8, "big")
        yield number + block[i + 8 :] + block[:i]


@pytest.fixture(scope="module")
def text(roomy):
    path = roomy / "text"
    digest = hashlib.sha256()
    with open(path, "wb") as file:
        for piece in text_pieces():
            file.write(piece)
            digest.update(piece)
    assert path.stat().st_size == TEXT_BYTES
    return path, digest.hexdigest()


def start_measured(command, *arguments, **options):
    words = [PAES, command, "-T", str(THREADS), *map(str, arguments)]
    return subprocess.Popen(
        [*program.MEASURED, *words],
        stderr=subprocess.PIPE,
        env=clean_environment(),
        **options,
    )


def finish_measured(process):
    """Asserts success and the memory cap."""
    err = process.stderr.read().decode()
    process.stderr.close()
    assert process.wait(timeout=200) == 0, err
    code, peak_bytes = map(int, err.split()[-2:])
    assert code == 0, err
    assert peak_bytes < CAP_BYTES, f"{peak_bytes >> 20} MiB"


def pieces_of(file):
    while piece := file.read(STEP_BYTES):
        yield piece


def digest_of(pieces):
    digest = hashlib.sha256()
    for piece in pieces:
        digest.update(piece)
    return digest.hexdigest()


def opened_by_others(file, keys):
    preamble = container.read_preamble(file)
    key = age_file.age_decrypt(preamble.envelope, keys.path)
    decryptor = container.DECRYPTORS[preamble.suite](key, preamble.context)
    for piece in pieces_of(file):
        yield decryptor.update(piece)
    yield decryptor.finalize()


def made_by_others(suite, pieces, keys):
    key = os.urandom(container.KEY_BYTES[suite])
    yield container.preamble(suite, age_file.age_encrypt(key, [keys.recipient]))
    encryptor = container.ENCRYPTORS[suite](key, container.context(suite))
    for piece in pieces:
        yield encryptor.update(piece)
    yield encryptor.finalize()


@contextlib.contextmanager
def fed(process, pieces):
    """Writes the pieces to the process's standard input on a thread of their own."""

    def write():
        with process.stdin:
            for piece in pieces:
                process.stdin.write(piece)

    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        written = pool.submit(write)
        yield
        written.result()


@pytest.mark.parametrize("suite", container.SUITES)
def test_a_file_encrypted_by_paes(suite, text, roomy, keys):
    path, digest = text
    sealed = roomy / "text.paes"
    finish_measured(
        start_measured("encrypt", "--suite", suite, "-r", keys.recipient, "-o", sealed, path)
    )
    assert sealed.stat().st_size == container.size(TEXT_BYTES)
    with open(sealed, "rb") as file:
        assert digest_of(opened_by_others(file, keys)) == digest
    finish_measured(start_measured("verify", "-i", keys.path, sealed))
    sealed.unlink()


@pytest.mark.parametrize("suite", container.SUITES)
def test_a_file_decrypted_by_paes(suite, text, roomy, keys):
    path, digest = text
    sealed, opened = roomy / "made.paes", roomy / "opened"
    with open(path, "rb") as plain, open(sealed, "wb") as file:
        for piece in made_by_others(container.SUITES[suite], pieces_of(plain), keys):
            file.write(piece)
    finish_measured(start_measured("decrypt", "-i", keys.path, "-o", opened, sealed))
    assert program.digest(opened) == digest
    sealed.unlink()
    opened.unlink()


@pytest.mark.parametrize("suite", container.SUITES)
def test_a_pipe_encrypted_by_paes(suite, text, keys):
    path, digest = text
    with subprocess.Popen(["cat", path], stdout=subprocess.PIPE) as cat:
        process = start_measured(
            *("encrypt", "--suite", suite, "-r", keys.recipient),
            stdin=cat.stdout,
            stdout=subprocess.PIPE,
        )
        assert digest_of(opened_by_others(process.stdout, keys)) == digest
        finish_measured(process)


@pytest.mark.parametrize("suite", container.SUITES)
def test_a_pipe_decrypted_by_paes(suite, text, keys):
    path, digest = text
    process = start_measured(
        "decrypt", "-i", keys.path, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    with open(path, "rb") as plain:
        made = made_by_others(container.SUITES[suite], pieces_of(plain), keys)
        with fed(process, made):
            assert digest_of(pieces_of(process.stdout)) == digest
    finish_measured(process)
