# SPDX-License-Identifier: Apache-2.0
# Keys of age's plugins, with a plugin of our own: both ways, beside age, and with plugins that misbehave.
# Post-quantum keys go to age-plugin-pq where libcrypto has no ML-KEM.
import base64
import io
import json
import os
import shlex
import signal
import stat
import sys
import time
from pathlib import Path

import age_file
import age_plugin_example
import container
import pytest
from age_file import age
from program import FAILURE, MEASURED, USAGE, WRONG_KEY, as_age, fail, on_a_terminal, run, start, succeed
from test_resume import interrupt, resumed_bytes

KEY = bytes(range(16))
RECIPIENT = age_plugin_example.recipient(KEY)


@pytest.fixture
def plugin(folder, monkeypatch):
    """plugin(MANNERS..., name=): puts the plugin first on the path; it then behaves so."""
    place = folder / "plugins"
    place.mkdir()
    monkeypatch.setenv("PATH", f"{place}:{os.environ['PATH']}")
    here = Path(__file__).parent

    def make(*manners, name="example"):
        file = place / f"age-plugin-{name}"
        file.write_text(
            f"#!/bin/sh\nexport PYTHONPATH={shlex.quote(str(here))} PYTHONDONTWRITEBYTECODE=1\n"
            f"export PAES_PLUGIN_MANNERS='{' '.join(manners)}' PAES_PLUGIN_LOG='{place / 'log'}'\n"
            f"exec {shlex.quote(sys.executable)} {shlex.quote(str(here / 'age_plugin_example.py'))} \"$@\"\n"
        )
        file.chmod(file.stat().st_mode | stat.S_IXUSR)
        return place / "log"

    return make


@pytest.fixture
def identity(folder):
    path = folder / "identity.txt"
    path.write_text(f"# a comment\n{age_plugin_example.identity(KEY)}\n")
    return path


@pytest.fixture
def text(folder, random_bytes):
    path = folder / "text"
    path.write_bytes(random_bytes(100000))
    return path


def test_round_trip(plugin, identity, text, folder):
    log = plugin("unknown", "show")
    succeed("encrypt", "-r", RECIPIENT, text)
    said = log.read_text().splitlines()
    assert said[0] == f"add-recipient {RECIPIENT}"
    assert said[1:4] == ["wrap-file-key", "extension-labels", "done"]
    succeed("decrypt", "-i", identity, "-o", folder / "again", f"{text}.paes")
    assert (folder / "again").read_bytes() == text.read_bytes()


def test_what_a_plugin_shows_has_no_control_characters(plugin, text):
    plugin("show")
    shown = succeed("encrypt", "-r", RECIPIENT, text).err
    assert "touch the" in shown and "key" in shown
    assert "\x1b" not in shown


def test_others_beside_it(plugin, identity, text, keys, folder):
    plugin("twice")
    succeed("encrypt", "-r", RECIPIENT, "-r", keys.recipient, text)
    for path in (identity, keys.path):
        succeed("decrypt", "-f", "-i", path, "-o", folder / "again", f"{text}.paes")
        assert (folder / "again").read_bytes() == text.read_bytes()


def test_rekey_asks_the_plugin_once(plugin, identity, text, keys, folder):
    log = plugin()
    succeed("encrypt", "-r", RECIPIENT, text)
    log.unlink()
    succeed("rekey", "-i", identity, "--remove", "1", "--add", "-r", keys.recipient, f"{text}.paes")
    assert sum(line.startswith("add-identity") for line in log.read_text().splitlines()) == 1
    succeed("decrypt", "-i", keys.path, "-o", folder / "again", f"{text}.paes")
    assert (folder / "again").read_bytes() == text.read_bytes()


def test_an_interrupted_run_is_continued_with_a_plugins_key(plugin, identity, text, keys, folder):
    """Only the plugin knows whose identity it is, so it may be one of the recipients'."""
    plugin()
    text.write_bytes(text.read_bytes() * 400)
    sealing = ["encrypt", "--resume", "-r", RECIPIENT, "-i", identity, "-T", "1", text]
    interrupt(sealing, Path(f"{text}.paes"))
    assert resumed_bytes(*sealing) > 0
    succeed("decrypt", "-i", identity, "-o", folder / "again", f"{text}.paes")
    assert (folder / "again").read_bytes() == text.read_bytes()


def test_a_run_for_another_plugins_key_is_not_continued(plugin, identity, text, folder):
    """Else the key that came later would open nothing."""
    plugin()
    text.write_bytes(text.read_bytes() * 400)
    other = folder / "other.txt"
    other.write_text(age_plugin_example.identity(bytes(16)) + "\n")
    interrupt(["encrypt", "--resume", "-i", identity, "-T", "1", text], Path(f"{text}.paes"))
    sealing = ["encrypt", "--resume", "-i", identity, "-i", other, "-i", other, "-T", "1", text]
    assert resumed_bytes(*sealing) == 0
    sealed = Path(f"{text}.paes")
    for key in (identity, other):
        succeed("decrypt", "-f", "-i", key, "-o", folder / "again", sealed)
        assert (folder / "again").read_bytes() == text.read_bytes()
    assert len(json.loads(succeed("inspect", "--json", sealed).out)["recipients"]) == 2


def test_what_only_the_plugin_knows(plugin, identity):
    plugin()
    fail("keygen", "-y", identity, code=USAGE, says="only its plugin knows the public key")


def test_a_plugin_gets_no_descriptor_but_its_own(plugin, text, folder):
    """A descriptor that paes has inherited may lead to a passphrase."""
    log = plugin("descriptors")
    reader, writer = os.pipe()
    succeed("encrypt", "-r", RECIPIENT, text, pass_fds=[reader, writer])
    assert "descriptors 0 1 2" in log.read_text().splitlines()
    os.close(reader)
    os.close(writer)


def test_a_plugin_that_does_not_read_can_be_stopped(plugin, keys, identity, folder):
    stanzas = [age_file.stanza([b"example.com/long"], bytes(700)) for _ in range(900)]
    (folder / "sealed.paes").write_bytes(container.make(
        2, b"text", lambda key: age_file.seal(key, [keys.recipient], more_stanzas=stanzas)))
    log = plugin("deaf")
    with start("decrypt", "-i", identity, folder / "sealed.paes") as process:
        while not log.exists():
            assert process.poll() is None
        time.sleep(0.3)  # until it writes more than the socket holds
        process.send_signal(signal.SIGTERM)
        assert process.wait(20) == -signal.SIGTERM


def test_age_takes_the_same_keys(plugin, identity, text, folder):
    plugin()
    succeed("encrypt", "-r", RECIPIENT, text)
    envelope = container.read_preamble(io.BytesIO(Path(f"{text}.paes").read_bytes())).envelope
    assert len(age_file.age_decrypt(envelope, identity)) == 32
    sealed = age_file.age_encrypt(b"x" * 32, [RECIPIENT])
    # age's own envelope around the same payload's key opens here, too.
    assert age_file.age_decrypt(sealed, identity) == b"x" * 32


def test_another_key_opens_nothing(plugin, text, folder):
    plugin()
    succeed("encrypt", "-r", RECIPIENT, text)
    (folder / "other").write_text(age_plugin_example.identity(bytes(16)) + "\n")
    fail("decrypt", "-i", folder / "other", "-o", folder / "again", f"{text}.paes",
         code=WRONG_KEY, says="no identity given opens it")


@pytest.mark.parametrize("manners, why", [
    ("error", "plugin example: no key is plugged in"),
    ("die", "plugin example: has ended early"),
    ("garbage", "plugin example: does not keep to the protocol"),
    ("silent", "plugin example: has wrapped nothing"),
    ("ask", "no terminal"),
])
def test_a_plugin_that_fails(plugin, text, folder, manners, why):
    plugin(manners)
    fail("encrypt", "-r", RECIPIENT, text, code=FAILURE, says=why, prefix=["setsid", "-w"])
    assert not Path(f"{text}.paes").exists()


@pytest.mark.parametrize("form", ["paes", "age"])
@pytest.mark.parametrize("manners", ["short", "sealed", "hybrid", "rsa"])
def test_a_malformed_stanza_is_not_written(plugin, text, keys, folder, manners, form):
    plugin(manners)
    fail("encrypt", "--format", form, "-r", RECIPIENT, "-r", keys.recipient, "-o", folder / "out", text,
         code=FAILURE, says="plugin example: gives a malformed stanza")
    assert "malformed stanza" in as_age("-r", RECIPIENT, stdin=b"text", code=FAILURE).err
    succeed("encrypt", "-r", keys.recipient, text)
    before = Path(f"{text}.paes").read_bytes()
    fail("rekey", "-i", keys.path, "--add", "-r", RECIPIENT, f"{text}.paes", code=FAILURE, says="malformed stanza")
    assert Path(f"{text}.paes").read_bytes() == before
    assert not (folder / "out").exists()


@pytest.mark.parametrize("form", ["paes", "age"])
def test_a_stanza_that_must_be_alone_is_not_written_beside_others(plugin, text, keys, folder, form):
    plugin("alone")
    fail("encrypt", "--format", form, "-r", RECIPIENT, "-r", keys.recipient, "-o", folder / "out", text,
         code=FAILURE, says="a passphrase stanza that is not alone")
    assert not (folder / "out").exists()


@pytest.mark.parametrize(("manners", "says"), [
    ("flood", "sends more messages than a plugin may"), ("more", "gives more stanzas than a header holds")])
def test_a_plugin_that_never_ends_fills_no_memory(plugin, text, manners, says):
    plugin(manners)
    result = run("encrypt", "-r", RECIPIENT, text, prefix=MEASURED)
    assert f"plugin example: {says}" in result.err
    code, peak = map(int, result.err.splitlines()[-1].split())
    assert code == FAILURE
    assert peak < 100 << 20
    assert not Path(f"{text}.paes").exists()


def test_what_a_plugin_wraps_under_a_passphrase_it_opens(plugin, text, identity, keys, folder):
    """As age's batchpass does. Nobody is asked for a passphrase, and other keys leave the stanza alone."""
    plugin("passphrase")
    for form in ("paes", "age"):
        succeed("encrypt", "--format", form, "-i", identity, "-o", folder / form, text)
        succeed("decrypt", "-i", keys.path, "-i", identity, "-f", "-o", folder / "again", folder / form,
                prefix=["setsid", "-w"])
        assert (folder / "again").read_bytes() == text.read_bytes()
    assert as_age("-d", "-i", identity, folder / "age").out == text.read_bytes()
    # What the plugin does not open still has a passphrase.
    (folder / "word").write_text("word")
    sealed = succeed("encrypt", "--passphrase-file", folder / "word", stdin=b"text").out
    assert succeed("decrypt", "-i", identity, "--passphrase-file", folder / "word", stdin=sealed).out == b"text"


@pytest.mark.parametrize("manners", [None, "error", "die"])
def test_a_plugin_that_fails_does_not_keep_a_passphrase_out(plugin, identity, folder, manners):
    """Its hardware may be elsewhere, and it may have nothing to do with the file."""
    if manners:
        plugin(manners)
    (folder / "word").write_text("word")
    for form in ("paes", "age"):
        sealed = succeed("encrypt", "--format", form, "--passphrase-file", folder / "word", stdin=b"text").out
        opening = ["decrypt", "-i", identity, "--passphrase-file"]
        assert succeed(*opening, folder / "word", stdin=sealed).out == b"text"
        (folder / "other").write_text("other")
        fail(*opening, folder / "other", stdin=sealed, code=WRONG_KEY, says="the passphrase is wrong")
    # age asks for no passphrase beside identities, so that the plugin's failure is all there is to tell.
    result = as_age("-d", "-i", identity, stdin=sealed, code=FAILURE)
    assert "plugin example" in result.err and "passphrase-encrypted" not in result.err


def test_no_such_plugin(text):
    fail("encrypt", "-r", RECIPIENT, text, code=FAILURE, says="no program age-plugin-example on the path")


def test_a_plugin_in_the_working_folder_is_not_run(plugin, text, folder, monkeypatch):
    plugin()
    monkeypatch.setenv("PATH", "/usr/bin:/bin::.")
    fail("encrypt", "-r", RECIPIENT, text, cwd=folder / "plugins", code=FAILURE, says="no program")


@pytest.mark.parametrize("key", [RECIPIENT[:-1], RECIPIENT[:-1] + "b", RECIPIENT.replace("example", "a/b")])
def test_misspelt_keys(text, key):
    fail("encrypt", "-r", key, text, code=USAGE, says="typing error")


def test_labels_keep_others_out(plugin, text, keys):
    plugin("labels")
    succeed("encrypt", "-r", RECIPIENT, "-f", text)
    fail("encrypt", "-r", RECIPIENT, "-r", keys.recipient, "-f", text, code=USAGE, says="post-quantum")


def test_the_user_answers(plugin, text):
    plugin("ask")
    code, shown = on_a_terminal(["encrypt", "-r", RECIPIENT, text], [b"1234", b"green"])
    assert code == 0, shown
    assert "1234" not in shown and "green" in shown
    code, shown = on_a_terminal(["encrypt", "-f", "-r", RECIPIENT, text], [b"4321"])
    assert code == FAILURE and "wrong PIN" in shown


def test_the_user_chooses(plugin, text):
    plugin("confirm")
    code, shown = on_a_terminal(["encrypt", "-r", RECIPIENT, text], [b"what", b"2"])
    assert code == 0, shown
    assert "go on" in shown and "stop" in shown and "\x1b" not in shown


def test_a_hybrid_tagged_recipient_goes_to_its_plugin_without_ml_kem(plugin, text, keys, folder):
    """With ML-KEM paes knows these keys by itself (test_tagged.py)."""
    if run("keygen", "--post-quantum").code == 0:
        pytest.skip("this libcrypto has ML-KEM-768, so no plugin is asked")
    name, manners = "tagpq", ["labels"]
    key = bytes(7 * i % 251 for i in range(1249))
    recipient = age_plugin_example.recipient(key, name)
    assert recipient.startswith(f"age1{name}1")
    (folder / "team").write_text(f"# of hardware\n{recipient}\n")
    for to in (["-r", recipient], ["-R", folder / "team"]):
        # age's own package has such programs from 1.3 on.
        fail("encrypt", *to, text, code=FAILURE, prefix=["env", "PATH=/nonexistent"],
             says=f"plugin {name}: there is no program age-plugin-{name} on the path\n.*install age-plugin-{name}")
        assert not Path(f"{text}.paes").exists()
    log = plugin(*manners, name=name)
    plugin()  # the same key as an identity
    (folder / "own").write_text(age_plugin_example.identity(key) + "\n")
    for to in (["-r", recipient], ["-R", folder / "team"], ["--format", "age", "-r", recipient]):
        log.unlink(missing_ok=True)
        sealed = succeed("encrypt", *to, "-o", "-", text).out
        assert log.read_text().splitlines()[0] == f"add-recipient {recipient}"
        assert succeed("decrypt", "-i", folder / "own", stdin=sealed).out == text.read_bytes()
    fail("encrypt", "-r", recipient, "-r", keys.recipient, text, code=USAGE, says="post-quantum")
    fail("encrypt", "-r", recipient[:-1] + ("q" if recipient[-1] != "q" else "p"), text, code=USAGE, says="typing error")


# paes age -j


def test_the_key_that_a_plugin_takes_by_default(plugin, identity, folder):
    """-j for -i and for -r, and beside -i; age does the same."""
    log = plugin()
    text = b"x" * 1000
    default = age_plugin_example.recipient(age_plugin_example.DEFAULT_KEY)
    (folder / "by -r").write_bytes(as_age("-r", default, stdin=text).out)
    log.unlink()
    (folder / "by -j").write_bytes(as_age("-e", "-j", "example", stdin=text).out)
    assert log.read_text().splitlines()[0] == "add-identity " + age_plugin_example.identity(b"")
    (folder / "by age").write_bytes(age("-e", "-j", "example", stdin=text))
    for name in ("by -r", "by -j", "by age"):
        assert as_age("-d", "-j", "example", folder / name).out == text
        assert as_age("-d", "-i", identity, "-j=example", folder / name).out == text
        assert age("-d", "-j", "example", folder / name) == text
        as_age("-d", "-i", identity, folder / name, code=FAILURE)
    both = as_age("-e", "-i", identity, "-j", "example", stdin=text).out
    for keys in (["-i", identity], ["-j", "example"]):
        assert as_age("-d", *keys, stdin=both).out == text


@pytest.mark.parametrize("name, why", [
    ("nobody", "plugin nobody: there is no program age-plugin-nobody on the path"),
    ("a/b", "plugin 'a/b': is not the name of a plugin"),
    ("", "plugin '': is not the name of a plugin"),
])
def test_plugins_that_are_none(name, why, plugin, folder):
    plugin()
    (folder / "sealed").write_bytes(as_age("-r", RECIPIENT, stdin=b"text").out)
    for arguments in (["-d", "-j", name, folder / "sealed"], ["-e", "-j", name, "-o", folder / "out"]):
        result = as_age(*arguments, code=FAILURE)
        assert f"age: error: {why}" in result.err
        assert result.out == b""
    assert not (folder / "out").exists()


def test_where_age_takes_no_default_key(plugin, folder):
    plugin()
    assert "without -e/--encrypt" in as_age("-j", "example", stdin=b"text", code=FAILURE).err
    assert "can't be combined" in as_age("-e", "-p", "-j", "example", stdin=b"text", code=FAILURE).err
    (folder / "word").write_text("word")
    sealed = succeed("encrypt", "--format", "age", "--passphrase-file", folder / "word", stdin=b"text").out
    assert "passphrase-encrypted but identities" in as_age("-d", "-j", "example", stdin=sealed, code=FAILURE).err


# What age's own names for them are.
POST_QUANTUM = "AGE-SECRET-KEY-PQ-1XX76JRALNLXDMEW0CRK45QMCCH4X06SE84UN3VPM33W6HWDX0H3SK3ZQFR"


def test_post_quantum_identities_need_libcrypto_or_the_plugin(plugin, keys, folder):
    (folder / "pq").write_text(POST_QUANTUM + "\n")

    def seal(name, more_stanzas):
        (folder / name).write_bytes(container.make(
            2, b"text", lambda key: age_file.seal(key, [keys.recipient], more_stanzas=more_stanzas)))
        return folder / name

    # What is for nobody with such a key is nothing for the plugin, either.
    fail("decrypt", "-i", folder / "pq", seal("x.paes", []), code=WRONG_KEY)
    # A stanza of the right lengths for somebody else.
    share = base64.b64encode(bytes(range(1, 141)) * 8).rstrip(b"=")
    path = seal("y.paes", [age_file.stanza([b"mlkem768x25519", share], bytes(32))])
    result = fail("decrypt", "-i", folder / "pq", path, code=(WRONG_KEY, FAILURE))
    if result.code == WRONG_KEY:
        pytest.skip("libcrypto has ML-KEM-768, so no plugin is asked")
    assert "no program age-plugin-pq on the path" in result.err
    log = plugin(name="pq")
    fail("decrypt", "-i", folder / "pq", path, code=WRONG_KEY)
    data = age_file.bech32_data(POST_QUANTUM)
    assert log.read_text().splitlines()[0] == "add-identity " + age_file.bech32("AGE-PLUGIN-PQ-", data)
