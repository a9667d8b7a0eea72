# SPDX-License-Identifier: Apache-2.0
# decrypt --range against slices of the plaintext: inclusive ends, open ends, ends beyond the file,
# and the authentication that a range still does.
import random

import age_file
import container
import pytest
from program import CORRUPT, USAGE, fail, run, succeed

TEXT_BYTES = 5 * container.TEXT_BYTES + 777


@pytest.fixture(scope="module")
def text(random_bytes):
    return random_bytes(TEXT_BYTES)


@pytest.fixture(scope="module")
def sealed(text, keys, tmp_path_factory):
    path = tmp_path_factory.mktemp("range") / "sealed.paes"
    path.write_bytes(
        container.make(2, text, lambda key: age_file.age_encrypt(key, [keys.recipient]))
    )
    return path


def interesting_positions():
    edges = [0, TEXT_BYTES - 1]
    for chunk in range(1, 6):
        at = chunk * container.TEXT_BYTES
        edges += [at - 1, at, at + 1]
    return edges


def ranges():
    chooser = random.Random(3)
    edges = interesting_positions()
    pairs = [(0, 0), (0, TEXT_BYTES - 1), (TEXT_BYTES - 1, TEXT_BYTES - 1)]
    pairs += [(0, TEXT_BYTES), (5, TEXT_BYTES + 10**6), (0, 2**63), (0, 2**64 - 1)]
    pairs += [sorted(chooser.sample(edges, 2)) for _ in range(40)]
    pairs += [sorted(chooser.choices(range(TEXT_BYTES), k=2)) for _ in range(60)]
    pairs += [(first, first + chooser.randrange(40)) for first in edges]
    return pairs


@pytest.mark.parametrize("source", ["file", "pipe"])
def test_ranges_are_slices(source, text, sealed, keys):
    pairs = ranges() if source == "file" else ranges()[::4]
    for first, last in pairs:
        result = succeed(
            *("decrypt", "-i", keys.path, "--range", f"{first}-{last}", "-o", "-"),
            *([sealed] if source == "file" else ["-"]),
            stdin=b"" if source == "file" else sealed.read_bytes(),
        )
        assert result.out == text[first : last + 1], (first, last)


def test_open_ranges(text, sealed, keys):
    for first in interesting_positions():
        result = succeed("decrypt", "-i", keys.path, "--range", f"{first}-", "-o", "-", sealed)
        assert result.out == text[first:], first


def test_a_range_that_starts_beyond_the_end(text, sealed, keys, folder):
    """There is no such byte; that is a request that makes no sense, not an empty answer."""
    for wanted in (f"{TEXT_BYTES}-", f"{TEXT_BYTES + 5}-{TEXT_BYTES + 9}", f"{2**64 - 1}-"):
        fail(
            *("decrypt", "-i", keys.path, "--range", wanted, "-o", folder / "out", sealed),
            code=USAGE,
            says="range",
        )
        assert not (folder / "out").exists()


def test_all_of_an_empty_text(keys, folder):
    """0- asks for everything there is; any other range asks for a byte that is not there."""
    (folder / "empty").touch()
    succeed("encrypt", "-r", keys.recipient, "empty", cwd=folder)
    sealed = folder / "empty.paes"
    for arguments in (["-o", "-", sealed], ["-o", "-", "-"], ["-o", folder / "out", sealed]):
        source = sealed.read_bytes() if arguments[-1] == "-" else b""
        assert succeed("decrypt", "-i", keys.path, "--range", "0-", *arguments, stdin=source).out == b""
    assert (folder / "out").read_bytes() == b""
    for wanted in ("0-0", "0-18446744073709551615", "1-"):
        for source in (sealed, "-"):
            fail(
                *("decrypt", "-i", keys.path, "--range", wanted, "-o", "-", source),
                stdin=sealed.read_bytes(),
                code=USAGE,
                says="range",
            )


@pytest.mark.parametrize("force", [[], ["-f"]])
@pytest.mark.parametrize("more", [[], ["missing.paes"], ["-"]])
def test_a_range_needs_an_output_of_its_own(more, force, text, sealed, keys, folder):
    """The default name is that of the whole text, which a part of it must not replace."""
    (folder / "g.paes").write_bytes(sealed.read_bytes())
    (folder / "g").write_bytes(text)
    files = ["g.paes", *more] if more != ["-"] else more
    fail(
        *("decrypt", *force, "--range", "0-9", "-i", "missing key", *files),
        stdin=sealed.read_bytes(), cwd=folder, code=USAGE, says="range: needs an output",
    )
    assert (folder / "g").read_bytes() == text


def test_a_range_into_a_file(text, sealed, keys, folder):
    out = folder / "out"
    succeed("decrypt", "-i", keys.path, "--range", "16000-50000", "-o", out, sealed)
    assert out.read_bytes() == text[16000:50001]


@pytest.mark.parametrize(
    "text_range",
    ["", "-", "1", "1-2-3", "2-1", " 1-2", "1 -2", "+1-2", "0x1-2", "1-b", "-1", "--1"]
    + ["18446744073709551616-", "0-99999999999999999999999", "1\u00b2-"]
    + ["01-05", "1-05", "00-5", "00-"],
)
def test_malformed_ranges(text_range, sealed, keys):
    fail("decrypt", "-i", keys.path, f"--range={text_range}", "-o", "-", sealed, code=USAGE)


def damaged_at(sealed, offset):
    data = bytearray(sealed.read_bytes())
    data[offset] ^= 1
    return bytes(data)


def test_a_range_authenticates_what_it_touches(text, sealed, keys, folder):
    path = folder / "damaged.paes"
    path.write_bytes(damaged_at(sealed, container.chunk_offset(2) + 5))
    inside = 2 * container.TEXT_BYTES + 1000
    for wanted in (f"{inside}-{inside}", f"0-{inside}", f"{container.TEXT_BYTES}-"):
        result = run("decrypt", "-i", keys.path, "--range", wanted, "-o", "-", path)
        assert result.code == CORRUPT
        first = int(wanted.split("-")[0])
        assert text[first : 2 * container.TEXT_BYTES].startswith(result.out)
    result = succeed("decrypt", "-i", keys.path, "--range", "0-100", "-o", "-", path)
    assert result.out == text[:101]


def test_a_range_always_authenticates_the_last_chunk(sealed, keys, folder):
    """Otherwise a truncated file would go unnoticed."""
    whole = sealed.read_bytes()
    path = folder / "damaged.paes"
    cuts = [whole[: container.chunk_offset(5)], whole[: container.chunk_offset(4) + 500]]
    for content in [damaged_at(sealed, len(whole) - 1), whole[:-1], whole + b"\0", *cuts]:
        path.write_bytes(content)
        fail("decrypt", "-i", keys.path, "--range", "0-10", "-o", "-", path, code=CORRUPT)
        fail(
            *("decrypt", "-i", keys.path, "--range", "0-10", "-o", folder / "out", "-"),
            stdin=content,
            code=CORRUPT,
        )
        assert not (folder / "out").exists()


def test_a_range_checks_the_commitment(sealed, keys, folder):
    path = folder / "damaged.paes"
    path.write_bytes(damaged_at(sealed, container.PAGE_BYTES - 1))
    fail("decrypt", "-i", keys.path, "--range", "0-10", "-o", "-", path, code=CORRUPT)
