# SPDX-License-Identifier: Apache-2.0
# Anyone reads the container without paes, and paes reads what others assembled: `age` opens and
# makes the envelope, PyPI cryptography's Cobblestone classes open and make the payload.
import io

import age_file
import container
import pytest
from program import succeed

SIZES = [0, 1, 16383, 16384, 16385, (4 << 20) - 1, 4 << 20, (4 << 20) + 1]
PASSPHRASE = b"correct horse \xe2\x9c\x93 battery staple"


def open_without_paes(data, open_envelope):
    file = io.BytesIO(data)
    preamble = container.read_preamble(file)
    key = open_envelope(preamble.envelope)
    assert len(key) == container.KEY_BYTES[preamble.suite]
    assert file.tell() == preamble.payload_offset
    return preamble, container.open_payload(preamble.suite, key, file.read())


def paes_through(route, command, data, folder, *options):
    """Feeds `data` to paes by the route and returns what came out."""
    if route == "pipe":
        return succeed(command, *options, stdin=data).out
    (folder / "in").write_bytes(data)
    if route == "file":
        succeed(command, *options, "-o", folder / "out", folder / "in")
        return (folder / "out").read_bytes()
    with open(folder / "in", "rb") as file:
        assert route == "file-to-pipe"
        return succeed(command, *options, "-", stdin=file).out


@pytest.mark.parametrize("route", ["file", "pipe", "file-to-pipe"])
@pytest.mark.parametrize("suite", container.SUITES)
@pytest.mark.parametrize("size", SIZES)
def test_others_open_what_paes_made_for_a_recipient(
    size, suite, route, keys, random_bytes, folder
):
    text = random_bytes(size)
    sealed = paes_through(
        route, "encrypt", text, folder, "--suite", suite, "-r", keys.recipient
    )
    assert len(sealed) == container.size(size)
    preamble, opened = open_without_paes(
        sealed, lambda envelope: age_file.age_decrypt(envelope, keys.path)
    )
    assert preamble.suite == container.SUITES[suite]
    assert preamble.page == container.payload_page(len(preamble.envelope))
    assert opened == text


@pytest.mark.parametrize("route", ["file", "pipe", "file-to-pipe"])
@pytest.mark.parametrize("suite", container.SUITES)
@pytest.mark.parametrize("size", SIZES)
def test_paes_opens_what_others_made_for_a_recipient(
    size, suite, route, keys, random_bytes, folder
):
    text = random_bytes(size)
    sealed = container.make(
        container.SUITES[suite], text, lambda key: age_file.age_encrypt(key, [keys.recipient])
    )
    assert paes_through(route, "decrypt", sealed, folder, "-i", keys.path) == text


@pytest.mark.parametrize(
    "size, suite, route",
    [
        (0, "aes-256-gcm", "pipe"),
        (16385, "aes-128-gcm", "pipe"),
        (16384, "aes-256-gcm", "file"),
        ((4 << 20) + 1, "aes-128-gcm", "file"),
    ],
)
def test_others_open_what_paes_made_for_a_passphrase(size, suite, route, random_bytes, folder):
    text = random_bytes(size)
    (folder / "pass").write_bytes(PASSPHRASE + b"\n")
    sealed = paes_through(
        route, "encrypt", text, folder, "--suite", suite, "--passphrase-file", folder / "pass"
    )
    _, opened = open_without_paes(
        sealed,
        lambda envelope: age_file.age_decrypt_with_passphrase(envelope, PASSPHRASE, folder),
    )
    assert opened == text


@pytest.mark.parametrize("suite", container.SUITES)
def test_paes_opens_what_others_made_for_a_passphrase(suite, random_bytes, folder):
    suite_number = container.SUITES[suite]
    key = random_bytes(container.KEY_BYTES[suite_number])
    envelope = age_file.age_encrypt_with_passphrase(key, PASSPHRASE, folder)
    (folder / "pass").write_bytes(PASSPHRASE + b"\n")
    for size, route in [(0, "file"), (16383, "pipe"), (16385, "file"), (4 << 20, "pipe")]:
        text = random_bytes(size)
        sealed = container.make(suite_number, text, lambda _: envelope, key)
        opened = paes_through(
            route, "decrypt", sealed, folder, "--passphrase-file", folder / "pass"
        )
        assert opened == text
        (folder / "out").unlink(missing_ok=True)


def test_age_opens_for_every_one_of_several_recipients(keys, other_keys, random_bytes, folder):
    """-r, -R and --new-identity together; each key opens the file."""
    text = random_bytes(70000)
    (folder / "recipients").write_text(f"# the others\n\n{other_keys.recipient}\n")
    own = folder / "own.txt"
    sealed = succeed(
        "encrypt",
        *("-r", keys.recipient, "-R", folder / "recipients", "--new-identity", own),
        stdin=text,
    ).out
    for path in (keys.path, other_keys.path, own):
        _, opened = open_without_paes(
            sealed, lambda envelope, path=path: age_file.age_decrypt(envelope, path)
        )
        assert opened == text
        assert succeed("decrypt", "-i", path, stdin=sealed).out == text


def test_unknown_stanzas_are_skipped(keys, random_bytes):
    """age's own rule: a stanza of a type that nobody here knows is no obstacle."""
    text = random_bytes(16384)
    grease = age_file.stanza([b"joint-grease", b"a~b", b"-"], bytes(range(100)))
    full_lines = age_file.stanza([b"other"], bytes(48))
    sealed = container.make(
        2,
        text,
        lambda key: age_file.seal(key, [keys.recipient], more_stanzas=[grease, full_lines]),
    )
    assert succeed("decrypt", "-i", keys.path, stdin=sealed).out == text


def test_a_payload_further_back_than_needed_is_read(keys, random_bytes):
    """k never changes when recipients do, so it may be larger than a new file's would be."""
    text = random_bytes(40000)
    key = random_bytes(32)
    envelope = age_file.age_encrypt(key, [keys.recipient])
    for page in (2, 7, 257):
        sealed = container.preamble(2, envelope, page) + container.seal_payload(2, key, text)
        assert succeed("decrypt", "-i", keys.path, stdin=sealed).out == text
