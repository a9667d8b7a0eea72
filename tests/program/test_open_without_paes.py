# SPDX-License-Identifier: Apache-2.0
# examples/open_without_paes.py, which knows nothing of our sources, opens what paes writes in every
# format, and refuses it when any byte of it has changed.
import ast
import io
import os
import subprocess
import sys
import tokenize
from pathlib import Path

import pytest
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.kdf.scrypt import Scrypt
from program import clean_environment, succeed
from vault import CHEAP, has_fuse

READER = Path(__file__).resolve().parents[2] / "examples/open_without_paes.py"
sys.path.insert(0, str(READER.parent))
import open_without_paes as reader  # noqa: E402

REFUSALS = (ValueError, InvalidTag, reader.struct.error)
CHUNK = 16384


def read(*arguments):
    done = subprocess.run([sys.executable, READER, *map(str, arguments)], capture_output=True, env=clean_environment(), check=False)
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout


def refuse(*arguments):
    done = subprocess.run([sys.executable, READER, *map(str, arguments)], capture_output=True, env=clean_environment(), check=False)
    assert done.returncode == 1 and done.stdout == b"", done
    assert done.stderr.startswith(b"open_without_paes: refused: ") and done.stderr.count(b"\n") == 1, done.stderr


def assert_refuses_damage(opens, data, text, places=None, cuts=None):
    """`opens` gives the text, and refuses the data with one byte changed, at all of these places, or cut."""
    assert opens(data) == text
    for place in range(len(data)) if places is None else places:
        changed = bytearray(data)
        changed[place] ^= 0x40
        with pytest.raises(REFUSALS):
            assert opens(bytes(changed)) is None, f"changed at {place}"
    for cut in range(len(data)) if cuts is None else cuts:
        with pytest.raises(REFUSALS):
            assert opens(data[:cut]) is None, f"cut to {cut}"
    with pytest.raises(REFUSALS):
        assert opens(data + b"\0") is None, "extended"


def seal(folder, text, *options, name="sealed"):
    (folder / "text").write_bytes(text)
    succeed("encrypt", *options, "-o", folder / name, folder / "text")
    return (folder / name).read_bytes()


@pytest.fixture
def secrets_of(keys):
    return list(reader.secret_keys(keys.path))


@pytest.fixture
def passphrase(folder):
    path = folder / "passphrase"
    path.write_text("correct horse\n")
    return path


def test_it_has_at_most_200_lines():
    """Blank lines, comments and strings that explain are not counted."""
    source = READER.read_text()
    explained = {
        line
        for node in ast.walk(ast.parse(source))
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)) and ast.get_docstring(node)
        for line in range(node.body[0].lineno, node.body[0].end_lineno + 1)
    }
    silent = (tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER)
    tokens = tokenize.generate_tokens(io.StringIO(source).readline)
    lines = {line for token in tokens if token.type not in silent for line in range(token.start[0], token.end[0] + 1)}
    assert len(lines - explained) <= 200


@pytest.mark.parametrize("suite", ["aes-128-gcm", "aes-256-gcm"])
@pytest.mark.parametrize("size", [0, 1, CHUNK - 1, CHUNK, CHUNK + 1, 300_000])
def test_containers(suite, size, folder, keys, random_bytes):
    seal(folder, random_bytes(size), "--suite", suite, "-r", keys.recipient)
    assert read("file", "--identity", keys.path, folder / "sealed") == random_bytes(size)


@pytest.mark.parametrize("suite", ["aes-128-gcm", "aes-256-gcm"])
def test_containers_with_any_byte_changed(suite, folder, keys, other_keys, secrets_of):
    text = os.urandom(100)
    data = seal(folder, text, "--suite", suite, "-r", other_keys.recipient, "-r", keys.recipient)
    # The first stanza is somebody else's; the MAC of the header covers it.
    assert_refuses_damage(lambda data: reader.open_file(data, secrets_of, None), data, text, cuts=range(0, len(data), 13))


def test_containers_of_several_chunks(folder, keys, secrets_of, random_bytes):
    text = random_bytes(2 * CHUNK + 50)
    data = seal(folder, text, "-r", keys.recipient)
    first = len(data) - (2 * (CHUNK + 16) + 66)
    whole = CHUNK + 16
    places = [first - 56, first - 33, first - 32, first - 1, first, first + CHUNK, first + whole, first + whole + 5, len(data) - 66, len(data) - 1]
    cuts = [first, first + whole, first + 2 * whole, first + whole + 16, len(data) - 16]
    assert_refuses_damage(lambda data: reader.open_container(data, secrets_of, None), data, text, places, cuts)
    swapped = data[:first] + data[first + whole : first + 2 * whole] + data[first : first + whole] + data[first + 2 * whole :]
    with pytest.raises(REFUSALS):
        reader.open_container(swapped, secrets_of, None)
    (folder / "damaged").write_bytes(swapped)
    refuse("file", "--identity", keys.path, folder / "damaged")


def test_other_keys_open_nothing(folder, keys, other_keys):
    seal(folder, b"text", "-r", keys.recipient)
    refuse("file", "--identity", other_keys.path, folder / "sealed")


class OnceDerived:
    """scrypt, which costs half a second, once for each salt."""

    derived = {}

    def __init__(self, salt, *costs):
        self.salt, self.costs = salt, costs

    def derive(self, passphrase):
        arguments = (self.salt, self.costs, passphrase)
        if arguments not in self.derived:
            self.derived[arguments] = Scrypt(self.salt, *self.costs).derive(passphrase)
        return self.derived[arguments]


@pytest.mark.parametrize("options", [[], ["--format", "age"], ["--format", "age", "--armor"]])
def test_passphrases(options, folder, passphrase, monkeypatch):
    data = seal(folder, b"some text", "--passphrase-file", passphrase, *options)
    assert read("file", "--passphrase", passphrase, folder / "sealed") == b"some text"
    if not options:
        (folder / "other").write_text("battery staple\n")
        refuse("file", "--passphrase", folder / "other", folder / "sealed")
        monkeypatch.setattr(reader, "Scrypt", OnceDerived)
        salt, body = data.index(b"-> scrypt ") + 10, data.index(b"\n", data.index(b"-> scrypt ")) + 1
        opens = lambda data: reader.open_container(data, [], b"correct horse")  # noqa: E731
        places = [salt, *range(body, data.index(b"\n--- ") + 48), len(data) - 57, len(data) - 1]
        assert_refuses_damage(opens, data, b"some text", places, cuts=[])


@pytest.mark.parametrize("size", [0, 1, 65535, 65536, 65537, 300_000])
@pytest.mark.parametrize("armor", [[], ["--armor"]])
def test_age_files(armor, size, folder, keys, random_bytes):
    seal(folder, random_bytes(size), "--format", "age", *armor, "-r", keys.recipient)
    assert read("file", "--identity", keys.path, folder / "sealed") == random_bytes(size)


@pytest.mark.parametrize("armor", [[], ["--armor"]])
def test_age_files_with_any_byte_changed(armor, folder, keys, secrets_of):
    text = os.urandom(100)
    data = seal(folder, text, "--format", "age", *armor, "-r", keys.recipient)

    # White space around armor is allowed, so its end may lack the newline.
    data = data.rstrip(b"\n") if armor else data
    assert_refuses_damage(lambda data: reader.open_file(data, secrets_of, None), data, text)


def test_armor_has_one_form(folder, keys, secrets_of):
    text = os.urandom(100)
    data = seal(folder, text, "--format", "age", "--armor", "-r", keys.recipient)
    first, *lines, last, end = data.split(b"\n")
    assert end == b"" and reader.open_file(b"\n " + data.replace(b"\n", b"\r\n"), secrets_of, None) == text
    joined = b"".join(lines)
    for others in ([joined], [joined[:60], joined[60:]], [*lines, b""], [lines[0] + b" ", *lines[1:]]):
        with pytest.raises(REFUSALS):
            reader.open_file(b"\n".join([first, *others, last]), secrets_of, None)


def test_age_files_of_several_chunks(folder, keys, secrets_of, random_bytes):
    text = random_bytes(2 * 65536 + 50)
    data = seal(folder, text, "--format", "age", "-r", keys.recipient)
    first, whole = len(data) - (2 * 65552 + 66), 65552
    places = [first - 16, first, first + 65536, first + whole, len(data) - 66, len(data) - 1]
    cuts = [first, first + whole, first + 2 * whole, len(data) - 1]
    assert_refuses_damage(lambda data: reader.open_age(data, secrets_of, None), data, text, places, cuts)


@pytest.mark.parametrize("bytes_", [16, 32])
@pytest.mark.parametrize("context", ["", "Rechnungen/\u00e4"])
def test_cobblestone_under_an_own_key(bytes_, context, folder, random_bytes):
    key = os.urandom(bytes_)
    (folder / "key").write_bytes(key)
    own = ["--key-file", folder / "key", *(["--key-context", context] if context else [])]
    for size in (0, CHUNK, 100_000):
        seal(folder, random_bytes(size), *own, name=f"sealed{size}")
        assert read("file", "--key", folder / "key", "--context", context, folder / f"sealed{size}") == random_bytes(size)
    refuse("file", "--key", folder / "key", "--context", context + "x", folder / "sealed0")
    data = seal(folder, b"some text", *own)
    assert_refuses_damage(lambda data: reader.open_cobblestone(key, data, context.encode()), data, b"some text")


RAW = [f"aes-{bits}-{mode}" for bits in (128, 192, 256) for mode in ("ecb", "cbc", "cfb", "ofb", "ctr", "gcm")]
RAW += ["aes-128-xts", "aes-256-xts", *(f"des-ede3-{mode}" for mode in ("ecb", "cbc", "cfb", "ofb"))]


@pytest.mark.parametrize("name", RAW)
def test_raw_modes(name, folder, random_bytes):
    key = os.urandom(24 if name.startswith("des") else int(name.split("-")[1]) // 8 * (2 if name.endswith("xts") else 1))
    iv = b"" if name.endswith("ecb") else os.urandom(8 if name.startswith("des") else 12 if name.endswith("gcm") else 16)
    (folder / "key").write_bytes(key)
    (folder / "aad").write_bytes(b"beside")
    options = ["--key", folder / "key", *(["--iv", iv.hex()] if iv else []), *(["--aad", folder / "aad"] if name.endswith("gcm") else [])]
    for size in (16, 1000, 4001):
        (folder / "text").write_bytes(random_bytes(size))
        ways = [[], ["--unit", "512"]] if name.endswith("xts") else [[], ["--no-pad"]] if name[-3:] in ("ecb", "cbc") and size % 16 == 0 else [[]]
        for way in ways:
            if way == ["--unit", "512"] and 0 < size % 512 < 16:
                continue  # XTS has no unit below a block
            legacy = ["--legacy", "-q"] if name.startswith("des") else []
            succeed("cipher", name, *options, *way, *legacy, "-f", "-o", folder / "sealed", folder / "text")
            unit, aad = 512 if "--unit" in way else None, b"beside" if name.endswith("gcm") else None
            opened = reader.open_raw(name, (folder / "sealed").read_bytes(), key, iv, aad, unit, "--no-pad" not in way)
            assert opened == random_bytes(size), (size, way)
    assert read("raw", name, folder / "sealed", *options, *way) == random_bytes(size)
    if name.endswith("gcm"):
        (folder / "text").write_bytes(b"some text")
        succeed("cipher", name, *options, "-f", "-o", folder / "sealed", folder / "text")
        data = (folder / "sealed").read_bytes()
        assert_refuses_damage(lambda data: reader.open_raw(name, data, key, iv, b"beside"), data, b"some text")


def test_raw_padding_that_is_wrong(folder):
    (folder / "key").write_bytes(bytes(16))
    (folder / "text").write_bytes(bytes(16))
    options = ["--key", folder / "key", "--iv", "00" * 16]
    succeed("cipher", "aes-128-cbc", *options, "--no-pad", "-o", folder / "sealed", folder / "text")
    refuse("raw", "aes-128-cbc", folder / "sealed", *options)


@pytest.mark.parametrize("name", ["aes-256-cbc", "aes-128-ctr", "aes-192-ecb", "des-ede3-cbc"])
def test_files_of_openssl_enc(name, folder, passphrase):
    (folder / "text").write_bytes(b"some text")
    legacy = ["--legacy", "-q"] if name.startswith("des") else []
    for more in ([], ["--iter", 77, "--md", "sha512"]):
        options = ["--passphrase-file", passphrase, *more]
        succeed("cipher", name, "--openssl", *options, *legacy, "-f", "-o", folder / "sealed", folder / "text")
        assert read("enc", name, folder / "sealed", "--passphrase", passphrase, *more) == b"some text"
    data = (folder / "sealed").read_bytes()
    for damaged in (b"s" + data[1:], data[:15]):
        (folder / "damaged").write_bytes(damaged)
        refuse("enc", name, folder / "damaged", "--passphrase", passphrase)


@pytest.mark.parametrize("digest", ["md5", "sha256"])
def test_files_of_openssl_enc_without_pbkdf2(digest, folder, passphrase):
    """paes writes none, but opens them."""
    sealed = subprocess.run(
        ["openssl", "enc", "-aes-256-cbc", "-md", digest, "-pass", f"file:{passphrase}"],
        input=b"some text", capture_output=True, env=clean_environment(), check=True,
    ).stdout
    (folder / "sealed").write_bytes(sealed)
    assert succeed("cipher", "aes-256-cbc", "-d", "--openssl", "--no-pbkdf2", "--md", digest, "--passphrase-file", passphrase, folder / "sealed").out == b"some text"
    assert read("enc", "aes-256-cbc", folder / "sealed", "--passphrase", passphrase, "--no-pbkdf2", "--md", digest) == b"some text"


def furnish(root, random_bytes):
    """A tree with every kind of name and content that the format treats in a way of its own."""
    (root / "sub").mkdir(parents=True)
    for size in (0, 1, 4096, 4097, 20_000):
        (root / f"file{size}").write_bytes(random_bytes(size))
    (root / "sub" / ("long" * 50)).write_bytes(b"under a long name")
    (root / "sub" / "\u00fcber").write_bytes(b"under a name in UTF-8")
    (root / "link").symlink_to("sub/../file1")
    with open(root / "hole", "wb") as hole:
        hole.seek(20_000)
        hole.write(b"behind a hole")


def tree_of(root):
    return {
        str(path.relative_to(root)): os.readlink(path) if path.is_symlink() else path.read_bytes() if path.is_file() else "folder"
        for path in root.rglob("*")
    }


VAULTS = {
    "aes-256-gcm": [], "xchacha20-poly1305": ["--cipher", "xchacha20-poly1305"], "aes-siv": ["--cipher", "aes-siv"],
    "plaintext-names": ["--plaintext-names"], "deterministic-names": ["--deterministic-names", "--long-name-max", "100"],
}


@pytest.fixture
def make_vault(folder, passphrase, random_bytes):
    if not has_fuse():
        pytest.skip("/dev/fuse cannot be opened, and only a mount writes vaults")

    def make(*options):
        stored, shown, texts = folder / "stored", folder / "shown", folder / "texts"
        furnish(texts, random_bytes)
        stored.mkdir()
        shown.mkdir()
        succeed("vault", "init", *CHEAP, *options, "--passphrase-file", passphrase, stored)
        succeed("mount", "-w", "--passphrase-file", passphrase, stored, shown)
        try:
            subprocess.run(["cp", "-a", f"{texts}/.", shown], check=True)
        finally:
            succeed("umount", shown)
        return stored, texts

    return make


@pytest.mark.parametrize("name", VAULTS)
def test_vaults(name, make_vault, folder, passphrase):
    stored, texts = make_vault(*VAULTS[name])
    assert read("vault", stored, "--passphrase", passphrase, "--output", folder / "opened") == b""
    assert tree_of(folder / "opened") == tree_of(texts)


@pytest.mark.parametrize("name", ["aes-256-gcm", "xchacha20-poly1305", "aes-siv"])
def test_vaults_with_any_byte_changed(name, make_vault, folder, passphrase):
    stored, _ = make_vault(*VAULTS[name])
    vault = reader.Vault(stored, b"correct horse")
    small = [path for path in stored.rglob("*") if path.is_file() and not path.is_symlink() and "gocryptfs.conf" not in path.name]
    text = b"under a long name"
    sealed = next(path.read_bytes() for path in small if path.name.startswith("gocryptfs.longname.") and path.suffix != ".name")
    # Nothing stands for a file that is not there, so a cut to nothing is an empty file.
    assert_refuses_damage(vault.open_content, sealed, text, cuts=range(1, len(sealed)))
    link = next(path for path in stored.rglob("*") if path.is_symlink())
    block = vault.from_base64(os.readlink(link).encode())
    assert_refuses_damage(lambda block: vault.open_block(block, 0), block, b"sub/../file1")
    configuration = reader.json.loads((stored / "gocryptfs.conf").read_bytes())
    wrapped = bytearray(reader.base64.b64decode(configuration["EncryptedKey"]))
    for place in (0, 15, 16, 47, 48, 63):
        changed = wrapped.copy()
        changed[place] ^= 1
        (folder / "gocryptfs.conf").write_text(
            reader.json.dumps(configuration | {"EncryptedKey": reader.base64.b64encode(changed).decode()}))
        with pytest.raises(REFUSALS):
            reader.Vault(folder, b"correct horse")
    with pytest.raises(REFUSALS):
        reader.Vault(stored, b"battery staple")
    # The stored form of a long name belongs to its hash: another name of the same folder is refused.
    name_file = next(path for path in small if path.suffix == ".name")
    other = next(path.name for path in name_file.parent.iterdir() if not path.name.startswith("gocryptfs."))
    name_file.chmod(0o600)
    name_file.write_text(other)
    refuse("vault", stored, "--passphrase", passphrase, "--output", folder / "opened")
