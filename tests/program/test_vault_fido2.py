# SPDX-License-Identifier: Apache-2.0
# Vaults that a FIDO2 token opens, with gocryptfs as the judge in both directions, and programs in the place
# of fido2-cred and fido2-assert that behave and misbehave (fido2_example.py).
import base64
import json
import os
import re
import shlex
import stat
import subprocess
import sys
import time
from pathlib import Path

import fido2_example
import program
import pytest
import test_mount
from program import CORRUPT, FAILURE, OK, USAGE, WRONG_KEY, fail, on_a_terminal, run, start, succeed
from vault import CHEAP, Secrets, gocryptfs, needs_fuse, needs_gocryptfs, unmount_checks

CONFIGURATION = "gocryptfs.conf"
PROGRAMS = ("fido2-cred", "fido2-assert")

needs_mounts = pytest.mark.skipif(test_mount.why_not() is not None, reason=str(test_mount.why_not()))


class Token:
    """A token, and the programs that talk to it, first on the path."""

    def __init__(self, place):
        self.place = place
        self.device = place / "hidraw0"
        self.device.write_bytes(os.urandom(32))
        self.log = place / "log"
        self.behave()

    def behave(self, *manners, programs=PROGRAMS):
        here = Path(__file__).parent
        for name in programs:
            file = self.place / name
            words = shlex.join([sys.executable, str(here / "fido2_example.py"), name])
            file.write_text(
                "#!/bin/sh\nexport PYTHONDONTWRITEBYTECODE=1\n"
                f"export FIDO2_MANNERS={shlex.quote(' '.join(manners))} FIDO2_LOG={shlex.quote(str(self.log))}\n"
                f'exec {words} "$@"\n'
            )
            file.chmod(file.stat().st_mode | stat.S_IXUSR)

    def asked(self):
        """What the programs were asked since the last call."""
        lines = self.log.read_text().splitlines() if self.log.exists() else []
        self.log.unlink(missing_ok=True)
        return [json.loads(line) for line in lines]


@pytest.fixture
def token(tmp_path, monkeypatch):
    place = tmp_path / "token"
    place.mkdir()
    monkeypatch.setenv("PATH", f"{place}:{os.environ['PATH']}")
    return Token(place)


@pytest.fixture
def secret(tmp_path):
    (tmp_path / "secrets").mkdir()
    return Secrets(tmp_path / "secrets").file("correct horse")


@pytest.fixture
def made(token, folder):
    """A vault of paes."""
    succeed("vault", "init", *CHEAP, "--fido2", token.device, folder)
    token.asked()
    return folder


def configuration(folder):
    return json.loads((folder / CONFIGURATION).read_text())


def change(folder, edit):
    document = configuration(folder)
    edit(document)
    (folder / CONFIGURATION).chmod(0o600)
    (folder / CONFIGURATION).write_text(json.dumps(document))


def opens(folder, *options, **more):
    return run("vault", "ls", *options, folder, **more)


def refused(folder, *options, code, says, **more):
    return fail("vault", "ls", *options, folder, code=code, says=re.escape(says), **more)


def secret_of(token, folder):
    fido2 = configuration(folder)["FIDO2"]
    return fido2_example.secret_of(
        token.device.read_bytes(), base64.b64decode(fido2["CredentialID"]), base64.b64decode(fido2["HMACSalt"])
    )


# ---- what each makes, the other opens


@needs_gocryptfs
@pytest.mark.parametrize("options", [(), ("-plaintextnames",), ("-xchacha", "-longnamemax", "100")])
def test_a_vault_of_gocryptfs(options, token, folder, tmp_path, plain):
    stored = tmp_path / "stored"
    stored.mkdir()
    code, said = gocryptfs("-init", "-q", "-scryptn", "10", "-fido2", token.device, *options, stored)
    assert code == 0, said
    by_gocryptfs = token.asked()
    fido2 = ("--fido2", token.device)
    succeed("vault", "put", *fido2, stored, plain)
    assert succeed("vault", "ls", *fido2, stored).out == b"plain\n"
    assert succeed("vault", "cat", *fido2, stored, "plain").out == plain.read_bytes()
    succeed("vault", "get", *fido2, stored, "plain", tmp_path / "again")
    succeed("vault", "export", *fido2, stored, tmp_path / "all")
    succeed("vault", "fsck", *fido2, stored)
    assert (tmp_path / "all/plain").read_bytes() == plain.read_bytes()
    # Each asks in the same way.
    for ours in token.asked():
        assert (ours["program"], ours["arguments"]) == (by_gocryptfs[1]["program"], by_gocryptfs[1]["arguments"])
        assert ours["asked"][1:] == by_gocryptfs[1]["asked"][1:]


@needs_gocryptfs
@pytest.mark.parametrize("options", [(), ("--plaintext-names",), ("--cipher", "xchacha20-poly1305")])
def test_gocryptfs_takes_what_init_makes(options, token, folder, tmp_path, plain):
    stored = tmp_path / "stored"
    stored.mkdir()
    key = tmp_path / "master.key"
    made = succeed("vault", "init", *CHEAP, *options, "--fido2", token.device, "--master-key-out", key, stored)
    assert "without it and the token or the master key nothing opens the vault" in made.err
    assert configuration(stored)["FeatureFlags"][-1] == "FIDO2"
    register, first = token.asked()
    assert (register["program"], register["arguments"]) == ("fido2-cred", ["-M", "-h", str(token.device)])
    assert register["asked"][1:3] == ["gocryptfs", "stored"]
    assert (first["program"], first["arguments"]) == ("fido2-assert", ["-G", "-h", str(token.device)])
    succeed("vault", "put", "--fido2", token.device, stored, plain)
    code, said = gocryptfs("-info", stored)
    assert code == 0, said
    code, said = gocryptfs("-dumpmasterkey", "-fido2", token.device, stored / CONFIGURATION, command="gocryptfs-xray")
    assert code == 0 and said.splitlines()[-1] == key.read_text().replace("-", "").strip(), said


@needs_gocryptfs
@needs_fuse
def test_gocryptfs_checks_what_paes_writes(token, made, tmp_path, plain):
    plain = plain.rename(tmp_path / "plain")
    succeed("vault", "put", "--fido2", token.device, made, plain)
    try:
        code, said = gocryptfs("-fsck", "-fido2", token.device, made, TMPDIR=str(tmp_path))
        assert code == 0 and "no problems found" in said, said
    finally:
        unmount_checks(tmp_path)


def test_options_of_the_assertion(token, tmp_path):
    stored = tmp_path / "stored"
    stored.mkdir()
    given = ("--fido2-assert-option", "pin=true", "--fido2-assert-option", "up=false")
    succeed("vault", "init", *CHEAP, "--fido2", token.device, *given, stored)
    assert configuration(stored)["FIDO2"]["AssertOptions"] == ["pin=true", "up=false"]
    opens(stored, "--fido2", token.device)
    for asked in token.asked()[1:]:
        assert asked["arguments"] == ["-G", "-h", "-t", "pin=true", "-t", "up=false", str(token.device)]
    # As versions of gocryptfs from 2.5 on write it where there are none.
    change(stored, lambda all_: all_["FIDO2"].update(AssertOptions=None))
    assert opens(stored, "--fido2", token.device).code == OK
    assert token.asked()[0]["arguments"] == ["-G", "-h", str(token.device)]


@pytest.mark.parametrize(("name", "expected"), [("letters", "letters"), ("two\nlines", "vault"), ("x" * 65, "vault")])
def test_the_name_that_the_token_gets(name, expected, token, tmp_path):
    stored = tmp_path / name
    stored.mkdir()
    succeed("vault", "init", *CHEAP, "--fido2", token.device, stored)
    assert token.asked()[0]["asked"][1:3] == ["gocryptfs", expected]


def test_info(token, made, folder):
    said = json.loads(succeed("vault", "info", "--json", made).out)
    assert said["fido2"] is True and said["flags"][-1] == "FIDO2"
    assert "FIDO2 token" in succeed("vault", "info", made).out.decode()
    assert token.asked() == []


def test_passwd_gives_it_a_passphrase(token, made, secret, tmp_path):
    more = tmp_path / "more.conf"
    new = ("--new-passphrase-file", secret)
    before = (made / CONFIGURATION).read_bytes()
    succeed("vault", "passwd", "--fido2", token.device, *new, "--new-config", more, made)
    assert (made / CONFIGURATION).read_bytes() == before
    assert "FIDO2" not in more.read_text()
    assert opens(made, "--config", more, "--passphrase-file", secret).code == OK
    assert opens(made, "--fido2", token.device).code == OK
    changed = succeed("vault", "passwd", "--fido2", token.device, *new, made)
    assert "the passphrase opens the vault now, and no token" in changed.err
    assert "FIDO2" not in configuration(made)
    assert opens(made, "--passphrase-file", secret).code == OK


def test_a_lost_token(token, secret, tmp_path, plain):
    stored, key = tmp_path / "stored", tmp_path / "master.key"
    stored.mkdir()
    succeed("vault", "init", *CHEAP, "--fido2", token.device, "--master-key-out", key, stored)
    succeed("vault", "put", "--master-key", key, stored, plain)
    succeed("vault", "passwd", "--master-key", key, "--new-passphrase-file", secret, stored)
    assert succeed("vault", "cat", "--passphrase-file", secret, stored, "plain").out == plain.read_bytes()


# ---- the secret


def test_others_do_not_see_the_secret(token, tmp_path, made):
    secret = secret_of(token, made)
    shown = [
        text
        for form in (secret.hex(), base64.b64encode(secret).decode().rstrip("="), secret.decode("latin-1"))
        for text in (form, form.upper())
    ]
    with open(tmp_path / "inherited", "w") as inherited:
        result = opens(made, "--fido2", token.device, pass_fds=(inherited.fileno(),))
    assert result.code == OK
    [asked] = token.asked()
    assert asked["descriptors"] == []
    everywhere = json.dumps(asked, ensure_ascii=False) + result.err + result.out.decode()
    assert not any(text in everywhere for text in shown)
    own = {name.split("=")[0] for name in asked["own"]["environ"].split("\0") if name}
    callers = {name.split("=")[0] for name in asked["caller"]["environ"].split("\0") if name}
    assert own - callers <= {"FIDO2_MANNERS", "FIDO2_LOG", "PYTHONDONTWRITEBYTECODE", "PWD", "OLDPWD", "SHLVL", "_"}
    # Each run has a challenge of its own.
    assert opens(made, "--fido2", token.device).code == OK
    assert token.asked()[0]["asked"][0] != asked["asked"][0]


def test_the_pin_is_asked_for_at_the_terminal(token, made):
    token.behave("pin")
    words = ["vault", "ls", "--fido2", token.device, made]
    code, shown = on_a_terminal(words, [fido2_example.PIN.encode()])
    assert code == OK, shown
    assert f"paes: {token.device}: touch the token when it blinks" in shown
    assert f"Enter PIN for {token.device}: " in shown and fido2_example.PIN not in shown
    code, shown = on_a_terminal(words, [b"4321"])
    assert code == FAILURE and "FIDO_ERR_PIN_INVALID" in shown


# ---- what does not fit


def test_what_opens_the_other_kind(token, made, secret, tmp_path):
    plain = tmp_path / "plain"
    plain.mkdir()
    succeed("vault", "init", *CHEAP, "--passphrase-file", secret, plain)
    said = "a FIDO2 token opens this vault, and not a passphrase"
    result = refused(made, "--passphrase-file", secret, code=USAGE, says=said)
    assert "hint: name its device with --fido2" in result.err
    refused(made, code=USAGE, says=said)
    refused(plain, "--fido2", token.device, code=USAGE, says="a passphrase opens this vault, and not a FIDO2 token")
    for others in (("--passphrase-file", secret), ("--master-key", secret)):
        refused(made, "--fido2", token.device, *others, code=USAGE, says="--fido2 cannot be combined")
    refused(made, "--fido2=-V", code=USAGE, says="--fido2: '-V' is no device")
    refused(made, "--fido2", "", code=USAGE, says="--fido2 is empty")
    assert token.asked() == []


def test_what_init_refuses(token, folder, secret, unchanged):
    check = unchanged()
    fido2 = ("--fido2", token.device)
    for says, *words in (
        ("cannot be combined", *fido2, "--passphrase-file", secret),
        ("goes with --fido2 alone", "--fido2-assert-option", "pin=true", "--passphrase-file", secret),
        ("is not an option of fido2-assert", *fido2, "--fido2-assert-option", "pin true"),
        ("is not an option of fido2-assert", *fido2, *["--fido2-assert-option", "pin=true"] * 17),
    ):
        fail("vault", "init", *CHEAP, *words, folder, code=USAGE, says=says)
    assert token.asked() == []
    token.behave("fails", programs=["fido2-cred"])
    fail("vault", "init", *CHEAP, *fido2, folder, code=FAILURE, says="fido2-cred: has failed")
    token.behave("silent", programs=["fido2-cred"])
    fail("vault", "init", *CHEAP, *fido2, folder, code=FAILURE, says="fido2-cred: its answer holds no credential")
    token.behave(f"says={base64.b64encode(bytes(1024)).decode()}", programs=["fido2-cred"])
    fail("vault", "init", *CHEAP, *fido2, folder, code=FAILURE, says="fido2-cred: its answer holds no credential")
    token.behave()
    token.behave("fails", programs=["fido2-assert"])
    fail("vault", "init", *CHEAP, *fido2, folder, code=FAILURE, says="fido2-assert: has failed")
    check()


@pytest.mark.parametrize(
    ("edit", "says"),
    [
        (lambda all_: all_.pop("FIDO2"), "FIDO2 is only one of flag and value"),
        (lambda all_: all_["FeatureFlags"].remove("FIDO2"), "FIDO2 is only one of flag and value"),
        (lambda all_: all_.update(FIDO2="x"), "FIDO2 is not an object"),
        (lambda all_: all_["FIDO2"].update(CredentialID=""), "the credential of FIDO2 has a wrong length"),
        (lambda all_: all_["FIDO2"].update(HMACSalt="AAAA"), "the salt of FIDO2 has a wrong length"),
        (lambda all_: all_["FIDO2"].update(AssertOptions=["a\nb"]), "an option of FIDO2 is not one of fido2-assert"),
    ],
)
def test_a_damaged_configuration(edit, says, token, made):
    change(made, edit)
    refused(made, "--fido2", token.device, code=CORRUPT, says=says)
    assert token.asked() == []


# ---- tokens and programs that fail


def test_another_token(token, made):
    token.device.write_bytes(os.urandom(32))
    says = "fido2-assert: has failed: fido_dev_get_assert: FIDO_ERR_NO_CREDENTIALS"
    refused(made, "--fido2", token.device, code=FAILURE, says=says)
    token.behave("forgetful")
    refused(made, "--fido2", token.device, code=WRONG_KEY, says="this token does not open it")


def test_no_device(token, made, tmp_path):
    missing = tmp_path / "hidraw9"
    says = f"fido2-assert: has failed: fido_dev_open {missing}: FIDO_ERR_INTERNAL\\x1b[1m"
    refused(made, "--fido2", missing, code=FAILURE, says=says)


@pytest.mark.parametrize(
    ("manner", "says"),
    [
        ("deaf", "its answer holds no secret"),
        ("silent", "its answer holds no secret"),
        ("fails", "has failed\n"),
        ("killed", "was killed by signal 9"),
        ("endless", "says more than it is asked for"),
        ("says=", "its answer holds no secret"),
        (f"says={base64.b64encode(bytes([1] * 31)).decode()}", "its answer holds no secret of 32 to 64 bytes"),
        (f"says={base64.b64encode(bytes([1] * 65)).decode()}", "its answer holds no secret of 32 to 64 bytes"),
        (f"says={base64.b64encode(bytes(32)).decode()}", "the secret is all zeros"),
        (f"says={'#' * 43}=", "its answer is not Base 64"),
        (f"says={'A' * 43}", "its answer is not Base 64"),
        (f"says={'A' * 42}B=", "its answer is not Base 64"),
    ],
)
def test_programs_that_misbehave(manner, says, token, made):
    token.behave(manner)
    result = refused(made, "--fido2", token.device, code=FAILURE, says=f"fido2-assert: {says}")
    assert "AAAA" not in result.err


def test_a_program_that_is_missing(token, made, folder, tmp_path, monkeypatch):
    place = token.place
    for name in PROGRAMS:
        (place / name).unlink()
    says = "there is no such program on the path"
    assert "fido2-tools" in refused(made, "--fido2", token.device, code=FAILURE, says=says).err
    # Only an absolute folder counts, and only a program.
    token.behave()
    monkeypatch.setenv("PATH", "token:/bin")
    refused(made, "--fido2", token.device, code=FAILURE, says=says, cwd=place.parent)
    monkeypatch.setenv("PATH", f"{place}:/bin")
    assert opens(made, "--fido2", token.device).code == OK
    (place / "fido2-assert").chmod(0o600)
    refused(made, "--fido2", token.device, code=FAILURE, says=says)
    (place / "fido2-assert").write_text("no program")
    (place / "fido2-assert").chmod(0o700)
    refused(made, "--fido2", token.device, code=FAILURE, says="fido2-assert: Exec format error")


@pytest.mark.parametrize("manner", ["hangs", "stubborn"])
@pytest.mark.parametrize("number", program.SIGNALS)
def test_an_interrupted_wait(manner, number, token, made):
    token.behave(manner)
    process = start("vault", "ls", "--fido2", token.device, made, stderr=subprocess.PIPE)
    with program.killed_on_failure(process), process:
        hangs = token.place / "hangs"
        program.wait_until(lambda: hangs.exists() and hangs.read_text(), "the token's program")
        process.send_signal(number)
        before = time.monotonic()
        said = process.stderr.read().decode()
        assert program.died_of(process.wait(), number)
        assert time.monotonic() - before < 20
    assert said.count("\n") == 1 and "interrupted" in said
    # The process is gone, and not only left alone.
    assert not Path("/proc", hangs.read_text()).exists()


# Five minutes in a tenth of a second.
HASTE = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <poll.h>
#include <time.h>
int clock_gettime(clockid_t clock, struct timespec* time) {
  int (*real)(clockid_t, struct timespec*) = dlsym(RTLD_NEXT, "clock_gettime");
  int result = real(clock, time);
  if (clock == CLOCK_MONOTONIC) {
    __int128 ns = ((__int128)time->tv_sec * 1000000000 + time->tv_nsec) * 300;
    time->tv_sec = ns / 1000000000;
    time->tv_nsec = ns % 1000000000;
  }
  return result;
}
int poll(struct pollfd* events, nfds_t count, int timeout) {
  int (*real)(struct pollfd*, nfds_t, int) = dlsym(RTLD_NEXT, "poll");
  return real(events, count, timeout > 300 ? timeout / 300 : timeout);
}
"""


@pytest.mark.parametrize(("manner", "says"), [
    ("hangs", "has not answered for five minutes"), ("lasts", "has answered, but does not end"),
])
def test_the_time_limit(manner, says, token, made, preloaded):
    token.behave(manner)
    refused(made, "--fido2", token.device, code=FAILURE, says=says, prefix=preloaded(HASTE, "-ldl"))


# ---- mounts


@needs_mounts
@pytest.mark.parametrize("words", [["--fido2", "{}"], ["-o", "fido2={}"], ["-f", "--fido2", "{}"]])
def test_a_mount(words, token, made, plain, tmp_path):
    plain = plain.rename(tmp_path / "plain")
    succeed("vault", "put", "--fido2", token.device, made, plain)
    point = tmp_path / "text"
    point.mkdir()
    words = [word.format(token.device) for word in words]
    process = start(*words, made, point, binary=test_mount.MOUNT)
    with program.killed_on_failure(process), process:
        try:
            program.wait_until(lambda: os.path.ismount(point) or process.poll() not in (None, 0), "the mount")
            assert (point / "plain").read_bytes() == plain.read_bytes()
        finally:
            subprocess.run(["umount", "-l", point], capture_output=True, check=False)
        assert process.wait(timeout=60) == OK


@needs_mounts
def test_a_mount_that_is_refused(token, made, secret, tmp_path):
    point = tmp_path / "text"
    point.mkdir()
    for words, code, says in (
        ([], USAGE, "a FIDO2 token opens this vault"),
        (["-o", f"passfile={secret}"], USAGE, "a FIDO2 token opens this vault"),
        (["--fido2", tmp_path / "none"], FAILURE, "fido2-assert: has failed: fido_dev_open"),
    ):
        done = run(*words, made, point, binary=test_mount.MOUNT)
        assert done.code == code, done.err
        program.assert_error_lines(done.err, says)
    assert not os.path.ismount(point)
