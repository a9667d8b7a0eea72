# SPDX-License-Identifier: Apache-2.0
# Files of age for every kind of key that paes, age and pyrage have, both ways, armored or not, at the edges
# of the first chunk and, with PAES_EXHAUSTIVE, of 1 GiB. age asks for passphrases at a terminal, so those are
# pyrage's alone.
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

import program
import pytest
from program import succeed

pyrage = pytest.importorskip("pyrage", reason="pyrage is not installed")
needed = [name for name in ("age", "ssh-keygen") if shutil.which(name) is None]
pytestmark = pytest.mark.skipif(bool(needed), reason=f"not installed: {needed}")

CHUNK = 65536
EXHAUSTIVE = bool(os.environ.get("PAES_EXHAUSTIVE"))
SIZES = [0, 1, CHUNK - 1, CHUNK, CHUNK + 1, *([1 << 30] if EXHAUSTIVE else [])]
KINDS = ["X25519", "ssh-ed25519", "ssh-rsa", "scrypt"]
# A derivation from a passphrase takes a second or two, so every test run has one size of these.
CASES = [(kind, size) for kind in KINDS for size in SIZES if EXHAUSTIVE or kind != "scrypt" or size == CHUNK + 1]
PASSPHRASE = "open sesame"


class Kind:
    """A pair of keys, as each of the programs takes them."""

    def __init__(self, folder, *ssh_options):
        self.path = folder / "key"
        if ssh_options:
            subprocess.run(["ssh-keygen", "-q", *ssh_options, "-N", "", "-f", self.path], check=True)
            self.recipient = (folder / "key.pub").read_text().strip()
            self.rage = (pyrage.ssh.Recipient.from_str(self.recipient),
                         pyrage.ssh.Identity.from_buffer(self.path.read_bytes()))
        else:
            succeed("keygen", "-o", self.path)
            secret = self.path.read_text().splitlines()[-1]
            identity = pyrage.x25519.Identity.from_str(secret)
            self.recipient = str(identity.to_public())
            self.rage = (identity.to_public(), identity)
        self.seal = ["-r", self.recipient]
        self.open = ["-i", self.path]

    def others(self, text, sealed, again, armor):
        """For each other program: what makes `sealed` of `text`, and what makes `again` of `sealed`."""
        yield (lambda: subprocess.run(["age", *armor, *self.seal, "-o", sealed, text], check=True),
               lambda: subprocess.run(["age", "-d", *self.open, "-o", again, sealed], check=True))
        yield (lambda: pyrage.encrypt_file(str(text), str(sealed), [self.rage[0]], armored=bool(armor)),
               lambda: pyrage.decrypt_file(str(sealed), str(again), [self.rage[1]]))


class Passphrase:
    def __init__(self, folder):
        (folder / "word").write_text(PASSPHRASE)
        self.seal = self.open = ["--passphrase-file", folder / "word"]

    def others(self, text, sealed, again, armor):
        yield (lambda: sealed.write_bytes(
                   pyrage.passphrase.encrypt(text.read_bytes(), PASSPHRASE, armored=bool(armor))),
               lambda: again.write_bytes(pyrage.passphrase.decrypt(sealed.read_bytes(), PASSPHRASE)))


@pytest.fixture(scope="module")
def kinds(tmp_path_factory):
    made = {}

    def kind(name):
        if name not in made:
            folder = tmp_path_factory.mktemp("kind")
            made[name] = (Passphrase(folder) if name == "scrypt" else
                          Kind(folder, *{"X25519": [], "ssh-ed25519": ["-t", "ed25519"],
                                         "ssh-rsa": ["-t", "rsa", "-b", "3072"]}[name]))
        return made[name]

    return kind


@pytest.fixture
def roomy():
    places = [place for place in (tempfile.gettempdir(), "/dev/shm") if os.access(place, os.W_OK)]
    place = max(places, key=lambda place: shutil.disk_usage(place).free)
    if shutil.disk_usage(place).free < 4 * max(SIZES):
        pytest.skip(f"{place} has no room for {4 * max(SIZES)} bytes")
    with tempfile.TemporaryDirectory(dir=place) as path:
        yield Path(path)


@pytest.mark.parametrize("armor", [[], ["-a"]], ids=["binary", "armor"])
@pytest.mark.parametrize("name, size", CASES)
def test_round_trips(name, size, armor, kinds, roomy, random_bytes):
    kind = kinds(name)
    text, sealed, again = (roomy / name for name in ("text", "sealed.age", "again"))
    with open(text, "wb") as file:
        for _ in range(size >> 20):
            file.write(random_bytes(1 << 20))
        file.write(random_bytes(size & ((1 << 20) - 1)))
    want = program.digest(text)
    for seal, open_ in kind.others(text, sealed, again, armor):
        seal()
        succeed("decrypt", "-f", *kind.open, "-o", again, sealed)
        assert program.digest(again) == want
        again.unlink()
        succeed("encrypt", "-f", "--format", "age", *armor, *kind.seal, "-o", sealed, text)
        again.touch()  # age makes no file for an empty text
        open_()
        assert program.digest(again) == want
        again.unlink()
