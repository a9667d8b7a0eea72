# SPDX-License-Identifier: Apache-2.0
# Public keys of hardware, age1tag1... and age1tagpq1..., which paes itself encrypts to. What opens the files is a
# plugin on PyPI cryptography (tagged_hardware.py) that stands for the hardware's, and is tried by others' vectors first.
import hashlib
import json
import os
import shlex
import shutil
import stat
import sys
from pathlib import Path

import age_file
import pytest
import tagged_hardware as tagged
from age_file import age
from program import USAGE, WRONG_KEY, fail, run, succeed

CLASSIC = tagged.Tagged(bytes(range(1, 33)))
OTHER = tagged.Tagged(bytes(range(2, 34)))
HYBRID = tagged.HybridTagged(bytes(range(32)))
VECTOR = json.loads((Path(__file__).parent / "mlkem768_p256.json").read_text())


def has_ml_kem():
    return run("keygen", "--post-quantum").code == 0


@pytest.fixture(params=["p256tag", "mlkem768p256tag"])
def key(request):
    if request.param == "p256tag":
        return CLASSIC
    if not has_ml_kem():
        pytest.skip("this libcrypto has no ML-KEM-768 (OpenSSL 3.5 and later have it)")
    return HYBRID


@pytest.fixture
def hardware(folder, monkeypatch):
    """Puts the plugin of the hardware on the path, alone. Gives back its log."""
    place = folder / "plugins"
    place.mkdir()
    here = Path(__file__).parent
    file = place / "age-plugin-tagtest"
    file.write_text(
        f"#!/bin/sh\nexport PYTHONPATH={shlex.quote(str(here))} PYTHONDONTWRITEBYTECODE=1 PAES_PLUGIN_LOG='{place / 'log'}'\n"
        f"exec {shlex.quote(sys.executable)} {shlex.quote(str(here / 'tagged_hardware.py'))} \"$@\"\n"
    )
    file.chmod(file.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PATH", f"{place}:{os.environ['PATH']}")
    return place / "log"


@pytest.fixture
def text(folder, random_bytes):
    path = folder / "text"
    path.write_bytes(random_bytes(100000))
    return path


def stanzas(sealed):
    return json.loads(succeed("inspect", "--json", sealed).out)["recipients"]


def test_the_hardware_is_right_about_published_vectors():
    from cryptography.hazmat.primitives import hpke

    hybrid = tagged.HybridTagged(bytes.fromhex(VECTOR["skRm"]))
    assert age_file.bech32_data(hybrid.recipient()).hex() == VECTOR["pkRm"]
    assert hybrid.shared_secret(bytes.fromhex(VECTOR["enc"])).hex() == VECTOR["shared_secret"]
    suite = hpke.Suite(hpke.KEM.P256, hpke.KDF.HKDF_SHA256, hpke.AEAD.CHACHA20_POLY1305)
    sealed = suite.encrypt(b"file key", CLASSIC.key.public_key(), b"age-encryption.org/p256tag")
    assert CLASSIC.open(sealed[:65], sealed[65:]) == b"file key"
    # From the tests of age-plugin-se 0.1.5 (testRecipient_P256Tag).
    recipient = age_file.bech32_data("age1tag1qf0l9gks6x65ha077wq3w3u8fy02tpg3cd9w5j0jlgpfgqkcut2lwksa782")
    encapsulation = tagged.plugin.decode(
        "BD7IeMpB4oX0CHt/Bc9xzk6x1K262zNxoUtfAikZa5T7aUSkQuuvOANb1o+BKtf/4/F++4nJgRQ0PgIyFJq8i88"
    )
    assert tagged.tag_of("p256tag", encapsulation, recipient) == tagged.plugin.decode("NDTf9g")


@pytest.mark.parametrize("form", [[], ["--format", "age"]])
def test_hardware_opens_what_paes_encrypts(form, key, hardware, text, folder):
    """No plugin takes part in the encryption."""
    (folder / "identity").write_text(key.identity() + "\n")
    sealed = folder / "sealed"
    succeed("encrypt", *form, "-r", key.recipient(), "-o", sealed, text, prefix=["env", "PATH=/nonexistent"])
    assert [each["type"] for each in stanzas(sealed)] == [key.kind]
    assert succeed("decrypt", "-i", folder / "identity", "-o", "-", sealed).out == text.read_bytes()
    assert f"opened {key.kind}" in hardware.read_text().splitlines()


def test_other_hardware_is_not_asked(hardware, text, folder):
    (folder / "identity").write_text(OTHER.identity() + "\n")
    succeed("encrypt", "-r", CLASSIC.recipient(), text)
    fail("decrypt", "-i", folder / "identity", "-o", "-", f"{text}.paes", code=WRONG_KEY)
    assert "passed over p256tag" in hardware.read_text().splitlines()
    assert "opened p256tag" not in hardware.read_text().splitlines()


def test_beside_other_keys(hardware, text, keys, folder):
    sealed = Path(f"{text}.paes")
    succeed("encrypt", "-r", keys.recipient, "-r", CLASSIC.recipient(), "-r", OTHER.recipient(), text)
    (folder / "identity").write_text(OTHER.identity() + "\n")
    for identity in (keys.path, folder / "identity"):
        assert succeed("decrypt", "-i", identity, "-o", "-", sealed).out == text.read_bytes()
    succeed("rekey", "-i", keys.path, "--remove", "1", "--remove", "2", "--remove", "3", "--add", "-r", OTHER.recipient(), sealed)
    assert [each["type"] for each in stanzas(sealed)] == ["p256tag"]
    assert succeed("decrypt", "-i", folder / "identity", "-o", "-", sealed).out == text.read_bytes()


def test_no_other_kind_beside_a_post_quantum_one(key, text, keys):
    if key is CLASSIC:
        return
    fail("encrypt", "-r", key.recipient(), "-r", keys.recipient, text, code=USAGE, says="post-quantum")
    fail("encrypt", "-r", key.recipient(), "-r", CLASSIC.recipient(), text, code=USAGE, says="post-quantum")


def test_what_is_no_key(text):
    wrong = {
        "typing error": [CLASSIC.recipient()[:-1] + ("q" if CLASSIC.recipient()[-1] != "q" else "p"),
                         CLASSIC.recipient()[:-7], HYBRID.recipient()[:-1] + "b",
                         age_file.bech32("age1tag", bytes(32)), age_file.bech32("age1tagpq", bytes(1248))],
        # x = 7 has no y on the curve; the second is the form that only the other kind has; a form that none has.
        "not a tagged key": [age_file.bech32("age1tag", b"\2" + (7).to_bytes(32, "big")),
                             age_file.bech32("age1tag", b"\4" + (7).to_bytes(32, "big")),
                             age_file.bech32("age1tag", b"\6" + bytes(32))],
    }
    for says, recipients in wrong.items():
        for recipient in recipients:
            result = fail("encrypt", "-r", recipient, text, code=USAGE, says=says)
            assert len(result.err.splitlines()) == 1
    assert not Path(f"{text}.paes").exists()


def test_a_post_quantum_key_that_is_none(key, text):
    if key is CLASSIC:
        return
    data = bytearray(age_file.bech32_data(key.recipient()))
    data[-1] ^= 1  # off the curve
    off_curve = age_file.bech32("age1tagpq", bytes(data))
    fail("encrypt", "-r", off_curve, text, code=USAGE, says="not a tagged key")
    data = bytearray(age_file.bech32_data(key.recipient()))
    data[:2] = b"\xff\xff"  # above the modulus
    fail("encrypt", "-r", age_file.bech32("age1tagpq", bytes(data)), text, code=USAGE, says="not a tagged key")


# The keys of age-plugin-tagtest, with which age tests its own recipients: made of its name (RFC 9180, section 7.1.3,
# and draft-ietf-hpke-pq). These are the ends of its recipients.
TAGTEST = b"age-plugin-tagtest"
CLASSIC_END, HYBRID_END = "0gvznz7fvygxrlq90u5mq2pysxtw6h", "w79ljg3q5nvs6ggmm4gkc"


def tagtest_keys():
    suite = b"KEM" + tagged.P256_KEM.to_bytes(2, "big")
    key = tagged.labeled_extract(suite, b"", b"dkp_prk", TAGTEST)
    classic = tagged.Tagged(tagged.labeled_expand(suite, key, b"candidate", b"\0", 32))
    label = b"HPKE-v1KEM" + tagged.HYBRID_KEM.to_bytes(2, "big") + (13).to_bytes(2, "big") + b"DeriveKeyPair"
    hybrid = tagged.HybridTagged(hashlib.shake_256(TAGTEST + label + (32).to_bytes(2, "big")).digest(32))
    assert classic.recipient().endswith(CLASSIC_END) and hybrid.recipient().endswith(HYBRID_END)
    return {each.kind: each for each in (classic, hybrid)}


def test_age_and_paes_agree(key, hardware, text, folder):
    """age knows the keys from 1.3 on, and its package has a plugin with the secret ones."""
    version = age("--version").decode().strip().lstrip("v(")
    if not version[:1].isdigit() or tuple(int(part) for part in version.split(".")[:2]) < (1, 3):
        pytest.skip(f"age {version} does not know tagged keys (1.3 and later do)")
    key = tagtest_keys()[key.kind]
    (folder / "identity").write_text(key.identity() + "\n")
    (folder / "by age").write_bytes(age("-r", key.recipient(), text))
    succeed("encrypt", "--format", "age", "-r", key.recipient(), "-o", folder / "by paes", text)
    for name in ("by age", "by paes"):
        assert succeed("decrypt", "-i", folder / "identity", "-o", "-", folder / name).out == text.read_bytes()
        assert f"opened {key.kind}" in hardware.read_text().splitlines()
    (folder / "plugins" / "age-plugin-tagtest").unlink()  # leaves age's own, if it is there
    if shutil.which("age-plugin-tagtest") is None:
        pytest.skip("age-plugin-tagtest of age's own package is not installed; ours has opened all")
    for name in ("by age", "by paes"):
        assert age("-d", "-j", "tagtest", folder / name) == text.read_bytes()
