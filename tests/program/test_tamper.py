# SPDX-License-Identifier: Apache-2.0
# Damage of every kind to a three-chunk file, at the command line: exit code 3 (or 4 where the
# envelope is hit), no output file, and on a pipe nothing but an authenticated prefix. The tests of
# src/stream do the same for every bit and every length against the library; here `verify` takes
# every bit of the header, the envelope, salt, commitment and tags, and samples of the rest.
import io
import json
import os
import random
import re
import tempfile
from pathlib import Path

import age_file
import container
import program
import pytest
from program import CORRUPT, SOME_FAILED, WRONG_KEY, fail, run, succeed

ROOT = Path(__file__).resolve().parents[2]
LAST_BYTES = 1000
TEXT_SIZE = 2 * container.TEXT_BYTES + LAST_BYTES
FILES_A_CALL = 2000


@pytest.fixture(scope="module")
def sealed(keys, random_bytes):
    return container.make(
        2, random_bytes(TEXT_SIZE), lambda key: age_file.age_encrypt(key, [keys.recipient])
    )


@pytest.fixture(scope="module")
def bulk():
    """Many small short-lived files: in memory where that is possible."""
    place = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    with tempfile.TemporaryDirectory(dir=place) as path:
        yield Path(path)


def envelope_range(sealed):
    size = int.from_bytes(sealed[12:16], "big")
    return range(container.HEADER_BYTES, container.HEADER_BYTES + size)


def codes_of(damaged, keys, bulk):
    """The exit code that `verify` gives each (name, content), many files a call."""
    codes = {}
    batch = []

    def check_batch():
        result = run("verify", "--json", "-i", keys.path, *(path for _, path in batch))
        report = json.loads(result.out)
        assert len(report["files"]) == len(batch)
        for (name, path), entry in zip(batch, report["files"]):
            assert entry["input"] == str(path)
            assert (entry["status"] == "done") == ("error" not in entry)
            codes[name] = entry["error"]["code"] if "error" in entry else 0
            path.unlink()
        failed = any(codes[name] for name, _ in batch)
        assert (result.code == 0) == (not failed)
        if failed and len(batch) > 1:
            assert result.code == SOME_FAILED
        batch.clear()

    for name, content in damaged:
        path = bulk / f"{len(batch)}.paes"
        path.write_bytes(content)
        batch.append((name, path))
        if len(batch) == FILES_A_CALL:
            check_batch()
    if batch:
        check_batch()
    return codes


def flipped(data, bit):
    changed = bytearray(data)
    changed[bit // 8] ^= 1 << bit % 8
    return bytes(changed)


def bits_of(byte_range):
    return range(byte_range.start * 8, byte_range.stop * 8)


def regions(sealed):
    """Byte ranges by name. Together they are the whole file."""
    envelope = envelope_range(sealed)
    payload = container.PAGE_BYTES - container.PREFIX_BYTES
    offset = container.chunk_offset
    tag = container.TAG_BYTES
    found = {
        "header": range(0, container.HEADER_BYTES),
        "envelope": envelope,
        "padding": range(envelope.stop, payload),
        "salt": range(payload, payload + container.SALT_BYTES),
        "commitment": range(payload + container.SALT_BYTES, container.PAGE_BYTES),
        "text 0": range(offset(0), offset(1) - tag),
        "tag 0": range(offset(1) - tag, offset(1)),
        "text 1": range(offset(1), offset(2) - tag),
        "tag 1": range(offset(2) - tag, offset(2)),
        "text 2": range(offset(2), offset(2) + LAST_BYTES),
        "tag 2": range(offset(2) + LAST_BYTES, len(sealed)),
    }
    assert sum(map(len, found.values())) == len(sealed)
    return found


SAMPLED_BITS = {"padding": 2000, "text 0": 2000, "text 1": 2000, "text 2": 1000}


def test_the_untouched_file_verifies(sealed, keys, bulk):
    assert codes_of([("untouched", sealed)], keys, bulk) == {"untouched": 0}


@pytest.mark.parametrize(
    "region",
    ["header", "envelope", "padding", "salt", "commitment"]
    + [f"{part} {chunk}" for chunk in range(3) for part in ("text", "tag")],
)
def test_flipped_bits(region, sealed, keys, bulk):
    bits = bits_of(regions(sealed)[region])
    if region in SAMPLED_BITS:
        ends = [*bits[:16], *bits[-16:]]
        bits = ends + random.Random(region).sample(bits, SAMPLED_BITS[region])
    codes = codes_of(((bit, flipped(sealed, bit)) for bit in bits), keys, bulk)
    allowed = {CORRUPT, WRONG_KEY} if region == "envelope" else {CORRUPT}
    assert {bit: code for bit, code in codes.items() if code not in allowed} == {}


def lengths_to_try(sealed):
    boundaries = [0, 8, 10, 16, envelope_range(sealed).stop]
    boundaries += [container.PAGE_BYTES - container.PREFIX_BYTES, container.PAGE_BYTES]
    boundaries += [container.PAGE_BYTES - container.COMMITMENT_BYTES]
    boundaries += [container.chunk_offset(i) for i in range(3)]
    boundaries += [container.chunk_offset(i) - container.TAG_BYTES for i in (1, 2)]
    boundaries += [container.chunk_offset(2) + container.TAG_BYTES, len(sealed)]
    near = {at + step for at in boundaries for step in range(-17, 18)}
    everywhere = set(random.Random(1).sample(range(len(sealed)), 2000))
    return sorted(at for at in near | everywhere if 0 <= at < len(sealed))


def test_truncated_files(sealed, keys, bulk):
    codes = codes_of(((size, sealed[:size]) for size in lengths_to_try(sealed)), keys, bulk)
    in_envelope = range(envelope_range(sealed).stop)
    wrong = {
        size: code
        for size, code in codes.items()
        if code != CORRUPT and not (code == WRONG_KEY and size in in_envelope)
    }
    assert wrong == {}


def rearranged(sealed):
    """Files whose every chunk is genuine, in the wrong place or number."""
    start = sealed[: container.PAGE_BYTES]
    first, second, last = (
        sealed[container.chunk_offset(i) : container.chunk_offset(i + 1)] for i in range(3)
    )
    yield "swapped", start + second + first + last
    yield "repeated", start + first + first + second + last
    yield "repeated in place", start + first + first + last
    yield "first dropped", start + second + last
    yield "second dropped", start + first + last
    yield "last dropped", start + first + second
    yield "last repeated", start + first + second + last + last
    yield "first appended", start + first + second + last + first
    yield "last moved to the front", start + last + first + second
    yield "a byte appended", sealed + b"\0"
    yield "zeros appended", sealed + bytes(16384)
    yield "a page appended", sealed + os.urandom(4096)
    yield "the file twice", sealed + sealed
    yield "a byte inserted", start + b"\0" + first + second + last
    yield "a byte removed", start + first[1:] + second + last


def test_rearranged_chunks(sealed, keys, bulk):
    codes = codes_of(rearranged(sealed), keys, bulk)
    assert set(codes.values()) == {CORRUPT}, codes


def test_chunks_of_another_file_with_the_same_key(keys, random_bytes, bulk):
    """The salt differs from file to file, so equal positions do not help."""
    key = random_bytes(32)
    envelope = age_file.age_encrypt(key, [keys.recipient])
    one, two = (
        container.make(2, random_bytes(TEXT_SIZE), lambda _: envelope, key) for _ in range(2)
    )
    at, end = container.chunk_offset(1), container.chunk_offset(2)
    mixed = one[:at] + two[at:end] + one[end:]
    page = container.PAGE_BYTES
    codes = codes_of([("chunk", mixed), ("salt", one[: page - 56] + two[page - 56 : page] + one[page:])], keys, bulk)
    assert codes == {"chunk": CORRUPT, "salt": CORRUPT}


def laid_out_again(sealed, page):
    """The same envelope and payload, which begins so that chunk 0 stands on another page."""
    file = io.BytesIO(sealed)
    preamble = container.read_preamble(file)
    return container.preamble(preamble.suite, preamble.envelope, page) + file.read()


@pytest.mark.parametrize("page", [2, 3, 256, 257])
def test_where_the_payload_lies_is_not_authenticated(page, sealed, keys, random_bytes, bulk, tmp_path):
    """The place k of the payload is nobody's secret and no one's proof: moved, the same text opens."""
    moved = tmp_path / "moved.paes"
    moved.write_bytes(laid_out_again(sealed, page))
    assert moved.stat().st_size == len(sealed) + (page - 1) * container.PAGE_BYTES
    succeed("verify", "-i", keys.path, moved)
    assert succeed("decrypt", "-i", keys.path, "-o", "-", moved).out == random_bytes(TEXT_SIZE)
    part = succeed("decrypt", "-i", keys.path, "--range", "16000-17000", "-o", "-", moved)
    assert part.out == random_bytes(TEXT_SIZE)[16000:17001]


def test_nothing_else_of_the_first_16_bytes_can_be_changed(sealed, keys, bulk):
    """With the payload where k says that it is: only the one k and the one E that fit open the file."""
    size = int.from_bytes(sealed[12:16], "big")
    moved = laid_out_again(sealed, 2)
    others = {f"byte {at} of {name}": flipped(file, 8 * at + bit) for at in range(16) for bit in (0, 7)
              for name, file in (("the file", sealed), ("the file laid out again", moved))}
    for change in (-1, 1, 4, 16):
        others[f"E {change:+}"] = moved[:12] + (size + change).to_bytes(4, "big") + moved[16:]
    others["k beyond the last"] = laid_out_again(sealed, 258)
    others["k of 0"] = sealed[:10] + bytes(2) + sealed[12:]
    others["text in the padding"] = moved[: 16 + size] + b"x" + moved[17 + size :]
    codes = codes_of(others.items(), keys, bulk)
    assert set(codes) == set(others)
    assert all(code in (CORRUPT, WRONG_KEY) for code in codes.values()), codes


def test_the_limits_of_k_and_e_are_those_of_the_documents(sealed, keys, tmp_path):
    texts = [(ROOT / name).read_text() for name in ("ARCHITECTURE.md", "SECURITY.md", "docs/man/paes.1")]
    pages = [re.search(r"(at most|on page) 257\b", text) for text in texts]
    assert all(pages), "k's limit"
    assert all("1 MiB" in text for text in texts), "E's limit"
    file = tmp_path / "file.paes"
    file.write_bytes(laid_out_again(sealed, 258))
    fail("verify", "-i", keys.path, file, code=CORRUPT, says="cannot begin on page 258")
    file.write_bytes(sealed[:12] + ((1 << 20) + 1).to_bytes(4, "big") + sealed[16:])
    fail("verify", "-i", keys.path, file, code=CORRUPT, says="above the limit of 1048576")


def test_rekey_puts_no_copy_back_before_a_payload_that_was_moved(sealed, keys, tmp_path):
    moved = tmp_path / "moved.paes"
    moved.write_bytes(laid_out_again(sealed, 2))
    kept = sealed[: container.PAGE_BYTES - container.PREFIX_BYTES]
    (tmp_path / "moved.paes.rekey").write_bytes(kept)
    fail("rekey", "--restore", "-i", keys.path, moved, code=CORRUPT)
    assert moved.read_bytes() == laid_out_again(sealed, 2)


def test_an_exchanged_suite_is_noticed(sealed, keys, bulk):
    other = sealed[:9] + b"\x01" + sealed[10:]
    assert codes_of([("suite", other)], keys, bulk)["suite"] == CORRUPT


def damage_samples(sealed):
    """(name, content, first damaged byte of the plaintext or None when the header is hit)."""
    chooser = random.Random(2)
    for region, where in regions(sealed).items():
        bit = chooser.choice(bits_of(where))
        chunk = int(region.split()[1]) if region[-1].isdigit() else 0
        yield f"bit {bit} in {region}", flipped(sealed, bit), chunk * container.TEXT_BYTES
    for size in (0, 5, 16, 100, 4000, 4096, 4097, 20000, 20496, 36896, 36897, len(sealed) - 1):
        whole = max(0, size - container.PAGE_BYTES) // container.CHUNK_BYTES
        yield f"truncated to {size}", sealed[:size], whole * container.TEXT_BYTES
    first_bad = {"repeated": 1, "repeated in place": 1, "second dropped": 1}
    for name, content in rearranged(sealed):
        if name in ("swapped", "first dropped", "last moved to the front"):
            chunk = 0
        elif name.startswith("a byte") and name != "a byte appended":
            chunk = 0
        else:
            chunk = first_bad.get(name, 2)
        yield name, content, chunk * container.TEXT_BYTES


@pytest.fixture(scope="module")
def damaged_samples(sealed):
    return list(damage_samples(sealed))


def test_decrypting_to_a_file_leaves_nothing(damaged_samples, keys, folder):
    for name, content, _ in damaged_samples:
        (folder / "in.paes").write_bytes(content)
        before = program.tree(folder)
        for arguments in (["in.paes"], ["-o", "out", "in.paes"]):
            fail("decrypt", "-i", keys.path, *arguments, code=(CORRUPT, WRONG_KEY), cwd=folder)
            assert program.tree(folder) == before, name


def test_a_pipe_into_a_file_leaves_nothing(damaged_samples, keys, folder):
    for name, content, _ in damaged_samples:
        fail(
            *("decrypt", "-i", keys.path, "-o", folder / "out", "-"),
            stdin=content,
            code=(CORRUPT, WRONG_KEY),
        )
        assert program.tree(folder) == {}, name


@pytest.mark.parametrize("source", ["pipe", "file"])
@pytest.mark.parametrize("threads", [1, 2])
def test_only_authenticated_bytes_reach_a_pipe(
    source, threads, damaged_samples, keys, random_bytes, folder
):
    text = random_bytes(TEXT_SIZE)
    for name, content, first_bad_byte in damaged_samples:
        path = folder / "in.paes"
        path.write_bytes(content)
        with open(path, "rb") as file:
            result = run(
                *("decrypt", "-T", threads, "-i", keys.path, "-o", "-"),
                *(["-"] if source == "pipe" else [path]),
                stdin=content if source == "pipe" else file,
            )
        assert result.code in (CORRUPT, WRONG_KEY), name
        assert text.startswith(result.out), name
        assert len(result.out) <= first_bad_byte, name
        program.assert_error_lines(result.err)
        if source == "file" and not name.startswith("bit"):
            # The last chunk goes first, so a wrong length is noticed before anything is written.
            assert result.out == b"", name


@pytest.mark.parametrize("threads", [1, 2])
def test_a_late_failure_on_a_long_pipe(threads, keys, random_bytes):
    """Far more chunks than any ring holds: a prefix may leave, nothing of the damaged chunk."""
    text = random_bytes(4 << 20) * 16
    sealed = container.make(2, text, lambda key: age_file.age_encrypt(key, [keys.recipient]))
    for chunk in (0, 1, 255, 256, 257, 2000, 4095, 4096):
        at = container.chunk_offset(chunk)
        damaged = flipped(sealed, at * 8 + 3)
        result = run("decrypt", "-T", threads, "-i", keys.path, stdin=damaged)
        assert result.code == CORRUPT
        assert len(result.out) <= chunk * container.TEXT_BYTES
        assert text.startswith(result.out)
        program.assert_error_lines(result.err)
    result = run("decrypt", "-T", threads, "-i", keys.path, stdin=sealed[:-1])
    assert result.code == CORRUPT
    assert text.startswith(result.out)


def test_the_whole_text_arrives_when_nothing_is_damaged(sealed, keys, random_bytes):
    """What the tests above compare against."""
    opened = succeed("decrypt", "-i", keys.path, stdin=sealed).out
    assert opened == random_bytes(TEXT_SIZE)


# What programs make of a file that they take for text


def as_crlf(data):
    return data.replace(b"\n", b"\r\n")


def as_utf_16(data):
    """As PowerShell's > writes it."""
    return data.decode("latin-1").encode("utf-16")


def as_windows_utf_16(data):
    """Bytes above 127 become other characters in Windows' encodings."""
    return data.decode("cp1252", errors="replace").encode("utf-16-be")


@pytest.mark.parametrize("form", [["paes"], ["age"], ["age", "--armor"]])
@pytest.mark.parametrize(("change", "says"), [
    (as_crlf, "line ends were changed"), (as_utf_16, "UTF-16"), (as_windows_utf_16, "UTF-16")])
def test_damage_by_programs_that_write_text_is_named(keys, folder, form, change, says):
    sealed = succeed("encrypt", "--format", *form, "-r", keys.recipient, stdin=b"text\r\n" * 9).out
    (folder / "damaged").write_bytes(change(sealed))
    if "--armor" in form and change is as_crlf:
        succeed("decrypt", "-i", keys.path, "-o", folder / "again", folder / "damaged")
        return
    for words in (["decrypt", "-i", keys.path, "-o", folder / "again"], ["verify", "-i", keys.path], ["inspect"]):
        result = fail(*words, folder / "damaged", code=CORRUPT, says=says)
        assert "newer" not in result.err
    fail("decrypt", "-i", keys.path, stdin=change(sealed), code=CORRUPT, says=says)
    assert not (folder / "again").exists()


def test_line_ends_without_carriage_returns_are_named(keys, folder):
    sealed = succeed("encrypt", "-r", keys.recipient, stdin=b"text").out
    (folder / "damaged").write_bytes(sealed.replace(b"\r\n", b"\n"))
    fail("verify", "-i", keys.path, folder / "damaged", code=CORRUPT, says="line ends were changed")
