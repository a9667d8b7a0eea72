# SPDX-License-Identifier: Apache-2.0
# What verify says of a damaged file: every range of damaged chunks up to a hundred, with its bytes in
# the plaintext and in the file, and how much more there is; at any number of threads, from a file and
# from a pipe. Decryption still stops at the first.
import json
import re

import container
import pytest
from program import CORRUPT, OK, WRONG_KEY, fail, run, succeed
from test_json import validator

CHUNKS = 700
LAST_BYTES = 100
LINE = re.compile(
    r"paes: (\S+): damaged: (?:bytes (\d+)-(\d+)|no bytes) of the plaintext, (\d+)-(\d+) of the file"
)


@pytest.fixture(scope="module")
def text(random_bytes):
    return (random_bytes(4 << 20) * 3)[: (CHUNKS - 1) * container.TEXT_BYTES + LAST_BYTES]


@pytest.fixture(scope="module")
def sealed(keys, text, tmp_path_factory):
    path = tmp_path_factory.mktemp("sealed") / "plain"
    path.write_bytes(text)
    succeed("encrypt", "-r", keys.recipient, path)
    content = (path.parent / "plain.paes").read_bytes()
    assert len(content) == container.chunk_offset(CHUNKS - 1) + LAST_BYTES + container.TAG_BYTES
    return content


def with_damage(sealed, chunks):
    damaged = bytearray(sealed)
    for chunk in chunks:
        damaged[container.chunk_offset(chunk) + chunk % 90] ^= 1
    return bytes(damaged)


def joined(chunks):
    ranges = []
    for chunk in sorted(chunks):
        if ranges and ranges[-1][1] == chunk:
            ranges[-1][1] += 1
        else:
            ranges.append([chunk, chunk + 1])
    return ranges


def places(ranges, size):
    """(first byte, end) in the plaintext and in the file."""
    text_bytes = (CHUNKS - 1) * container.TEXT_BYTES + LAST_BYTES
    for first, end in ranges:
        yield (
            (first * container.TEXT_BYTES, min(end * container.TEXT_BYTES, text_bytes)),
            (container.chunk_offset(first), min(container.chunk_offset(end), size)),
        )


CASES = {
    "one": [182],
    "the first": [0],
    "the last": [CHUNKS - 1],
    "neighbours": [5, 6, 7, 15, 16, 17, 300],  # also where batches of 16 chunks meet
    "a hundred ranges": range(0, 200, 2),
    "too many": range(1, CHUNKS, 2),
    "all": range(CHUNKS),
}


@pytest.mark.parametrize("source", ["file", "pipe"])
@pytest.mark.parametrize("case", CASES)
def test_every_range_is_named(case, source, keys, sealed, folder):
    chunks = CASES[case]
    damaged = with_damage(sealed, chunks)
    path = folder / "damaged"
    path.write_bytes(damaged)
    ranges = joined(chunks)
    named = ranges[:100]
    name = str(path) if source == "file" else "standard input"
    arguments = ["verify", "-T", "4", "-i", keys.path, path if source == "file" else "-"]
    said = run(*arguments, stdin=damaged if source == "pipe" else b"")
    assert said.code == CORRUPT and said.out == b"", said.err
    lines = said.err.splitlines()
    summary = next(line for line in lines if "misplaced or forged" in line)
    assert f" {len(chunks)} of {CHUNKS} chunks {'is' if len(chunks) == 1 else 'are'} damaged" in summary
    found = []
    for line in said.err.replace(name, "NAME").splitlines() if len(named) > 1 else []:
        if match := LINE.fullmatch(line):
            numbers = list(map(int, match.groups()[1:]))
            found.append(((numbers[0], numbers[1] + 1), (numbers[2], numbers[3] + 1)))
    if len(named) == 1:
        (text_at, file_at), = places(named, len(sealed))
        assert f"bytes {text_at[0]}-{text_at[1] - 1} of the plaintext, " in summary
        assert f", {file_at[0]}-{file_at[1] - 1} of the file" in summary
    else:
        assert found == list(places(named, len(sealed)))
    more = sum(end - first for first, end in ranges[100:])
    assert (f"{more} more chunks are not" in summary) == (more != 0)
    if CHUNKS - 1 in chunks:
        assert "cut or extended" in lines[-1]
    else:
        assert "--range" in lines[-1]

    document = json.loads(run(*arguments, "--json", stdin=damaged if source == "pipe" else b"").out)
    validator("transfer").validate(document)
    (entry,) = document["files"]
    assert document["exit_code"] == CORRUPT and entry["error"]["code"] == CORRUPT
    assert entry["damage"]["chunks"] == len(chunks) and entry["damage"]["more_chunks"] == more
    assert [[r["first_chunk"], r["first_chunk"] + r["chunks"]] for r in entry["damage"]["ranges"]] == named
    assert [
        ((r["text_offset"], r["text_offset"] + r["text_bytes"]), (r["file_offset"], r["file_offset"] + r["file_bytes"]))
        for r in entry["damage"]["ranges"]
    ] == list(places(named, len(sealed)))


def test_what_lies_between_can_be_had(keys, sealed, text, folder):
    """The numbers are those that --range takes."""
    (folder / "damaged").write_bytes(with_damage(sealed, [3, 40]))
    said = run("verify", "-i", keys.path, "damaged", cwd=folder)
    first, second = (tuple(map(int, match.groups()[1:3])) for match in map(LINE.fullmatch, said.err.splitlines()) if match)
    between = f"{first[1] + 1}-{second[0] - 1}"
    succeed("decrypt", "-i", keys.path, "--range", between, "-o", "rest", "damaged", cwd=folder)
    assert (folder / "rest").read_bytes() == text[first[1] + 1 : second[0]]
    fail("decrypt", "-i", keys.path, "--range", f"{first[1]}-{second[0]}", "-o", "none", "damaged",
         cwd=folder, code=CORRUPT)  # fmt: skip


def test_an_empty_last_chunk(keys, folder):
    (folder / "plain").write_bytes(bytes(container.TEXT_BYTES))
    succeed("encrypt", "-r", keys.recipient, "plain", cwd=folder)
    damaged = bytearray((folder / "plain.paes").read_bytes())
    damaged[-1] ^= 1
    (folder / "damaged").write_bytes(damaged)
    fail("verify", "-i", keys.path, "damaged", cwd=folder, code=CORRUPT,
         says=f"1 of 2 chunks is damaged.*no bytes of the plaintext, {len(damaged) - 16}-{len(damaged) - 1} of the file")  # fmt: skip


def test_decryption_stops_at_the_first_and_says_where(keys, sealed, folder):
    (folder / "damaged").write_bytes(with_damage(sealed, [182, 400]))
    fail("decrypt", "-T", "1", "-i", keys.path, "-o", "out", "damaged", cwd=folder, code=CORRUPT,
         says=f"chunk 182 .from byte {182 * container.TEXT_BYTES} of the plaintext, "
         f"{container.chunk_offset(182)} of the file. is damaged")  # fmt: skip
    (folder / "damaged").write_bytes(with_damage(sealed, [CHUNKS - 1]))
    fail("decrypt", "-i", keys.path, "-o", "out", "damaged", cwd=folder, code=CORRUPT,
         says=f"the last chunk .from byte {(CHUNKS - 1) * container.TEXT_BYTES} of the plaintext")  # fmt: skip


@pytest.mark.parametrize("cut", [1, 5000, 16400 * 20 + 3])
def test_a_truncated_file(cut, keys, sealed, folder):
    """Its last chunk is damaged; a pipe that ends between chunks tells what was damaged before."""
    (folder / "cut").write_bytes(with_damage(sealed, [2, 9])[:-cut])
    said = run("verify", "-i", keys.path, "cut", cwd=folder)
    assert said.code == CORRUPT and len(LINE.findall(said.err)) == 3, said.err
    assert "cut or extended" in said.err


def test_a_pipe_that_ends_between_chunks(keys, sealed):
    whole = container.chunk_offset(CHUNKS - 1)
    said = run("verify", "-i", keys.path, "-", stdin=with_damage(sealed, [2, 9])[:whole])
    assert said.code == CORRUPT
    assert "truncated, or bytes were added or lost; 2 chunks before are damaged" in said.err
    assert said.err.count(": damaged: bytes ") == 2
    fail("verify", "-i", keys.path, "-", stdin=sealed[: whole + 5], code=CORRUPT, says="truncated")


def test_wrong_keys_and_other_payloads_are_not_damage(keys, other_keys, sealed, folder):
    (folder / "sealed").write_bytes(sealed)
    said = run("verify", "--json", "-i", other_keys.path, "sealed", cwd=folder)
    assert said.code == WRONG_KEY and "damage" not in json.loads(said.out)["files"][0]
    damaged = bytearray(sealed)
    damaged[container.PAGE_BYTES - 1] ^= 1
    (folder / "sealed").write_bytes(damaged)
    fail("verify", "-i", keys.path, "sealed", cwd=folder, code=CORRUPT, says="the beginning of the payload is damaged")


def test_of_several_files_each_has_its_own(keys, sealed, folder):
    (folder / "good").write_bytes(sealed)
    (folder / "bad").write_bytes(with_damage(sealed, [1]))
    said = run("verify", "--json", "-i", keys.path, "bad", "good", "bad", "nowhere", cwd=folder)
    files = json.loads(said.out)["files"]
    assert ["damage" in file for file in files] == [True, False, True, False]
    assert succeed("verify", "-i", keys.path, "good", cwd=folder).code == OK
