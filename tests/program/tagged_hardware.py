# SPDX-License-Identifier: Apache-2.0
"""The owner of tagged keys (c2sp.org/age, "The tagged recipient types"), on PyPI cryptography, and as an age plugin
that stands for hardware: `tagtest`. Its identity has the secret keys, which those of real hardware have not.

PAES_PLUGIN_LOG names a file that gets a line for each stanza that the plugin is asked to open.
"""

import hashlib
import hmac
import sys

import age_file
import age_plugin_example as plugin
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.mlkem import MLKEM768PrivateKey
from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDFExpand
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

CURVE = ec.SECP256R1()
MLKEM_CIPHERTEXT_BYTES = 1088
P256_KEM, HYBRID_KEM = 0x0010, 0x0050


def point(key, form=PublicFormat.UncompressedPoint):
    return key.public_key().public_bytes(Encoding.X962, form)


def exchange(key, share):
    return key.exchange(ec.ECDH(), ec.EllipticCurvePublicKey.from_encoded_point(CURVE, share))


# RFC 9180, sections 4 and 5.1, with HKDF-SHA256 and ChaCha20Poly1305.
def labeled_extract(suite, salt, label, key_material):
    return hmac.new(salt, b"HPKE-v1" + suite + label + key_material, hashlib.sha256).digest()


def labeled_expand(suite, key, label, info, length):
    labeled = length.to_bytes(2, "big") + b"HPKE-v1" + suite + label + info
    return HKDFExpand(SHA256(), length, labeled).derive(key)


def hpke_open(kem, secret, info, ciphertext):
    suite = b"HPKE" + kem.to_bytes(2, "big") + (1).to_bytes(2, "big") + (3).to_bytes(2, "big")
    context = b"\0" + labeled_extract(suite, b"", b"psk_id_hash", b"") + labeled_extract(suite, b"", b"info_hash", info)
    key = labeled_extract(suite, secret, b"secret", b"")
    nonce = labeled_expand(suite, key, b"base_nonce", context, 12)
    return ChaCha20Poly1305(labeled_expand(suite, key, b"key", context, 32)).decrypt(nonce, ciphertext, b"")


def tag_of(kind, encapsulation, recipient):
    named = encapsulation + hashlib.sha256(recipient).digest()[:4]
    return hmac.new(b"age-encryption.org/" + kind.encode(), named, hashlib.sha256).digest()[:4]


class Tagged:
    """The secret key of a recipient age1tag1... `secret` is any 32 bytes below the order."""

    kind = "p256tag"

    def __init__(self, secret):
        self.secret = secret
        self.key = ec.derive_private_key(int.from_bytes(secret, "big"), CURVE)

    def recipient(self):
        return age_file.bech32("age1tag", point(self.key, PublicFormat.CompressedPoint))

    def identity(self):
        return age_file.bech32("AGE-PLUGIN-TAGTEST-", self.secret)

    def named(self, encapsulation):
        return tag_of(self.kind, encapsulation, point(self.key, PublicFormat.CompressedPoint))

    def open(self, encapsulation, body):
        suite = b"KEM" + P256_KEM.to_bytes(2, "big")
        key = labeled_extract(suite, b"", b"eae_prk", exchange(self.key, encapsulation))
        secret = labeled_expand(suite, key, b"shared_secret", encapsulation + point(self.key), 32)
        return hpke_open(P256_KEM, secret, b"age-encryption.org/p256tag", body)


class HybridTagged:
    """The secret keys of a recipient age1tagpq1..., from a seed of 32 bytes (draft-ietf-hpke-pq)."""

    kind = "mlkem768p256tag"

    def __init__(self, secret):
        self.secret = secret
        seeds = hashlib.shake_256(secret).digest(96)
        self.ml_kem = MLKEM768PrivateKey.from_seed_bytes(seeds[:64])
        self.key = ec.derive_private_key(int.from_bytes(seeds[64:], "big"), CURVE)

    def recipient(self):
        return age_file.bech32("age1tagpq", self.ml_kem.public_key().public_bytes_raw() + point(self.key))

    def identity(self):
        return age_file.bech32("AGE-PLUGIN-TAGTEST-", self.secret + b"q")

    def named(self, encapsulation):
        return tag_of(self.kind, encapsulation, point(self.key))

    def shared_secret(self, encapsulation):
        share = encapsulation[MLKEM_CIPHERTEXT_BYTES:]
        both = self.ml_kem.decapsulate(encapsulation[:MLKEM_CIPHERTEXT_BYTES]) + exchange(self.key, share)
        return hashlib.sha3_256(both + share + point(self.key) + b"MLKEM768-P256").digest()

    def open(self, encapsulation, body):
        secret = self.shared_secret(encapsulation)
        return hpke_open(HYBRID_KEM, secret, b"age-encryption.org/mlkem768p256tag", body)


def key_of(identity):
    data = age_file.bech32_data(identity)
    return Tagged(data) if len(data) == 32 else HybridTagged(data[:32])


def unwrap():
    said = plugin.collect()
    keys = [key_of(words[1]) for words, _ in said if words[0] == "add-identity"]
    for words, body in said:
        for key in keys:
            if words[:3] != ["recipient-stanza", "0", key.kind]:
                continue
            assert len(words) == 5 and len(body) == 32
            tag, encapsulation = plugin.decode(words[3]), plugin.decode(words[4])
            if tag == key.named(encapsulation):
                plugin.log("opened", key.kind)
                plugin.ask("file-key", "0", body=key.open(encapsulation, body))
                plugin.send("done")
                return
            plugin.log("passed over", key.kind)
    plugin.send("done")


if __name__ == "__main__":
    assert sys.argv[1] == "--age-plugin=identity-v1"
    unwrap()
