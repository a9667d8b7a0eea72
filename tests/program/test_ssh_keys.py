# SPDX-License-Identifier: Apache-2.0
# SSH's keys, made by ssh-keygen: envelopes both ways with the age program, encrypted keys and their
# passphrases at the terminal, and keys that age does not take.
import io
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

import container
import program
import pytest
from program import FAILURE, OK, SOME_FAILED, USAGE, WRONG_KEY, fail, succeed
from test_terminal import Terminal

PASSPHRASE = b"a key's own"
TEXT = b"text"


@dataclass
class SshKey:
    path: Path

    @property
    def recipient(self):
        return self.path.with_name(self.path.name + ".pub").read_text().strip()


def output_of(*words, stdin=b""):
    return subprocess.run(
        [*map(str, words)], input=stdin, check=True, capture_output=True
    ).stdout


@pytest.fixture(scope="module", autouse=True)
def needs_ssh_keygen():
    if shutil.which("ssh-keygen") is None:
        pytest.fail("ssh-keygen is missing (Debian package openssh-client)")


@pytest.fixture(scope="module")
def new_key(tmp_path_factory):
    """new_key(options...): a key that ssh-keygen makes."""

    def make(*options, passphrase=""):
        path = tmp_path_factory.mktemp("ssh") / "id"
        output_of("ssh-keygen", "-q", *options, "-N", passphrase, "-C", "who@where", "-f", path)
        return SshKey(path)

    return make


@pytest.fixture(scope="module")
def ed25519(new_key):
    return new_key("-t", "ed25519")


@pytest.fixture(scope="module")
def rsa(new_key):
    return new_key("-t", "rsa", "-b", 2048)


@pytest.fixture(scope="module")
def ecdsa(new_key):
    return new_key("-t", "ecdsa")


def envelope_of(sealed):
    return container.read_preamble(io.BytesIO(sealed))


def age_opens(sealed, path):
    preamble = envelope_of(sealed)
    key = output_of("age", "-d", "-i", path, stdin=preamble.envelope)
    return container.open_payload(preamble.suite, key, sealed[preamble.payload_offset :])


def sealed_by_age(*options):
    return container.make(2, TEXT, lambda key: output_of("age", *options, stdin=key))


def assert_goes_both_ways(key):
    for option in (["-r", key.recipient], ["-R", f"{key.path}.pub"]):
        sealed = succeed("encrypt", *option, stdin=TEXT).out
        assert age_opens(sealed, key.path) == TEXT
        assert succeed("decrypt", "-i", key.path, stdin=sealed).out == TEXT
        assert succeed("decrypt", "-i", key.path, stdin=sealed_by_age(*option)).out == TEXT


def test_ed25519(ed25519):
    assert_goes_both_ways(ed25519)


def test_many_ed25519_keys(new_key):
    """The map between the curves loses the sign of x, which differs from key to key."""
    for _ in range(8):
        assert_goes_both_ways(new_key("-t", "ed25519"))


@pytest.mark.parametrize("bits", [2048, 3072, 4096])
def test_rsa(bits, new_key):
    assert_goes_both_ways(new_key("-t", "rsa", "-b", bits))


@pytest.mark.parametrize("form", ["PEM", "PKCS8"])
def test_rsa_in_older_forms(form, new_key):
    assert_goes_both_ways(new_key("-t", "rsa", "-b", 2048, "-m", form))


def test_recipients_of_all_kinds_share_a_file(ed25519, rsa, keys, folder):
    team = folder / "team"
    team.write_text(f"# us\n{ed25519.recipient}\n\n{rsa.recipient}\n{keys.recipient}\n")
    sealed = succeed("encrypt", "-R", team, stdin=TEXT).out
    for pair in (ed25519, rsa, keys):
        assert age_opens(sealed, pair.path) == TEXT
        assert succeed("decrypt", "-i", pair.path, stdin=sealed).out == TEXT
    by_age = sealed_by_age("-R", team)
    for pair in (ed25519, rsa, keys):
        assert succeed("decrypt", "-i", pair.path, stdin=by_age).out == TEXT


def test_a_key_that_is_no_recipient(ed25519, rsa, new_key):
    sealed = succeed("encrypt", "-r", ed25519.recipient, stdin=TEXT).out
    for other in (rsa, new_key("-t", "ed25519")):
        fail("decrypt", "-i", other.path, stdin=sealed, code=WRONG_KEY, says="no identity given")


def test_rekey_and_resume_take_them(ed25519, rsa, folder, plain):
    path = folder / "plain.paes"
    succeed("encrypt", "--resume", "-r", ed25519.recipient, "-i", ed25519.path, plain)
    succeed("rekey", "-i", ed25519.path, "-r", rsa.recipient, path)
    fail("verify", "-i", ed25519.path, path, code=WRONG_KEY)
    succeed("verify", "-i", rsa.path, path)
    assert "ssh-rsa" in succeed("inspect", path).out.decode()


# Encrypted keys


def decrypt_at_terminal(path, sealed, folder, answer):
    """The exit code, what was shown, and the plaintext."""
    (folder / "sealed.paes").write_bytes(sealed)
    out = folder / "out"
    terminal = Terminal("decrypt", "-f", "-i", path, "-o", out, folder / "sealed.paes")
    terminal.wait_for(f'Enter passphrase for "{path}": '.encode())
    assert not terminal.echoes()
    terminal.type(answer + b"\n")
    code = terminal.finish()
    return code, terminal.shown, out.read_bytes() if out.exists() else None


@pytest.mark.parametrize(
    "options",
    [
        ["-a", 1],
        ["-a", 16],
        ["-a", 100],
        *(
            ["-a", 1, "-Z", cipher]
            for cipher in (
                "aes128-ctr", "aes192-ctr", "aes256-ctr", "aes128-cbc", "aes192-cbc",
                "aes256-cbc", "aes128-gcm@openssh.com", "aes256-gcm@openssh.com",
            )
        ),
    ],
    ids=lambda options: "-".join(map(str, options)),
)
def test_encrypted_keys(options, new_key, folder):
    for kind in (["-t", "ed25519"], ["-t", "rsa", "-b", 2048]):
        key = new_key(*kind, *options, passphrase=PASSPHRASE.decode())
        code, shown, text = decrypt_at_terminal(
            key.path, sealed_by_age("-r", key.recipient), folder, PASSPHRASE
        )
        assert code == OK, shown
        assert text == TEXT
        assert PASSPHRASE not in shown


@pytest.fixture(scope="module")
def encrypted(new_key):
    return new_key("-t", "ed25519", "-a", 1, passphrase=PASSPHRASE.decode())


def test_a_wrong_passphrase(encrypted, folder):
    sealed = succeed("encrypt", "-r", encrypted.recipient, stdin=TEXT).out
    for answer in (b"another", b""):
        code, shown, text = decrypt_at_terminal(encrypted.path, sealed, folder, answer)
        assert code == WRONG_KEY
        assert b"the passphrase is wrong" in shown
        assert text is None


def test_a_wrong_passphrase_is_asked_for_once(encrypted, folder):
    """Not again for each of several files."""
    for name in "abc":
        succeed("encrypt", "-r", encrypted.recipient, "-o", folder / f"{name}.paes", stdin=TEXT)
    code, shown = program.on_a_terminal(
        ["verify", "-i", encrypted.path, "--recursive", folder], [b"another", b"a second one"])
    assert code == SOME_FAILED
    assert shown.count("Enter passphrase for") == 1
    assert shown.count("the passphrase is wrong") == 3


def test_the_passphrase_is_asked_for_only_if_the_key_may_open_the_file(
    encrypted, ed25519, folder
):
    sealed = folder / "sealed.paes"
    sealed.write_bytes(succeed("encrypt", "-r", ed25519.recipient, stdin=TEXT).out)
    for options, code in ((["-i", ed25519.path], OK), ([], WRONG_KEY)):
        terminal = Terminal("verify", "-i", encrypted.path, *options, sealed)
        assert terminal.finish() == code
        assert b"Enter passphrase for" not in terminal.shown


def test_without_a_terminal_and_with_the_envelopes_passphrase(encrypted, folder):
    """--passphrase-file is for envelopes: its secret must not be tried on a key."""
    sealed = succeed("encrypt", "-r", encrypted.recipient, stdin=TEXT).out
    (folder / "word").write_bytes(PASSPHRASE)
    for options in ([], ["--passphrase-file", folder / "word"]):
        fail(
            *("decrypt", "-i", encrypted.path, *options), stdin=sealed,
            prefix=["setsid", "-w"], code=FAILURE, says="passphrase: there is no terminal",
        )


# Keys that age does not take


@pytest.mark.parametrize(("form", "says"), [
    ("PKCS8", "a public key in PEM"), ("PEM", "a public key in PEM"), ("RFC4716", "RFC 4716")])
def test_public_keys_in_other_forms_are_named(new_key, folder, form, says):
    key = new_key("-t", "rsa", "-b", 2048)
    public = output_of("ssh-keygen", "-e", "-m", form, "-f", f"{key.path}.pub")
    (folder / "other").write_bytes(public)
    result = fail("encrypt", "-R", folder / "other", stdin=TEXT, code=USAGE, says=says)
    assert "private key" not in result.err
    assert "ssh-keygen -i" in result.err
    (folder / "text").write_bytes(TEXT)
    fail("decrypt", "-i", folder / "other", folder / "text", code=USAGE, says="public key|RFC 4716")
    # What the hint says gives a line that paes reads.
    back = output_of("ssh-keygen", "-i", "-m", form, "-f", folder / "other")
    (folder / "line").write_bytes(back)
    succeed("encrypt", "-R", folder / "line", stdin=TEXT)


def test_other_recipients_are_refused_alone_and_skipped_in_files(ecdsa, ed25519, new_key, folder):
    small = new_key("-t", "rsa", "-b", 1024)
    fail("encrypt", "-r", ecdsa.recipient, stdin=TEXT, code=USAGE, says="ecdsa-sha2-nistp256")
    fail("encrypt", "-r", small.recipient, stdin=TEXT, code=USAGE, says="1024 bits")
    team = folder / "team"
    team.write_text(f"{ecdsa.recipient}\n{ed25519.recipient}\n{small.recipient}\n")
    result = succeed("encrypt", "-R", team, stdin=TEXT)
    assert "team line 1: an SSH key of type ecdsa-sha2-nistp256 is skipped" in result.err
    assert "team line 3: an RSA key of 1024 bits, which age does not take, is skipped" in result.err
    assert [line.split()[1] for line in envelope_of(result.out).envelope.splitlines()
            if line.startswith(b"-> ")] == [b"ssh-ed25519"]
    team.write_text(f"{ecdsa.recipient}\n")
    result = program.run("encrypt", "-R", team, stdin=TEXT)
    assert result.code == USAGE
    assert "team: holds no recipient that age takes" in result.err


def test_other_identities_are_refused(ecdsa, ed25519, new_key, folder):
    sealed = succeed("encrypt", "-r", ed25519.recipient, stdin=TEXT).out
    for key, says in (
        (ecdsa, "type that age does not take"),
        (new_key("-t", "ecdsa", "-m", "PEM"), "no private key that age takes"),
        (new_key("-t", "ecdsa", "-m", "PKCS8"), "type that age does not take"),
        (new_key("-t", "rsa", "-b", 1024), "1024 bits"),
        (new_key("-t", "rsa", "-m", "PEM", passphrase="geheim"), "encrypted in an old form"),
        (new_key("-t", "rsa", "-m", "PKCS8", passphrase="geheim"), "encrypted in an old form"),
        (
            new_key("-t", "ed25519", "-Z", "chacha20-poly1305@openssh.com", passphrase="geheim"),
            "cipher that paes does not know",
        ),
        (SshKey(Path(f"{ed25519.path}.pub")), "SSH public key"),
    ):
        fail("decrypt", "-i", key.path, stdin=sealed, code=USAGE, says=says)


def test_a_private_key_as_a_recipient_is_refused_and_not_shown(ed25519):
    text = ed25519.path.read_text()
    for arguments in (["-r", text], ["-R", ed25519.path]):
        result = fail("encrypt", *arguments, stdin=TEXT, code=USAGE)
        for line in text.splitlines()[1:-1]:
            assert line not in result.err
