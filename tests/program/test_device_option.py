# SPDX-License-Identifier: Apache-2.0
# --device: who computes changes no byte; a device that is not there is one clear line, and auto does
# without it.
import json
import os

import pytest
from program import FAILURE, OK, USAGE, fail, run, succeed

CUDA = json.loads(succeed("devices", "--json").out)["cuda"]
needs_device = pytest.mark.skipif(not CUDA["available"], reason=f"cuda: {CUDA['reason']}")
needs_none = pytest.mark.skipif(CUDA["available"], reason="there is a CUDA device")
IV = "ff" * 16


@pytest.fixture
def plain(folder, random_bytes):
    path = folder / "plain"
    path.write_bytes((random_bytes(4 << 20) * 3)[:9_000_001])
    return path


@pytest.fixture
def key(folder):
    path = folder / "key"
    path.write_bytes(bytes(range(32)))
    return path


def cipher(name, key, plain, *options):
    return succeed("cipher", name, "--key", key, *options, plain).out


@needs_none
@pytest.mark.parametrize("device", ["cuda", "hybrid"])
def test_without_a_device_it_is_one_line(device, plain, sealed, key, keys, folder):
    out = folder / "out"
    to_out = ("-o", out, "--device", device)
    for arguments in (
        ("encrypt", "-r", keys.recipient, *to_out, plain),
        ("encrypt", "--new-identity", folder / "new", *to_out, plain),
        ("decrypt", "-i", keys.path, *to_out, sealed),
        ("verify", "-i", keys.path, "--device", device, sealed),
        ("cipher", "aes-256-ctr", "--key", key, "--iv", IV, *to_out, plain),
    ):
        result = run(*arguments)
        assert result.code == FAILURE
        assert result.err == f"paes: device: cuda is not available: {CUDA['reason']}\n"
        assert not out.exists() and not (folder / "new").exists()


def test_names(plain, keys, folder):
    fail("encrypt", "-r", keys.recipient, "--device", "gpu", plain, code=USAGE, says="cuda, hybrid")
    fail(
        "encrypt", "-r", keys.recipient, "--kernel", "cuda_tables", "--device", "cpu", plain,
        code=USAGE, says="unknown name",
    )
    assert os.listdir(folder) == ["plain"]


CPU_ALONE = [
    (("aes-256-ofb", "--iv", IV), "aes-256-ofb encrypts one block after the other"),
    (("aes-256-ofb", "--iv", IV, "-d"), "aes-256-ofb decrypts one block after the other"),
    (("aes-256-cbc", "--iv", IV), "aes-256-cbc encrypts one block after the other"),
    (("aes-256-cfb", "--iv", IV), "aes-256-cfb encrypts one block after the other"),
    (("aes-128-xts", "--iv", IV), "aes-128-xts without --unit is one data unit"),
    (("aes-128-xts", "--iv", IV, "--unit", "520"), "a data unit of 520 bytes has a partial block"),
]


def test_files_of_age_are_the_cpus(keys, plain, folder):
    sealing = ("encrypt", "--format", "age", "-r", keys.recipient, "-o", folder / "sealed.age", plain)
    fail(*sealing, "--device", "cuda", code=USAGE, says="cuda cannot do it: no device has ChaCha20-Poly1305")
    assert not (folder / "sealed.age").exists()
    note = "paes: device: the CPU does all of the work: no device has ChaCha20-Poly1305\n"
    assert note in succeed(*sealing, "--device", "hybrid").err
    for device in ("auto", "cpu"):
        for command in (("encrypt", "-f", *sealing[1:]),
                        ("decrypt", "-f", "-i", keys.path, "-o", folder / "text", folder / "sealed.age")):
            result = succeed(*command, "--device", device, "--json", "-v")
            assert json.loads(result.out)["device"] == "cpu"
            assert "paes: device:" not in result.err


@pytest.mark.parametrize("arguments, why", CPU_ALONE)
def test_what_no_device_can_do_is_the_cpus_and_said_to_be(arguments, why, plain, key, folder):
    out = folder / "out"
    command = ("cipher", *arguments, "--key", key, "-o", out, plain)
    result = run(*command, "--device", "cuda")
    assert result.code == USAGE
    assert result.err.splitlines()[0] == f"paes: device: cuda cannot do it: {why}"
    assert not out.exists()
    want = cipher(arguments[0], key, plain, *arguments[1:], "--device", "cpu")
    for device in ("hybrid", "auto"):
        result = run(*command, "--device", device, "--json", "-v", "-f")
        assert result.code == OK, result.err
        report = json.loads(result.out)
        assert report["device"] == report["files"][0]["device"] == "cpu"
        note = f"paes: device: the CPU does all of the work: {why}\n"
        assert (note in result.err) == (device == "hybrid")
        assert "device hybrid" not in result.err and "device cuda" not in result.err
        assert out.read_bytes() == want
        assert run(*command, "--device", device, "-q", "-f").err == ""


@pytest.mark.parametrize("device", ["cuda", "hybrid"])
def test_a_device_kernel_that_lacks_the_mode_is_not_quietly_the_cpu(device, plain, key, keys):
    wanted = ("--device", device, "--kernel")
    gcm = ("cipher", "aes-256-gcm", "--key", key, "--iv", "00" * 12)
    lacks = dict(code=USAGE, says="lacks aes-256-gcm")
    fail("encrypt", "-r", keys.recipient, *wanted, "cuda_bitslice", plain, **lacks)
    fail(*gcm, *wanted, "cuda_bitslice", plain, **lacks)
    fail(*gcm, *wanted, "cuda_des_bitslice", plain, **lacks)


def test_a_device_that_is_missing_is_no_matter_to_auto(plain, key, folder):
    """Also for a file that the CPU has to work on for longer than a device takes to start."""
    with open(plain, "wb") as file:
        file.truncate(80 << 20)
    slow = ("cipher", "aes-256-gcm", "--iv", "00" * 12, "--key", key)
    slow += ("--kernel", "compute", "-T", "1")
    result = run(*slow, "-v", "--json", "-o", folder / "out", plain)
    assert result.code == OK, result.err
    device = json.loads(result.out)["device"]
    if CUDA["available"]:
        assert "paes: device: cpu" in result.err
    else:
        assert device == "cpu"
        assert f"device: cpu, because cuda is not available: {CUDA['reason']}\n" in result.err
    quiet = run(*slow, "-o", folder / "quiet", plain)
    assert "device" not in quiet.err
    assert (folder / "quiet").read_bytes() == (folder / "out").read_bytes()


@needs_device
@pytest.mark.parametrize("device", ["cuda", "hybrid"])
@pytest.mark.parametrize(
    "name, options",
    [
        ("aes-256-ctr", ("--iv", IV)),
        ("aes-256-ecb", ()),
        ("aes-256-gcm", ("--iv", "00" * 12)),
        ("aes-128-xts", ("--iv", IV, "--unit", "4096")),
        ("aes-256-cbc", ("--iv", IV, "-d", "--no-pad")),
    ],
)
def test_the_same_bytes_from_a_device(device, name, options, plain, key):
    plain.write_bytes(plain.read_bytes()[: 8 << 20])
    want = cipher(name, key, plain, *options, "--device", "cpu")
    assert cipher(name, key, plain, *options, "--device", device) == want


@needs_device
@pytest.mark.parametrize("device", ["cuda", "hybrid"])
def test_the_container_on_a_device(device, plain, sealed, keys, folder):
    succeed("decrypt", "-i", keys.path, "--device", device, "-o", folder / "back", sealed)
    assert (folder / "back").read_bytes() == plain.read_bytes()
    succeed("verify", "-i", keys.path, "--device", device, sealed)
    succeed("encrypt", "-r", keys.recipient, "--device", device, "-o", folder / "new", plain)
    succeed("decrypt", "-i", keys.path, "--device", "cpu", "-o", folder / "again", folder / "new")
    assert (folder / "again").read_bytes() == plain.read_bytes()
