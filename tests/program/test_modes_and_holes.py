# SPDX-License-Identifier: Apache-2.0
# How files are treated: names, modes, umask, holes, -f, sources kept. What the ciphers do is not
# the subject here.
import os
import shutil
import stat
import subprocess

import age_file
import container
import program
import pytest
from program import PAES, USAGE, clean_environment, fail, run, succeed


@pytest.fixture
def plain(folder, random_bytes):
    path = folder / "plain"
    path.write_bytes(random_bytes(50_000))
    return path


def mode_of(path):
    return stat.S_IMODE(path.stat().st_mode)


def test_default_names(plain, keys, folder, random_bytes):
    succeed("encrypt", "-r", keys.recipient, plain)
    assert {path.name for path in folder.iterdir()} == {"plain", "plain.paes"}
    plain.rename(folder / "original")
    succeed("decrypt", "-i", keys.path, folder / "plain.paes")
    assert {path.name for path in folder.iterdir()} == {"original", "plain", "plain.paes"}
    assert plain.read_bytes() == random_bytes(50_000)


def test_a_file_without_the_suffix_needs_a_name_for_its_output(plain, keys, folder):
    succeed("encrypt", "-r", keys.recipient, "-o", folder / "sealed", plain)
    fail("decrypt", "-i", keys.path, folder / "sealed", code=program.USAGE, says="-o")
    succeed("decrypt", "-i", keys.path, "-o", folder / "opened", folder / "sealed")


def test_names_that_look_like_options(folder, keys, random_bytes):
    (folder / "-n").write_bytes(random_bytes(10))
    succeed("encrypt", "-r", keys.recipient, "--", "-n", cwd=folder)
    (folder / "-n").unlink()
    succeed("decrypt", "-i", keys.path, "--", "-n.paes", cwd=folder)
    assert (folder / "-n").read_bytes() == random_bytes(10)


def test_a_file_name_that_is_not_utf8(folder, keys, random_bytes):
    name = os.fsdecode(b"caf\xe9 \xff")
    (folder / name).write_bytes(random_bytes(10))
    succeed("encrypt", "-r", keys.recipient, folder / name)
    (folder / name).unlink()
    succeed("decrypt", "-i", keys.path, folder / (name + ".paes"))
    assert (folder / name).read_bytes() == random_bytes(10)


@pytest.mark.parametrize("name", ["[a]", "[a,b]", "[", "{}", "%%", "verify", "a b'c", "new\nline"])
def test_names_that_mean_something_elsewhere(name, folder, keys, random_bytes):
    """Neither a list, nor a command, nor a separator: the file of that name and no other."""
    for decoy in ("a", "b"):
        (folder / decoy).write_bytes(b"not this one")
    (folder / name).write_bytes(random_bytes(10))
    succeed("encrypt", "-r", keys.recipient, name, cwd=folder)
    assert {path.name for path in folder.iterdir()} == {"a", "b", name, name + ".paes"}
    succeed("verify", "-i", keys.path, name + ".paes", cwd=folder)
    (folder / name).unlink()
    succeed("decrypt", "-i", keys.path, "--", name + ".paes", cwd=folder)
    assert (folder / name).read_bytes() == random_bytes(10)


def test_standard_input_and_output_by_default(keys, random_bytes):
    text = random_bytes(20_000)
    sealed = succeed("encrypt", "-r", keys.recipient, stdin=text).out
    assert succeed("decrypt", "-i", keys.path, stdin=sealed).out == text
    assert succeed("decrypt", "-i", keys.path, "-o", "-", "-", stdin=sealed).out == text


def test_standard_input_from_the_middle_of_a_file(folder, keys, random_bytes):
    text = random_bytes(100_000)
    (folder / "text").write_bytes(b"skipped" + text)
    with open(folder / "text", "rb", buffering=0) as file:
        file.seek(7)
        sealed = succeed("encrypt", "-r", keys.recipient, stdin=file).out
    (folder / "sealed").write_bytes(b"preceding" + sealed)
    with open(folder / "sealed", "rb", buffering=0) as file:
        file.seek(9)
        assert succeed("decrypt", "-i", keys.path, stdin=file).out == text


@pytest.mark.parametrize("mode", ["wb", "ab"])
def test_standard_output_appends_to_what_is_there(mode, folder, keys, random_bytes):
    """`{ echo before; paes decrypt; echo after; } > file`, and the same with >>."""
    text = random_bytes(100_000)
    sealed = succeed("encrypt", "-r", keys.recipient, stdin=text).out
    with open(folder / "out", mode, buffering=0) as file:
        file.write(b"before")
        done = subprocess.run(
            [program.PAES, "decrypt", "-i", keys.path], input=sealed, stdout=file, check=False
        )
        assert done.returncode == 0
        file.write(b"after")
    assert (folder / "out").read_bytes() == b"before" + text + b"after"


def test_a_file_of_unknown_size_is_read_to_its_end(keys, folder):
    """Files under /proc say they are empty."""
    sealed = folder / "version.paes"
    succeed("encrypt", "-r", keys.recipient, "-o", sealed, "/proc/version")
    with open("/proc/version", "rb") as file:
        assert succeed("decrypt", "-i", keys.path, "-o", "-", sealed).out == file.read()


@pytest.mark.parametrize("umask", [0o000, 0o022, 0o077])
@pytest.mark.parametrize("mode", [0o600, 0o640, 0o644, 0o755, 0o400, 0o4755, 0o2775, 0o1666])
def test_modes(mode, umask, plain, keys, folder):
    """Encrypted files keep the source's mode without the set-id bits; decrypted ones lose group
    and other bits, too, and obey the umask."""
    plain.chmod(mode)
    assert mode_of(plain) == mode
    succeed("encrypt", "-r", keys.recipient, plain, umask=umask)
    sealed = folder / "plain.paes"
    assert mode_of(sealed) == mode & 0o777
    sealed.chmod(mode)
    opened = folder / "opened"
    succeed("decrypt", "-i", keys.path, "-o", opened, sealed, umask=umask)
    assert mode_of(opened) == mode & 0o700 & ~umask
    assert mode_of(plain) == mode


def test_the_source_is_kept(plain, keys, folder):
    before = program.tree(folder), plain.stat().st_mtime_ns
    succeed("encrypt", "-r", keys.recipient, "-o", folder / "a", plain)
    succeed("decrypt", "-i", keys.path, "-o", folder / "b", folder / "a")
    (folder / "a").unlink()
    (folder / "b").unlink()
    assert (program.tree(folder), plain.stat().st_mtime_ns) == before


def test_force_replaces_the_file_a_link_shares(plain, keys, folder):
    """The output is a new file under the name: what else has the old one's content keeps it."""
    old = folder / "old"
    old.write_text("precious")
    taken = folder / "taken"
    taken.hardlink_to(old)
    succeed("encrypt", "-f", "-r", keys.recipient, "-o", taken, plain)
    assert old.read_text() == "precious"
    assert taken.read_bytes().startswith(container.MAGIC)


def test_devices_and_fifos_are_written_to_directly(plain, keys, folder, random_bytes):
    succeed("encrypt", "-r", keys.recipient, "-o", "/dev/null", plain)
    assert stat.S_ISCHR(os.stat("/dev/null").st_mode)
    fifo = folder / "fifo"
    os.mkfifo(fifo)
    with subprocess.Popen(["cat", fifo], stdout=subprocess.PIPE) as reader, program.killed_on_failure(reader):
        succeed("encrypt", "-r", keys.recipient, "-o", fifo, plain)
        sealed = reader.stdout.read()
    assert stat.S_ISFIFO(os.stat(fifo).st_mode)
    assert succeed("decrypt", "-i", keys.path, stdin=sealed).out == random_bytes(50_000)


# Holes


def supports_holes(folder):
    path = folder / "hole"
    path.touch()
    os.truncate(path, 1 << 20)
    blocks = path.stat().st_blocks
    path.unlink()
    return blocks * 512 < 1 << 20


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("source", ["file", "pipe"])
def test_zero_pages_become_holes(source, threads, folder, keys, random_bytes):
    if not supports_holes(folder):
        pytest.skip("the temporary folder's file system has no holes")
    data = random_bytes(100_000)
    text = bytes(8 << 20) + data + bytes(5 << 20) + data + bytes((3 << 20) + 123)
    sealed = folder / "sealed.paes"
    sealed.write_bytes(
        container.make(2, text, lambda key: age_file.age_encrypt(key, [keys.recipient]))
    )
    opened = folder / "opened"
    succeed(
        *("decrypt", "-T", threads, "-i", keys.path, "-o", opened),
        *([sealed] if source == "file" else ["-"]),
        stdin=b"" if source == "file" else sealed.read_bytes(),
    )
    assert opened.read_bytes() == text
    assert opened.stat().st_blocks * 512 < 1 << 20


def test_a_file_of_nothing_but_zeros(folder, keys):
    if not supports_holes(folder):
        pytest.skip("the temporary folder's file system has no holes")
    (folder / "zeros").touch()
    os.truncate(folder / "zeros", 10 << 20)
    succeed("encrypt", "-r", keys.recipient, folder / "zeros")
    (folder / "zeros").unlink()
    succeed("decrypt", "-i", keys.path, folder / "zeros.paes")
    status = (folder / "zeros").stat()
    assert status.st_size == 10 << 20
    assert status.st_blocks * 512 <= 1 << 16
    assert not any((folder / "zeros").read_bytes())


def test_zeros_over_an_old_file_are_zeros(folder, keys):
    """With -f and with standard output there are old bytes where a hole would be."""
    text = bytes(1 << 20)
    sealed = container.make(2, text, lambda key: age_file.age_encrypt(key, [keys.recipient]))
    opened = folder / "opened"
    opened.write_bytes(b"\xff" * (2 << 20))
    succeed("decrypt", "-f", "-i", keys.path, "-o", opened, stdin=sealed)
    assert opened.read_bytes() == text
    opened.write_bytes(b"\xff" * (2 << 20))
    with open(opened, "r+b") as file:
        done = subprocess.run(
            [program.PAES, "decrypt", "-i", keys.path], input=sealed, stdout=file, check=False
        )
    assert done.returncode == 0
    assert opened.read_bytes()[: 1 << 20] == text


# The processes around


def test_closed_standard_descriptors_do_no_harm(plain, keys, folder):
    """A file opened as descriptor 1 or 2 must never receive messages."""
    for closed in ("<&-", ">&-", "2>&-", "<&- >&- 2>&-"):
        out = folder / "sealed"
        done = subprocess.run(
            ["sh", "-c", f'"$@" {closed}', "sh", program.PAES, "encrypt", "-v"]
            + ["-r", keys.recipient, "-o", out, plain],
            check=False,
            capture_output=True,
        )
        if done.returncode == 0:
            assert succeed("decrypt", "-i", keys.path, "-o", "-", out).out == plain.read_bytes()
            out.unlink()
        assert {path.name for path in folder.iterdir()} == {"plain"}


def test_nothing_on_standard_error_when_all_is_well(plain, keys, folder):
    result = run("encrypt", "-r", keys.recipient, plain)
    assert (result.code, result.out, result.err) == (0, b"", "")
    result = run("decrypt", "-q", "-i", keys.path, "-o", folder / "opened", f"{plain}.paes")
    assert (result.code, result.out, result.err) == (0, b"", "")


def test_verbose_names_kernel_threads_time_and_rate(folder, keys, random_bytes):
    (folder / "plain").write_bytes(random_bytes(2_000_000))
    options = ("-v", "-T", 2, "--kernel", "bitslice", "-r", keys.recipient)
    err = succeed("encrypt", *options, folder / "plain").err
    assert len([line for line in err.splitlines() if "RLIMIT_MEMLOCK" not in line]) == 1
    for what in ("2.00 MB", " s", "GB/s", "bitslice", "threads 2"):
        assert what in err


def test_keys_that_could_reach_swap_are_told_of(folder, keys, random_bytes):
    (folder / "plain").write_bytes(random_bytes(100))
    prefix = ["sh", "-c", 'ulimit -l 0; exec "$@"', "sh"]
    if os.geteuid() == 0:  # the limit does not bind a root that may lock what it likes
        if shutil.which("setpriv") is None:
            pytest.skip("as root this needs setpriv (Debian package util-linux)")
        prefix = ["setpriv", "--bounding-set", "-ipc_lock", *prefix]
    options = ("-f", "-r", keys.recipient, folder / "plain")
    assert "RLIMIT_MEMLOCK" in succeed("encrypt", "-v", *options, prefix=prefix).err
    assert succeed("encrypt", *options, prefix=prefix).err == ""


def test_tar_calls_paes_as_its_compressor(keys, plain, folder):
    """GNU tar adds -d to the program of -I when it extracts."""
    (folder / "team").write_text(keys.recipient + "\n")
    tar = ["tar", "-C", folder]
    for words in (["-I", f"{PAES} encrypt -q -e -R {folder}/team", "-cf", folder / "x.tar.paes", plain.name],
                  ["-I", f"{PAES} decrypt -q -i {keys.path}", "-xf", folder / "x.tar.paes",
                   "--transform", "s/^/again-/"]):
        subprocess.run([*map(str, tar), *map(str, words)], env=clean_environment(), check=True)
    assert (folder / f"again-{plain.name}").read_bytes() == plain.read_bytes()
    fail("encrypt", "-d", "-R", folder / "team", plain, code=USAGE)
    fail("decrypt", "-e", "-i", keys.path, folder / "x.tar.paes", code=USAGE)
