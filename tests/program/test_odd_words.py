# SPDX-License-Identifier: Apache-2.0
# Words of the command line reach the commands as they stand, whatever they look like: the library that
# parses it gives some of them a meaning, such as "++", "[a,b]" and "{}".
import os

import mpi
import program
import pytest
from program import USAGE, fail, succeed

ODD = [
    *("++", "+", "[]", "[a]", "[a,b]", "[[a,b]]", "{}", "%%", "%", "/o", "/output:x", "#", ";", "="),
    *("a=b", "=a", "a,b", ",", '"a"', "'a'", "`a`", "@a", "!", "~", "*", "?", "\\x41", "\\", " ", " a "),
    *("verify", "encrypt", "help", "bench", "true", "0x10", "caf\u00e9", "new\nline", "\t", "a:b"),
]
# Options to whoever does not write "--" or "./" before them.
DASHES = ["--", "-b", "-o", "-o=x", "-5", "-!x", "---x", "--json", "--=v", "-=v", "- a", "--output"]


def content_of(name):
    return b"content of " + os.fsencode(name)


@pytest.fixture
def odd(folder):
    """Files of all these names, and of the names that others would make of them."""
    for name in {*ODD, *DASHES, "a", "b", "x", "A"}:
        if "/" not in name:
            (folder / name).write_bytes(content_of(name))
    (folder / "key16").write_bytes(bytes(16))
    return folder


def listed(folder):
    return {path.name for path in folder.iterdir()}


def files(names):
    return [name for name in names if "/" not in name]


def test_files_of_odd_names_one_by_one(odd, keys):
    for name in files(ODD + DASHES):
        before = listed(odd)
        mark = ["--"] if name.startswith("-") else []
        succeed("encrypt", "-r", keys.recipient, *mark, name, cwd=odd)
        assert listed(odd) - before == {name + ".paes"}, name
        said = succeed("verify", "-i", keys.path, *mark, name + ".paes", cwd=odd).out.decode()
        assert said.endswith(f": authentic, {len(content_of(name))} bytes\n")
        succeed("inspect", *mark, name + ".paes", cwd=odd)
        succeed("rekey", "--add", "-i", keys.path, "-r", keys.recipient, *mark, name + ".paes", cwd=odd)
        (odd / name).unlink()
        succeed("decrypt", "-i", keys.path, *mark, name + ".paes", cwd=odd)
        assert (odd / name).read_bytes() == content_of(name)
        ciphered = succeed(
            *("cipher", "aes-128-ctr", "--key", "key16", "--iv", "00" * 16, *mark, name), cwd=odd
        )
        assert len(ciphered.out) == len(content_of(name))
        (odd / (name + ".paes")).unlink()
        assert listed(odd) == before, name


def test_files_of_odd_names_together(odd, keys):
    names = files(ODD)
    before = listed(odd)
    # What follows "--" are files, also after others.
    succeed("encrypt", "-r", keys.recipient, *names, "--", *DASHES, cwd=odd)
    made = {name + ".paes" for name in names + DASHES}
    assert listed(odd) == before | made
    for name in names + DASHES:
        (odd / name).unlink()
    succeed("decrypt", "-i", keys.path, *(n + ".paes" for n in names), "--",
            *(n + ".paes" for n in DASHES), cwd=odd)
    assert all((odd / name).read_bytes() == content_of(name) for name in names + DASHES)


@pytest.mark.parametrize("name", ["++", "[a,b]", "{}", "%%", "--", "-b", "-o=x", "--json", "verify"])
def test_values_of_options(name, odd, keys, tmp_path):
    (odd / name).write_text(keys.recipient)
    succeed("encrypt", "-R", name, "-o", tmp_path / "sealed", odd / "key16", cwd=odd)
    (odd / name).write_bytes(keys.path.read_bytes())
    succeed("verify", "-i", name, tmp_path / "sealed", cwd=odd)
    succeed("decrypt", "--identity", name, "-f", "-o", name + "2", tmp_path / "sealed", cwd=odd)
    assert (odd / (name + "2")).read_bytes() == bytes(16)
    succeed("verify", f"-i{name}", tmp_path / "sealed", cwd=odd)
    succeed("verify", f"--identity={name}", tmp_path / "sealed", cwd=odd)
    (odd / name).write_bytes(bytes(16))
    expected = succeed("cipher", "aes-128-ecb", "--key", odd / "key16", odd / "b").out
    assert succeed("cipher", "aes-128-ecb", "--key", name, "b", cwd=odd).out == expected
    (odd / name).unlink()
    succeed("keygen", "-o", name, cwd=odd)
    assert (odd / name).read_bytes().startswith(b"# created: ")


@pytest.mark.parametrize("command", ["inspect", "keygen"])
@pytest.mark.parametrize("surplus", ["++", "[b]", "{}", "inspect"])
def test_surplus_words(command, surplus, odd):
    file = [] if command == "keygen" else ["a"]
    said = fail(command, *file, surplus, code=USAGE, cwd=odd)
    assert f"not expected: {surplus}\n" in said.err


@mpi.each_library
def test_words_to_ranks(library, odd, keys):
    for name in ("++", "{}", "[a,b]"):
        path = mpi.paes_mpi(library)
        result = mpi.run(library, 1, "encrypt", "-r", keys.recipient, name, program_path=path, cwd=odd)
        assert result.code == program.OK, result
        assert (odd / f"{name}.paes").exists()
