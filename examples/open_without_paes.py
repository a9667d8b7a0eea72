#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Opens what paes writes, without paes: for whoever has lost it, or wants to check it. It was written from
# docs/open-without-paes.md and the specifications that page names. It needs only Python and PyPI's
# `cryptography`. It reads whole files into memory and wipes nothing.
#   open_without_paes.py file FILE {--identity F | --passphrase F | --key F [--context TEXT]} >TEXT
#   open_without_paes.py enc NAME FILE --passphrase F [--iter N] [--md DIGEST] [--no-pbkdf2] >TEXT
#   open_without_paes.py raw NAME FILE --key F [--iv HEX] [--aad F] [--unit BYTES] [--no-pad] >TEXT
#   open_without_paes.py vault FOLDER --passphrase F --output NEW-FOLDER
# FILE is a container, a file of age or, with --key, a Cobblestone stream; NAME is openssl's for a cipher.
# Keys and passphrases are in files F. The exit code is 1 if something is refused. `cryptography` has no CTR
# of 3DES, so that mode is not here.
import argparse
import base64
import hashlib
import json
import re
import struct
import sys
from functools import reduce
from hmac import compare_digest, digest as hmac_of
from itertools import accumulate
from pathlib import Path

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.decrepit.ciphers import algorithms as old_algorithms, modes as old_modes
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from cryptography.hazmat.primitives.ciphers.aead import AESGCM, AESSIV, ChaCha20Poly1305
from cryptography.hazmat.primitives.hashes import SHA256, SHA512
from cryptography.hazmat.primitives.kdf.hkdf import HKDF, HKDFExpand
from cryptography.hazmat.primitives.kdf.scrypt import Scrypt


def need(condition, why):
    if not condition:
        raise ValueError(why)


def hkdf(key, salt, info, size=32):
    return HKDF(SHA256(), size, salt, info).derive(key)


def secret_keys(path):
    """The X25519 keys of an identity file: Bech32 of BIP 173, whose check sum is not looked at."""
    for line in re.findall("^AGE-SECRET-KEY-1(.{58})$", path.read_text() if path else "", re.MULTILINE):
        number = reduce(lambda number, letter: number << 5 | "QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L".index(letter), line[:52], 0)
        yield (number >> 4).to_bytes(32, "big")


def unbase64(text):
    """The canonical Base 64 without padding of age's headers."""
    data = base64.b64decode(text + b"=" * (-len(text) % 4), validate=True)
    need(base64.b64encode(data).rstrip(b"=") == text, "Base 64 that is not canonical")
    return data


def open_stanza(kind, arguments, body, keys, passphrase):
    """The file key, or None if the stanza is for others."""
    if kind == b"X25519":
        need(len(arguments) == 1 and len(body) == 32, "a damaged stanza")
        share = unbase64(arguments[0])
        for key in map(X25519PrivateKey.from_private_bytes, keys):
            shared = key.exchange(X25519PublicKey.from_public_bytes(share))  # refuses a secret of zeros
            wrap = hkdf(shared, share + key.public_key().public_bytes_raw(), b"age-encryption.org/v1/X25519")
            try:
                return ChaCha20Poly1305(wrap).decrypt(bytes(12), body, None)
            except InvalidTag:
                continue
    if kind == b"scrypt" and passphrase is not None:
        need(len(arguments) == 2 and len(body) == 32 and re.fullmatch(b"1?[1-9]|[12]0", arguments[1]), "damaged, or a work factor above 20")
        salt = b"age-encryption.org/v1/scrypt" + unbase64(arguments[0])
        return ChaCha20Poly1305(Scrypt(salt, 32, 1 << int(arguments[1]), 8, 1).derive(passphrase)).decrypt(bytes(12), body, None)


def open_age(data, keys, passphrase):
    """c2sp.org/age, without armor."""
    header = re.match(rb"age-encryption\.org/v1\n((?:-> [ -~]+\n(?:[\w+/]{64}\n)*[\w+/]{0,63}\n)+)---( [\w+/]{43})\n", data)
    need(header, "no header of age")
    stanzas = re.findall(rb"-> ([ -~]+)\n((?:[\w+/]{64}\n)*[\w+/]{0,63}\n)", header[1])
    need(len(stanzas) == 1 or not any(line.startswith(b"scrypt ") for line, _ in stanzas), "a passphrase beside other recipients")
    stanzas = [(*line.split(b" "), unbase64(body.replace(b"\n", b""))) for line, body in stanzas]
    file_key = reduce(lambda key, stanza: key or open_stanza(stanza[0], stanza[1:-1], stanza[-1], keys, passphrase), stanzas, None)
    need(file_key, "none of the keys opens it")
    need(compare_digest(hmac_of(hkdf(file_key, None, b"header"), data[: header.start(2)], "sha256"), unbase64(header[2][1:])), "damaged")
    body = data[header.end() :]
    payload = ChaCha20Poly1305(hkdf(file_key, body[:16], b"payload"))
    chunks = [body[at : at + 65552] for at in range(16, len(body), 65552)]
    need(chunks and (len(chunks[-1]) > 16 or len(chunks) == 1), "a truncated payload")
    nonces = [struct.pack(">3xQB", i, chunk is chunks[-1]) for i, chunk in enumerate(chunks)]
    return b"".join(map(payload.decrypt, nonces, chunks, [None] * len(chunks)))


def open_armor(text):
    """RFC 7468, strictly, and white space around it."""
    first, *lines, last = text.strip().replace(b"\r\n", b"\n").split(b"\n")
    encoded = base64.b64encode(base64.b64decode(b"".join(lines), validate=True))
    need(lines == [encoded[at : at + 64] for at in range(0, len(encoded), 64)], "armor that is not canonical")
    need((first, last) == (b"-----BEGIN AGE ENCRYPTED FILE-----", b"-----END AGE ENCRYPTED FILE-----"), "damaged armor")
    return base64.b64decode(encoded)


def open_cobblestone(key, data, context):
    """c2sp.org/chunked-encryption, with SHA-512 and AES-GCM."""
    need(len(key) in (16, 32) and len(data) >= 72, "no whole stream, or a key of another size")
    info = b"c2sp.org/chunked-encryption@v1+AEAD_AES_%d_GCM\0" % (8 * len(key)) + data[:24] + context
    derived = HKDFExpand(SHA512(), len(key) + 44, info).derive(key)
    need(compare_digest(derived[-32:], data[24:56]), "another key, another context, or a damaged beginning")
    gcm, nonce = AESGCM(derived[: len(key)]), int.from_bytes(derived[len(key) : -32], "big")
    chunks = [data[at : at + 16400] for at in range(56, len(data) + 1, 16400)]
    need(len(chunks[-1]) >= 16, "a truncated stream")
    return b"".join(gcm.decrypt((nonce ^ i).to_bytes(12, "big"), chunk, None) for i, chunk in enumerate(chunks))


def open_container(data, keys, passphrase):
    version, suite, page, length = struct.unpack(">BBHI", data[8:16])
    need(version == 1 and suite in (1, 2) and 1 <= page <= 257 and length <= 1 << 20, "no header of version 1")
    begin = 4096 * page - 56
    need(16 + length <= begin and not any(data[16 + length : begin]), "more than zeros behind the envelope")
    key = open_age(data[16 : 16 + length], keys, passphrase)
    need(len(key) == 16 * suite, "an input key of another size")
    return open_cobblestone(key, data[begin:], data[:10])


def open_file(data, keys, passphrase):
    data = open_armor(data) if data.lstrip().startswith(b"-----BEGIN AGE ENCRYPTED FILE-----") else data
    return (open_container if data.startswith(b"\x89PAES\r\n\x1a") else open_age)(data, keys, passphrase)


def unpad(text, size):
    need(text and 1 <= text[-1] <= size and text.endswith(text[-1:] * text[-1]), "wrong padding: another key, or damage")
    return text[: -text[-1]]


def open_raw(name, data, key, iv, aad=None, unit=None, is_padded=True):
    """SP 800-38A, D and E; OpenSSL's names."""
    algorithm, mode = (old_algorithms.TripleDES if name.startswith("des") else algorithms.AES)(key), name.rsplit("-", 1)[1]
    if mode == "gcm":
        return AESGCM(key).decrypt(iv, data, aad)
    if mode == "xts":
        first, step = int.from_bytes(iv, "little"), unit or len(data)
        tweaks = {at: (first + at // step).to_bytes(16, "little") for at in range(0, len(data), step)}
        return b"".join(Cipher(algorithm, modes.XTS(tweaks[at])).decryptor().update(data[at : at + step]) for at in tweaks)
    made = {"ecb": lambda _: modes.ECB(), "cbc": modes.CBC, "ctr": modes.CTR, "cfb": old_modes.CFB, "ofb": old_modes.OFB}[mode]
    opener = Cipher(algorithm, made(iv)).decryptor()
    text = opener.update(data) + opener.finalize()
    return unpad(text, algorithm.block_size // 8) if is_padded and mode in ("ecb", "cbc") else text


def open_salted(name, data, passphrase, iterations, hash_name, has_pbkdf2):
    """openssl enc: PBKDF2, or without -pbkdf2 one iteration of EVP_BytesToKey."""
    need(data[:8] == b"Salted__" and len(data) >= 16, "no salt in front")
    key_bytes = 24 if name.startswith("des") else int(name.split("-")[1]) // 8
    all_bytes = key_bytes + (0 if name.endswith("-ecb") else 8 if name.startswith("des") else 16)
    made = hashlib.pbkdf2_hmac(hash_name, passphrase, data[8:16], iterations, all_bytes)
    if not has_pbkdf2:
        made = b"".join(accumulate(range(3), lambda last, _: hashlib.new(hash_name, last + passphrase + data[8:16]).digest(), initial=b""))
    return open_raw(name, data[16:], made[:key_bytes], made[key_bytes:all_bytes])


def open_xchacha(key, nonce, data, aad):
    """draft-irtf-cfrg-xchacha. A block of ChaCha20 is a sum with its first state; HChaCha20 is without it."""
    block = struct.unpack("<16I", Cipher(algorithms.ChaCha20(key, nonce[:16]), None).encryptor().update(bytes(64)))
    first = struct.unpack("<8I", b"expand 32-byte k" + nonce[:16])
    subkey = struct.pack("<8I", *((a - b) % (1 << 32) for a, b in zip(block[:4] + block[12:], first)))
    return ChaCha20Poly1305(subkey).decrypt(bytes(4) + nonce[16:], data, aad)


def open_eme(key, tweak, data):
    """EME of Halevi and Rogaway (ePrint 2003/147) with AES; numbers and their doubles as in XTS."""
    ecb, of_bytes = Cipher(algorithms.AES(key), modes.ECB()), lambda block: int.from_bytes(block, "little")
    decrypt = lambda x: of_bytes(ecb.decryptor().update(x.to_bytes(16, "little")))  # noqa: E731
    doubles = lambda x: accumulate([x, *data[::16]], lambda y, _: y << 1 ^ (y >> 127) * (1 << 128 | 135))  # noqa: E731
    masks = [*doubles(of_bytes(ecb.encryptor().update(bytes(16))))][1:]
    inner = [decrypt(of_bytes(data[16 * i : 16 * i + 16]) ^ mask) for i, mask in enumerate(masks)]
    mixed = reduce(int.__xor__, inner, of_bytes(tweak))
    middle = decrypt(mixed)
    outer = [block ^ mix for block, mix in zip(inner, doubles(mixed ^ middle))]
    outer[0] = reduce(int.__xor__, outer[1:], middle ^ of_bytes(tweak))
    return b"".join((decrypt(block) ^ mask).to_bytes(16, "little") for block, mask in zip(outer, masks))


class Vault:
    """A forward volume of gocryptfs 1.3 or later, with any of its three ciphers."""

    def __init__(self, folder, passphrase):
        conf = json.loads((folder / "gocryptfs.conf").read_bytes())
        self.flags, scrypt, wrapped = conf["FeatureFlags"], conf["ScryptObject"], base64.b64decode(conf["EncryptedKey"])
        need(conf["Version"] == 2 and "HKDF" in self.flags and scrypt["N"] <= 1 << 20, "a vault of another kind")
        wrap = Scrypt(base64.b64decode(scrypt["Salt"]), scrypt["KeyLen"], scrypt["N"], scrypt["R"], scrypt["P"]).derive(passphrase)
        master = AESGCM(hkdf(wrap, None, b"AES-GCM file content encryption")).decrypt(wrapped[:16], wrapped[16:], bytes(8))
        self.names = hkdf(master, None, b"EME filename encryption")
        ciphers = {"AESSIV": ("AES-SIV", 64, 16), "XChaCha20Poly1305": ("XChaCha20-Poly1305", 32, 24)}
        self.cipher, size, self.nonce_bytes = next((ciphers[flag] for flag in self.flags if flag in ciphers), ("AES-GCM", 32, 16))
        self.content = hkdf(master, None, self.cipher.encode() + b" file content encryption", size)

    def open_block(self, block, number, file_id=b""):
        nonce, data, aad = block[: self.nonce_bytes], block[self.nonce_bytes :], struct.pack(">Q", number) + file_id
        if self.cipher == "AES-GCM":
            return AESGCM(self.content).decrypt(nonce, data, aad)
        return AESSIV(self.content).decrypt(data, [aad, nonce]) if self.cipher[4] == "S" else open_xchacha(self.content, nonce, data, aad)

    def open_content(self, data):
        need(not data or (data[:2] == b"\0\2" and len(data) > 18), "no header of a file")
        blocks = enumerate(data[at : at + 4112 + self.nonce_bytes] for at in range(18, len(data), 4112 + self.nonce_bytes))
        return b"".join(self.open_block(b, i, data[2:18]) if any(b) or len(b) < 4112 + self.nonce_bytes else bytes(4096) for i, b in blocks)

    def from_base64(self, text):
        return base64.b64decode(text + b"=" * (-len(text) % 4 if "Raw64" in self.flags else 0), b"-_", validate=True)

    def open_name(self, folder, name):
        stored = name.encode()
        if name.startswith("gocryptfs.longname."):
            stored = (folder / (name + ".name")).read_bytes()
            need(self.from_base64(name[19:].encode()) == hashlib.sha256(stored).digest(), "a long name of another entry")
        tweak = (folder / "gocryptfs.diriv").read_bytes() if "DirIV" in self.flags else bytes(16)
        text = unpad(open_eme(self.names, tweak, self.from_base64(stored)), 16)
        need(text not in (b"", b".", b"..") and b"/" not in text, "a damaged name")
        return text.decode(errors="surrogateescape")

    def copy(self, folder, to):
        """Writes the text of a folder into a new one: files, folders and symbolic links."""
        to.mkdir()
        is_plain = "PlaintextNames" in self.flags
        for entry in sorted(folder.iterdir()):
            if re.fullmatch(r"gocryptfs\.(conf|diriv|longname\..*\.name)", entry.name):
                continue
            place = to / (entry.name if is_plain else self.open_name(folder, entry.name))
            if entry.is_symlink():
                place.symlink_to(entry.readlink() if is_plain else self.open_block(self.from_base64(bytes(entry.readlink())), 0))
            elif entry.is_dir():
                self.copy(entry, place)
            elif entry.is_file():
                place.write_bytes(self.open_content(entry.read_bytes()))


def main():
    parser = argparse.ArgumentParser(description="Opens what paes writes, without paes.")
    parser.add_argument("kind", choices=["file", "enc", "raw", "vault"])
    parser.add_argument("names", nargs="+")
    types = dict.fromkeys(("identity", "passphrase", "key", "aad", "output"), Path) | {"iv": bytes.fromhex, "iter": int, "unit": int}
    for name in (*types, "context", "md"):
        parser.add_argument("--" + name, type=types.get(name))
    for name in ("--no-pbkdf2", "--no-pad"):
        parser.add_argument(name, action="store_true")
    args = parser.parse_args()
    place, key, aad = Path(args.names[-1]), args.key and args.key.read_bytes(), args.aad and args.aad.read_bytes()
    passphrase = args.passphrase and args.passphrase.read_bytes().removesuffix(b"\n")
    if args.kind == "vault":
        return Vault(place, passphrase).copy(place, args.output)
    data = place.read_bytes()
    if args.kind == "enc":
        text = open_salted(args.names[0], data, passphrase, args.iter or 10000, args.md or "sha256", not args.no_pbkdf2)
    elif args.kind == "raw":
        text = open_raw(args.names[0], data, key, args.iv or b"", aad, args.unit, not args.no_pad)
    elif args.key:
        text = open_cobblestone(key, data, (args.context or "").encode())
    else:
        text = open_file(data, [*secret_keys(args.identity)], passphrase)
    sys.stdout.buffer.write(text)


if __name__ == "__main__":
    try:
        main()
    except (ValueError, InvalidTag, struct.error, OSError, KeyError, IndexError) as error:
        sys.exit(f"open_without_paes: refused: {error or 'damaged, or another key'}")
