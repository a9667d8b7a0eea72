# SPDX-License-Identifier: Apache-2.0
# An independent writer of binary age v1 files (age-encryption.org/v1), on PyPI cryptography. It
# makes what the age program does not: scrypt envelopes with any work factor, unknown stanzas, and
# malformed headers. `age` itself is run for the rest, with a pty where it asks for a passphrase.
import base64
import hashlib
import hmac
import os
import pty
import select
import struct
import subprocess
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

BECH32 = "qpzry9x8gf2tvdw0s3jn54khce6mua7l"
CHUNK_BYTES = 65536


def base64_unpadded(data):
    return base64.b64encode(data).rstrip(b"=")


def hkdf(key, salt, info):
    return HKDF(SHA256(), 32, salt, info).derive(key)


def bech32_data(text):
    """The bytes of a Bech32 string whose checksum somebody else has checked."""
    digits = [BECH32.index(c) for c in text.lower().rsplit("1", 1)[1][:-6]]
    bits = int("".join(f"{d:05b}" for d in digits) or "0", 2)
    spare = len(digits) * 5 % 8
    return (bits >> spare).to_bytes(len(digits) * 5 // 8, "big")


def bech32(human_part, data):
    """In the case of the human-readable part (BIP 173)."""
    bits = "".join(f"{byte:08b}" for byte in data)
    bits += "0" * (-len(bits) % 5)
    digits = [int(bits[i : i + 5], 2) for i in range(0, len(bits), 5)]
    lower = human_part.lower()
    state = 1
    for value in [ord(c) >> 5 for c in lower] + [0] + [ord(c) & 31 for c in lower] + digits + [0] * 6:
        top = state >> 25
        state = (state & 0x1FFFFFF) << 5 ^ value
        for i, generator in enumerate((0x3B6A57B2, 0x26508E6D, 0x1EA119FA, 0x3D4233DD, 0x2A1462B3)):
            state ^= generator if top >> i & 1 else 0
    state ^= 1
    digits += [state >> 5 * (5 - i) & 31 for i in range(6)]
    text = lower + "1" + "".join(BECH32[digit] for digit in digits)
    return text.upper() if human_part != lower else text


def stanza(arguments, body):
    """A header stanza: its body is wrapped at 64 columns and always ends in a short line."""
    text = base64_unpadded(body)
    lines = [text[i : i + 64] for i in range(0, len(text), 64)]
    if not lines or len(lines[-1]) == 64:
        lines.append(b"")
    return b"-> " + b" ".join(arguments) + b"\n" + b"\n".join(lines) + b"\n"


def x25519_stanza(file_key, recipient):
    ephemeral = X25519PrivateKey.generate()
    share = ephemeral.public_key().public_bytes_raw()
    public = bech32_data(recipient)
    shared = ephemeral.exchange(X25519PublicKey.from_public_bytes(public))
    wrap_key = hkdf(shared, share + public, b"age-encryption.org/v1/X25519")
    body = ChaCha20Poly1305(wrap_key).encrypt(bytes(12), file_key, None)
    return stanza([b"X25519", base64_unpadded(share)], body)


def scrypt_stanza(file_key, passphrase, work_factor):
    salt = os.urandom(16)
    wrap_key = hashlib.scrypt(
        passphrase,
        salt=b"age-encryption.org/v1/scrypt" + salt,
        n=1 << work_factor,
        r=8,
        p=1,
        maxmem=1 << 30,
        dklen=32,
    )
    body = ChaCha20Poly1305(wrap_key).encrypt(bytes(12), file_key, None)
    return stanza([b"scrypt", base64_unpadded(salt), b"%d" % work_factor], body)


def header(file_key, stanzas):
    """All that stands before the payload's nonce."""
    text = b"age-encryption.org/v1\n" + b"".join(stanzas) + b"---"
    mac = hmac.digest(hkdf(file_key, b"", b"header"), text, "sha256")
    return text + b" " + base64_unpadded(mac) + b"\n"


def seal(plaintext, recipients=(), passphrase=None, work_factor=10, more_stanzas=()):
    file_key = os.urandom(16)
    stanzas = [x25519_stanza(file_key, recipient) for recipient in recipients]
    if passphrase is not None:
        stanzas.append(scrypt_stanza(file_key, passphrase, work_factor))
    stanzas.extend(more_stanzas)
    nonce = os.urandom(16)
    payload_key = ChaCha20Poly1305(hkdf(file_key, nonce, b"payload"))
    chunks = [plaintext[i : i + CHUNK_BYTES] for i in range(0, len(plaintext), CHUNK_BYTES)] or [b""]
    sealed = b"".join(
        payload_key.encrypt(
            i.to_bytes(11, "big") + struct.pack("?", i == len(chunks) - 1), chunk, None
        )
        for i, chunk in enumerate(chunks)
    )
    return header(file_key, stanzas) + nonce + sealed


# The age program.


def keygen(path):
    """Makes an identity file with age-keygen and returns its recipient."""
    subprocess.run(["age-keygen", "-o", path], check=True, capture_output=True)
    return recipient_of(path)


def recipient_of(identity_path):
    done = subprocess.run(["age-keygen", "-y", identity_path], check=True, capture_output=True)
    return done.stdout.decode().strip()


def age(*arguments, stdin=b""):
    return subprocess.run(["age", *map(str, arguments)], input=stdin, check=True, capture_output=True).stdout


def age_encrypt(plaintext, recipients):
    arguments = [word for recipient in recipients for word in ("-r", recipient)]
    done = subprocess.run(["age", *arguments], input=plaintext, check=True, capture_output=True)
    return done.stdout


def age_decrypt(envelope, identity_path):
    done = subprocess.run(
        ["age", "-d", "-i", identity_path], input=envelope, check=True, capture_output=True
    )
    return done.stdout


def age_with_passphrase(arguments, passphrase):
    """Runs age on a terminal of its own and types the passphrase whenever it asks."""
    pid, terminal = pty.fork()
    if pid == 0:
        os.execvp("age", ["age", *map(str, arguments)])
    shown = b""
    answered = 0
    while True:
        ready, _, _ = select.select([terminal], [], [], 60)
        assert ready, f"age is silent: {shown!r}"
        try:
            shown += os.read(terminal, 4096)
        except OSError:  # EIO: age has closed the terminal
            break
        while shown.lower().count(b"passphrase") > answered and shown.rstrip().endswith(b":"):
            os.write(terminal, passphrase + b"\n")
            answered = shown.lower().count(b"passphrase")
    os.close(terminal)
    _, status = os.waitpid(pid, 0)
    assert os.waitstatus_to_exitcode(status) == 0, shown


def age_encrypt_with_passphrase(plaintext, passphrase, folder, *options):
    plain, sealed = Path(folder, "age-plain"), Path(folder, "age-sealed")
    plain.write_bytes(plaintext)
    age_with_passphrase(["-p", *options, "-o", sealed, plain], passphrase)
    return sealed.read_bytes()


def age_decrypt_with_passphrase(envelope, passphrase, folder):
    plain, sealed = Path(folder, "age-opened"), Path(folder, "age-sealed")
    sealed.write_bytes(envelope)
    age_with_passphrase(["-d", "-o", plain, sealed], passphrase)
    return plain.read_bytes()
