# SPDX-License-Identifier: Apache-2.0
"""Keys that keep a call waiting: Ctrl-C ends it within a second or two, whatever the call is.

What only plugins know is kept apart, and no secret key stands in a message.
"""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import paes

SOON_S = 5  # a busy machine included; the calls wait for 600
SYMBOLS = "qpzry9x8gf2tvdw0s3jn54khce6mua7l"


def bech32(human_part: str, data: bytes) -> str:
    """Spell a key (BIP 173); `data` has a multiple of 5 bytes."""

    def polymod(values: list[int]) -> int:
        check = 1
        for value in values:
            top = check >> 25
            check = (check & 0x1FFFFFF) << 5 ^ value
            for i, generator in enumerate(
                (0x3B6A57B2, 0x26508E6D, 0x1EA119FA, 0x3D4233DD, 0x2A1462B3)
            ):
                check ^= generator if top >> i & 1 else 0
        return check

    bits = int.from_bytes(data, "big")
    count = len(data) * 8 // 5
    words = [bits >> 5 * (count - 1 - i) & 31 for i in range(count)]
    small = human_part.lower()
    expanded = [ord(c) >> 5 for c in small] + [0] + [ord(c) & 31 for c in small]
    check = polymod(expanded + words + [0] * 6) ^ 1
    words += [check >> 5 * (5 - i) & 31 for i in range(6)]
    text = small + "1" + "".join(SYMBOLS[word] for word in words)
    return text.upper() if human_part.isupper() else text


RECIPIENT = bech32("age1hung", b"A" * 20)
IDENTITY = bech32("AGE-PLUGIN-HUNG-", b"A" * 20)


@pytest.fixture
def hung_plugin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Put a plugin on the path that neither reads nor writes."""
    program = tmp_path / "age-plugin-hung"
    program.write_text("#!/bin/sh\nexec sleep 600\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")


@pytest.fixture
def sealed(tmp_path: Path) -> Iterator[Path]:
    mine = paes.Identity.generate()
    mine.save(tmp_path / "mine")
    (tmp_path / "text").write_bytes(b"text")
    path = tmp_path / "text.paes"
    paes.encrypt_file(tmp_path / "text", path, recipients=mine.recipient)
    before = path.read_bytes()
    yield path
    assert path.read_bytes() == before


def check_ctrl_c(call: Callable[[], object]) -> None:
    sender = threading.Timer(0.4, os.kill, (os.getpid(), signal.SIGINT))
    sender.start()
    begin = time.monotonic()
    try:
        with pytest.raises(KeyboardInterrupt):
            call()
            sender.join()
    finally:
        sender.join()
    assert time.monotonic() - begin < SOON_S


CALLS: dict[str, Callable[[Path], object]] = {
    "encrypt": lambda path: paes.encrypt_file(path, f"{path}.out", recipients=RECIPIENT),
    "decrypt": lambda path: paes.decrypt_file(path, f"{path}.out", identity=IDENTITY),
    "verify": lambda path: paes.verify_file(path, identity=IDENTITY),
    "read": lambda path: paes.open(path, identity=IDENTITY),
    "write": lambda path: paes.open(f"{path}.out", "wb", recipients=RECIPIENT),
    "rekey": lambda path: paes.rekey(path, identity=path.with_name("mine"), recipients=RECIPIENT),
    "add": lambda path: paes.rekey(path, identity=IDENTITY, add=[RECIPIENT]),
}


@pytest.mark.usefixtures("hung_plugin")
@pytest.mark.parametrize("call", CALLS)
def test_ctrl_c_ends_a_plugin(call: str, sealed: Path) -> None:
    check_ctrl_c(lambda: CALLS[call](sealed))
    assert not sealed.with_name("text.paes.out").exists()


def costly(path: Path) -> Path:
    """Write an age file whose passphrase takes a gigabyte and seconds; it opens with none."""
    salt, body = "A" * 22, "A" * 43
    header = f"age-encryption.org/v1\n-> scrypt {salt} 20\n{body}\n--- {'A' * 43}\n"
    path.write_bytes(header.encode() + bytes(100))
    return path


@pytest.mark.parametrize("call", ["load", "decrypt", "read"])
def test_ctrl_c_ends_the_derivation_from_a_passphrase(call: str, tmp_path: Path) -> None:
    path = costly(tmp_path / "costly")
    out = tmp_path / "out"
    check_ctrl_c(
        {
            "load": lambda: paes.Identity.load(path, passphrase=paes.Passphrase("word")),
            "decrypt": lambda: paes.decrypt_file(path, out, passphrase="word"),
            "read": lambda: paes.open(path, passphrase="word"),
        }[call]
    )


def test_recipients_that_only_plugins_know() -> None:
    one = paes.Identity(bech32("AGE-PLUGIN-FOO-", b"A" * 20))
    other = paes.Identity(bech32("AGE-PLUGIN-BAR-", b"B" * 20))
    assert one.recipient == one.recipient
    assert one.recipient != other.recipient
    assert len({one.recipient, other.recipient, one.recipient}) == 2
    assert "plugin" in repr(one.recipient)


def test_a_file_may_be_named_like_a_key(
    folder: Path, seal: Callable[..., Path], key_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sealed = seal(b"text")
    name = "age-plugin-yubikey-12345678.txt"
    (folder / name).write_bytes(key_file.read_bytes())
    monkeypatch.chdir(folder)
    for given in (name, str(folder / name)):
        with paes.open(sealed, identity=given) as file:
            assert file.read() == b"text"


def test_a_key_in_place_of_a_file_of_keys() -> None:
    for load in (paes.Recipient.load, paes.Identity.load):
        with pytest.raises(paes.Error, match=r"^a file of keys: a secret key is given"):
            load(IDENTITY)


@pytest.mark.parametrize("kind", ["AGE-PLUGIN-PQ-", "AGE-SECRET-KEY-"])
def test_no_message_shows_a_secret_key(kind: str) -> None:
    key = bech32(kind, os.urandom(40))
    wrong = key[:-1] + ("Q" if key[-1] != "Q" else "P")
    calls: list[Callable[[], object]] = [
        lambda: paes.open("/dev/null", identity=key),
        lambda: paes.open("/dev/null", identity=wrong),
        lambda: paes.Identity.load(key),
        lambda: paes.Identity.load(key, passphrase=paes.Passphrase("word")),
        lambda: paes.Recipient.load(key),
        lambda: paes.Recipient(key),
    ]
    for call in calls:
        with pytest.raises((paes.Error, OSError)) as raised:
            call()
        assert key[:-6] not in str(raised.value)
