# SPDX-License-Identifier: Apache-2.0
"""File systems that are not as Linux's own, played by a library before the system's."""

from __future__ import annotations

import io
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import paes

Run = Callable[[str], str]

# All may do all with each file that is written, and the call that sets permissions reports success.
MODELESS = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/stat.h>
int fchmod(int file, mode_t mode) { return 0; }
int fstat(int file, struct stat *status) {
  int (*real)(int, struct stat *) = dlsym(RTLD_NEXT, "fstat");
  int result = real(file, status);
  int is_written = (fcntl(file, F_GETFL) & O_ACCMODE) != O_RDONLY;
  if (result == 0 && S_ISREG(status->st_mode) && is_written) status->st_mode |= 0777;
  return result;
}
// What was compiled for a glibc before 2.33, as wheels of a release are, calls this.
int __fxstat(int version, int file, struct stat *status) { return fstat(file, status); }
"""


@pytest.fixture
def modeless(folder: Path) -> Run:
    """Runs Python's code in the folder, on such a file system, and gives what it says."""
    compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    if compiler is None:
        pytest.skip("no C compiler is in PATH")
    library = folder / "modeless.so"
    command = [compiler, "-shared", "-fPIC", "-x", "c", "-", "-o", str(library)]
    subprocess.run(command, input=MODELESS.encode(), check=True)

    def run(code: str) -> str:
        done = subprocess.run(
            [sys.executable, "-c", "import paes, sys\n" + code],
            cwd=folder,
            env=os.environ | {"LD_PRELOAD": str(library)},
            check=True,
            capture_output=True,
            text=True,
        )
        return done.stderr

    return run


def test_what_others_can_read_is_warned_of(
    modeless: Run, folder: Path, key_file: Path, recipient: paes.Recipient
) -> None:
    (folder / "text").write_text("text")
    paes.encrypt_file(folder / "text", folder / "sealed", recipients=recipient)
    says = "other users have more access than they should"
    recipients = f"recipients=paes.Recipient({str(recipient)!r})"
    for code in (
        f"paes.encrypt_file('text', 'out', {recipients})",
        f"paes.decrypt_file('sealed', 'out', identity={str(key_file)!r})",
        f"paes.open('out', 'wb', {recipients}).close()",
    ):
        err = modeless(code)
        assert f"UserWarning: out: {says}" in err, err
        (folder / "out").unlink()


def test_a_secret_key_that_others_can_read_is_not_saved(modeless: Run, folder: Path) -> None:
    err = modeless(
        "try:\n  paes.keygen('key')\n"
        "except paes.FailureError as error:\n  sys.stderr.write(str(error))"
    )
    assert "other users have more access" in err
    assert not (folder / "key").exists()


@pytest.mark.parametrize("name", ["/sys/class/net/lo/mtu", "/proc/version"])
def test_files_that_do_not_say_their_length(
    name: str, folder: Path, recipient: paes.Recipient, identity: paes.Identity
) -> None:
    """Files under /sys say more than they have, and those under /proc say nothing."""
    if not os.path.exists(name):
        pytest.skip(f"no {name} here")
    text = Path(name).read_bytes()
    with open(name, "rb") as buffered, open(name, "rb", buffering=0) as raw:
        for number, source in enumerate((name, buffered, raw)):
            sealed = folder / str(number)
            assert paes.encrypt_file(source, sealed, recipients=recipient) == len(text)
            assert paes.open(sealed, identity=identity).read() == text


def test_sparse_file_objects_are_as_long_as_they_say(
    folder: Path, recipient: paes.Recipient
) -> None:
    with open(folder / "sparse", "w+b") as sparse:
        sparse.truncate(1 << 20)
        assert paes.encrypt_file(sparse, folder / "sealed", recipients=recipient) == 1 << 20


def test_a_source_that_has_to_wait(folder: Path, identity: paes.Identity) -> None:
    """A raw file says by None that it has nothing yet; that is not its end."""

    class Slow(io.BytesIO):
        calls = 0

        def read(self, size: int | None = -1, /) -> bytes:
            self.calls += 1
            return None if self.calls % 2 else super().read(size)  # type: ignore[return-value]

        def fileno(self) -> int:
            return ready

    ready = os.open(os.devnull, os.O_RDONLY)  # which is always ready
    text = os.urandom(100_000)
    paes.encrypt_file(Slow(text), folder / "sealed", recipients=identity.recipient)
    os.close(ready)
    assert paes.open(folder / "sealed", identity=identity).read() == text
